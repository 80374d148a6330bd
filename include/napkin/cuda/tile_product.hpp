// Contractions that no GEMM says, in tiles: how a product's loops are dealt to blocks of our own kernel
// (src/cuda/tile_product_body.hpp). Rows, columns and summed indices are each one index over any number of
// loops of any strides, so that a convolution's windows are read where they lie: an implicit GEMM. Plain
// numbers; what they say depends on shapes and strides alone, and the order of each sum on shapes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "napkin/core/dtype.hpp"
#include "napkin/cuda/product_loops.hpp"

namespace napkin::on_cuda {

/// What a block computes, and in steps of how many terms of the sums.
struct tile_shape {
  unsigned rows, columns, depth, threads;
};
/// Whether tensor cores multiply it.
constexpr bool has_mma(dtype type) { return type == dtype::f16 || type == dtype::bf16; }
/// narrow: of few columns.
constexpr tile_shape product_tile_of(dtype type, bool narrow) {
  const unsigned columns = narrow ? 16 : 64;
  if (has_mma(type)) return {128, columns, 32, narrow ? 128u : 256u};
  if (size_of(accumulator_of(type)) == 4) return {128, columns, 16, narrow ? 128u : 256u};
  return {64, columns, 16, narrow ? 64u : 256u};
}
/// Elements that are fetched at once where they are adjacent: 16 bytes at most.
constexpr unsigned tile_vector(dtype type) {
  const auto most = static_cast<unsigned>(16 / size_of(type));
  return has_mma(type) || most < 4 ? most : 4;
}

/// How an operand's part of a tile is fetched: neighbouring threads take neighbouring rows (of the first; of
/// the second, columns) or neighbouring terms, and some of them at once if these are adjacent everywhere.
struct tile_fetch {
  bool along_rows = false, adjacent = false;
};

struct tile_product {
  product_loops batch, rows, columns, summed;
  bool swapped = false;  // the kernel's first operand is the contraction's second: it has more rows so
  bool narrow = false;
  tile_fetch a, b;                  // in the kernel's order, as the loops' strides are
  bool results_along_rows = false;  // of which neighbours lie nearer to one another
  std::uint64_t row_tiles = 1, column_tiles = 1;
  /// Blocks that share a tile, each some of its terms: their sums are added up by a second kernel, in order.
  std::uint64_t splits = 1, terms_of_split = 0;

