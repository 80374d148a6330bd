// sin and cos of float (every finite argument) and double (|x| <= 1e7 in full accuracy), branch-free.
#pragma once

#include <napkin/core/math_bits.hpp>

namespace napkin::math {

namespace detail {

/// x = quadrant * pi/2 + (r + low), |r| <= pi/4; of the quadrant only the last two bits count.
template <class T>
struct reduced_angle {
  T r, low;
  std::uint32_t quadrant;
};

/// Any finite x >= 0, in double without tables: x * 2/pi modulo 4 with 2/pi cut into pieces of 29 bits, so
/// that the product of each with a float is exact. From 2^75 on, where x is a multiple of 2^52, the pieces
/// are those of 2^52 * 2/pi modulo 4, times 2^-52 (Payne and Hanek 1983, with two windows).
[[gnu::always_inline]] constexpr reduced_angle<float> reduce_angle(float x) {
  const double wide = static_cast<double>(x);
  // Compared as an integer: g++ compares floats instead and widens the mask, which takes twice the time.
  const bool huge = to_bits(wide) >= to_bits(0x1p75);
  // What is left after rounding to the spacing of the numbers at 2^54, which is 4, or at larger ones, a
  // multiple of 4, is congruent modulo 4 and below 2^26.
  constexpr double multiple_of_4 = 0x1.8p54;
  const double whole0 = wide * select(huge, 0x1.529fc26p-52, 0x1.45f306cp-1);
  const double whole1 = wide * select(huge, 0x1.57d1f53p-80, 0x1.c9c882ap-29);
  const double p0 = whole0 - ((whole0 + multiple_of_4) - multiple_of_4);
  const double p1 = whole1 - ((whole1 + multiple_of_4) - multiple_of_4);
  const double p2 = wide * select(huge, 0x1.377036cp-110, 0x1.4fe13a8p-59);
  const double p3 = wide * select(huge, 0x1.8a5664f10e410p-138, 0x1.f47d4d377036ep-86);
  const rounded<double> k = round_to_integer((p0 + p1) + p2);
  const double turn = (((p0 - k.value) + p1) + p2) + p3;  // each step exact until the result is small enough
  constexpr double half_pi = 0x1.921fb54442d18p+0;
  return {static_cast<float>(turn * half_pi), 0.0f, static_cast<std::uint32_t>(k.integer)};
}

/// Cody and Waite's reduction with pi/2 in four parts, three of 30 bits: exact products while k < 2^23, and
/// enough bits (about 144) for the double below 1e7 that is nearest to a multiple of pi/2.
[[gnu::always_inline]] constexpr reduced_angle<double> reduce_angle(double x) {
  constexpr double two_over_pi = 0x1.45f306dc9c883p-1, accurate_nowhere = 0x1p45;
  const double bounded = select(x > accurate_nowhere, 0.0, x);
  const rounded<double> k = round_to_integer(bounded * two_over_pi);
  const double a = bounded - k.value * 0x1.921fb54p+0;
  const double part1 = k.value * 0x1.10b46118p-30;
  const double b = a - part1;
  const double b_error = (a - b) - part1;
  const double part2 = k.value * 0x1.313198ap-61;
  const double c = b - part2;
  const double c_error = (b - c) - part2;
  const double rest = (b_error + c_error) - k.value * 0x1.701b839a25205p-92;
  const double r = c + rest;
  return {r, (c - r) + rest, static_cast<std::uint32_t>(k.integer)};
}

/// sin of (r + low).
template <std::floating_point T>
[[gnu::always_inline]] constexpr T sin_of_reduced(T r, T low) {
  const T z = square(r);
  if constexpr (std::is_same_v<T, float>)
    return r + r * (z * horner(z, -0x1.555546p-3f, 0x1.110776p-7f, -0x1.995282p-13f));
  else
    return r + (r * (z * horner(z, -0x1.5555555555548p-3, 0x1.111111110f716p-7, -0x1.a01a019be322fp-13,
                                0x1.71de354dedf51p-19, -0x1.ae5e447482f8cp-26, 0x1.5d88ee9b8dae4p-33)) +
                low * (T{1} - T{0.5} * z));
}

/// cos of (r + low). Double keeps what the rounding of 1 - z/2 lost.
template <std::floating_point T>
[[gnu::always_inline]] constexpr T cos_of_reduced(T r, T low) {
  const T z = square(r);
  const T half = T{0.5} * z;
  const T w = T{1} - half;
  if constexpr (std::is_same_v<T, float>)
    return w + (z * z) * horner(z, 0x1.55554ap-5f, -0x1.6c0c1ap-10f, 0x1.99e0f2p-16f);
  else
    return w + (((T{1} - w) - half) +
                ((z * z) * horner(z, 0x1.555555555554bp-5, -0x1.6c16c16c15003p-10, 0x1.a01a019c8b2d0p-16,
                                  -0x1.27e4f7ed04b26p-22, 0x1.1ee9d795d353ap-29, -0x1.8fa3c428acf41p-37) -
                 r * low));
}

/// sin(angle + quadrant * pi/2) from the angle's sine and cosine.
template <std::floating_point T>
[[gnu::always_inline]] constexpr T in_quadrant(T sine, T cosine, std::uint32_t quadrant) {
  const bits_of<T> odd = bits_of<T>{0} - static_cast<bits_of<T>>(quadrant & 1);
  const bits_of<T> sign = static_cast<bits_of<T>>(quadrant & 2) << (sizeof(T) * 8 - 2);
  return from_bits<T>(((to_bits(cosine) & odd) | (to_bits(sine) & ~odd)) ^ sign);
}

/// sin of |x| + quarters * pi/2, NaN where x is not finite. Of |x|, so that sin(-0), an odd function's, gets
/// its sign from the caller: r + r^3 P(r^2) is +0 at r = -0.
template <std::floating_point T>
[[gnu::always_inline]] constexpr T sin_of_magnitude(T x, std::uint32_t quarters) {
  const T magnitude = abs(x);
  if (std::is_constant_evaluated() && !(magnitude < infinity<T>)) return nan<T>;
  const reduced_angle<T> angle = reduce_angle(magnitude);
  const T y = in_quadrant(sin_of_reduced(angle.r, angle.low), cos_of_reduced(angle.r, angle.low),
                          angle.quadrant + quarters);
  return select(magnitude < infinity<T>, y, nan<T>);
}

}  // namespace detail

/// Sine of x radians. Float: within 2 ulp for every finite x. Double: within 1 ulp for |x| <= 1e7; beyond
/// that the absolute error grows to about ulp(x), and from 2^45 on the angle counts as 0. NaN of infinity.
template <std::floating_point T>
[[gnu::always_inline]] constexpr T sin(T x) {
  return detail::from_bits<T>(detail::to_bits(detail::sin_of_magnitude(x, 0)) ^
                              (detail::to_bits(x) & detail::sign_mask<T>));
}

/// Cosine of x radians, with the accuracy of sin.
template <std::floating_point T>
[[gnu::always_inline]] constexpr T cos(T x) {
  return detail::sin_of_magnitude(x, 1);
}

}  // namespace napkin::math
