// What a GPU's thread has an instruction for, or CUDA a function: scalar.hpp takes these where a kernel runs,
// in place of formulas that suit a CPU's vectors and cost a thread some five times as many instructions.
// Conversions are the formulas' to the bit, but for which NaN; so are max and min, but for which zero;
// functions are within 2 units in the last place (CUDA C++ Programming Guide, "Mathematical Functions").
#pragma once

#if defined(__CUDA_ARCH__)

#include "napkin/ops/primitives/table.hpp"

namespace napkin::planning::on_device {

// Two at a time, of which one is 0: a processor does that at four times the rate of one. With 0 below, x as
// bf16 is its own f32.
template <dtype Type>
__device__ __forceinline__ unsigned pair_of(float low, float high) {
  unsigned both;
  if constexpr (Type == dtype::bf16)
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  else
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}
__device__ __forceinline__ float f16_value(unsigned short bits) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
}
/// The first or second of a pair.
template <dtype Type>
__device__ __forceinline__ float of_pair(unsigned both, bool second) {
  if constexpr (Type == dtype::bf16)
    return __uint_as_float(second ? both & 0xffff0000 : both << 16);
  else
    return f16_value(static_cast<unsigned short>(second ? both >> 16 : both));
}
template <dtype Type>
__device__ __forceinline__ float rounded(float x) {
  if constexpr (Type == dtype::bf16)
    return __uint_as_float(pair_of<Type>(0, x));
  else
    return of_pair<Type>(pair_of<Type>(x, 0), false);
}

/// Of f32.
template <op Kind>
inline constexpr bool has =
    Kind == op::exp || Kind == op::log || Kind == op::tanh || Kind == op::erf || Kind == op::rsqrt ||
    Kind == op::max || Kind == op::min || Kind == op::maximum || Kind == op::minimum;
template <op Kind>
__device__ __forceinline__ float apply(float x) {
  if constexpr (Kind == op::exp)
    return ::expf(x);
  else if constexpr (Kind == op::log)
    return ::logf(x);
  else if constexpr (Kind == op::tanh)
    return ::tanhf(x);
  else if constexpr (Kind == op::erf)
    return ::erff(x);
  else
    return ::rsqrtf(x);
}
/// exp in two instructions: within 2^-22 + |x| 2^-23 of itself.
__device__ __forceinline__ float exp_briefly(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x * 0x1.715476p+0f));
  return y;
}
template <op Kind>
__device__ __forceinline__ float apply(float x, float y) {
  float z;
  if constexpr (Kind == op::max || Kind == op::maximum)
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
  else
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
  return z;
}

}  // namespace napkin::planning::on_device

#endif
