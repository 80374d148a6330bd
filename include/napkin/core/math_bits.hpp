// What the elementary functions are made of: selects, exact scaling by powers of two, rounding, and the
// functions that need no approximation (abs, copysign, floor, sqrt, rsqrt). Not a place for formulas with
// coefficients: those are in math_exp, math_tanh_erf, math_trig and math_pow; math.hpp has them all.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace napkin::math {

namespace detail {

template <class T>
struct ieee;

template <>
struct ieee<float> {
  using bits = std::uint32_t;
  static constexpr int mantissa = 23;
  static constexpr bits bias = 127;
};

template <>
struct ieee<double> {
  using bits = std::uint64_t;
  static constexpr int mantissa = 52;
  static constexpr bits bias = 1023;
};

template <class T>
using bits_of = typename ieee<T>::bits;

template <class T>
inline constexpr bits_of<T> sign_mask = bits_of<T>{1} << (sizeof(T) * 8 - 1);

template <class T>
inline constexpr T infinity = std::numeric_limits<T>::infinity();

template <class T>
inline constexpr T nan = std::numeric_limits<T>::quiet_NaN();

template <std::floating_point T>
[[gnu::always_inline]] constexpr bits_of<T> to_bits(T x) {
  return std::bit_cast<bits_of<T>>(x);
}

template <std::floating_point T>
[[gnu::always_inline]] constexpr T from_bits(bits_of<T> x) {
  return std::bit_cast<T>(x);
}

/// condition ? yes : no with bit masks. A conditional expression lets the compiler sink the computation of
/// an operand into a branch, and since floating-point operations may trap, g++ then refuses to vectorise.
template <std::floating_point T>
[[gnu::always_inline]] constexpr T select(bool condition, T yes, T no) {
  const bits_of<T> mask = bits_of<T>{0} - static_cast<bits_of<T>>(condition);
  return from_bits<T>((to_bits(yes) & mask) | (to_bits(no) & ~mask));
}

/// c[0] + x (c[1] + x (c[2] + ...)), unrolled by the type system, so that the loop over lanes is the only
/// loop that the vectoriser sees.
template <std::floating_point T, std::same_as<T>... C>
[[gnu::always_inline]] constexpr T horner(T x, T c0, C... c) {
  if constexpr (sizeof...(C) == 0)
    return c0;
  else
    return c0 + x * horner(x, c...);
}

/// x * x; in constant evaluation 0 for an x so small that its square cannot count beside 1, since nvcc's
/// front end takes an underflow to 0 for an error.
template <std::floating_point T>
[[gnu::always_inline]] constexpr T square(T x) {
  constexpr T tiny = static_cast<T>(sizeof(T) == 4 ? 0x1p-40 : 0x1p-300);
  if (std::is_constant_evaluated() && x < tiny && x > -tiny) return T{0};
  return x * x;
}

template <std::floating_point T>
struct rounded {
  T value;
  bits_of<T> integer;  // two's complement
};

/// The nearest integer, ties to even, of |x| < 2^22 (float) or 2^51 (double), by adding 1.5 * 2^mantissa:
/// unlike a conversion to integer this vectorises for double below AVX-512.
template <std::floating_point T>
[[gnu::always_inline]] constexpr rounded<T> round_to_integer(T x) {
  constexpr T magic = static_cast<T>(bits_of<T>{3} << (ieee<T>::mantissa - 1));
  const T shifted = x + magic;
  return {shifted - magic, to_bits(shifted) - to_bits(magic)};
}

/// 2^n for a two's complement n within the exponents of normal numbers.
template <std::floating_point T>
[[gnu::always_inline]] constexpr T two_to_the(bits_of<T> n) {
  return from_bits<T>((n + ieee<T>::bias) << ieee<T>::mantissa);
}

}  // namespace detail

/// |x|; of NaN, NaN. Exact.
template <std::floating_point T>
[[gnu::always_inline]] constexpr T abs(T x) {
  return detail::from_bits<T>(detail::to_bits(x) & ~detail::sign_mask<T>);
}

