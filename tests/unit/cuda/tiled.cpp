// Kernels in tiles: transposes through shared memory, alone and with arithmetic, thread by thread on the
// host.
#include "napkin/cuda/tiled.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <utility>
#include <vector>

#include "support/device_graphs.hpp"
#include "support/device_run.hpp"
#include "support/planned.hpp"
#include "support/run_teams.hpp"

namespace nk = napkin;
namespace on_cuda = napkin::on_cuda;
using nk::dtype;

namespace {

/// Axes in the order in which the result has them, by their numbers in the operand.
template <int... Axis>
struct turned {};

template <dtype T, class Order, std::size_t... Size>
struct permuted;
template <dtype T, int... Axis, std::size_t... Size>
struct permuted<T, turned<Axis...>, Size...> {
  static constexpr nk::graph make() {
    nk::builder b;
    const std::int32_t order[] = {Axis...};
    b.output(b.permute(b.input(0, T, {Size...}), order));
    return b.take();
  }
};

template <class Make>
using plan = on_cuda::frozen_plan<Make>;
template <class Make>
constexpr on_cuda::tiling tiling_of() {
  static_assert(plan<Make>::view().count.kernels == 1);
  return on_cuda::find_tiling(plan<Make>::view(), plan<Make>::view().kernels[0]);
}

/// The device's kernel gives the CPU's bits.
template <class Make>
void run() {
  const nk::testing::device_case c(Make::make().view());
  std::vector<const void*> from;
  for (const auto& x : c.inputs) from.push_back(x.data());
  auto given = c.outputs();
  std::vector<void*> to;
  for (auto& o : given) to.push_back(o.data());
  nk::testing::team_executor<plan<Make>>(from, to).run();
  CHECK(given == c.expected);
}

template <class Make>
void run_in_tiles() {
  static_assert(tiling_of<Make>().applies);
  run<Make>();
}

}  // namespace

TEST_CASE("a matrix is turned in tiles, whatever its sizes and dtype") {
  run_in_tiles<permuted<dtype::bf16, turned<1, 0>, 128, 192>>();
  run_in_tiles<permuted<dtype::f32, turned<1, 0>, 100, 68>>();
  run_in_tiles<permuted<dtype::f64, turned<1, 0>, 70, 34>>();
  run_in_tiles<permuted<dtype::f8e4m3, turned<1, 0>, 80, 144>>();
  run_in_tiles<permuted<dtype::i8, turned<1, 0>, 65, 127>>();
  run_in_tiles<permuted<dtype::b8, turned<1, 0>, 3, 200>>();
  run_in_tiles<permuted<dtype::f16, turned<1, 0>, 131, 2>>();
  run_in_tiles<permuted<dtype::f32, turned<1, 0>, 3, 700>>();
  run_in_tiles<permuted<dtype::i64, turned<1, 0>, 65, 3>>();
}

TEST_CASE("axes in any order, with axes shorter than a tile and longer") {
  run_in_tiles<permuted<dtype::bf16, turned<3, 2, 1, 0>, 5, 66, 12, 24>>();
  run_in_tiles<permuted<dtype::bf16, turned<0, 1, 3, 2>, 5, 66, 12, 24>>();
  run_in_tiles<permuted<dtype::bf16, turned<0, 3, 1, 2>, 5, 66, 12, 24>>();
  run_in_tiles<permuted<dtype::bf16, turned<0, 2, 3, 1>, 5, 66, 12, 24>>();
  run_in_tiles<permuted<dtype::bf16, turned<1, 3, 0, 2>, 5, 66, 12, 24>>();
  run_in_tiles<permuted<dtype::bf16, turned<3, 1, 2, 0>, 5, 66, 12, 24>>();
  run_in_tiles<permuted<dtype::bf16, turned<2, 3, 0, 1>, 5, 66, 12, 24>>();
  run_in_tiles<permuted<dtype::i8, turned<0, 2, 1, 4, 3>, 2, 3, 35, 5, 16>>();
  run_in_tiles<permuted<dtype::f32, turned<4, 0, 3, 1, 2>, 3, 4, 5, 6, 7>>();
}

