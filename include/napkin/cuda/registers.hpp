// A thread's registers in a fused kernel: what a program's steps do to them, and how elements come from memory
// to them and go back. One step, its type and its count are a function's template arguments, so that kernels
// share it.
#pragma once

#include "napkin/cuda/device_function.hpp"
#include "napkin/cuda/packed.hpp"
#include "napkin/plan/scalar.hpp"

namespace napkin::on_cuda::detail {

using namespace planning;

/// A register of a thread, of whatever type is kept in it: what is done to registers is then the same code in
/// every kernel, which compilers read once. Arrays of them are numbered by constants and never exist.
struct alignas(8) cell {
  std::byte bytes[8];
};
template <dtype Type>
NAPKIN_DEVICE register_type<Type>& in(cell& s) {
  return *reinterpret_cast<register_type<Type>*>(s.bytes);
}

/// How many of them hold adjacent elements as they lie in memory.
template <dtype Type, unsigned Count>
inline constexpr unsigned cells_for = (Count * sizeof(type_of<Type>) + sizeof(cell) - 1) / sizeof(cell);

/// A step's value at adjacent positions: one at each (`by` 1), or the row's (`by` 0).
template <dtype Type>
struct operand {
  cell* at;
  unsigned by;
  NAPKIN_DEVICE register_type<Type> operator[](unsigned v) const { return in<Type>(at[v * by]); }
};

// ---- what steps do to `Count` registers. Row values are one.

template <op Kind, dtype Type, unsigned Count, dtype... From>
NAPKIN_DEVICE void compute(cell* to, operand<From>... x) {
  NAPKIN_UNROLL for (unsigned v = 0; v < Count; ++v) in<Type>(to[v]) = evaluate<Kind, Type>(x[v]...);
}
/// exp of differences from the largest, of which the small ones weigh nothing: their last bits may be off.
template <unsigned Count>
NAPKIN_DEVICE void compute_weights(cell* to, operand<dtype::f32> x) {
  NAPKIN_UNROLL for (unsigned v = 0; v < Count; ++v)
#if defined(__CUDA_ARCH__)
      in<dtype::f32>(to[v]) = planning::on_device::exp_briefly(x[v]);
#else
      in<dtype::f32>(to[v]) = evaluate<op::exp, dtype::f32>(x[v]);
#endif
}
template <dtype Type, unsigned Count, dtype From>
NAPKIN_DEVICE void copy(cell* to, operand<From> x) {
  NAPKIN_UNROLL for (unsigned v = 0; v < Count; ++v) in<Type>(to[v]) = x[v];
}
/// What a sum begins with: of floats -0, which an addition does not change, so that the first is none. What
/// ends a sum adds the 0 that it would have begun with.
template <op Kind, dtype Type>
NAPKIN_DEVICE constexpr register_type<Type> beginning_of() {
  if constexpr (Kind == op::sum && std::is_floating_point_v<register_type<Type>>)
    return -register_type<Type>(0);
  else
    return identity_of<Kind, Type>();
}
template <op Kind, dtype Type, unsigned Count>
NAPKIN_DEVICE void begin_sums(cell* sums) {
  NAPKIN_UNROLL for (unsigned v = 0; v < Count; ++v) in<Type>(sums[v]) = beginning_of<Kind, Type>();
}
template <op Kind, dtype Type, unsigned Count, dtype From>
NAPKIN_DEVICE void accumulate(cell* sums, operand<From> x) {
  NAPKIN_UNROLL for (unsigned v = 0; v < Count; ++v) in<Type>(sums[v]) =
      combined<Kind, Type>(in<Type>(sums[v]), x[v]);
}
template <op Kind, dtype Type, unsigned Count, dtype From>
NAPKIN_DEVICE void accumulate_in_one(cell* sum, operand<From> x) {
  NAPKIN_UNROLL for (unsigned v = 0; v < Count; ++v) in<Type>(*sum) =
      combined<Kind, Type>(in<Type>(*sum), x[v]);
}
/// The compiler is not to make it again at each use: a constant's rounding takes longer than it may save.
NAPKIN_DEVICE void keep_in_register([[maybe_unused]] float& x) {
#if defined(__CUDA_ARCH__)
  asm volatile("" : "+f"(x));
#endif
}
/// x[at], if it is one of them, added to the sum: found by halves.
template <dtype Type, unsigned Count, dtype From>
NAPKIN_DEVICE void add_chosen(cell* sum, operand<From> x, std::uint32_t at) {
  register_type<From> chosen[Count];
  NAPKIN_UNROLL for (unsigned v = 0; v < Count; ++v) chosen[v] = x[v];
  NAPKIN_UNROLL for (unsigned half = Count / 2; half > 0; half /= 2)
      NAPKIN_UNROLL for (unsigned v = 0; v < half; ++v) chosen[v] =
          (at & half) != 0 ? chosen[v + half] : chosen[v];
  if (at < Count) in<Type>(*sum) = combined<op::sum, Type>(in<Type>(*sum), chosen[0]);
}
template <op Kind, dtype Type, unsigned Count, dtype From>
NAPKIN_DEVICE void accumulate_in_memory(register_type<Type>* sums, operand<From> x) {
  using R = register_type<Type>;
  constexpr unsigned n = at_once<R, Count>;
  NAPKIN_UNROLL for (unsigned v = 0; v < Count; v += n) {
    auto s = *reinterpret_cast<const packed<R, n>*>(sums + v);
    NAPKIN_UNROLL for (unsigned i = 0; i < n; ++i) s.x[i] = combined<Kind, Type>(s.x[i], x[v + i]);
    put_packed(sums + v, s);
  }
}
/// `from`: a register for each position, or (`by` 0) one for all.
template <dtype Type, unsigned Count>
NAPKIN_DEVICE void put_sums(register_type<Type>* to, operand<Type> from) {
  register_type<Type> x[Count];
  NAPKIN_UNROLL for (unsigned v = 0; v < Count; ++v) x[v] = from[v];
  put_adjacent(to, x);
}
/// Sums of adjacent positions made one, by halves.
template <op Kind, dtype Type, unsigned Count>
NAPKIN_DEVICE void fold_sums(cell* sums) {
  NAPKIN_UNROLL for (unsigned half = Count / 2; half > 0; half /= 2)
      NAPKIN_UNROLL for (unsigned v = 0; v < half; ++v) in<Type>(sums[v]) =
          combined<Kind, Type>(in<Type>(sums[v]), in<Type>(sums[v + half]));
}
/// What the whole team has come to.
template <op Kind, dtype Type>
NAPKIN_DEVICE void end_sum(cell* sum) {
  auto& x = in<Type>(*sum);
  if constexpr (Kind == op::sum) x = combined<Kind, Type>(identity_of<Kind, Type>(), x);
  x = rounded<Type>(x);
}
/// Two of them are one register of a GPU, which has instructions for both.
template <dtype Type, unsigned Count>
inline constexpr bool is_in_pairs = (Type == dtype::bf16 || Type == dtype::f16) && Count % 2 == 0;
/// Adjacent elements on their way, as they lie in memory: few registers while others are waited for.
template <dtype Type, unsigned Count>
NAPKIN_DEVICE void fetch_adjacent(cell* to, const type_of<Type>* from) {
#if defined(__CUDA_ARCH__)
  using T = std::conditional_t<is_in_pairs<Type, Count>, std::uint32_t, type_of<Type>>;
#else
  using T = type_of<Type>;
#endif
  constexpr unsigned count = Count * sizeof(type_of<Type>) / sizeof(T), n = at_once<T, count>;
  NAPKIN_UNROLL for (unsigned v = 0; v < count; v += n) {
    const auto x = *reinterpret_cast<const packed<T, n>*>(reinterpret_cast<const T*>(from) + v);
    NAPKIN_UNROLL for (unsigned i = 0; i < n; ++i) reinterpret_cast<T*>(to)[v + i] = x.x[i];
  }
}
/// What has come, put into shared memory as it lay. In PTX's own words, as put_packed.
template <dtype Type, unsigned Count>
NAPKIN_DEVICE void put_fetched(type_of<Type>* to, const cell* from) {
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(type_of<Type>) > 1 && Count * sizeof(type_of<Type>) % 16 == 0) {
    const auto* const words = reinterpret_cast<const std::uint32_t*>(from);
    NAPKIN_UNROLL for (unsigned w = 0; w < Count * sizeof(type_of<Type>) / sizeof(std::uint32_t);
                       w +=
                       4) asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::
                                           "r"(static_cast<unsigned>(__cvta_generic_to_shared(to)) + w * 4),
                                       "r"(words[w]), "r"(words[w + 1]), "r"(words[w + 2]),
                                       "r"(words[w + 3]) : "memory");
  } else
