// Lanes: the values that a kernel computes side by side, how they go between memory and registers, and how
// they are joined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "napkin/plan/scalar.hpp"

// Before a loop over lanes. At -O3 g++ unrolls one of 16 rounds completely before it looks for vectors, and
// finds them no more: a sum over columns is then four times slower than at -O2.
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#define NAPKIN_LANES _Pragma("GCC unroll 1")
#else
#define NAPKIN_LANES
#endif

namespace napkin::on_cpu {

using namespace planning;

/// Values that a kernel computes side by side, whatever the machine's vectors: position i of a row
/// accumulates in lane i % lane_count, which is part of what a reduction's bits are.
inline constexpr std::size_t lane_count = 16;

#if !defined(__CUDACC__)
namespace detail {
typedef std::uint16_t halves __attribute__((vector_size(lane_count * 2)));
typedef std::uint32_t words __attribute__((vector_size(lane_count * 4)));
}  // namespace detail
#endif

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

/// A sum of floats along a row is begun anew after so many elements; what it came to is added to the row's
/// with what that addition loses. So a long row's sum is as exact as a short one's, whatever its length.
inline constexpr std::size_t most_unfolded = 64 * lane_count;
template <op Kind, dtype Type>
inline constexpr bool is_folded = Kind == op::sum&& is_floating(Type);

/// total + lost is the sum so far; partial begins anew.
///
/// Source  Knuth, The Art of Computer Programming, vol. 2, 4.2.2, theorem B: the rest of a sum of two
template <class R>
NAPKIN_INLINE void fold(R (&partial)[lane_count], R (&total)[lane_count], R (&lost)[lane_count]) {
  NAPKIN_LANES for (std::size_t l = 0; l < lane_count; ++l) {
    const R sum = total[l] + partial[l], of_partial = sum - total[l];
    lost[l] += (total[l] - (sum - of_partial)) + (partial[l] - of_partial);
    total[l] = sum;
    partial[l] = 0;
  }
}
/// What the lanes come to; of an infinity nothing is lost.
template <class R>
NAPKIN_INLINE void unfold(const R (&total)[lane_count], const R (&lost)[lane_count], R (&to)[lane_count]) {
  NAPKIN_LANES for (std::size_t l = 0; l < lane_count; ++l) {
    const R sum = total[l] + lost[l];
    to[l] = sum == sum ? sum : total[l];
  }
}

/// The lanes of a row made one, in a fixed tree.
template <op Kind, dtype Type>
NAPKIN_INLINE register_type<Type> joined(const register_type<Type> (&lanes)[lane_count]) {
  register_type<Type> v[lane_count];
  for (std::size_t l = 0; l < lane_count; ++l) v[l] = lanes[l];
  for (std::size_t half = lane_count / 2; half > 0; half /= 2)
    for (std::size_t l = 0; l < half; ++l) v[l] = combined<Kind, Type>(v[l], v[l + half]);
  return rounded<Type>(v[0]);
}

}  // namespace napkin::on_cpu