namespace {

constexpr std::int32_t turn[] = {1, 0};

/// Beside arithmetic: two turned operands of two dtypes, one as it lies, one of each row, one of each column,
/// and coordinates; two results.
template <std::size_t Rows, std::size_t Columns>
constexpr void fused(nk::builder& b) {
  const nk::shape all{Rows, Columns};
  const int x = b.cast(b.permute(b.input(0, dtype::bf16, {Columns, Rows}), turn), dtype::f32),
            y = b.permute(b.input(1, dtype::f32, {Columns, Rows}), turn), z = b.input(2, dtype::f32, all);
  const std::int32_t of_row[] = {0, -1}, of_column[] = {-1, 0};
  const int row = b.expand(b.input(3, dtype::f32, {Rows}), all, of_row),
            column = b.expand(b.input(4, dtype::f32, {Columns}), all, of_column);
  const int i = b.cast(b.iota(0, dtype::i32, all), dtype::f32),
            j = b.cast(b.iota(1, dtype::i32, all), dtype::f32);
  const int sum = b.add(b.mul(b.add(x, i), y), b.mul(b.add(z, j), b.add(row, column)));
  b.output(sum);
  b.output(b.cast(b.mul(sum, b.constant(0.5, dtype::f32, all)), dtype::bf16));
}
/// Parts of operands: one that begins anywhere, one backwards along the result's rows.
template <std::size_t Rows, std::size_t Columns>
constexpr void sliced(nk::builder& b) {
  const std::int32_t start[] = {2, 3}, step[] = {1, 1}, last[] = {static_cast<std::int32_t>(Columns) - 1, 0},
                     back[] = {-1, 1};
  const int x = b.slice(b.input(0, dtype::f32, {Columns + 3, Rows + 5}), {Columns, Rows}, start, step),
            y = b.slice(b.input(1, dtype::f32, {Columns, Rows}), {Columns, Rows}, last, back);
  b.output(b.add(b.permute(x, turn), b.permute(y, turn)));
}
/// A turned operand that is repeated along an axis between its own.
template <std::size_t Rows, std::size_t Columns>
constexpr void repeated(nk::builder& b) {
  const std::int32_t along[] = {1, -1, 0};
  const int x = b.expand(b.input(0, dtype::f64, {Columns, Rows}), {Rows, 3, Columns}, along);
  b.output(b.mul(x, x));
}
/// Nothing to turn; and rows that are reduced, which are a team's.
template <std::size_t Rows, std::size_t Columns>
constexpr void straight(nk::builder& b) {
  const int x = b.input(0, dtype::f32, {Rows, Columns});
  b.output(b.mul(x, x));
}
template <std::size_t Rows, std::size_t Columns>
constexpr void summed(nk::builder& b) {
  const int x = b.permute(b.input(0, dtype::f32, {Columns, Rows}), turn);
  const std::int32_t along[] = {0, -1};
  b.output(b.sub(x, b.expand(b.reduce(nk::op::max, x, nk::testing::last_axis), {Rows, Columns}, along)));
}

/// The most words of one bank that a warp (with words of 8 bytes, half of one) asks for at once, over all
/// warps of a block that fetches and computes a tile.
unsigned worst_turns(const on_cuda::tiling& t, unsigned size) {
  const unsigned in_word = size < 4 ? 4 / size : 1, banks = size == 8 ? 16 : 32;
  const auto place = [&](std::size_t i) {
    const auto n = static_cast<unsigned>(i);
    if (size == 1) return on_cuda::padded<1>(n, t.line_pad, t.block_pad);
    if (size == 2) return on_cuda::padded<2>(n, t.line_pad, t.block_pad);
    return size == 4 ? on_cuda::padded<4>(n, t.line_pad, t.block_pad)
                     : on_cuda::padded<8>(n, t.line_pad, t.block_pad);
  };
  std::size_t volume = 1;
  for (const std::size_t e : t.extents) volume *= e;
  // where element i of the results' order is in the turned one
  std::vector<std::size_t> turned_at(volume);
  for (std::size_t i = 0; i < volume; ++i) {
    std::vector<std::size_t> at(t.extents.size());
    std::size_t rest = i, to = 0;
    for (std::size_t a = 0; a < at.size(); ++a) at[a] = rest % t.extents[a], rest /= t.extents[a];
    for (std::size_t o = t.order.size(); o-- > 0;)
      to = to * t.extents[static_cast<std::size_t>(t.order[o])] + at[static_cast<std::size_t>(t.order[o])];
    turned_at[i] = to;
  }
  unsigned worst = 0;
  for (const bool turned : {true, false}) {
    const unsigned vector = turned ? t.turned_vector : t.vector;
    for (std::size_t first = 0; first < volume; first += std::size_t{banks} * vector)
      for (unsigned k = 0; k < vector; k += turned ? std::min(in_word, vector) : 1) {
        std::vector<std::vector<unsigned>> words(banks);
        for (unsigned lane = 0; lane < banks; ++lane) {
          const std::size_t i = first + std::size_t{lane} * vector + k;
          if (i >= volume) break;
          const unsigned word = place(turned ? i : turned_at[i]) / in_word;
          std::vector<unsigned>& known = words[word % banks];
          if (std::find(known.begin(), known.end(), word) == known.end()) known.push_back(word);
          worst = std::max(worst, static_cast<unsigned>(known.size()));
        }
      }
  }
  return worst;
}

}  // namespace

