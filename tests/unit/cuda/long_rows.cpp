// Rows that registers do not hold, kept in shared memory or read again: the same bits, of the kernels that have
// room. Rows and tensors that 32 bits do not count. The one element of a row that is chosen by its position.
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
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

/// Positions are counted in 32 bits where all of them are, and what threads count past them.
template <std::size_t Walks, std::size_t RowLength>
using counted_by = nk::on_cuda::detail::index_for<
    nk::on_cuda::dealt<256, 1, 4, true, RowLength, 1024, 1, Walks, Walks, 1, 256, false>>;
constexpr std::size_t many = std::size_t{1} << 30;
static_assert(std::is_same_v<counted_by<many, many>, std::uint32_t>);
static_assert(std::is_same_v<counted_by<many + 1, 1>, std::size_t>);
static_assert(std::is_same_v<counted_by<1, many + 1>, std::size_t>);

/// The element of each row at an index of 64 bits, as a sum of it and zeros.
template <std::size_t Columns>
constexpr void chosen(nk::builder& b) {
  constexpr std::int32_t last_axis[] = {1}, along_columns[] = {0, -1};
  const nk::shape all{6, Columns};
  const int x = b.input(0, dtype::f32, all), at = b.input(1, dtype::i64, {6});
  const int is_here = b.binary(nk::op::equal, b.expand(at, all, along_columns), b.iota(1, dtype::i64, all));
  b.output(b.reduce(nk::op::sum, b.select(is_here, x, b.constant(0, dtype::f32, all)), last_axis));
}
template <class Make, int K>
constexpr bool chooses_by_halves() {
  using listed = typename kernel_of<Make, K>::listed;
  for (std::size_t j = 0; j < listed::count; ++j)
    if (listed::place_summed(j).index >= 0) return true;
  return false;
}

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

TEST_CASE("a sum over one element of a row takes that one, and no other of the same low bits") {
  const auto check_chosen = []<std::size_t Columns>(std::integral_constant<std::size_t, Columns>) {
    using graph = made_by<&chosen<Columns>>;
    static_assert(chooses_by_halves<graph, 0>());
    std::vector<float> x(6 * Columns), given(6, -1.0f);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i + 1);
    constexpr auto last = static_cast<std::int64_t>(Columns) - 1;
    const std::int64_t high = std::int64_t{1} << 32, at[] = {0, last, -1, high + 3, 3, last - 2};
    nk::testing::team_executor<nk::on_cuda::frozen_plan<graph>>({x.data(), at}, {given.data()}).run();
    for (std::size_t row = 0; row < 6; ++row) {
      const bool is_there = at[row] >= 0 && at[row] <= last;
      CHECK(given[row] == (is_there ? x[row * Columns + static_cast<std::size_t>(at[row])] : 0.0f));
    }
  };
  check_chosen(std::integral_constant<std::size_t, 40>{});  // four at a time
  check_chosen(std::integral_constant<std::size_t, 41>{});
  check_chosen(std::integral_constant<std::size_t, 40000>{});
}

TEST_CASE("where an element lies that 32 bits do not count") {
  using nk::on_cuda::extents, nk::on_cuda::strides;
  using dealt = nk::on_cuda::dealt<256, 1, 4, true, 8 * many, 1024, 8 * many / 1024, 8 * many / 1024,
                                   8 * many / 1024, 1, 256, false>;
  constexpr auto layout = nk::on_cuda::detail::layout_of(
      nk::on_cuda::geometry<dealt, extents<>, extents<8, many>,
                            strides<static_cast<std::ptrdiff_t>(many), 1, 1, 8>>{});
  const std::size_t p = 5 * many + 7;
  CHECK(layout.offset_in_row(0, p) == static_cast<std::ptrdiff_t>(p));
  CHECK(layout.offset_in_row(1, p) == 5 + 7 * 8);
  CHECK(layout.template coordinate_in_row<0>(p) == 5);
  CHECK(layout.template coordinate_in_row<1>(p) == 7);
}
