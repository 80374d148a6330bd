// A float as an integer, for every float: C++ leaves open what is outside the integer's range.
#pragma once

#include <concepts>
#include <limits>

namespace napkin {

/// x without its fraction; the end of the range that is nearer where To has no such number, 0 for NaN.
template <std::integral To, std::floating_point From>
constexpr To truncated(From x) {
  using of = std::numeric_limits<To>;
  constexpr From least = static_cast<From>(of::min());               // exact: 0 or a power of 2
  constexpr From beyond = static_cast<From>(of::max() / 2 + 1) * 2;  // too
  const bool inside = x >= least && x < beyond;
  const To whole = static_cast<To>(inside ? x : From(0));
  return x >= beyond ? of::max() : x < least ? of::min() : whole;
}

}  // namespace napkin
