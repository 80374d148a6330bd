// Sizes of the kernels of attention whose products warpgroups do (warpgroup_attention_body.hpp).
#pragma once

#include "attention_shape.hpp"

namespace napkin::on_cuda::detail {

inline constexpr unsigned warpgroup_rows = 64, warpgroup_threads = 128;

/// Of heads of up to Width, in 16 bits; hidden is what stands behind a query, or nothing.
template <dtype Type, unsigned Width, attention_kernel Kernel>
struct warpgroup_attention_shape {
  static constexpr dtype type = Type;
  static constexpr unsigned width = Width;
  using T = type_of<Type>;
  static_assert(sizeof(T) == 2 && Width % 64 == 0);
  static constexpr bool halves = true, windowed = false, masked = false;
  static constexpr bool forward = Kernel == attention_kernel::forward;
  static constexpr bool owns_keys = Kernel == attention_kernel::key_adjoints;
  /// Narrow heads' blocks are single warpgroups, of which many are resident: none waits for another at a
  /// tile.
  static constexpr unsigned warpgroups = Width <= 64 ? 1 : 2;
  static constexpr unsigned threads = warpgroups * warpgroup_threads, rows = warpgroups * warpgroup_rows;
  static constexpr unsigned bands = 1, rows_of_warp = 16;  // a warp's of its warpgroup's
  static constexpr unsigned tile = 64;
  /// Columns lie in panels of 64, 128 bytes a row.
  static constexpr unsigned panels = Width / 64, row_bytes = 128;
  static constexpr unsigned own_tiles = forward ? 1 : 2, own_tile_bytes = rows * Width * sizeof(T);
  static constexpr unsigned own_bytes = own_tiles * own_tile_bytes;
  static constexpr unsigned tile_bytes = tile * Width * sizeof(T);
  /// Of the tile's queries, where it has them: their sums, their deltas.
  static constexpr unsigned statistics = 2;
  static constexpr unsigned statistic_bytes = owns_keys ? 1024 : 0;
  static_assert(statistics * tile * sizeof(float) <= 1024);
  static constexpr unsigned slot_bytes = 2 * tile_bytes + statistic_bytes;
  /// One is filled while the other is multiplied.
  static constexpr unsigned slots = 2;
  /// Panels begin at multiples of it: 8 rows, in which pieces of 16 bytes change places.
  static constexpr unsigned alignment = 8 * row_bytes;
  static constexpr unsigned shared_bytes = own_bytes + slots * slot_bytes;
  /// Blocks of a multiprocessor that registers are dealt for.
  static constexpr unsigned resident = Width <= 64 ? (forward ? 5 : owns_keys ? 3 : 4) : forward ? 2 : 1;
};

}  // namespace napkin::on_cuda::detail