/// The magnitude of the first with the sign of the second. Exact.
template <std::floating_point T>
[[gnu::always_inline]] constexpr T copysign(T magnitude, T sign) {
  return detail::from_bits<T>((detail::to_bits(magnitude) & ~detail::sign_mask<T>) |
                              (detail::to_bits(sign) & detail::sign_mask<T>));
}

/// The largest integer that is not above x. Exact; keeps -0, infinities and NaN.
template <std::floating_point T>
[[gnu::always_inline]] constexpr T floor(T x) {
  constexpr T two_to_mantissa = static_cast<T>(detail::bits_of<T>{1} << detail::ieee<T>::mantissa);
  const T a = abs(x);
  const bool has_fraction = a < two_to_mantissa;
  const T small = detail::select(has_fraction, a, T{0});
  const T nearest = copysign((small + two_to_mantissa) - two_to_mantissa, x);
  const T below = nearest - detail::select(nearest > x, T{1}, T{0});
  return detail::select(has_fraction, copysign(below, x), x);  // copysign: floor(-0) is -0
}

/// The square root, correctly rounded; of a negative number NaN, of -0 -0.
/// Loops over it vectorise only with -fno-math-errno (g++ must otherwise be able to call the library to set
/// errno); the flag changes no value.
template <std::floating_point T>
[[gnu::always_inline]] constexpr T sqrt(T x) {
  if (!std::is_constant_evaluated()) {
    if constexpr (std::is_same_v<T, float>)
      return __builtin_sqrtf(x);
    else
      return __builtin_sqrt(x);
  }
  if (x != x || x < 0) return detail::nan<T>;
  if (x == 0 || x == detail::infinity<T>) return x;
  // x = m * 4^k with m in [1, 4). The root of m rounded down to a multiple of the half ulp, bit by bit in
  // integers, decides the rounding exactly.
  using bits = detail::bits_of<T>;
  constexpr int mantissa = detail::ieee<T>::mantissa;
  int exponent = 0;
  while (x < std::numeric_limits<T>::min()) x *= 4, --exponent;
  const bits raw = detail::to_bits(x);
  int e = static_cast<int>(raw >> mantissa) - static_cast<int>(detail::ieee<T>::bias);
  bits m = (raw & ((bits{1} << mantissa) - 1)) | (bits{1} << mantissa);
  if (e & 1) m <<= 1, --e;
  exponent += e / 2;
  // Digit by digit: root holds mantissa + 2 bits (one below the last place), remainder stays below 2 root
  // + 1.
  bits root = 0, remainder = 0;
  for (int digit = 0; digit < mantissa + 2; ++digit) {
    const int shift = mantissa - 2 * digit;  // the next two bits of m, most significant first
    const bits pair = shift >= 0 ? (m >> shift) & 3 : shift == -1 ? (m << 1) & 3 : 0;
    remainder = (remainder << 2) | pair;
    const bits trial = (root << 2) | 1;
    root <<= 1;
    if (remainder >= trial) remainder -= trial, root |= 1;
  }
  const bits rounded_root =
      (root >> 1) + (root & 1);  // an exact half cannot occur: the root has too few bits
  const T value =
      detail::from_bits<T>((rounded_root - (bits{1} << mantissa)) + (detail::ieee<T>::bias << mantissa));
  return value * detail::two_to_the<T>(static_cast<bits>(static_cast<std::int64_t>(exponent)));
}

/// 1 / sqrt(x), two correctly rounded operations: within 1.5 ulp. Of 0 infinity with the sign of the zero.
template <std::floating_point T>
[[gnu::always_inline]] constexpr T rsqrt(T x) {
  if (std::is_constant_evaluated() && !(x > 0))  // 1 / 0 and operations on NaN are no constant expressions
    return x == 0 ? copysign(detail::infinity<T>, x) : detail::nan<T>;
  return T{1} / sqrt(x);
}

}  // namespace napkin::math
