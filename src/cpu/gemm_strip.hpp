// A strip of a matrix as tiles read it (gemm_pack.hpp), packed by what this processor does best.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "convert.hpp"
#include "gemm_pack.hpp"
#include "gemm_tile.hpp"

namespace napkin::on_cpu::detail {

/// As pack_converted. `width` is a multiple of 4, and of 8 where k_stride is 1.
template <class From, class To>
void pack_strip(const From* from, std::size_t extent, std::ptrdiff_t stride, std::size_t k,
                std::ptrdiff_t k_stride, std::size_t width, To* to) {
  if constexpr (std::is_same_v<From, To>) {
    const tile_kernels<To>& kernels = best_tile_kernels<To>();
    if (k_stride == 1) return kernels.pack_lines(from, extent, stride, k, width, to);
    if (stride == 1) return kernels.pack_adjacent(from, extent, k, k_stride, width, to);
  } else if constexpr (SmallFloat<From> && std::is_same_v<To, float>) {
    if (stride == 1) return best_conversions<From>().widen_lines(from, extent, k, k_stride, width, to);
    if (k_stride == 1) {
      constexpr std::size_t some = 8, run = 256;  // what is transposed at a time, from 8 KB on the stack
      alignas(64) To lines[some * run];
      for (std::size_t p = 0; p < k; p += run) {
        const std::size_t n = std::min(run, k - p);
        for (std::size_t i = 0; i < extent; i += some) {
          const std::size_t count = std::min(some, extent - i);
          convert_lines(from + static_cast<std::ptrdiff_t>(i) * stride + static_cast<std::ptrdiff_t>(p),
                        count, stride, n, lines);
          best_tile_kernels<To>().pack_lines(lines, count, static_cast<std::ptrdiff_t>(n), n, width,
                                             to + p * width + i);
        }
      }
      return;
    }
  }
  pack_converted(from, extent, stride, k, k_stride, width, to);
}

}  // namespace napkin::on_cpu::detail
