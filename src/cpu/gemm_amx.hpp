// Products of bf16 by the matrix unit that some processors have (Intel's AMX): tiles of 16 rows of 64 bytes, of which
// one instruction multiplies two and adds to a third.
#pragma once

#include <cstddef>

#include "napkin/core/small_float.hpp"

namespace napkin::on_cpu::detail {

/// c[i * c_row + j] = (add ? itself : 0) + sums of products over k, for i < 16 * row_tiles and j < 16 *
/// column_tiles, all of which are written. Of each chunk of 32 elements along k the products of even elements
/// are summed, those of odd ones apart, k ascending and each rounded once, and the two sums are added and
/// then added to what lies there; subnormal numbers count as zeros. What is packed (below) ends in zeros.
struct amx_call {
  const bf16* a;  // chunk q of row i: 32 neighbours at a[i / 16 * a_tile + i % 16 * a_row + q * a_chunk]
  std::ptrdiff_t a_tile, a_row, a_chunk;
  const bf16* a_last;  // or null: one chunk more, of packed rows
  const bf16* b;       // packed columns; b_tile elements from 16 of them to the next
  std::ptrdiff_t b_tile;
  float* c;
  std::ptrdiff_t c_row;
  std::size_t chunks;  // without a_last
  bool add;
};

struct amx_kernels {
  static constexpr std::size_t lines = 16, chunk = 32, tile = lines * chunk;  // of a tile of A or B: elements

  void (*multiply[2][2])(const amx_call&);  // [row_tiles - 1][column_tiles - 1]
  /// Line i < extent has element p < k at from[i * stride + p * k_stride]. Packed are tiles of 16 lines by 32
  /// elements, all of the first 16 lines, then of the next. Within a tile rows are line by line; columns are
  /// pairs along k, of all lines, one pair behind the other.
  void (*pack_rows)(const bf16* from, std::size_t extent, std::ptrdiff_t stride, std::size_t k,
                    std::ptrdiff_t k_stride, bf16* to);
  void (*pack_columns)(const bf16* from, std::size_t extent, std::ptrdiff_t stride, std::size_t k,
                       std::ptrdiff_t k_stride, bf16* to);
  /// What multiply gave, rounded to the nearest: sums that are subnormal are zero already.
  void (*round)(const float* from, std::size_t n, bf16* to);
  /// Around calls of multiply, on each thread.
  void (*configure)();
  void (*release)();
};

/// This processor's; null where it has no such unit or the system does not lend it.
const amx_kernels* find_amx_kernels();

/// The calling thread's matrix unit, while it lives.
class amx_in_use {
 public:
  explicit amx_in_use(const amx_kernels& kernels) : kernels_(kernels) { kernels_.configure(); }
  amx_in_use(const amx_in_use&) = delete;
  amx_in_use& operator=(const amx_in_use&) = delete;
  ~amx_in_use() { kernels_.release(); }

 private:
  const amx_kernels& kernels_;
};

}  // namespace napkin::on_cpu::detail
