// The innermost loop of the plain path: a small tile of C, held in registers, gains the products of a packed
// strip of A and one of B. Which instructions do it is found out at run time.
#pragma once

#include <cstddef>

namespace napkin::on_cpu::detail {

/// tile[i * stride + j] += sum over p < k of a[p * rows + i] * b[p * columns + j], p ascending. b and the
/// tile are aligned to 64 bytes, the tile's stride is a multiple of `columns`.
template <class T>
struct tile_kernel {
  std::size_t rows, columns;
  void (*run)(std::size_t k, const T* a, const T* b, T* tile, std::size_t stride);
};

// Blocks are multiples of each kernel's rows and columns.
inline constexpr std::size_t row_multiple = 24, column_multiple = 32;

/// The kernel for this processor; T is float, double or std::uint64_t.
template <class T>
const tile_kernel<T>& best_tile_kernel();

}  // namespace napkin::on_cpu::detail
