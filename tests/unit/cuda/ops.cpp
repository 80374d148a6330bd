// Every operation of the table in every dtype, by the GPU's kernels on the host, against plain loops in f64.
#include <array>
#include <catch2/catch.hpp>
#include <vector>

#include "napkin/cuda/plan.hpp"
#include "support/op_case.hpp"
#include "support/op_graphs.hpp"
#include "support/run_teams.hpp"

namespace nk = napkin;

namespace {

using nk::op;

/// By operation: whether some graph has it as an output.
constexpr std::array<bool, nk::op_count> find_covered() {
  std::array<bool, nk::op_count> covered{};
  nk::testing::for_each_op_graph([&]<class Make>(std::type_identity<Make>) {
    const nk::graph g = Make::make();
    for (const std::int32_t id : g.view().output_ids()) {
      covered[static_cast<std::size_t>(g.view()[id].kind)] = true;
      // what is a view may be brought into the shape of the others first
      if (g.view()[id].kind == op::expand)
        covered[static_cast<std::size_t>(g.view()[g.view().operand(id, 0)].kind)] = true;
    }
  });
  return covered;
}
/// The first that no graph has, op::count_ if none. Attention, which a pass makes where the device has a
/// kernel, is device_graphs.hpp's.
constexpr op first_uncovered() {
  constexpr auto covered = find_covered();
  for (std::size_t o = 0; o < nk::op_count; ++o) {
    const nk::category c = nk::category_of(static_cast<op>(o));
    if (c != nk::category::leaf && c != nk::category::attention && !covered[o]) return static_cast<op>(o);
  }
  return op::count_;
}
static_assert(first_uncovered() == op::count_, "a row of the table that no test runs on the device");

}  // namespace

TEST_CASE("each operation in each dtype, by teams of threads, is its formula in f64") {
  nk::testing::for_each_op_graph([]<class Make>(std::type_identity<Make>) {
    const nk::testing::op_case c(Make::make());
    std::vector<const void*> from;
    for (const auto& x : c.inputs) from.push_back(x.data());
    auto given = c.outputs();
    std::vector<void*> to;
    for (auto& o : given) to.push_back(o.data());
    nk::testing::team_executor<nk::on_cuda::frozen_plan<Make>>(from, to).run();
    c.check(given);
  });
}
