// What one thread of a scatter_add does, for the device and, in tests, for the host: it looks through the
// indices for those of its own place; or indices become keys, CUB sorts them, and sums are made of pieces of
// the sorted keys and then joined.
#pragma once

#include "movement_body.hpp"
#include "napkin/cuda/packed.hpp"

namespace napkin::on_cuda::detail {

/// Indices made sortable, each with its position; or looked at only, where `keys` is null. Stride 1 is the
/// index's (elements).
template <class Offset>
struct key_arguments {
  walk<Offset> picks;
  count_of<Offset> count = 0;
  index_source index;
  std::uint32_t* keys = nullptr;
  std::uint32_t* positions = nullptr;
};

template <class Offset>
NAPKIN_DEVICE void write_key(const key_arguments<Offset>& a, count_of<Offset> thread) {
  if (thread >= a.count) return;
  const std::int64_t index = index_at(a.index, offset_of(a.picks, thread, 1));
  const bool inside = is_inside(a.index, index);
  if (a.keys == nullptr) return;
  a.keys[thread] = static_cast<std::uint32_t>(inside ? static_cast<std::uint64_t>(index) : a.index.size);
  a.positions[thread] = static_cast<std::uint32_t>(thread);
}

/// Sorted keys' values added up. Strides 0 are the values' (elements).
template <class Offset>
struct sum_arguments {
  walk<Offset> outer, picks, run;
  count_of<Offset> outer_count = 1, columns = 1;  // columns: threads that a row takes
  count_of<Offset> run_length = 1, size = 0;
  std::uint32_t count = 0, length = 32, pieces = 0;  // picks; of a piece; of them
  const std::uint32_t* keys = nullptr;
  const std::uint32_t* positions = nullptr;
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  std::byte* partials = nullptr;
};

/// Integers wrap around as they would in their own type.
template <dtype Type>
using sum_type =
    std::conditional_t<accumulator_of(Type) == dtype::i64, std::uint64_t, type_of<accumulator_of(Type)>>;

template <dtype Type, class Sum>
NAPKIN_DEVICE type_of<Type> stored_sum(Sum x) {
  if constexpr (is_small_float(Type))
    return planning::stored<Type>(planning::rounded<Type>(x));
  else
    return static_cast<type_of<Type>>(x);
}

/// What a thread of either kernel stands for: a piece of the sorted keys, and some columns of a row.
template <dtype Type, unsigned Vector, class Offset>
struct piece_columns {
  using T = type_of<Type>;
  using sum = sum_type<Type>;
  using count = count_of<Offset>;
  using sums = packed<sum, Vector>;

  const sum_arguments<Offset>& a;
  std::uint32_t piece, begin, end;
  count outer, column;

