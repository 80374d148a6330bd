// Rows that registers do not hold, kept in shared memory or read again: the same bits, of the kernels that have room.
#include <catch2/catch.hpp>
#include <vector>

#include "napkin/cuda/kernel_table.hpp"
#include "napkin/cuda/plan.hpp"
#include "support/device_graphs.hpp"
#include "support/device_run.hpp"
#include "support/run_teams.hpp"

namespace nk = napkin;

namespace {

using nk::dtype;
using nk::testing::made_by;
template <dtype T, std::size_t Columns>
using loss = nk::testing::with_gradients<made_by<&nk::testing::log_summed<T, 2, Columns>>>;
using in_vectors = loss<dtype::bf16, 40000>;
using one_by_one = loss<dtype::f16, 33003>;

template <class Make, int K>
using kernel_of = typename nk::on_cuda::kernel_at<nk::on_cuda::frozen_plan<Make>, K>::kernel;
template <class Make>
constexpr std::size_t most_room() {
  return []<int... K>(std::integer_sequence<int, K...>) {
    std::size_t most = 0;
    ((most = kernel_of<Make, K>::room > most ? kernel_of<Make, K>::room : most), ...);
    return most;
  }
  (std::make_integer_sequence<int, nk::on_cuda::detail::kernel_count<nk::on_cuda::frozen_plan<Make>>>{});
}
static_assert(most_room<in_vectors>() == 40000 * 2);
static_assert(most_room<one_by_one>() == (33003 + 5) * 2);  // to whole vectors
// Two do not fit in a multiprocessor's shared memory; a thread's registers do for shorter ones.
static_assert(most_room<loss<dtype::bf16, 60000>>() == 0);
static_assert(most_room<loss<dtype::bf16, 4000>>() == 0);

template <class Make>
std::vector<nk::testing::raw_bytes> run(const nk::testing::device_case& c, bool with_room) {
  std::vector<const void*> from;
  for (const auto& x : c.inputs) from.push_back(x.data());
  std::vector<nk::testing::raw_bytes> given = c.outputs();
  std::vector<void*> to;
  for (auto& o : given) to.push_back(o.data());
  nk::testing::gives_room = with_room;
  nk::testing::team_executor<nk::on_cuda::frozen_plan<Make>>(from, to).run();
  nk::testing::gives_room = true;
  return given;
}
template <class Make>
void check(double tolerance) {
  const nk::testing::device_case c(Make::make().view());
  const std::vector<nk::testing::raw_bytes> given = run<Make>(c, true);
  c.check(given, tolerance);
  CHECK(run<Make>(c, false) == given);
}

}  // namespace

TEST_CASE("what phases read again of a row comes from shared memory where there is room") {
  check<in_vectors>(1e-2);
  check<one_by_one>(2e-3);
}
