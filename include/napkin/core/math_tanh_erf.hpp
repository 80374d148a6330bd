// tanh and erf of float and double, branch-free: an odd polynomial near 0 and 1 minus a decaying exponential
// elsewhere, both always computed, one selected.
#pragma once

#include <napkin/core/math_exp.hpp>

namespace napkin::math {

/// Hyperbolic tangent within 2 ulp; tanh(+-infinity) = +-1, tanh(-0) = -0, NaN of NaN.
/// Below 0.6 x + x^3 P(x^2), above 1 - 2 / (e^2x + 1), which is 1 from 10 (float) or 20 (double) on.
template <std::floating_point T>
[[gnu::always_inline]] constexpr T tanh(T x) {
  if (std::is_constant_evaluated() && x != x) return x;
  constexpr T is_one = sizeof(T) == 4 ? T{10} : T{20};
  const T magnitude = abs(x);
  const T a = detail::select(magnitude > is_one, is_one, magnitude);
  const T z = detail::square(a);
  T p;
  if constexpr (std::is_same_v<T, float>)
    p = detail::horner(z, -0x1.55553ep-2f, 0x1.1109bcp-3f, -0x1.b89a04p-5f, 0x1.54bb92p-6f, -0x1.82510ep-8f);
  else
    p = detail::horner(z, -0x1.5555555555531p-2, 0x1.111111110e2e5p-3, -0x1.ba1ba1b78e4dcp-5,
                       0x1.664f47f278616p-6, -0x1.226e22cfda172p-7, 0x1.d6d0cdb015d45p-9,
                       -0x1.7d7a25aae4a08p-10, 0x1.33dd0265bc264p-11, -0x1.e33c9d60005fbp-13,
                       0x1.4cccf79859cc0p-14, -0x1.20783b0a09eaap-16);
  const T near = a + a * (z * p);
  const T far = T{1} - T{2} / (detail::exp_of_moderate(T{2} * a) + T{1});
  return copysign(detail::select(a < static_cast<T>(0.6), near, far), x);
}

/// The error function within 2 ulp; erf(+-infinity) = +-1, erf(-0) = -0, NaN of NaN.
/// Near 0 x + x P(x^2), elsewhere 1 - exp(-Q(|x|)) with Q = -log(erfc), a smooth function (the idea is
/// N. Juffa's), which is 1 from 4 (float) or 6 (double) on.
template <std::floating_point T>
[[gnu::always_inline]] constexpr T erf(T x) {
  if (std::is_constant_evaluated() && x != x) return x;
  constexpr T is_one = sizeof(T) == 4 ? T{4} : T{6};
  constexpr T border = sizeof(T) == 4 ? static_cast<T>(0.92) : T{1};
  const T magnitude = abs(x);
  const T a = detail::select(magnitude > is_one, is_one, magnitude);
  const T z = detail::square(a);
  T p, q;
  if constexpr (std::is_same_v<T, float>) {
    p = detail::horner(z, 0x1.06eba8p-3f, -0x1.812740p-2f, 0x1.ce2d60p-4f, -0x1.b80088p-6f, 0x1.544334p-8f,
                       -0x1.a5c670p-11f, 0x1.4e7ebcp-14f);
    q = detail::horner(a, 0x1.7456a0p-13f, 0x1.20b42ep+0f, 0x1.462cc2p-1f, 0x1.aa228ep-4f, -0x1.6cfb9ep-6f,
                       0x1.907decp-9f, -0x1.9d7e18p-13f);
  } else {
    p = detail::horner(z, 0x1.06eba8214db68p-3, -0x1.812746b03799cp-2, 0x1.ce2f21a03f790p-4,
                       -0x1.b82ce311a3286p-6, 0x1.565bcceddd5b0p-8, -0x1.c02dae8bf49fcp-11,
                       0x1.f9a29253dfae8p-14, -0x1.f4c7e8058a358p-17, 0x1.b96883f22a904p-20,
                       -0x1.5b7ad523707c1p-23, 0x1.d36378c243640p-27, -0x1.a0d336c4b009fp-31);
    q = detail::horner(a - T{2}, 0x1.575b329b1f510p+2, 0x1.1ac3258a8dbcfp+2, 0x1.d8f5dece92b16p-1,
                       0x1.0dc3b5fc0b8d5p-6, -0x1.d406b36e5e2e8p-9, 0x1.7ffcfa28e6956p-11,
                       -0x1.1bc3ac0e5fdcdp-13, 0x1.5b65e52f6039ap-16, -0x1.05fe3e5ff613bp-19,
                       -0x1.b5a4511e22a81p-23, 0x1.733f1c27e4fb3p-23, -0x1.ef66b5af5da3fp-25,
                       0x1.e911a9b35ccadp-27, -0x1.6808a5ee955cdp-29, 0x1.4ea941a940cb7p-33,
                       0x1.71f3247fb3a2fp-34, -0x1.31df8eee80031p-36);
  }
  const T near = a + a * p;
  const T far = T{1} - detail::exp_of_moderate(-q);
  return copysign(detail::select(a < border, near, far), x);
}

}  // namespace napkin::math
