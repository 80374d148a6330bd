// What one step of a kernel does to one value: the formulas of the table of primitives on the types that
// values are computed in. Shared by compiled kernels, by the interpreter of programs and by what joins
// partial results, so that their bits are equal.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "napkin/core/dtype.hpp"
#include "napkin/ops/primitives/table.hpp"

#define NAPKIN_INLINE inline __attribute__((always_inline))

// Before a loop over lanes. At -O3 g++ unrolls one of 16 rounds completely before it looks for vectors, and
// finds them no more: a sum over columns is then four times slower than at -O2.
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#define NAPKIN_LANES _Pragma("GCC unroll 1")
#else
#define NAPKIN_LANES
#endif

namespace napkin::on_cpu {

/// Values that a kernel computes side by side, whatever the machine's vectors: position i of a row
/// accumulates in lane i % lane_count, which is part of what a reduction's bits are.
inline constexpr std::size_t lane_count = 16;

#if !defined(__CUDACC__)
namespace detail {
typedef std::uint16_t halves __attribute__((vector_size(lane_count * 2)));
typedef std::uint32_t words __attribute__((vector_size(lane_count * 4)));
}  // namespace detail
#endif

/// What a dtype is while computed with: 16- and 8-bit floats as f32 (rounded after every step), b8 as i32.
template <dtype T>
using register_type =
    std::conditional_t<is_small_float(T), float, std::conditional_t<T == dtype::b8, i32, type_of<T>>>;

/// A number as a tensor of dtype T would keep it.
template <dtype T, class R>
NAPKIN_INLINE register_type<T> rounded(R x) {
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
  } else {
    return static_cast<register_type<T>>(x);
  }
}

/// Between memory and registers. What is stored has been rounded.
template <dtype T>
NAPKIN_INLINE register_type<T> loaded(type_of<T> x) {
  if constexpr (T == dtype::bf16)
    return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16);
  else if constexpr (is_small_float(T))
    return static_cast<float>(x);
  else
    return rounded<T>(x);
}
template <dtype T>
NAPKIN_INLINE type_of<T> stored(register_type<T> x) {
  if constexpr (T == dtype::bf16) {
    type_of<T> to;
    to.bits = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16);
    return to;
  } else {
    return static_cast<type_of<T>>(x);
  }
}

/// All lanes between memory and registers.
template <dtype T>
NAPKIN_INLINE void load_lanes(const type_of<T>* from, register_type<T>* to) {
#if !defined(__CUDACC__)
  if constexpr (T == dtype::bf16) {  // a loop would widen in halves, and join them through memory
    detail::halves narrow;
    std::memcpy(&narrow, static_cast<const void*>(from), sizeof narrow);
    const detail::words wide = __builtin_convertvector(narrow, detail::words) << 16;
    std::memcpy(to, &wide, sizeof wide);
    return;
  }
#endif
  NAPKIN_LANES for (std::size_t l = 0; l < lane_count; ++l) to[l] = loaded<T>(from[l]);
}
template <dtype T>
NAPKIN_INLINE void store_lanes(const register_type<T>* from, type_of<T>* to) {
#if !defined(__CUDACC__)
  if constexpr (T == dtype::bf16) {
    detail::words wide;
    std::memcpy(&wide, from, sizeof wide);
    const detail::halves narrow = __builtin_convertvector(wide >> 16, detail::halves);
    std::memcpy(static_cast<void*>(to), &narrow, sizeof narrow);
    return;
  }
#endif
  NAPKIN_LANES for (std::size_t l = 0; l < lane_count; ++l) to[l] = stored<T>(from[l]);
}

/// Integers: x / 0 is 0, and the one quotient that overflows wraps around; neither traps, since lanes past
/// the end of a row divide whatever they hold.
template <class R>
NAPKIN_INLINE R divided(R x, R y) {
  const bool is_zero = y == R(0), is_minus_one = std::is_signed_v<R> && y == static_cast<R>(-1);
  const R quotient = static_cast<R>(x / (is_zero || is_minus_one ? R(1) : y));
  using bits = std::make_unsigned_t<R>;
  const R negated = static_cast<R>(bits(0) - static_cast<bits>(x));
  return is_zero ? R(0) : is_minus_one ? negated : quotient;
}

/// An elementwise step, or two partial results of a reduction made one.
template <op Kind, dtype Type, class... R>
NAPKIN_INLINE register_type<Type> evaluate(R... x) {
  if constexpr (Kind == op::div && is_integer(Type))
    return divided(x...);
  else
    return rounded<Type>(primitive<Kind>::apply(x...));
}

/// What an empty reduction gives.
template <op Kind, dtype Type>
NAPKIN_INLINE register_type<Type> identity_of() {
  return primitive<Kind>::template identity<register_type<Type>>();
}

/// The lanes of a row made one, in a fixed tree.
template <op Kind, dtype Type>
NAPKIN_INLINE register_type<Type> joined(const register_type<Type> (&lanes)[lane_count]) {
  register_type<Type> v[lane_count];
  for (std::size_t l = 0; l < lane_count; ++l) v[l] = lanes[l];
  for (std::size_t half = lane_count / 2; half > 0; half /= 2)
    for (std::size_t l = 0; l < half; ++l) v[l] = evaluate<Kind, Type>(v[l], v[l + half]);
  return v[0];
}

}  // namespace napkin::on_cpu
