// A program's number as an element of a tensor.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "napkin/core/dtype.hpp"
#include "napkin/core/truncate.hpp"

namespace napkin::detail {

/// Throws `error`: `number` is none of t's values.
[[noreturn]] void throw_no_element(dtype t, std::int64_t number);
[[noreturn]] void throw_no_element(dtype t, std::uint64_t number);
[[noreturn]] void throw_no_element(dtype t, double number);

template <class X>
inline constexpr bool is_small_number = false;
template <ElementType X>
inline constexpr bool is_small_number<X> = is_small_float(dtype_of<X>);

/// x as a T. Throws `error` where T is of integers and does not hold x, which would become another number;
/// a fraction is cut off, as C++ does it.
template <class T, class X>
constexpr T element_from(const X& x) {
  if constexpr (std::integral<T> && is_small_number<X>) {
    return element_from<T>(static_cast<float>(x));
  } else if constexpr (std::integral<T> && std::floating_point<X>) {
    using range = range_among<T, X>;
    // up to 1 below the least where X has such numbers: without its fraction it is one of T
    if (!(x < range::beyond && (x >= range::least || x > range::least - 1)))
      throw_no_element(dtype_of<T>, static_cast<double>(x));
  } else if constexpr (std::integral<T> && std::integral<X> && !std::same_as<T, bool>) {
    using wide = std::conditional_t<std::is_signed_v<X>, std::int64_t, std::uint64_t>;
    if (!std::in_range<T>(static_cast<wide>(x))) throw_no_element(dtype_of<T>, static_cast<wide>(x));
  }
  return static_cast<T>(x);
}

}  // namespace napkin::detail
