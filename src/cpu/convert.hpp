// Runs of 16- and 8-bit floats to f32 and back, by the instructions that this processor has: products and attention
// add in f32 what they read of these.
#pragma once

#include <cstddef>
#include <type_traits>

#include "napkin/core/small_float.hpp"

namespace napkin::on_cpu::detail {

/// The bits that T's own conversions give; but a NaN of f16 may come out quiet.
template <SmallFloat T>
struct conversions {
  void (*widen)(const T* from, std::size_t n, float* to);
  /// Rounds to the nearest, of two as near to the even one.
  void (*narrow)(const float* from, std::size_t n, T* to);
  /// to[p * width + i] = from[p * k_stride + i] for i < extent <= width and p < k.
  void (*widen_lines)(const T* from, std::size_t extent, std::size_t k, std::ptrdiff_t k_stride,
                      std::size_t width, float* to);
};

/// T is f16, bf16, f8e4m3 or f8e5m2.
template <SmallFloat T>
const conversions<T>& best_conversions();

/// n elements, converted; strides from one to the next.
template <class From, class To>
void convert_run(const From* from, std::ptrdiff_t from_stride, std::size_t n, To* to,
                 std::ptrdiff_t to_stride) {
  const bool adjacent = from_stride == 1 && to_stride == 1;
  if constexpr (SmallFloat<From> && std::is_same_v<To, float>)
    if (adjacent) return best_conversions<From>().widen(from, n, to);
  if constexpr (SmallFloat<To> && std::is_same_v<From, float>)
    if (adjacent) return best_conversions<To>().narrow(from, n, to);
  for (std::size_t i = 0; i < n; ++i, from += from_stride, to += to_stride) *to = static_cast<To>(*from);
}
/// Lines of n neighbours each, `stride` apart, behind one another.
template <class From, class To>
void convert_lines(const From* from, std::size_t lines, std::ptrdiff_t stride, std::size_t n, To* to) {
  for (std::size_t i = 0; i < lines; ++i, from += stride, to += n) convert_run(from, 1, n, to, 1);
}

}  // namespace napkin::on_cpu::detail