  NAPKIN_DEVICE piece_columns(const sum_arguments<Offset>& arguments, count thread) : a(arguments) {
    const count row = thread / a.columns;
    column = (thread - row * a.columns) * Vector;
    piece = static_cast<std::uint32_t>(row / a.outer_count);
    outer = row - piece * a.outer_count;
    begin = piece * a.length;
    end = a.count - begin < a.length ? a.count : begin + a.length;
  }
  NAPKIN_DEVICE static sums zeros() {
    sums s;
    NAPKIN_UNROLL for (unsigned v = 0; v < Vector; ++v) s.x[v] = 0;
    return s;
  }
  /// Of a piece's first segment (0), which began in an earlier piece, or of its last (1), which goes on.
  NAPKIN_DEVICE sums* partial(std::uint32_t of, unsigned which) const {
    const count row = (static_cast<count>(of) * 2 + which) * a.outer_count + outer;
    return reinterpret_cast<sums*>(reinterpret_cast<sum*>(a.partials) + (row * a.run_length + column));
  }
  NAPKIN_DEVICE void keep(unsigned which, const sums& s) const {
    put_adjacent(partial(piece, which)->x, s.x);
  }
  NAPKIN_DEVICE void write(std::uint32_t key, const sums& s) const {
    T x[Vector];
    NAPKIN_UNROLL for (unsigned v = 0; v < Vector; ++v) x[v] = stored_sum<Type>(s.x[v]);
    T* row = reinterpret_cast<T*>(a.to) + ((outer * a.size + key) * a.run_length + column);
    put_adjacent(row, x);
  }
};

/// Adds up each segment of a piece. A segment that lies within it goes to the result, the others to partials.
template <dtype Type, unsigned Vector, class Offset>
NAPKIN_DEVICE void sum_piece(const sum_arguments<Offset>& a, count_of<Offset> thread) {
  using place = piece_columns<Type, Vector, Offset>;
  using T = typename place::T;
  using sum = typename place::sum;
  constexpr unsigned ahead = 4;  // rows on the way at once
  if (thread >= static_cast<count_of<Offset>>(a.pieces) * a.outer_count * a.columns) return;
  const place p(a, thread);
  const T* values =
      reinterpret_cast<const T*>(a.from) + (offset_of(a.outer, p.outer, 0) + offset_of(a.run, p.column, 0));
  std::uint32_t current = a.keys[p.begin];
  bool began_before = p.begin > 0 && a.keys[p.begin - 1] == current;
  auto sums = place::zeros();
  for (std::uint32_t i = p.begin; i < p.end; i += ahead) {
    std::uint32_t key[ahead];
    packed<T, Vector> x[ahead];
    NAPKIN_UNROLL for (unsigned k = 0; k < ahead; ++k) {
      const std::uint32_t at = i + k < p.end ? i + k : p.end - 1;
      key[k] = a.keys[at];
      x[k] = *reinterpret_cast<const packed<T, Vector>*>(values + offset_of(a.picks, a.positions[at], 0));
    }
    NAPKIN_UNROLL for (unsigned k = 0; k < ahead; ++k) {
      if (i + k >= p.end) break;
      if (key[k] != current) {
        if (began_before)
          p.keep(0, sums);
        else
          p.write(current, sums);
        current = key[k];
        began_before = false;
        sums = place::zeros();
      }
      NAPKIN_UNROLL for (unsigned v = 0; v < Vector; ++v) sums.x[v] +=
          static_cast<sum>(planning::loaded<Type>(x[k].x[v]));
    }
  }
  if (current >= a.size) return;  // indices outside the axis are sorted last
  if (began_before)
    p.keep(0, sums);
  else if (p.end < a.count && a.keys[p.end] == current)
    p.keep(1, sums);
  else
    p.write(current, sums);
}

/// Adds the partial sums of a segment that begins in this piece and goes on, in order.
template <dtype Type, unsigned Vector, class Offset>
NAPKIN_DEVICE void join_pieces(const sum_arguments<Offset>& a, count_of<Offset> thread) {
  using place = piece_columns<Type, Vector, Offset>;
  if (thread >= static_cast<count_of<Offset>>(a.pieces) * a.outer_count * a.columns) return;
  const place p(a, thread);
  if (p.end == a.count) return;
  const std::uint32_t key = a.keys[p.end - 1];
  if (key >= a.size || a.keys[p.end] != key) return;
  if (p.begin > 0 && a.keys[p.begin - 1] == key) return;  // it began before
  std::uint32_t last = p.end, high = a.count;             // where the segment ends
  while (high - last > 1) {
    const std::uint32_t middle = last + (high - last) / 2;
    if (a.keys[middle] == key)
      last = middle;
    else
      high = middle;
  }
  auto sums = *p.partial(p.piece, 1);
  const std::uint32_t end = last / a.length + 1;
#if defined(__CUDACC__)
#pragma unroll 4
#endif
  for (std::uint32_t piece = p.piece + 1; piece < end; ++piece) {
    const auto x = *p.partial(piece, 0);
    NAPKIN_UNROLL for (unsigned v = 0; v < Vector; ++v) sums.x[v] += x.x[v];
  }
  p.write(key, sums);
}

/// Of all values those whose index is this thread's row of the result, in order. The first thread looks for
/// indices outside the axis.
template <dtype Type, unsigned Vector, class Offset>
NAPKIN_DEVICE void look_through(const sum_arguments<Offset>& a, const index_source& index,
                                count_of<Offset> thread) {
  using T = type_of<Type>;
  using sum = sum_type<Type>;
  constexpr unsigned ahead = 8;  // indices on the way at once
  if (thread >= a.outer_count * a.size * a.columns) return;
  const count_of<Offset> row = thread / a.columns, column = (thread - row * a.columns) * Vector,
                         outer = row / a.size;
  const auto key = static_cast<std::int64_t>(row - outer * a.size);
  const T* values =
      reinterpret_cast<const T*>(a.from) + (offset_of(a.outer, outer, 0) + offset_of(a.run, column, 0));
  packed<sum, Vector> sums;
  NAPKIN_UNROLL for (unsigned v = 0; v < Vector; ++v) sums.x[v] = 0;
  for (std::uint32_t i = 0; i < a.count; i += ahead) {
    std::int64_t picked[ahead];
    NAPKIN_UNROLL for (unsigned k = 0; k < ahead; ++k) {
      const std::uint32_t at = i + k < a.count ? i + k : a.count - 1;
      picked[k] = index_at(index, offset_of(a.picks, at, 1));
    }
    NAPKIN_UNROLL for (unsigned k = 0; k < ahead; ++k) {
      if (i + k >= a.count) break;
      if (thread == 0) (void)is_inside(index, picked[k]);
      if (picked[k] != key) continue;
      const auto x = *reinterpret_cast<const packed<T, Vector>*>(values + offset_of(a.picks, i + k, 0));
      NAPKIN_UNROLL for (unsigned v = 0; v < Vector; ++v) sums.x[v] +=
          static_cast<sum>(planning::loaded<Type>(x.x[v]));
    }
  }
  T x[Vector];
  NAPKIN_UNROLL for (unsigned v = 0; v < Vector; ++v) x[v] = stored_sum<Type>(sums.x[v]);
  put_adjacent(reinterpret_cast<T*>(a.to) + (row * a.run_length + column), x);
}

}  // namespace napkin::on_cuda::detail
