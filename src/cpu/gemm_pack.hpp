// Copying a block of a matrix into strips that the innermost loop reads from end to end: element p of line i
// of a strip goes to to[p * width + i].
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace napkin::on_cpu::detail {

/// to[p * width + i] = from[i * stride + p * k_stride] for i < extent <= width and p < k, converted.
template <class From, class To>
void pack_converted(const From* from, std::size_t extent, std::ptrdiff_t stride, std::size_t k,
                    std::ptrdiff_t k_stride, std::size_t width, To* to) {
  const auto copy = [&](std::size_t i, std::size_t p) {
    to[p * width + i] = static_cast<To>(
        from[static_cast<std::ptrdiff_t>(i) * stride + static_cast<std::ptrdiff_t>(p) * k_stride]);
  };
  if (stride == 1) {
    for (std::size_t p = 0; p < k; ++p)
      for (std::size_t i = 0; i < extent; ++i) copy(i, p);
  } else {
    for (std::size_t i = 0; i < extent; ++i)
      for (std::size_t p = 0; p < k; ++p) copy(i, p);
  }
}

/// Two steps of k as neighbours, to[p / 2 * width * 2 + 2 * i + p % 2]; what lies beyond k is zero.
template <class T>
void pack_pairs(const T* from, std::size_t extent, std::ptrdiff_t stride, std::size_t k,
                std::ptrdiff_t k_stride, std::size_t width, T* to) {
  for (std::size_t p = 0; p < k + k % 2; ++p)
    for (std::size_t i = 0; i < extent; ++i)
      to[p / 2 * width * 2 + 2 * i + p % 2] =
          p < k ? from[static_cast<std::ptrdiff_t>(i) * stride + static_cast<std::ptrdiff_t>(p) * k_stride]
                : T{};
}

/// As pack_converted, without conversion, where stride is 1. Inlined into a function for each kind of
/// processor.
template <class T>
[[gnu::always_inline]] inline void pack_adjacent(const T* from, std::size_t extent, std::size_t k,
                                                 std::ptrdiff_t k_stride, std::size_t width, T* to) {
  constexpr std::size_t whole = 32;  // the usual strip of B
  for (std::size_t p = 0; p < k; ++p, from += k_stride, to += width) {
    if (extent == whole) {
      std::memcpy(to, from, whole * sizeof(T));
    } else if (extent >= 4) {
      for (std::size_t i = 0; i + 4 <= extent; i += 4) std::memcpy(to + i, from + i, 4 * sizeof(T));
      std::memcpy(to + extent - 4, from + extent - 4, 4 * sizeof(T));  // some once more
    } else {
      for (std::size_t i = 0; i < extent; ++i) to[i] = from[i];
    }
  }
}

/// As pack_converted, without conversion, where k_stride is 1, of bytes that need not be aligned, `stride`
/// of them from line to line: eight lines by four elements, transposed in registers, as vectors of the
/// compiler's own, since those are good on any processor. `width` is a multiple of 4; lines from extent up
/// to that repeat the last. Inlined into a function for each kind of processor.
template <class T>
[[gnu::always_inline]] inline void pack_bytes(const std::byte* from, std::size_t extent,
                                              std::ptrdiff_t stride, std::size_t k, std::size_t width,
                                              std::byte* to) {
  typedef T four [[gnu::vector_size(4 * sizeof(T))]];
  typedef T eight [[gnu::vector_size(8 * sizeof(T))]];
  for (std::size_t i = 0; i < extent; i += 8) {
    const std::byte* line[8];
    for (std::size_t r = 0; r < 8; ++r)
      line[r] = from + static_cast<std::ptrdiff_t>(std::min(i + r, extent - 1)) * stride;
    const std::size_t lines = std::min<std::size_t>(8, width - i);
    std::byte* strip = to + i * sizeof(T);
    std::size_t p = 0;
    for (; p + 4 <= k; p += 4) {
      eight x[4];
#pragma GCC unroll 4
      for (std::size_t r = 0; r < 4; ++r) {
        four low, high;
        std::memcpy(&low, line[r] + p * sizeof(T), sizeof(four));
        std::memcpy(&high, line[r + 4] + p * sizeof(T), sizeof(four));
        x[r] = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
      }
      const eight a = __builtin_shufflevector(x[0], x[1], 0, 8, 1, 9, 4, 12, 5, 13);
      const eight b = __builtin_shufflevector(x[2], x[3], 0, 8, 1, 9, 4, 12, 5, 13);
      const eight c = __builtin_shufflevector(x[0], x[1], 2, 10, 3, 11, 6, 14, 7, 15);
      const eight d = __builtin_shufflevector(x[2], x[3], 2, 10, 3, 11, 6, 14, 7, 15);
      x[0] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
      x[1] = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
      x[2] = __builtin_shufflevector(c, d, 0, 1, 8, 9, 4, 5, 12, 13);
      x[3] = __builtin_shufflevector(c, d, 2, 3, 10, 11, 6, 7, 14, 15);
#pragma GCC unroll 4
      for (std::size_t r = 0; r < 4; ++r, strip += width * sizeof(T)) {
        if (lines == 8)
          std::memcpy(strip, &x[r], 8 * sizeof(T));
        else
          std::memcpy(strip, &x[r], 4 * sizeof(T));
      }
    }
    for (; p < k; ++p, strip += width * sizeof(T))
      for (std::size_t r = 0; r < lines; ++r)
        std::memcpy(strip + r * sizeof(T), line[r] + p * sizeof(T), sizeof(T));
  }
}
template <class T>
[[gnu::always_inline]] inline void pack_lines(const T* from, std::size_t extent, std::ptrdiff_t stride,
                                              std::size_t k, std::size_t width, T* to) {
  pack_bytes<T>(reinterpret_cast<const std::byte*>(from), extent,
                stride * static_cast<std::ptrdiff_t>(sizeof(T)), k, width, reinterpret_cast<std::byte*>(to));
}

}  // namespace napkin::on_cpu::detail
