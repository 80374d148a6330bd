// What a thread of a scatter_add does, and what a block does together, for the device and, in tests, for the host:
// threads look through the indices for those of their own place; or indices become keys, CUB sorts them, and sums
// are made of pieces of the sorted keys and then joined.
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

/// Some columns of a row of the result, in one of the values' outer parts: what a thread adds up.
template <dtype Type, unsigned Vector, class Offset>
struct columns_of_row {
  using T = type_of<Type>;
  using sum = sum_type<Type>;
  using count = count_of<Offset>;
  using sums = packed<sum, Vector>;
  static constexpr unsigned vector = Vector;

  const sum_arguments<Offset>& a;
  count outer, column;

  /// number: of all columns of all outer parts.
  NAPKIN_DEVICE columns_of_row(const sum_arguments<Offset>& arguments, count number)
      : a(arguments), outer(number / a.columns), column((number - outer * a.columns) * Vector) {}
  NAPKIN_DEVICE static sums zeros() {
    sums s;
    NAPKIN_UNROLL for (unsigned v = 0; v < Vector; ++v) s.x[v] = 0;
    return s;
  }
  NAPKIN_DEVICE static void add(sums& to, const sums& x) {
    NAPKIN_UNROLL for (unsigned v = 0; v < Vector; ++v) to.x[v] += x.x[v];
  }
  NAPKIN_DEVICE static void add_values(sums& to, const packed<T, Vector>& x) {
    NAPKIN_UNROLL for (unsigned v = 0; v < Vector; ++v) to.x[v] +=
        static_cast<sum>(planning::loaded<Type>(x.x[v]));
  }
  /// Of position 0 of the picks.
  NAPKIN_DEVICE const T* values() const {
    return reinterpret_cast<const T*>(a.from) + (offset_of(a.outer, outer, 0) + offset_of(a.run, column, 0));
  }
  /// Of a piece's first segment (0), which began in an earlier piece, or of its last (1), which goes on.
  NAPKIN_DEVICE sums* partial(std::uint32_t piece, unsigned which) const {
    const count row = (static_cast<count>(piece) * 2 + which) * a.outer_count + outer;
    return reinterpret_cast<sums*>(reinterpret_cast<sum*>(a.partials) + (row * a.run_length + column));
  }
  NAPKIN_DEVICE T* result(std::uint32_t key) const {
    return reinterpret_cast<T*>(a.to) + ((outer * a.size + key) * a.run_length + column);
  }
  NAPKIN_DEVICE void write(std::uint32_t key, const sums& s) const {
    T x[Vector];
    NAPKIN_UNROLL for (unsigned v = 0; v < Vector; ++v) x[v] = stored_sum<Type>(s.x[v]);
    put_adjacent(result(key), x);
  }
};

/// Adds up each segment of a piece. A segment that lies within it goes to the result, the others to partials.
template <dtype Type, unsigned Vector, class Offset>
NAPKIN_DEVICE void sum_piece(const sum_arguments<Offset>& a, count_of<Offset> thread) {
  using place = columns_of_row<Type, Vector, Offset>;
  using T = typename place::T;
  constexpr unsigned ahead = 4;  // rows on the way at once, and the places of as many after them
  const count_of<Offset> row = a.outer_count * a.columns;
  if (thread >= static_cast<count_of<Offset>>(a.pieces) * row) return;
  const auto piece = static_cast<std::uint32_t>(thread / row);
  const place p(a, thread - piece * row);
  const std::uint32_t begin = piece * a.length, end = a.count - begin < a.length ? a.count : begin + a.length;
  const T* const values = p.values();
  std::uint32_t key[ahead], position[ahead];
  const auto find = [&](std::uint32_t i) {
    NAPKIN_UNROLL for (unsigned k = 0; k < ahead; ++k) {
      const std::uint32_t at = i + k < end ? i + k : end - 1;
      key[k] = a.keys[at];
      position[k] = a.positions[at];
    }
  };
  find(begin);
  std::uint32_t current = key[0];
  bool began_before = begin > 0 && a.keys[begin - 1] == current;
  auto sums = place::zeros();
  for (std::uint32_t i = begin; i < end; i += ahead) {
    packed<T, Vector> x[ahead];
    std::uint32_t key_of[ahead];
    NAPKIN_UNROLL for (unsigned k = 0; k < ahead; ++k) {
      x[k] = *reinterpret_cast<const packed<T, Vector>*>(values + offset_of(a.picks, position[k], 0));
      key_of[k] = key[k];
    }
    if (i + ahead < end) find(i + ahead);
    NAPKIN_UNROLL for (unsigned k = 0; k < ahead; ++k) {
      if (i + k >= end) break;
      if (key_of[k] != current) {
        if (began_before)
          put_adjacent(p.partial(piece, 0)->x, sums.x);
        else
          p.write(current, sums);
        current = key_of[k];
        began_before = false;
        sums = place::zeros();
      }
      place::add_values(sums, x[k]);
    }
  }
  if (current >= a.size) return;  // indices outside the axis are sorted last
  if (began_before)
    put_adjacent(p.partial(piece, 0)->x, sums.x);
  else if (end < a.count && a.keys[end] == current)
    put_adjacent(p.partial(piece, 1)->x, sums.x);
  else
    p.write(current, sums);
}

