// Distributions over the streams of core/philox.hpp: element i of uniform, normal, truncated_normal and
// integer is a pure function of (stream, i), made of integer operations and core/math.hpp alone, so that it
// has the same bits in a vector loop, on another thread, and on the GPU.
//
// Each distribution reads a stream from its start; two draws that must be independent need two names.
#pragma once

#include <concepts>
#include <cstdint>
#include <napkin/core/math.hpp>
#include <napkin/core/philox.hpp>
#include <type_traits>

namespace napkin {

/// Uniform on [0, 1): multiples of 2^-24 (float, one word an element) or 2^-53 (double, two).
template <std::floating_point T = float>
[[gnu::always_inline]] constexpr T uniform(random_stream s, std::uint64_t i) {
  if constexpr (std::is_same_v<T, float>)
    return static_cast<float>(static_cast<std::int32_t>(uniform_bits(s, i) >> 8)) * 0x1p-24f;
  else
    return static_cast<double>(static_cast<std::int64_t>(uniform_bits64(s, i) >> 11)) * 0x1p-53;
}

/// An integer uniform on [0, bound), of 64 random bits r: floor(r * bound / 2^64). No value's probability is
/// off by more than 2^-64; bound 0 gives 0.
[[gnu::always_inline]] constexpr std::uint32_t integer(random_stream s, std::uint64_t i,
                                                       std::uint32_t bound) {
  const std::uint64_t r = uniform_bits64(s, i);
  const std::uint64_t low = (r & 0xffffffffu) * bound, high = (r >> 32) * bound;
  return static_cast<std::uint32_t>((high + (low >> 32)) >> 32);
}

namespace detail {

/// sqrt(-2 log u) of u in (0, 1], and the sine of (turns + quarters / 4) whole turns: the two halves of
/// Box-Muller, from words as signed integers whose conversion is one instruction.
template <class T, class Bits>
[[gnu::always_inline]] constexpr T box_muller(Bits radius, Bits turns, std::uint32_t quarters) {
  using integer_of = std::make_signed_t<Bits>;
  constexpr int width = sizeof(Bits) * 8;
  // The last bits are rounded away; + 1 keeps 0 out. The largest radius is 6.6 (float) or 9.3 (double).
  constexpr T scale = sizeof(T) == 4 ? T{0x1p-31f} : static_cast<T>(0x1p-63);
  const T u = (static_cast<T>(static_cast<integer_of>(radius >> 1)) + T{1}) * scale;
  const T r = math::sqrt(T{-2} * math::log(u));
  // The angle's top two bits, rounded, are its quadrant; what is left is within half a quarter turn of it.
  const Bits quadrant = (turns >> (width - 2)) + ((turns >> (width - 3)) & 1);
  constexpr T angle_scale = static_cast<T>(sizeof(T) == 4 ? 0x1.921fb54442d18p-32 : 0x1.921fb54442d18p-64);
  const T angle = static_cast<T>(static_cast<integer_of>(turns << 2)) * angle_scale;
  const T sine = math::detail::sin_of_reduced(angle, T{0}),
          cosine = math::detail::cos_of_reduced(angle, T{0});
  return r * math::detail::in_quadrant(sine, cosine, static_cast<std::uint32_t>(quadrant) + quarters);
}

}  // namespace detail

/// Standard normal by Box and Muller (1958): elements 2 j and 2 j + 1 are the cosine and the sine of one pair
/// of words. Float: |z| < 6.6, one word an element; double: |z| < 9.4, two words an element.
template <std::floating_point T = float>
[[gnu::always_inline]] constexpr T normal(random_stream s, std::uint64_t i) {
  const std::uint32_t quarters = 1u - static_cast<std::uint32_t>(i & 1);
  if constexpr (std::is_same_v<T, float>) {
    const philox_counter words = random_block(s, i >> 2);
    const std::uint32_t radius = (i & 2) ? words[2] : words[0], turns = (i & 2) ? words[3] : words[1];
    return detail::box_muller<float>(radius, turns, quarters);
  } else {
    const philox_counter words = random_block(s, i >> 1);
    const std::uint64_t radius = (std::uint64_t{words[1]} << 32) | words[0];
    const std::uint64_t turns = (std::uint64_t{words[3]} << 32) | words[2];
    return detail::box_muller<double>(radius, turns, quarters);
  }
}

namespace detail {

/// The inverse of erf on (-1, 1): Giles's single precision polynomials (Approximating the erfinv function,
/// GPU Computing Gems 2, 2010), then one Newton step, whose error is below 1e-13 where the result is below 2
/// and 1e-9 where it is below 4.
[[gnu::always_inline]] constexpr double inverse_erf(double y) {
  const double complement = (1.0 - y) * (1.0 + y);
  const double w = -math::log(complement);
  const double centre =
      math::detail::horner(w - 2.5, 1.50140941, 0.246640727, -0.00417768164, -0.00125372503, 0.00021858087,
                           -4.39150654e-06, -3.5233877e-06, 3.43273939e-07, 2.81022636e-08);
  const double tail =
      math::detail::horner(math::sqrt(w) - 3.0, 2.83297682, 1.00167406, 0.00943887047, -0.0076224613,
                           0.00573950773, -0.00367342844, 0.00134934322, 0.000100950558, -0.000200214257);
  const double x = y * math::detail::select(w < 5.0, centre, tail);
  constexpr double half_sqrt_pi = 0x1.c5bf891b4ef6ap-1;
  return x - (math::erf(x) - y) * half_sqrt_pi * math::exp(x * x);
}

}  // namespace detail

/// Standard normal given that it lies in [low, high], by the inverse of its distribution function in double
/// with 53 random bits (two words an element), so that no draw is rejected and none depends on another.
/// Bounds are in standard deviations and low < high; accurate where the interval meets [-5, 5], beyond which
/// erf rounds to +-1 and the result is a bound.
template <std::floating_point T = float>
[[gnu::always_inline]] constexpr T truncated_normal(random_stream s, std::uint64_t i, T low, T high) {
  constexpr double sqrt_half = 0x1.6a09e667f3bcdp-1, sqrt_2 = 0x1.6a09e667f3bcdp+0;
  const double from = math::erf(static_cast<double>(low) * sqrt_half);
  const double to = math::erf(static_cast<double>(high) * sqrt_half);
  const double y = from + (to - from) * uniform<double>(s, i);
  constexpr double largest = 1.0 - 0x1p-50;  // the inverse stays finite
  const double inside = math::detail::select(math::abs(y) > largest, math::copysign(largest, y), y);
  const T z = static_cast<T>(detail::inverse_erf(inside) * sqrt_2);
  const T not_below = math::detail::select(z < low, low, z);
  return math::detail::select(not_below > high, high, not_below);
}

}  // namespace napkin
