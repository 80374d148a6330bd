// A float as an integer, for every float: C++ leaves open what is outside the integer's range.
#pragma once

#include <concepts>
#include <limits>

namespace napkin {

namespace detail {
/// An integer type's range among floats, both exact: 0 or powers of 2. Its numbers lie below `beyond`.
template <std::integral To, std::floating_point From>
struct range_among {
  static constexpr From least = static_cast<From>(std::numeric_limits<To>::min()),
                        beyond = static_cast<From>(std::numeric_limits<To>::max() / 2 + 1) * 2;
};
}  // namespace detail

/// x without its fraction; the end of the range that is nearer where To has no such number, 0 for NaN.
template <std::integral To, std::floating_point From>
constexpr To truncated(From x) {
  using of = std::numeric_limits<To>;
  constexpr From least = detail::range_among<To, From>::least, beyond = detail::range_among<To, From>::beyond;
  const bool inside = x >= least && x < beyond;
  const To whole = static_cast<To>(inside ? x : From(0));
  return x >= beyond ? of::max() : x < least ? of::min() : whole;
}

}  // namespace napkin
