// A convolution as the product that it is, of windows of one image: "n (h+y) (w+x) i, y x i o -> n h w o".
#pragma once

#include "napkin/cuda/plan.hpp"

namespace napkin::testing {

/// By 3 x 3, the images padded before; channels are the nearest axes.
struct convolution_sizes {
  std::size_t images, side, in, out;
  constexpr std::size_t input() const { return images * (side + 2) * (side + 2) * in; }
  constexpr std::size_t filter() const { return 9 * in * out; }
  constexpr std::size_t output() const { return images * side * side * out; }
};
constexpr on_cuda::product convolution_product(dtype type, convolution_sizes s) {
  const std::int32_t a[] = {0, 1, 2, 3, 4, 5}, b[] = {3, 4, 5, 6}, c[] = {0, 1, 2, 6};
  const auto i = static_cast<std::ptrdiff_t>(s.in), o = static_cast<std::ptrdiff_t>(s.out),
             side = static_cast<std::ptrdiff_t>(s.side), row = (side + 2) * i;
  return on_cuda::target::plan_product(
      {type, type, type},
      {{a, 6}, {s.images, s.side, s.side, 3, 3, s.in}, {(side + 2) * row, row, i, row, i, 1}},
      {{b, 4}, {3, 3, s.in, s.out}, {3 * i * o, i * o, o, 1}},
      {{c, 4}, {s.images, s.side, s.side, s.out}, {side * side * o, side * o, o, 1}});
}

}  // namespace napkin::testing
