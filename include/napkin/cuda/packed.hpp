// Adjacent elements that move to and from a GPU's memory at once, 16 bytes at most.
#pragma once

#include "napkin/cuda/device_function.hpp"

namespace napkin::on_cuda::detail {

/// `Count` adjacent elements, which move 16 bytes at a time at most.
template <class T, unsigned Count>
struct alignas(sizeof(T) * Count <= 16 ? sizeof(T) * Count : 16) packed {
  T x[Count];
};
/// How many of them move at once.
template <class T, unsigned Count>
inline constexpr unsigned at_once = Count * sizeof(T) <= 16 ? Count : static_cast<unsigned>(16 / sizeof(T));

#if defined(__CUDA_ARCH__)
struct alignas(16) four_words {
  unsigned x[4];
};
struct alignas(8) two_words {
  unsigned x[2];
};
#endif
/// At most 16 bytes go to global memory at once. In PTX's own words: nvcc takes a store of a struct, or of
/// CUDA's vectors, apart into the elements that it knows, and does not always join them again.
template <class T, unsigned Count>
NAPKIN_DEVICE void put_packed(T* to, const packed<T, Count>& x) {
  static_assert(sizeof(x) <= 16);
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(T) == 2 && Count == 8) {
    // Moves join these: joined by shifts they took registers that a kernel with a full row had not.
    const auto h = [&x](unsigned i) { return __builtin_bit_cast(unsigned short, x.x[i]); };
    asm volatile(
        "{ .reg .b32 a, b, c, d; mov.b32 a, {%1, %2}; mov.b32 b, {%3, %4}; mov.b32 c, {%5, %6}; "
        "mov.b32 d, {%7, %8}; st.global.v4.b32 [%0], {a, b, c, d}; }" ::"l"(__cvta_generic_to_global(to)),
        "h"(h(0)), "h"(h(1)), "h"(h(2)), "h"(h(3)), "h"(h(4)), "h"(h(5)), "h"(h(6)), "h"(h(7))
        : "memory");
  } else if constexpr (sizeof(x) == 16) {
    const auto w = __builtin_bit_cast(four_words, x);
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)), "r"(w.x[0]),
                 "r"(w.x[1]), "r"(w.x[2]), "r"(w.x[3])
                 : "memory");
  } else if constexpr (sizeof(x) == 8 && Count > 1) {
    const auto w = __builtin_bit_cast(two_words, x);
    asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(to)), "r"(w.x[0]),
                 "r"(w.x[1])
                 : "memory");
  } else if constexpr (sizeof(x) == 4 && Count > 1) {
    asm volatile("st.global.b32 [%0], %1;" ::"l"(__cvta_generic_to_global(to)),
                 "r"(__builtin_bit_cast(unsigned, x))
                 : "memory");
  } else {
    *reinterpret_cast<packed<T, Count>*>(to) = x;
  }
#else
  *reinterpret_cast<packed<T, Count>*>(to) = x;
#endif
}

/// As many as there are, 16 bytes at a time.
template <class T, unsigned Count>
NAPKIN_DEVICE void put_adjacent(T* to, const T (&x)[Count]) {
  constexpr unsigned n = at_once<T, Count>;
  NAPKIN_UNROLL for (unsigned v = 0; v < Count; v += n) {
    packed<T, n> p;
    NAPKIN_UNROLL for (unsigned i = 0; i < n; ++i) p.x[i] = x[v + i];
    put_packed(to + v, p);
  }
}

}  // namespace napkin::on_cuda::detail