#endif
  {
    NAPKIN_UNROLL for (unsigned v = 0; v < Count; ++v) to[v] =
        reinterpret_cast<const type_of<Type>*>(from)[v];
  }
}
/// What has come, as registers.
template <dtype Type, unsigned Count>
NAPKIN_DEVICE void take_adjacent(cell* to, const cell* from) {
  NAPKIN_UNROLL for (unsigned v = 0; v < Count; ++v) {
#if defined(__CUDA_ARCH__)
    if constexpr (is_in_pairs<Type, Count>) {
      in<Type>(to[v]) =
          planning::on_device::of_pair<Type>(reinterpret_cast<const std::uint32_t*>(from)[v / 2], v % 2 != 0);
      continue;
    }
#endif
    in<Type>(to[v]) = loaded<Type>(reinterpret_cast<const type_of<Type>*>(from)[v]);
  }
}
template <dtype Type, unsigned Count>
NAPKIN_DEVICE void load_adjacent(cell* to, const type_of<Type>* from) {
  cell fetched[cells_for<Type, Count>];
  fetch_adjacent<Type, Count>(fetched, from);
  take_adjacent<Type, Count>(to, fetched);
}
template <dtype Type, unsigned Count>
NAPKIN_DEVICE void load_strided(cell* to, const type_of<Type>* from, std::ptrdiff_t by) {
  NAPKIN_UNROLL for (unsigned v = 0; v < Count; ++v) in<Type>(to[v]) =
      loaded<Type>(from[static_cast<std::ptrdiff_t>(v) * by]);
}
/// Of another type, rounded here: two at a time where a GPU's instruction is for two.
template <dtype Type, unsigned Count, dtype From>
NAPKIN_DEVICE void store_adjacent(type_of<Type>* to, operand<From> from) {
#if defined(__CUDA_ARCH__)
  if constexpr (is_in_pairs<Type, Count>) {
    std::uint32_t pairs[Count / 2];
    NAPKIN_UNROLL for (unsigned v = 0; v < Count; v += 2) pairs[v / 2] =
        planning::on_device::pair_of<Type>(from[v], from[v + 1]);
    put_adjacent(reinterpret_cast<std::uint32_t*>(to), pairs);
  } else
#endif
  {
    type_of<Type> x[Count];
    NAPKIN_UNROLL for (unsigned v = 0; v < Count; ++v) {
      if constexpr (From == Type)
        x[v] = stored<Type>(from[v]);
      else
        x[v] = stored<Type>(rounded<Type>(from[v]));
    }
    put_adjacent(to, x);
  }
}
template <dtype Type, unsigned Count, dtype From>
NAPKIN_DEVICE void store_strided(type_of<Type>* to, operand<From> from, std::ptrdiff_t by) {
  NAPKIN_UNROLL for (unsigned v = 0; v < Count; ++v) to[static_cast<std::ptrdiff_t>(v) * by] =
      stored<Type>(from[v]);
}

}  // namespace napkin::on_cuda::detail
