// What the GPU's threads compute, by kernels of the host's compiler: the graphs of device_graphs.hpp give what the CPU's
// kernels give, to the rounding of sums, and every operation of the table in every dtype what plain loops give in f64.
// Where nvcc is, tests/emulated runs its kernels of the same graphs, and this is for --all.
#include <catch2/catch.hpp>
#include <vector>

#include "napkin/cuda/plan.hpp"
#include "support/device_graphs.hpp"
#include "support/device_run.hpp"
#include "support/op_case.hpp"
#include "support/op_graphs.hpp"
#include "support/run_teams.hpp"

namespace nk = napkin;

namespace {

/// What a case's graph gives by teams of threads.
template <class Make, class Case>
std::vector<nk::testing::raw_bytes> run_by_teams(const Case& c) {
  std::vector<const void*> from;
  for (const auto& x : c.inputs) from.push_back(x.data());
  std::vector<nk::testing::raw_bytes> given = c.outputs();
  std::vector<void*> to;
  for (auto& o : given) to.push_back(o.data());
  nk::testing::team_executor<nk::on_cuda::frozen_plan<Make>>(from, to).run();
  return given;
}

}  // namespace

TEST_CASE("a plan for the device, its kernels by teams of threads, gives what the CPU gives") {
  nk::testing::for_each_device_graph([]<class Make>(std::type_identity<Make>, double tolerance) {
    const nk::testing::device_case c(Make::make().view());
    c.check(run_by_teams<Make>(c), tolerance);
  });
}

TEST_CASE("each operation in each dtype, by teams of threads, is its formula in f64") {
  nk::testing::for_each_op_graph([]<class Make>(std::type_identity<Make>) {
    const nk::testing::op_case c(Make::make());
    c.check(run_by_teams<Make>(c));
  });
}