// What a block adds up together: `rows` of its threads take a part each of the same sums, beside one another those
// of other columns. Each keeps what it has in shared memory, and when all have, the parts are added in order.

template <unsigned Vector, class Sum>
NAPKIN_DEVICE void keep_part(Sum* shared, unsigned thread, const packed<Sum, Vector>& part) {
  NAPKIN_UNROLL for (unsigned v = 0; v < Vector; ++v) shared[thread * Vector + v] = part.x[v];
}
/// f(column of the block, element of it, sum) for those that are this thread's.
template <unsigned Vector, class Sum, class F>
NAPKIN_DEVICE void add_parts(const Sum* shared, unsigned rows, unsigned thread, F f) {
  const unsigned results = movement_threads / rows * Vector;
  for (unsigned i = thread; i < results; i += movement_threads) {
    Sum s = shared[i];
    NAPKIN_UNROLL_8 for (unsigned r = 1; r < rows; ++r) s += shared[r * results + i];
    f(i / Vector, i % Vector, s);
  }
}

/// A block of the kernel that joins pieces: a segment that begins in its piece and goes on, in some columns.
/// A part is every eighth of the partial sums.
template <dtype Type, unsigned Vector, class Offset>
struct joined_pieces {
  using place = columns_of_row<Type, Vector, Offset>;
  using sum = typename place::sum;
  using count = count_of<Offset>;
  static constexpr unsigned rows = 8, columns = movement_threads / rows;
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  const sum_arguments<Offset>& a;
  std::uint32_t piece, key = none;
  count first;  // column

  NAPKIN_DEVICE joined_pieces(const sum_arguments<Offset>& arguments, count block) : a(arguments) {
    const count of_piece = blocks_of_piece(a);
    piece = static_cast<std::uint32_t>(block / of_piece);
    first = (block - piece * of_piece) * columns;
  }
  NAPKIN_DEVICE static count blocks_of_piece(const sum_arguments<Offset>& a) {
    return (a.outer_count * a.columns + columns - 1) / columns;
  }
  /// The segment's key, which `key` is to be; or none.
  NAPKIN_DEVICE std::uint32_t find() const {
    const std::uint32_t begin = piece * a.length, end = begin + a.length;
    if (piece + 1 >= a.pieces) return none;
    const std::uint32_t found = a.keys[end - 1];
    if (a.keys[end] != found || found >= a.size) return none;
    return begin > 0 && a.keys[begin - 1] == found ? none : found;  // it began before
  }
  NAPKIN_DEVICE bool is_there(count column) const { return column < a.outer_count * a.columns; }