TEST_CASE("turned operands beside arithmetic, of parts, backwards, repeated") {
  run_in_tiles<nk::testing::made_by<&fused<70, 96>>>();
  run_in_tiles<nk::testing::made_by<&fused<33, 7>>>();
  run_in_tiles<nk::testing::made_by<&sliced<40, 72>>>();
  run_in_tiles<nk::testing::made_by<&repeated<50, 40>>>();
}

TEST_CASE("what turns nothing, and what is reduced, is no kernel in tiles") {
  static_assert(!tiling_of<nk::testing::made_by<&straight<64, 64>>>().applies);
  static_assert(!tiling_of<nk::testing::made_by<&summed<64, 64>>>().applies);
  static_assert(!tiling_of<permuted<dtype::bf16, turned<0, 2, 1, 3>, 8, 16, 12, 64>>().applies);
  run<nk::testing::made_by<&summed<64, 64>>>();
}

TEST_CASE("all orders of (64, 1024, 12, 64): 16 bytes at a time on both sides, no bank asked twice") {
  for (const dtype type : {dtype::i8, dtype::bf16, dtype::f32, dtype::f64}) {
    std::array<std::int32_t, 4> order{0, 1, 2, 3};
    int in_tiles = 0;
    do {
      nk::builder b;
      b.output(b.permute(b.input(0, type, {64, 1024, 12, 64}), order));
      const nk::graph lowered = nk::testing::lowered(b.take().view());
      const auto made = nk::testing::planned<on_cuda::target>(lowered.view());
      const on_cuda::plan_view p = nk::planning::view_of(made);
      if (p.count.kernels == 0) continue;  // nothing is moved
      const on_cuda::tiling t = on_cuda::find_tiling(p, p.kernels[0]);
      INFO(order[0] << order[1] << order[2] << order[3] << " of " << nk::size_of(type) << " bytes");
      CHECK(t.applies == (order[3] != 3));
      if (!t.applies) continue;
      ++in_tiles;
      const auto size = static_cast<unsigned>(nk::size_of(type));
      const bool short_rows = order[3] == 2;  // 12 elements: of single bytes two rows are no multiple of 16
      CHECK(t.turned_vector * size == 16);
      CHECK(t.vector * size >= (size == 1 && short_rows ? 8 : 16));
      CHECK(worst_turns(t, size) <= (short_rows ? 3 : 1));
    } while (std::next_permutation(order.begin(), order.end()));
    CHECK(in_tiles == 18);
  }
}
