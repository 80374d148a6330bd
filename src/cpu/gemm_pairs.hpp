// Products of bf16 two steps of k at a time, by the instruction that adds two products to a float (AVX512_BF16). What
// it multiplies lies in pairs: elements 2q and 2q + 1 along k are neighbours.
#pragma once

#include <cstddef>

#include "napkin/core/small_float.hpp"

namespace napkin::on_cpu::detail {

/// c[i * c_row + j] = (add ? itself : 0) + sum over q < pairs of the products of pair q of A's row i and of
/// B's column j. A sum begins at zero and takes q ascending, of each pair the second product first, rounded
/// after either; subnormal numbers count as zeros. Pair q of row i stands at a[i * a_row + q * a_pair], of
/// column j at b[q * most_columns * 2 + 2 * j], where all most_columns are readable.
struct pair_call {
  const bf16 *a, *b;
  float* c;
  std::ptrdiff_t a_row, a_pair, c_row;
  std::size_t pairs, columns;
  bool ends_alone;  // of the last pair of A's rows only the first can be read; the second is zero
  bool add;
};

struct pair_kernels {
  static constexpr std::size_t most_rows = 12, most_columns = 32, packed_rows = 16;

  void (*tile[2][2][most_rows])(const pair_call&);  // [ends_alone][columns > 16][rows - 1]
  /// Pair q of line i, from[i + 2q * k_stride] and from[i + (2q + 1) * k_stride], to
  /// to[q * width * 2 + 2 * i], for i < extent <= width; what lies beyond, and the second beyond k, is zero.
  /// `width` is 16 or 32.
  void (*pack_lines)(const bf16* from, std::size_t extent, std::size_t k, std::ptrdiff_t k_stride,
                     std::size_t width, bf16* to);
  /// The same of line i whose elements are neighbours, from[i * stride + 2q] and from[i * stride + 2q + 1],
  /// but that there may be anything beyond the extent.
  void (*pack_rows)(const bf16* from, std::size_t extent, std::ptrdiff_t stride, std::size_t k,
                    std::size_t width, bf16* to);

  void run(std::size_t rows, const pair_call& call) const {
    tile[call.ends_alone][call.columns > most_columns / 2][rows - 1](call);
  }
};

/// This processor's; null where it has no such instruction.
const pair_kernels* find_pair_kernels();

}  // namespace napkin::on_cpu::detail
