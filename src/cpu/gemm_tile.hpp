// The innermost loop of a matrix product: a small tile of C, held in registers, becomes a sum over k of
// products of A's elements with rows of B. Which instructions do it is found out at run time.
#pragma once

#include <cstddef>

namespace napkin::on_cpu::detail {

/// c[i * c_row + j] = (add ? itself : 0) + sum over p < k of a[i * a_row + p * a_k] * b[p * b_row + j]. A sum
/// begins at zero and takes p ascending, by fused multiply-adds where the processor has them, so its bits
/// follow from its operands alone. a_row or a_k is 1. Nothing beyond `columns` is read or written.
template <class T>
struct tile_call {
  const T *a, *b;
  T* c;
  std::ptrdiff_t a_row, a_k, b_row, c_row;
  std::size_t k, columns;
  bool add;
};

/// What one kind of processor computes and packs with (packing: see gemm_pack.hpp).
template <class T>
struct tile_kernels {
  static constexpr std::size_t most_rows = 12, most_vectors = 2;

  std::size_t rows, width;  // the largest tile is rows x (2 * width)
  void (*pack_adjacent)(const T* from, std::size_t extent, std::size_t k, std::ptrdiff_t k_stride,
                        std::size_t width, T* to);
  void (*pack_lines)(const T* from, std::size_t extent, std::ptrdiff_t stride, std::size_t k,
                     std::size_t width, T* to);
  void (*tile[2][most_vectors][most_rows])(const tile_call<T>&);  // [a_row != 1][vectors - 1][rows - 1]

  std::size_t columns() const { return most_vectors * width; }
  void run(std::size_t tile_rows, const tile_call<T>& call) const {
    tile[call.a_row != 1][call.columns > width][tile_rows - 1](call);
  }
};

/// The kernels for this processor; T is float, double or std::uint64_t.
template <class T>
const tile_kernels<T>& best_tile_kernels();

}  // namespace napkin::on_cpu::detail