  constexpr std::uint64_t results() const { return batch.points * rows.points * columns.points; }
  constexpr std::uint64_t blocks() const { return batch.points * row_tiles * column_tiles * splits; }
  /// Of the sums that a second kernel adds up; 0 where there is none.
  constexpr std::uint64_t workspace(dtype type) const {
    return splits == 1 ? 0 : splits * results() * size_of(accumulator_of(type));
  }
};

namespace detail {

constexpr std::int64_t distance(std::int64_t stride) { return stride < 0 ? -stride : stride; }

/// The loop at `chosen` becomes the innermost, the others keep their order.
constexpr void put_last(product_loops& l, int chosen) {
  const product_loops::loop x = l.loops[chosen];
  for (int d = chosen; d + 1 < l.rank; ++d) l.loops[d] = l.loops[d + 1];
  l.loops[l.rank - 1] = x;
}
/// By distance, farthest first; then what is adjacent (distance 1) by `first`, and else by `second`, last.
template <class By, class First, class Second>
constexpr void order(product_loops& l, By by, First first, Second second) {
  for (int i = 1; i < l.rank; ++i)
    for (int j = i; j > 0 && by(l.loops[j - 1]) < by(l.loops[j]); --j) {
      const product_loops::loop x = l.loops[j];
      l.loops[j] = l.loops[j - 1];
      l.loops[j - 1] = x;
    }
  int chosen = -1;
  const auto consider = [&](auto stride) {
    for (int d = 0; d < l.rank; ++d)
      if (stride(l.loops[d]) == 1 && (chosen < 0 || l.loops[d].size > l.loops[chosen].size)) chosen = d;
  };
  consider(first);
  if (chosen < 0) consider(second);
  if (chosen >= 0) put_last(l, chosen);
}

/// The innermost loops' say which neighbours are nearer.
template <class Stride>
constexpr bool is_nearer(const product_loops& x, const product_loops& y, Stride stride) {
  if (x.rank == 0 || y.rank == 0) return x.rank > 0;
  const product_loops::loop &i = x.loops[x.rank - 1], &j = y.loops[y.rank - 1];
  const std::int64_t a = distance(stride(i)), b = distance(stride(j));
  return a == b ? i.size > j.size : a < b;
}
/// Runs of `vector` along the innermost loop: none crosses its end, and all begin at a multiple.
template <class Stride>
constexpr bool is_adjacent(const product_loops& along, std::initializer_list<const product_loops*> others,
                           unsigned vector, Stride stride) {
  if (along.rank == 0) return false;
  const product_loops::loop& inner = along.loops[along.rank - 1];
  bool adjacent = stride(inner) == 1 && inner.size % vector == 0;
  for (int d = 0; d + 1 < along.rank; ++d) adjacent = adjacent && stride(along.loops[d]) % vector == 0;
  for (const product_loops* l : others)
    for (int d = 0; d < l->rank; ++d) adjacent = adjacent && stride(l->loops[d]) % vector == 0;
  return adjacent;
}

}  // namespace detail

/// Whether tiles compute a product: of fewer rows or columns most of one would be empty.
constexpr bool takes_tiles(const passes::contraction_groups& g) {
  if (g.empty || g.nothing_to_sum) return false;
  product_loops rows, columns;
  rows.add(g.rows), columns.add(g.columns);
  return rows.points >= 8 && columns.points >= 8;
}

/// room: bytes for sums that several blocks share.
constexpr tile_product tiles_of(dtype type, const passes::contraction_groups& g, std::uint64_t room) {
  using loop = product_loops::loop;
  constexpr auto of_a = [](const loop& l) { return l.a; };
  constexpr auto of_b = [](const loop& l) { return l.b; };
  constexpr auto of_c = [](const loop& l) { return l.c; };
  tile_product t;
  t.batch.add(g.batch), t.rows.add(g.rows), t.columns.add(g.columns), t.summed.add(g.summed);
  t.swapped = t.rows.points < t.columns.points;
  if (t.swapped) {
    const product_loops rows = t.rows;
    t.rows = t.columns, t.columns = rows;
    for (product_loops* l : {&t.batch, &t.rows, &t.columns, &t.summed})
      for (int d = 0; d < l->rank; ++d) {
        const std::int64_t a = l->loops[d].a;
        l->loops[d].a = l->loops[d].b, l->loops[d].b = a;
      }
  }
  const auto by_result = [](const loop& l) { return detail::distance(l.c); };
  detail::order(t.rows, by_result, of_a, of_c);
  detail::order(t.columns, by_result, of_b, of_c);
  // the operand of more rows is more to read
  detail::order(
      t.summed, [](const loop& l) { return detail::distance(l.a); }, of_a, of_b);
  const unsigned vector = tile_vector(type);
  t.a.along_rows = detail::is_nearer(t.rows, t.summed, of_a);
  t.b.along_rows = detail::is_nearer(t.columns, t.summed, of_b);
  t.a.adjacent = detail::is_adjacent(t.a.along_rows ? t.rows : t.summed,
                                     {&t.batch, t.a.along_rows ? &t.summed : &t.rows}, vector, of_a);
  t.b.adjacent = detail::is_adjacent(t.b.along_rows ? t.columns : t.summed,
                                     {&t.batch, t.b.along_rows ? &t.summed : &t.columns}, vector, of_b);
  t.results_along_rows = detail::is_nearer(t.rows, t.columns, of_c);

  t.narrow = t.columns.points <= product_tile_of(type, true).columns;
  const tile_shape tile = product_tile_of(type, t.narrow);
  const auto ceil_div = [](std::uint64_t x, std::uint64_t y) { return (x + y - 1) / y; };
  t.row_tiles = ceil_div(t.rows.points, tile.rows);
  t.column_tiles = ceil_div(t.columns.points, tile.columns);
  // A weight's gradient has few tiles and a long sum. Two blocks for each of an H100's processors, but eight
  // steps for each block, or adding up would take as long as what it saves.
  constexpr std::uint64_t enough = 2 * 132, least_steps = 8;
  const std::uint64_t tiles = t.blocks(), steps = ceil_div(t.summed.points, tile.depth);
  std::uint64_t splits = tiles < enough / 2 ? ceil_div(enough, tiles) : 1;
  if (splits > steps / least_steps) splits = steps / least_steps;
  const std::uint64_t bytes = t.results() * size_of(accumulator_of(type));
  if (splits > room / bytes) splits = room / bytes;
  if (splits == 0) splits = 1;
  const std::uint64_t steps_of_split = ceil_div(steps, splits);
  t.splits = ceil_div(steps, steps_of_split);
  t.terms_of_split = steps_of_split * tile.depth;
  return t;
}

/// Bytes that a plan keeps for such a product's sums: less than cuBLASLt is given for its own.
constexpr std::uint64_t tile_workspace(dtype type, const passes::contraction_groups& g) {
  return takes_tiles(g) ? tiles_of(type, g, 32u << 20).workspace(type) : 0;
}

}  // namespace napkin::on_cuda
