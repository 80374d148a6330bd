// What kernels of attention there are, and the sizes of the fast ones.
#pragma once

#include <cstdint>

#include "napkin/core/dtype.hpp"

namespace napkin::on_cuda::detail {

inline constexpr unsigned attention_warps = 4, attention_threads = 32 * attention_warps;

/// Kernels, by what they give; adjoints: all, of few keys, without deltas.
enum class attention_kernel : std::uint8_t { forward, query_adjoint, key_adjoints, adjoints };

/// And by what may hide a key from a query: that it stands behind it, or nothing; that, or that it lies
/// before the query's window; a tensor, and those too.
enum class attention_masking : std::uint8_t { causal, window, tensor };

/// Sizes of a kernel for heads of up to Width.
template <dtype Type, unsigned Width, attention_kernel Kernel, attention_masking Masking>
struct attention_shape {
  static constexpr dtype type = Type;
  static constexpr unsigned width = Width;
  using T = type_of<Type>;
  static constexpr bool halves = sizeof(T) == 2;
  static constexpr bool forward = Kernel == attention_kernel::forward;
  static constexpr bool at_once = Kernel == attention_kernel::adjoints;
  static constexpr bool owns_keys = Kernel == attention_kernel::key_adjoints || at_once;
  /// Of a warp's rows, 16 each: as many as registers bear; but one where four warps have all keys.
  static constexpr unsigned bands = halves && !at_once && (Width <= 64 || !owns_keys) ? 2 : 1;
  static constexpr unsigned rows_of_warp = 16 * bands, rows = attention_warps * rows_of_warp;
  /// Rows of a tile: as many as registers and shared memory bear.
  static constexpr bool windowed = Masking != attention_masking::causal;
  static constexpr bool masked = Masking == attention_masking::tensor;
  static constexpr unsigned tile = !halves                 ? (Width <= 64 ? 32 : 16)
                                   : Width > 64            ? 32
                                   : masked                ? (forward     ? 64
                                                              : owns_keys ? 16
                                                                          : 32)
                                   : owns_keys && !at_once ? 32
                                                           : 64;
  /// Elements from a row to the next: 16 bytes more than the row, so that 8 rows lie in different banks.
  static constexpr unsigned pitch = Width + 16 / sizeof(T);
  static constexpr unsigned own_tiles = forward ? 1 : 2;
  static constexpr unsigned own_bytes = own_tiles * rows * pitch * sizeof(T);
  static constexpr unsigned tile_bytes = tile * pitch * sizeof(T);
  /// Of the tile's queries, where it has them: their sums, their deltas where these are given, with a mask
  /// what is subtracted.
  static constexpr unsigned statistics = at_once ? 1 : masked ? 3 : 2;
  static constexpr unsigned statistic_bytes = owns_keys ? statistics * tile * sizeof(float) : 0;
  static constexpr unsigned slot_bytes = 2 * tile_bytes + statistic_bytes;
  /// Adjoints of scores, a row for each of the block's keys, of the tile's queries; of each warp's keys what
  /// they have of the queries' deltas, and of the sums of weights.
  static constexpr unsigned slope_pitch = tile + 16 / sizeof(T);
  static constexpr unsigned slope_bytes = at_once ? rows * slope_pitch * sizeof(T) : 0;
  static constexpr unsigned delta_bytes = at_once ? attention_warps * 2 * tile * sizeof(float) : 0;
  static constexpr unsigned kept_bytes = own_bytes + slope_bytes + delta_bytes;
  /// Two, of which one is filled while the other is read, where a block of any device since sm_80 has room.
  static constexpr unsigned slots = kept_bytes + 2 * slot_bytes <= 99 * 1024 ? 2 : 1;
  static constexpr unsigned shared_bytes = kept_bytes + slots * slot_bytes;
  /// Blocks of a multiprocessor that registers are dealt for.
  static constexpr unsigned resident = owns_keys || Width > 64 || (halves && masked) ? 2
                                       : halves                                      ? (forward ? 3 : 2)
                                                                                     : (forward ? 4 : 3);
};

}  // namespace napkin::on_cuda::detail
