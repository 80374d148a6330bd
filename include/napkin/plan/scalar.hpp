// What one step of a kernel does to one value: the formulas of the table of primitives on the types that
// values are computed in. Shared by every backend's kernels, by the interpreter of programs and by what joins
// partial results, so that their bits are equal, but for the functions that a GPU has of its own
// (device_scalar.hpp). All constexpr, which is how nvcc takes them into device code.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "napkin/core/dtype.hpp"
#include "napkin/core/truncate.hpp"
#include "napkin/ops/primitives/table.hpp"
#include "napkin/plan/device_scalar.hpp"

#define NAPKIN_INLINE inline __attribute__((always_inline))

namespace napkin::planning {

/// What a dtype is while computed with: 16- and 8-bit floats as f32 (rounded after every step), b8 as i32.
template <dtype T>
using register_type =
    std::conditional_t<is_small_float(T), float, std::conditional_t<T == dtype::b8, i32, type_of<T>>>;

/// A number as a tensor of dtype T would keep it.
template <dtype T, class R>
NAPKIN_INLINE constexpr register_type<T> rounded(R x) {
#if defined(__CUDA_ARCH__)
  if constexpr ((T == dtype::bf16 || T == dtype::f16) && std::is_same_v<R, float>)
    if (!std::is_constant_evaluated()) return on_device::rounded<T>(x);
#endif
  if constexpr (T == dtype::b8) {
    return x != R(0);
  } else if constexpr (T == dtype::bf16 && std::is_same_v<R, float>) {
    // what f32 -> bf16 -> f32 gives, without leaving 32 bits: a third of the time
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t nearest = bits + 0x7fff + ((bits >> 16) & 1), quiet = bits | 0x400000;
    const std::uint32_t is_nan = 0u - static_cast<std::uint32_t>((bits & 0x7fffffff) > 0x7f800000);
    return std::bit_cast<float>(((nearest & ~is_nan) | (quiet & is_nan)) & 0xffff0000);
  } else if constexpr (is_small_float(T)) {
    return static_cast<float>(static_cast<type_of<T>>(x));
  } else if constexpr (is_integer(T) && std::is_floating_point_v<R>) {
    return truncated<type_of<T>>(x);
  } else {
    return static_cast<register_type<T>>(x);
  }
}

/// Between memory and registers. What is stored has been rounded.
template <dtype T>
NAPKIN_INLINE constexpr register_type<T> loaded(type_of<T> x) {
#if defined(__CUDA_ARCH__)
  if constexpr (T == dtype::f16)
    if (!std::is_constant_evaluated()) return on_device::f16_value(x.bits);
#endif
  if constexpr (T == dtype::bf16)
    return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16);
  else if constexpr (is_small_float(T))
    return static_cast<float>(x);
  else
    return rounded<T>(x);
}
template <dtype T>
NAPKIN_INLINE constexpr type_of<T> stored(register_type<T> x) {
#if defined(__CUDA_ARCH__)
  if constexpr (T == dtype::f16)
    if (!std::is_constant_evaluated())
      return std::bit_cast<f16>(static_cast<std::uint16_t>(on_device::pair_of<T>(x, 0)));
#endif
  if constexpr (T == dtype::bf16) {
    type_of<T> to;
    to.bits = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16);
    return to;
  } else {
    return static_cast<type_of<T>>(x);
  }
}

/// What integers are computed in that may leave their range, and then wrap around at their own width: the
/// overflow of signed ones is undefined. 32 bits at least: what is narrower would be multiplied as an int.
template <class R>
using without_sign = std::conditional_t<(sizeof(R) < 8), std::uint32_t, std::uint64_t>;
template <op Kind>
inline constexpr bool wraps = Kind == op::neg || Kind == op::add || Kind == op::sub || Kind == op::mul ||
                              Kind == op::sum || Kind == op::product;
template <class R>
NAPKIN_INLINE constexpr R negated(R x) {
  return static_cast<R>(without_sign<R>(0) - static_cast<without_sign<R>>(x));
}
template <class R>
NAPKIN_INLINE constexpr R magnitude(R x) {
  if constexpr (std::is_unsigned_v<R>)
    return x;
  else
    return x < R(0) ? negated(x) : x;
}

/// Integers: x / 0 is 0, and the one quotient that overflows wraps around; neither traps, since lanes past
/// the end of a row divide whatever they hold.
template <class R>
NAPKIN_INLINE constexpr R divided(R x, R y) {
  const bool is_zero = y == R(0), is_minus_one = std::is_signed_v<R> && y == static_cast<R>(-1);
  const R quotient = static_cast<R>(x / (is_zero || is_minus_one ? R(1) : y));
  return is_zero ? R(0) : is_minus_one ? negated(x) : quotient;
}

/// An elementwise step.
template <op Kind, dtype Type, class... R>
NAPKIN_INLINE constexpr register_type<Type> evaluate(R... x) {
#if defined(__CUDA_ARCH__)
  if constexpr (on_device::has<Kind> && (std::is_same_v<R, float> && ...))
    if (!std::is_constant_evaluated()) return rounded<Type>(on_device::apply<Kind>(x...));
#endif
  if constexpr (Kind == op::div && is_integer(Type))
    return divided(x...);
  else if constexpr (wraps<Kind> && is_integer(Type))
    return static_cast<register_type<Type>>(primitive<Kind>::apply(static_cast<without_sign<R>>(x)...));
  else if constexpr (Kind == op::abs && is_integer(Type))
    return magnitude(x...);
  else
    return rounded<Type>(primitive<Kind>::apply(x...));
}

/// A reduction's partial result with one element more, or with another's. Of 16- and 8-bit floats it is kept
/// as f32, and rounded once, by what ends it: else 256 ones and one more would be 256. Of b8, what is not 0
/// is true.
template <op Kind, dtype Type, class X>
NAPKIN_INLINE constexpr register_type<Type> combined(register_type<Type> sum, X x) {
  constexpr dtype kept = is_small_float(Type) ? dtype::f32 : Type;
  if constexpr (Type == dtype::b8)
    return evaluate<Kind, kept>(sum, static_cast<register_type<Type>>(x != X(0)));
  else
    return evaluate<Kind, kept>(sum, static_cast<register_type<Type>>(x));
}

/// What an empty reduction gives.
template <op Kind, dtype Type>
NAPKIN_INLINE constexpr register_type<Type> identity_of() {
  return primitive<Kind>::template identity<register_type<Type>>();
}

}  // namespace napkin::planning
