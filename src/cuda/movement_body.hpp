// What one thread of a movement does, for the device and, in tests, for the host: functions of the arguments
// and of the thread's number. Bytes move in units of 1 to 16; what adds them up is in cuda/scatter_body.hpp.
// How the arguments are found is cuda/movement_launch.hpp's business.
#pragma once

#include "napkin/cuda/device_function.hpp"
#include "napkin/cuda/movement_call.hpp"

namespace napkin::on_cuda::detail {

inline constexpr unsigned movement_threads = 256;
inline constexpr unsigned units_per_thread = 4;  // loaded side by side, so that more is on the way at once
inline constexpr int max_axes = static_cast<int>(max_rank) + 1;  // the last one counts bytes

/// Offset: std::int32_t where all of a movement's offsets and counts are below 2^31, else std::int64_t.
template <class Offset>
using count_of = std::make_unsigned_t<Offset>;

/// Division by a number known when the call is made. 32 bits: a multiplication, for dividends below 2^31.
///
/// Source  Granlund, Montgomery, Division by Invariant Integers using Multiplication (1994), figure 4.1
template <class Offset>
struct divisor {
  count_of<Offset> value = 1;
  divisor() = default;
  explicit divisor(count_of<Offset> d) : value(d) {}
  NAPKIN_DEVICE count_of<Offset> quotient(count_of<Offset> x) const { return x / value; }
};
template <>
struct divisor<std::int32_t> {
  std::uint32_t value = 1, multiplier = 1, shift = 0;
  divisor() = default;
  explicit divisor(std::uint32_t d) : value(d) {
    while ((std::uint64_t{1} << shift) < d) ++shift;
    const std::uint64_t power = std::uint64_t{1} << shift;
    multiplier = static_cast<std::uint32_t>(((power - d) << 32) / d + 1);
  }
  NAPKIN_DEVICE std::uint32_t quotient(std::uint32_t x) const {
    return (static_cast<std::uint32_t>((std::uint64_t{x} * multiplier) >> 32) + x) >> shift;
  }
};

/// Axes that are walked together, outermost first, each with two strides.
template <class Offset>
struct walk {
  struct axis {
    divisor<Offset> size;
    Offset stride[2]{};
  };
  axis axes[max_axes];
  int rank = 0;
};

/// Of N positions of a walk, in row-major order, the two offsets.
template <unsigned N, class Offset>
NAPKIN_DEVICE void offsets_of(const walk<Offset>& w, count_of<Offset> (&at)[N], Offset (&first)[N],
                              Offset (&second)[N]) {
  NAPKIN_UNROLL for (unsigned k = 0; k < N; ++k) first[k] = second[k] = 0;
  for (int d = w.rank - 1; d >= 0; --d) {
    const auto& axis = w.axes[d];
    NAPKIN_UNROLL for (unsigned k = 0; k < N; ++k) {
      const count_of<Offset> outer = d == 0 ? 0 : axis.size.quotient(at[k]);
      const auto i = static_cast<Offset>(at[k] - outer * axis.size.value);
      first[k] += i * axis.stride[0];
      second[k] += i * axis.stride[1];
      at[k] = outer;
    }
  }
}
template <class Offset>
NAPKIN_DEVICE Offset offset_of(const walk<Offset>& w, count_of<Offset> at, int stride) {
  Offset offset = 0;
  NAPKIN_ROLL for (int d = w.rank - 1; d >= 0; --d) {
    const auto& axis = w.axes[d];
    const count_of<Offset> outer = d == 0 ? 0 : axis.size.quotient(at);
    offset += static_cast<Offset>(at - outer * axis.size.value) * axis.stride[stride];
    at = outer;
  }
  return offset;
}

/// What is moved at once.
struct alignas(16) sixteen_bytes {
  std::uint64_t x[2];
};
template <unsigned Bytes>
using unit = std::conditional_t<
    Bytes == 16, sixteen_bytes,
    std::conditional_t<Bytes == 8, std::uint64_t,
                       std::conditional_t<Bytes == 4, std::uint32_t,
                                          std::conditional_t<Bytes == 2, std::uint16_t, std::uint8_t>>>>;

/// A thread's k-th unit: neighbouring threads take neighbouring units.
template <class Count>
NAPKIN_DEVICE Count unit_number(Count thread, unsigned k) {
  return thread / movement_threads * (movement_threads * units_per_thread) + k * movement_threads +
         thread % movement_threads;
}

/// Operands of a concatenation, each by itself: stride 0 is the operand's, stride 1 the result's.
template <class Offset>
struct copy_arguments {
  walk<Offset> units;
  count_of<Offset> count = 0;
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
};

template <unsigned Bytes, class Offset>
NAPKIN_DEVICE void copy_units(const copy_arguments<Offset>& a, count_of<Offset> thread) {
  using T = unit<Bytes>;
  count_of<Offset> at[units_per_thread];
  bool is_there[units_per_thread];
  Offset from[units_per_thread], to[units_per_thread];
  NAPKIN_UNROLL for (unsigned k = 0; k < units_per_thread; ++k) {
    at[k] = unit_number(thread, k);
    is_there[k] = at[k] < a.count;
    if (!is_there[k]) at[k] = 0;
  }
  offsets_of(a.units, at, from, to);
  T x[units_per_thread];
  NAPKIN_UNROLL for (unsigned k = 0; k < units_per_thread; ++k) if (is_there[k]) x[k] =
      reinterpret_cast<const T*>(a.from)[from[k]];
  NAPKIN_UNROLL for (unsigned k = 0; k < units_per_thread;
                     ++k) if (is_there[k]) reinterpret_cast<T*>(a.to)[to[k]] = x[k];
}

/// The result of a pad in row-major order: along each axis `count` of its positions, from `start` on and
/// `step` apart, are the operand's.
template <class Offset>
struct pad_arguments {
  struct axis {
    divisor<Offset> size, step;
    Offset start = 0;
    count_of<Offset> count = 1;
    Offset stride = 0;
  };
  axis axes[max_axes];
  int rank = 0;
  count_of<Offset> count = 0;
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
};

template <unsigned Bytes, class Offset>
NAPKIN_DEVICE void pad_units(const pad_arguments<Offset>& a, count_of<Offset> thread) {
  using T = unit<Bytes>;
  count_of<Offset> number[units_per_thread], at[units_per_thread];
  bool is_copied[units_per_thread];
  Offset from[units_per_thread];
  NAPKIN_UNROLL for (unsigned k = 0; k < units_per_thread; ++k) {
    number[k] = unit_number(thread, k);
    is_copied[k] = number[k] < a.count;
    at[k] = is_copied[k] ? number[k] : 0;
    from[k] = 0;
  }
  for (int d = a.rank - 1; d >= 0; --d) {
    const auto& axis = a.axes[d];
    NAPKIN_UNROLL for (unsigned k = 0; k < units_per_thread; ++k) {
      const count_of<Offset> outer = d == 0 ? 0 : axis.size.quotient(at[k]);
      const Offset past = static_cast<Offset>(at[k] - outer * axis.size.value) - axis.start;
      const count_of<Offset> distance = past < 0 ? 0 : static_cast<count_of<Offset>>(past);
      const count_of<Offset> i = axis.step.quotient(distance);
      is_copied[k] = is_copied[k] && past >= 0 && i < axis.count && i * axis.step.value == distance;
      from[k] += static_cast<Offset>(i) * axis.stride;
      at[k] = outer;
    }
  }
  T x[units_per_thread];
  NAPKIN_UNROLL for (unsigned k = 0; k < units_per_thread; ++k) {
    x[k] = T{};
    if (is_copied[k]) x[k] = reinterpret_cast<const T*>(a.from)[from[k]];
  }
  NAPKIN_UNROLL for (unsigned k = 0; k < units_per_thread;
                     ++k) if (number[k] < a.count) reinterpret_cast<T*>(a.to)[number[k]] = x[k];
}

/// Where indices are read from.
struct index_source {
  const std::byte* from = nullptr;
  dtype type = dtype::i32;
  std::uint32_t reader = index_fault::of_gather;
  std::uint64_t size = 0;  // of the axis that they count along
  index_fault* fault = nullptr;
};

NAPKIN_DEVICE void note(const index_source& s, std::int64_t index) {
#if defined(__CUDA_ARCH__)
  const bool is_first = atomicCAS(&s.fault->noted, 0u, s.reader) == 0;
#else
  const bool is_first = s.fault->noted == 0;
  if (is_first) s.fault->noted = s.reader;
#endif
  if (!is_first) return;
  s.fault->index = index;
  s.fault->size = s.size;
}

template <class Offset>
NAPKIN_DEVICE std::int64_t index_at(const index_source& s, Offset at) {
  switch (s.type) {
    case dtype::i64:
      return reinterpret_cast<const i64*>(s.from)[at];
    case dtype::i32:
      return reinterpret_cast<const i32*>(s.from)[at];
    case dtype::i16:
      return reinterpret_cast<const i16*>(s.from)[at];
    case dtype::i8:
      return reinterpret_cast<const i8*>(s.from)[at];
    case dtype::u32:
      return reinterpret_cast<const u32*>(s.from)[at];
    case dtype::u16:
      return reinterpret_cast<const u16*>(s.from)[at];
    default:
      return reinterpret_cast<const u8*>(s.from)[at];
  }
}
/// Several on the way at once: a switch for each would wait for each.
template <unsigned N, class Offset>
NAPKIN_DEVICE void indices_at(const index_source& s, const Offset (&at)[N], std::int64_t (&to)[N]) {
  const auto load = [&]<class T>(std::type_identity<T>) {
    NAPKIN_UNROLL for (unsigned k = 0; k < N; ++k) to[k] = reinterpret_cast<const T*>(s.from)[at[k]];
  };
  switch (s.type) {
    case dtype::i64:
      return load(std::type_identity<i64>{});
    case dtype::i32:
      return load(std::type_identity<i32>{});
    case dtype::i16:
      return load(std::type_identity<i16>{});
    case dtype::i8:
      return load(std::type_identity<i8>{});
    case dtype::u32:
      return load(std::type_identity<u32>{});
    case dtype::u16:
      return load(std::type_identity<u16>{});
    default:
      return load(std::type_identity<u8>{});
  }
}
/// False for one outside the axis, which is noted.
NAPKIN_DEVICE bool is_inside(const index_source& s, std::int64_t index) {
  if (static_cast<std::uint64_t>(index) < s.size) return true;
  note(s, index);
  return false;
}

/// The result of a gather in row-major order: stride 0 is the table's, stride 1 the index's (elements).
template <class Offset>
struct gather_arguments {
  walk<Offset> units;
  count_of<Offset> count = 0;
  Offset pick_stride = 0;  // along the table's axis
  index_source index;
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
};

template <unsigned Bytes, class Offset>
NAPKIN_DEVICE void gather_units(const gather_arguments<Offset>& a, count_of<Offset> thread) {
  using T = unit<Bytes>;
  count_of<Offset> number[units_per_thread], at[units_per_thread];
  bool is_there[units_per_thread];
  Offset from[units_per_thread], index[units_per_thread];
  NAPKIN_UNROLL for (unsigned k = 0; k < units_per_thread; ++k) {
    number[k] = unit_number(thread, k);
    is_there[k] = number[k] < a.count;
    at[k] = is_there[k] ? number[k] : 0;
  }
  offsets_of(a.units, at, from, index);
  std::int64_t pick[units_per_thread];
  NAPKIN_UNROLL for (unsigned k = 0; k < units_per_thread; ++k) {
    pick[k] = 0;
    if (is_there[k]) pick[k] = index_at(a.index, index[k]);
  }
  T x[units_per_thread];
  NAPKIN_UNROLL for (unsigned k = 0; k < units_per_thread; ++k) {
    x[k] = T{};
    if (is_there[k] && is_inside(a.index, pick[k]))
      x[k] = reinterpret_cast<const T*>(a.from)[from[k] + static_cast<Offset>(pick[k]) * a.pick_stride];
  }
  NAPKIN_UNROLL for (unsigned k = 0; k < units_per_thread;
                     ++k) if (is_there[k]) reinterpret_cast<T*>(a.to)[number[k]] = x[k];
}

}  // namespace napkin::on_cuda::detail
