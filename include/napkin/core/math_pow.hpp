// x to the power y, float and double, branch-free, with C's special cases (ISO C, F.10.4.4).
#pragma once

#include <napkin/core/math_exp.hpp>

namespace napkin::math {

namespace detail {

/// An unevaluated sum of two doubles, |low| at most half an ulp of high.
struct double_double {
  double high, low;
};

/// a * b exactly (Dekker 1971), without fma so that it vectorises and has the same bits everywhere.
[[gnu::always_inline]] constexpr double_double two_product(double a, double b) {
  constexpr double splitter = 0x1p27 + 1;
  const double a_big = a * splitter, b_big = b * splitter;
  const double a_high = a_big - (a_big - a), b_high = b_big - (b_big - b);
  const double a_low = a - a_high, b_low = b - b_high;
  const double p = a * b;
  return {p, ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low};
}

/// a + b exactly where |a| >= |b| or a = 0.
[[gnu::always_inline]] constexpr double_double fast_two_sum(double a, double b) {
  const double s = a + b;
  return {s, (a - s) + b};
}

/// log of a positive finite x with a relative error of about 2^-64, the 11 bits that exp needs in addition:
/// log(1 + f) = s (2 + 2/3 z + z^2 T(z)), s = f / (2 + f), z = s^2, all but T in double_double.
[[gnu::always_inline]] constexpr double_double log_extended(double x) {
  const auto [k, f] = split_exponent(x);
  const double_double d = fast_two_sum(2.0, f);
  const double inverse = 1.0 / d.high;
  const double s = f * inverse;
  const double_double sd = two_product(s, d.high);
  const double s_low = (((f - sd.high) - sd.low) - s * d.low) * inverse;
  const double_double z = two_product(s, s);
  const double z_low = z.low + 2.0 * s * s_low;
  constexpr double two_thirds = 0x1.5555555555555p-1, two_thirds_low = 0x1.5555555555555p-55;
  const double_double w = two_product(z.high, two_thirds);
  const double tail =
      horner(z.high, 0x1.999999999999ap-2, 0x1.2492492491fb5p-2, 0x1.c71c71c85074bp-3, 0x1.745d1664c3dccp-3,
             0x1.3b13fcd542cb0p-3, 0x1.110522160a437p-3, 0x1.e335a8a141a42p-4, 0x1.bcae5edbc9491p-4);
  const double w_low = (w.low + (z.high * two_thirds_low + z_low * two_thirds)) + (z.high * z.high) * tail;
  const double_double v = two_product(s, w.high);
  const double v_low = v.low + (s * w_low + s_low * w.high);
  constexpr double ln2_first = 0x1.62e42fefa2p-1,
                   ln2_rest = 0x1.9ef35793c7673p-41;  // 40 bits: k * it is exact
  const double_double sum = fast_two_sum(k * ln2_first, 2.0 * s);
  const double_double sum2 = fast_two_sum(sum.high, v.high);
  return fast_two_sum(sum2.high, (sum.low + sum2.low) + ((2.0 * s_low + v_low) + k * ln2_rest));
}

/// |x|^y for a positive finite |x| and |y| <= 2^64.
[[gnu::always_inline]] constexpr double pow_of_positive(double x, double y) {
  const double_double l = log_extended(x);
  const double_double p = two_product(y, l.high);
  const bool above = p.high > exp_overflow<double>, below = p.high < exp_underflow<double>;
  const double low = select(above | below, 0.0, p.low + y * l.low);
  const double clamped = select(above, exp_overflow<double>, select(below, exp_underflow<double>, p.high));
  return select(above, infinity<double>, apply_scale(exp_scaled(clamped, low)));
}

/// 2^(y log2 |x|) in double, where nothing overflows or underflows and short polynomials do.
[[gnu::always_inline]] constexpr float pow_of_positive(float x, float y) {
  const auto [k, f] = split_exponent(x);
  const double fraction = static_cast<double>(f);
  const double s = fraction / (2.0 + fraction);
  const double log2_m = s * horner(s * s, 0x1.71547652bf3fep+1, 0x1.ec709d0b6b97fp-1, 0x1.277785bf5a799p-1,
                                   0x1.a58aa8161ab17p-2, 0x1.5d1fe9aa093a2p-2);
  const double p = static_cast<double>(y) * (static_cast<double>(k) + log2_m);
  const double clamped = select(p > 129.0, 129.0, select(p < -151.0, -151.0, p));
  const rounded<double> n = round_to_integer(clamped);
  const double r = clamped - n.value;
  const double mantissa =
      horner(r, 0x1.000000026abf1p+0, 0x1.62e430ca8718bp-1, 0x1.ebfbdacda3d39p-3, 0x1.c6aed12e0b137p-5,
             0x1.3b2dc19d3da66p-7, 0x1.5f473445941fbp-10, 0x1.41d223399ee83p-13);
  const double result = mantissa * two_to_the<double>(n.integer);
  if (std::is_constant_evaluated()) {  // a conversion out of range is no constant expression
    if (result <= 0x1p-150) return 0.0f;
    if (result >= 0x1.ffffffp127) return infinity<float>;
  }
  return static_cast<float>(result);
}

}  // namespace detail

/// x^y: float within 1 ulp, double within 2, for finite results of finite x and y; subnormal results 1 ulp
/// more. A negative x needs an integer y, else NaN; x^0 and 1^y are 1 even of NaN; zeros and infinities as in
/// C.
template <std::floating_point T>
[[gnu::always_inline]] constexpr T pow(T x, T y) {
  if (std::is_constant_evaluated()) {
    if (y == T{0} || x == T{1}) return T{1};
    if (x != x || y != y) return detail::nan<T>;
  }
  constexpr T spacing_is_1 = static_cast<T>(detail::bits_of<T>{1} << detail::ieee<T>::mantissa);
  constexpr T extreme = static_cast<T>(0x1p64);  // |log x| > 2^-54, so more than this changes nothing
  const T magnitude_x = abs(x), magnitude_y = abs(y);
  const bool is_extreme = (magnitude_x == T{0}) | (magnitude_x == detail::infinity<T>);
  const T base = detail::select(is_extreme, T{1}, magnitude_x);
  const T exponent = detail::select(magnitude_y > extreme, copysign(extreme, y), y);

  const bool may_have_fraction = magnitude_y < spacing_is_1;
  const T small_y = detail::select(may_have_fraction, magnitude_y, T{0});
  const T shifted = small_y + spacing_is_1;
  const bool is_integer = (shifted - spacing_is_1) == small_y;
  const bool is_odd_small = static_cast<bool>(detail::to_bits(shifted) & 1) & is_integer & may_have_fraction;
  const bool is_odd_large = static_cast<bool>(detail::to_bits(magnitude_y) & 1) & !may_have_fraction &
                            (magnitude_y < T{2} * spacing_is_1);
  const bool is_odd = is_odd_small | is_odd_large;

  const T of_extreme = detail::select((magnitude_x == T{0}) == (y < T{0}), detail::infinity<T>, T{0});
  const T power = detail::select(is_extreme, of_extreme, detail::pow_of_positive(base, exponent));
  const T signed_power = copysign(power, detail::select(is_odd, x, T{1}));
  const bool undefined = (x < T{0}) & !is_integer & !is_extreme;
  const bool defined = (x == x) & (y == y) & !undefined;
  const T y_or_nan = detail::select(defined, signed_power, detail::nan<T>);
  return detail::select((y == T{0}) | (x == T{1}), T{1}, y_or_nan);
}

}  // namespace napkin::math
