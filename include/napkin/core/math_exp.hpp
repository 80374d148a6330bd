// exp and log of float and double, branch-free. What math_pow and math_tanh_erf share of them is in detail.
// Coefficients in this and the sibling files are minimax fits (Remez, 200 bits) made for this library.
#pragma once

#include <napkin/core/math_bits.hpp>

namespace napkin::math {

namespace detail {

/// log(2) = high + low, high with so few bits that its product with any exponent is exact.
template <class T>
inline constexpr T ln2_high = 0x1.62e4p-1f;
template <>
inline constexpr double ln2_high<double> = 0x1.62e42feep-1;
template <class T>
inline constexpr T ln2_low = 0x1.7f7d1cp-20f;
template <>
inline constexpr double ln2_low<double> = 0x1.a39ef35793c76p-33;

/// exp is infinite above `overflow`; below `underflow` it is 0.
template <class T>
inline constexpr T exp_overflow = 0x1.62e42ep+6f;
template <>
inline constexpr double exp_overflow<double> = 0x1.62e42fefa39efp+9;
template <class T>
inline constexpr T exp_underflow = -104.0f;
template <>
inline constexpr double exp_underflow<double> = -746.0;
/// So far above exp_overflow that the formula's own result is infinite, and no further than its exponents
/// reach.
template <class T>
inline constexpr T exp_infinite = 89.0f;
template <>
inline constexpr double exp_infinite<double> = 710.0;

/// mantissa * 2^exponent, mantissa in [0.7, 1.42].
template <class T>
struct scaled {
  T mantissa;
  bits_of<T> exponent;  // two's complement
};

/// exp(x + low) for exp_underflow <= x <= exp_infinite and a low of the size of x's rounding error.
/// x = n log(2) + r (Cody and Waite 1980), exp(r) = 1 + r + r^2 P(r).
template <std::floating_point T, std::same_as<T>... Low>
[[gnu::always_inline]] constexpr scaled<T> exp_scaled(T x, Low... low) {
  constexpr T log2_e = static_cast<T>(0x1.71547652b82fep+0);
  const rounded<T> n = round_to_integer(x * log2_e);
  const T r = (((x - n.value * ln2_high<T>)-n.value * ln2_low<T>)+... + low);
  constexpr T tiny = static_cast<T>(sizeof(T) == 4 ? 0x1p-40 : 0x1p-300);
  if (std::is_constant_evaluated() && abs(r) < tiny) return {T{1}, n.integer};  // as in square
  T p;
  if constexpr (std::is_same_v<T, float>)
    p = horner(r, 0x1.fffffcp-2f, 0x1.555486p-3f, 0x1.555838p-5f, 0x1.124262p-7f, 0x1.6af782p-10f);
  else
    p = horner(r, 0x1.000000000000ap-1, 0x1.55555555554f5p-3, 0x1.5555555550555p-5, 0x1.1111111128aeep-7,
               0x1.6c16c184e7543p-10, 0x1.a01a0126d68b7p-13, 0x1.a01997f0f7852p-16, 0x1.71df29aa78e08p-19,
               0x1.28af794213c80p-22, 0x1.ad7dfc412192ep-26);
  return {T{1} + (r + square(r) * p), n.integer};
}

/// The value of s, overflow and gradual underflow included: in two factors, since 2^exponent alone may be no
/// normal number. The shift is logical, of a number made positive: arithmetic ones of 64 bits need AVX-512.
template <std::floating_point T>
[[gnu::always_inline]] constexpr T apply_scale(scaled<T> s) {
  if (std::is_constant_evaluated()) {  // nvcc's front end takes an underflow to 0 for an error
    constexpr bits_of<T> half_of_smallest = bits_of<T>{0} - (ieee<T>::bias + ieee<T>::mantissa);
    const bits_of<T> distance = s.exponent - half_of_smallest;
    if ((distance & sign_mask<T>) != 0 || (distance == 0 && s.mantissa <= T{1})) return T{0};
  }
  constexpr bits_of<T> positive = 4096;
  const bits_of<T> half = ((s.exponent + positive) >> 1) - positive / 2;
  return (s.mantissa * two_to_the<T>(half)) * two_to_the<T>(s.exponent - half);
}

/// exp(x) where |x| <= 80: one factor is enough.
template <std::floating_point T>
[[gnu::always_inline]] constexpr T exp_of_moderate(T x) {
  const scaled<T> s = exp_scaled(x);
  return s.mantissa * two_to_the<T>(s.exponent);
}

/// x = 2^exponent * (1 + fraction) with 1 + fraction in [sqrt(1/2), sqrt(2)), of a positive finite x.
template <class T>
struct binary_split {
  T exponent, fraction;
};

template <std::floating_point T>
[[gnu::always_inline]] constexpr binary_split<T> split_exponent(T x) {
  using bits = bits_of<T>;
  constexpr int mantissa = ieee<T>::mantissa;
  constexpr bits sqrt_half = sizeof(T) == 4 ? bits{0x3f3504f3} : static_cast<bits>(0x3fe6a09e667f3bcdull);
  constexpr bits one = ieee<T>::bias << mantissa;
  constexpr T two_to_mantissa = static_cast<T>(bits{1} << mantissa);
  const T subnormal_scale = select(x < std::numeric_limits<T>::min(), two_to_mantissa, T{1});
  const T subnormal_bias = select(x < std::numeric_limits<T>::min(), static_cast<T>(mantissa), T{0});
  const bits above = to_bits(x * subnormal_scale) + (one - sqrt_half);
  const bits biased = above >> mantissa;
  // An integer below 2^mantissa in the low bits of the float 2^mantissa: a conversion that vectorises.
  const T exponent = from_bits<T>(to_bits(two_to_mantissa) | biased) -
                     (two_to_mantissa + static_cast<T>(ieee<T>::bias)) - subnormal_bias;
  const T m = from_bits<T>((above & ((bits{1} << mantissa) - 1)) + sqrt_half);
  return {exponent, m - T{1}};
}

/// log of a positive finite x: with s = f / (2 + f), log(1 + f) = 2 atanh(s) = f - s (f - R(s^2)); the
/// arrangement that keeps f exact is FDLIBM's (Sun Microsystems 1993, e_log.c).
template <std::floating_point T>
[[gnu::always_inline]] constexpr T log_of_positive(T x) {
  const auto [k, f] = split_exponent(x);
  const T s = f / (T{2} + f);
  const T z = s * s;
  T r;
  if constexpr (std::is_same_v<T, float>)
    r = z * horner(z, 0x1.55557cp-1f, 0x1.995cc0p-2f, 0x1.321c8ap-2f);
  else
    r = z * horner(z, 0x1.5555555555597p-1, 0x1.999999997e2efp-2, 0x1.2492494387846p-2, 0x1.c71c50aa6f50bp-3,
                   0x1.74668ae5b37abp-3, 0x1.3999b0b64dd40p-3, 0x1.2f5a059da5324p-3);
  const T half_square = T{0.5} * f * f;
  return k * ln2_high<T> - ((half_square - (s * (half_square + r) + k * ln2_low<T>)) - f);
}

}  // namespace detail

/// e^x within 1 ulp (measured: tests/unit/core/math.cpp), subnormal results included. Above log of the
/// largest finite number infinity, far below 0; NaN of NaN.
template <std::floating_point T>
[[gnu::always_inline]] constexpr T exp(T x) {
  if (std::is_constant_evaluated() && x != x) return x;  // an operation on NaN is no constant expression
  if (std::is_constant_evaluated() && x > detail::exp_overflow<T>)
    return detail::infinity<T>;  // nor overflow
  // Far below, 0 is selected, not multiplied: a masked score would take the slow path for subnormals.
  const bool below = x < detail::exp_underflow<T>;
  const T moderate = detail::select(below, T{0}, x);
  const T clamped = detail::select(moderate > detail::exp_infinite<T>, detail::exp_infinite<T>, moderate);
  return detail::select(below, T{0}, detail::apply_scale(detail::exp_scaled(clamped)));
}

/// Natural logarithm within 1 ulp, subnormal arguments included. log(0) = -infinity, of a negative number
/// NaN.
template <std::floating_point T>
[[gnu::always_inline]] constexpr T log(T x) {
  if (std::is_constant_evaluated() && x != x) return x;
  if (std::is_constant_evaluated() && x == detail::infinity<T>) return x;
  const T y = detail::log_of_positive(x);
  const T of_zero_or_less = detail::select(x == T{0}, -detail::infinity<T>, detail::nan<T>);
  const T of_positive = detail::select(x < detail::infinity<T>, y, x);
  return detail::select(x > T{0}, of_positive, of_zero_or_less);
}

}  // namespace napkin::math