  NAPKIN_DEVICE void add(sum* shared, unsigned thread) const {
    constexpr unsigned ahead = 4;  // partial sums on the way at once
    auto sums = place::zeros();
    if (const count column = first + thread % columns; is_there(column)) {
      const place p(a, column);
      for (std::uint32_t i = piece + thread / columns; i < a.pieces; i += ahead * rows) {
        std::uint32_t key_of[ahead];
        NAPKIN_UNROLL for (unsigned k = 0; k < ahead; ++k) {
          const std::uint32_t at = i + k * rows;
          key_of[k] = a.keys[(at < a.pieces ? at : i) * a.length];
        }
        bool is_of[ahead];
        typename place::sums x[ahead];
        NAPKIN_UNROLL for (unsigned k = 0; k < ahead; ++k) {
          const std::uint32_t at = i + k * rows;
          is_of[k] = at == piece || (at < a.pieces && key_of[k] == key);
          x[k] = place::zeros();
          if (is_of[k]) x[k] = *p.partial(at, at == piece ? 1 : 0);
        }
        NAPKIN_UNROLL for (unsigned k = 0; k < ahead; ++k) place::add(sums, x[k]);
        if (!is_of[ahead - 1]) break;
      }
    }
    keep_part(shared, thread, sums);
  }
  NAPKIN_DEVICE void write(const sum* shared, unsigned thread) const {
    add_parts<Vector>(shared, rows, thread, [&](unsigned column, unsigned element, sum x) {
      if (is_there(first + column)) place(a, first + column).result(key)[element] = stored_sum<Type>(x);
    });
  }
};

/// Without a sort.
struct look_arguments {
  sum_arguments<std::int32_t> sums;
  index_source index;
  dtype type = dtype::f32;
  unsigned vector = 1;  // elements a thread adds side by side
  unsigned rows = 1;    // threads that look for the same ones, each through a part of the indices
  std::size_t threads() const { return std::size_t{sums.outer_count} * sums.size * sums.columns * rows; }
};

/// A block of the kernel that looks for values: of all those whose index is a row of the result, in some
/// columns. Who adds up the first columns looks for indices outside the axis.
template <dtype Type, unsigned Vector>
struct looked_for {
  using place = columns_of_row<Type, Vector, std::int32_t>;
  using sum = typename place::sum;

  const look_arguments& l;
  const sum_arguments<std::int32_t>& a;
  std::uint32_t columns, first;  // of the block; the first's number among those of all rows

  NAPKIN_DEVICE looked_for(const look_arguments& arguments, std::uint32_t block)
      : l(arguments), a(l.sums), columns(movement_threads / l.rows), first(block * columns) {}

  NAPKIN_DEVICE void add(sum* shared, unsigned thread) const {
    constexpr unsigned ahead = 8;  // indices on the way at once, then values
    auto sums = place::zeros();
    const std::uint32_t number = first + thread % columns;
    if (is_there(number)) {
      const auto [p, key] = of(number);
      const auto* const values = p.values();
      for (std::uint32_t i = thread / columns; i < a.count; i += ahead * l.rows) {
        std::int32_t at[ahead];
        NAPKIN_UNROLL for (unsigned k = 0; k < ahead; ++k) {
          const std::uint32_t pick = i + k * l.rows;
          at[k] = offset_of(a.picks, pick < a.count ? pick : i, 1);
        }
        std::int64_t index[ahead];
        indices_at(l.index, at, index);
        packed<type_of<Type>, Vector> x[ahead];
        NAPKIN_UNROLL for (unsigned k = 0; k < ahead; ++k) {
          const std::uint32_t pick = i + k * l.rows;
          if (number == 0) (void)is_inside(l.index, index[k]);
          x[k] = {};
          if (index[k] == key && pick < a.count)
            x[k] =
                *reinterpret_cast<const packed<type_of<Type>, Vector>*>(values + offset_of(a.picks, pick, 0));
        }
        NAPKIN_UNROLL for (unsigned k = 0; k < ahead; ++k) place::add_values(sums, x[k]);
      }
    }
    keep_part(shared, thread, sums);
  }
  NAPKIN_DEVICE void write(const sum* shared, unsigned thread) const {
    add_parts<Vector>(shared, l.rows, thread, [&](unsigned column, unsigned element, sum x) {
      if (!is_there(first + column)) return;
      const auto [p, key] = of(first + column);
      p.result(key)[element] = stored_sum<Type>(x);
    });
  }

 private:
  struct column_of_key {
    place columns;
    std::uint32_t key;
  };
  NAPKIN_DEVICE bool is_there(std::uint32_t number) const {
    return number < a.outer_count * a.size * a.columns;
  }
  NAPKIN_DEVICE column_of_key of(std::uint32_t number) const {
    const std::uint32_t row = number / a.columns, outer = row / a.size;
    return {place(a, outer * a.columns + (number - row * a.columns)), row - outer * a.size};
  }
};

}  // namespace napkin::on_cuda::detail
