// Lanes: the values that a kernel computes side by side, how they go between memory and registers, and how
// they are joined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "napkin/plan/scalar.hpp"

namespace napkin::on_cpu {

using namespace planning;

/// Values that a kernel computes side by side, whatever the machine's vectors: position i of a row
/// accumulates in lane i % lane_count, which is part of what a reduction's bits are.
inline constexpr std::size_t lane_count = 16;

#if defined(__AVX512F__)
inline constexpr std::size_t vector_bytes = 64;
#elif defined(__AVX__)
inline constexpr std::size_t vector_bytes = 32;
#else
inline constexpr std::size_t vector_bytes = 16;
#endif
/// Lanes that are one of the machine's vectors; all where these are two, which compilers unroll themselves,
/// or where a value is none of a vector's.
template <class R>
inline constexpr std::size_t lanes_of_vector = sizeof(R) > 8 || 2 * vector_bytes / sizeof(R) >= lane_count
                                                   ? lane_count
                                                   : vector_bytes / sizeof(R);
template <class To, class... From>
inline constexpr bool are_of_one_size = ((sizeof(From) == sizeof(To)) && ...);
/// Lanes that what a step does to them makes one loop: a vector's, or all, where values of several sizes meet
/// and compilers find a number of lanes themselves. Into f16 rounds by way of 16 bits.
template <dtype To, dtype... From>
inline constexpr std::size_t lanes_together =
    are_of_one_size<register_type<To>, register_type<From>...>&& To != dtype::f16
        ? lanes_of_vector<register_type<To>>
        : lane_count;
/// The same between memory and registers.
template <dtype T>
inline constexpr std::size_t lanes_moved_together =
    are_of_one_size<register_type<T>, type_of<T>> ? lanes_together<T> : lane_count;

// For each lane l, `together` to a loop. At -O3 g++ unrolls a loop of 16 rounds completely before it looks for
// vectors, and finds them no more; what it leaves a loop of several vectors goes through memory between steps.
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#define NAPKIN_LANES_OF(l, count, together)                                                          \
  _Pragma("GCC unroll 16") for (std::size_t l##_first = 0; l##_first < count; l##_first += together) \
      _Pragma("GCC unroll 1") for (std::size_t l = l##_first; l < l##_first + together; ++l)
#else
#define NAPKIN_LANES_OF(l, count, together) for (std::size_t l = 0; l < count; ++l)
#endif
#define NAPKIN_LANES(l, together) NAPKIN_LANES_OF(l, lane_count, together)

// Vectors of all lanes, for what is narrower in memory than in registers. Where one vector of the machine's
// has the wide ones g++ would widen a loop's elements in pieces, and join these through memory; clang would
// store bf16 one by one. By g++ in two steps, each to twice the width, since of one to four times the width it
// makes scalars.
#if defined(__GNUC__) && !defined(__CUDACC__)
#define NAPKIN_VECTORS 1
namespace detail {
typedef std::uint8_t lane_bytes __attribute__((vector_size(lane_count)));
typedef std::uint16_t lane_halves __attribute__((vector_size(lane_count * 2)));
typedef std::uint32_t lane_words __attribute__((vector_size(lane_count * 4)));
}  // namespace detail
#else
#define NAPKIN_VECTORS 0
#endif
#if NAPKIN_VECTORS && (defined(__AVX512F__) || defined(__clang__))
#define NAPKIN_WHOLE_VECTORS 1
#else
#define NAPKIN_WHOLE_VECTORS 0
#endif

/// All lanes between memory, of any alignment, and registers. By g++ element by element, of which it makes
/// vectors: a copy of all of them in between would go through the stack in pieces, of 16 bytes where vectors
/// have 32, and the processor waits for what is read wider than it was written, ten times as long as the rest
/// takes. clang keeps the copy in registers, and does worse without.
template <dtype T>
NAPKIN_INLINE void load_lanes(const std::byte* from, register_type<T>* to) {
#if NAPKIN_WHOLE_VECTORS
  if constexpr (T == dtype::bf16) {
    detail::lane_halves narrow;
    std::memcpy(&narrow, from, sizeof narrow);
    const detail::lane_words wide = __builtin_convertvector(narrow, detail::lane_words) << 16;
    std::memcpy(to, &wide, sizeof wide);
    return;
  }
#endif
#if NAPKIN_VECTORS
  if constexpr (T == dtype::b8) {
    detail::lane_bytes narrow;
    std::memcpy(&narrow, from, sizeof narrow);
    narrow = (narrow != 0) & 1;
    const detail::lane_halves half = __builtin_convertvector(narrow, detail::lane_halves);
#if NAPKIN_WHOLE_VECTORS
    const detail::lane_words wide = __builtin_convertvector(half, detail::lane_words);
    std::memcpy(to, &wide, sizeof wide);
#else
    alignas(64) std::uint16_t x[lane_count];
    std::memcpy(x, &half, sizeof x);
    NAPKIN_LANES(l, lane_count) to[l] = x[l];
#endif
    return;
  }
#endif
#if defined(__clang__)
  alignas(64) type_of<T> x[lane_count];
  std::memcpy(static_cast<void*>(x), from, sizeof x);
  for (std::size_t l = 0; l < lane_count; ++l) to[l] = loaded<T>(x[l]);
#else
  NAPKIN_LANES(l, lanes_moved_together<T>) {
    type_of<T> x;
    std::memcpy(static_cast<void*>(&x), from + l * sizeof x, sizeof x);
    to[l] = loaded<T>(x);
  }
#endif
}
template <dtype T>
NAPKIN_INLINE void store_lanes(const register_type<T>* from, std::byte* to) {
#if NAPKIN_WHOLE_VECTORS
  if constexpr (T == dtype::bf16) {
    detail::lane_words wide;
    std::memcpy(&wide, from, sizeof wide);
    const detail::lane_halves narrow = __builtin_convertvector(wide >> 16, detail::lane_halves);
    std::memcpy(to, &narrow, sizeof narrow);
    return;
  }
  if constexpr (T == dtype::b8) {  // 0 or 1, as it has been rounded
    detail::lane_words wide;
    std::memcpy(&wide, from, sizeof wide);
    const detail::lane_halves half = __builtin_convertvector(wide, detail::lane_halves);
    const detail::lane_bytes narrow = __builtin_convertvector(half, detail::lane_bytes);
    std::memcpy(to, &narrow, sizeof narrow);
    return;
  }
#endif
#if defined(__clang__)
  alignas(64) type_of<T> x[lane_count];
  for (std::size_t l = 0; l < lane_count; ++l) x[l] = stored<T>(from[l]);
  std::memcpy(to, static_cast<const void*>(x), sizeof x);
#else
  NAPKIN_LANES(l, lanes_moved_together<T>) {
    const type_of<T> x = stored<T>(from[l]);
    std::memcpy(to + l * sizeof x, static_cast<const void*>(&x), sizeof x);
  }
#endif
}
#undef NAPKIN_WHOLE_VECTORS
#undef NAPKIN_VECTORS

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
  NAPKIN_LANES(l, lanes_of_vector<R>) {
    const R sum = total[l] + partial[l], of_partial = sum - total[l];
    lost[l] += (total[l] - (sum - of_partial)) + (partial[l] - of_partial);
    total[l] = sum;
    partial[l] = 0;
  }
}
/// What the lanes come to; of an infinity nothing is lost.
template <class R>
NAPKIN_INLINE void unfold(const R (&total)[lane_count], const R (&lost)[lane_count], R (&to)[lane_count]) {
  NAPKIN_LANES(l, lanes_of_vector<R>) {
    const R sum = total[l] + lost[l];
    to[l] = sum == sum ? sum : total[l];
  }
}

/// The lanes of a row made one, in a fixed tree. Each half is a loop and an array of its own: g++ takes it
/// for one vector, and the tree for some ten instructions; written back to where it was read it would be a
/// hundred.
template <op Kind, dtype Type, std::size_t Count = lane_count>
NAPKIN_INLINE register_type<Type> joined(const register_type<Type>* lanes) {
  if constexpr (Count == 1) {
    return rounded<Type>(lanes[0]);
  } else {
    alignas(64) register_type<Type> half[Count / 2];
    NAPKIN_LANES_OF(l, Count / 2, Count / 2) half[l] = combined<Kind, Type>(lanes[l], lanes[l + Count / 2]);
    return joined<Kind, Type, Count / 2>(half);
  }
}

}  // namespace napkin::on_cpu
