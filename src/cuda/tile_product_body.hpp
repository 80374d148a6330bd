// A product in tiles on a GPU, as one thread of it runs: any strides, any number of loops of each kind. Written
// over a Machine (attention_body.hpp says what one can do): a GPU's, or threads that the tests run on the host.
//
// A block owns a tile of rows x columns of one batch index. What each row, column and term adds to an address
// is found once and kept in shared memory, so that fetching an element takes two of these and no division.
// Operands come tile by tile: the next one's elements are on their way to registers while one is multiplied,
// and then go to the other of two places in shared memory. 16-bit floats are multiplied by mma.m16n8k16, whose
// ldmatrix turns what was fetched along rows; others by FMA, eight or four rows x four columns a thread, from
// shared memory that holds them as they are summed, term by term. Results leave by way of shared memory, in
// the order in which they lie, and are rounded once.
#pragma once

#include <type_traits>

#include "napkin/cuda/device_function.hpp"
#include "napkin/cuda/packed.hpp"
#include "napkin/cuda/tile_product.hpp"
#include "napkin/plan/scalar.hpp"

namespace napkin::on_cuda::detail {

struct tile_arguments {
  tile_product how;
  const void *a, *b;  // in the kernel's order
  void *c, *sums;     // sums: of blocks that share a tile, where there are any
};

/// Elements from a row of shared memory to the next, such a row along terms or along the tile's rows: so that
/// what a warp reads lies in different banks.
constexpr unsigned pitch_along_terms(tile_shape tile) { return tile.depth + 8; }
constexpr unsigned pitch_along_rows(dtype type, unsigned extent) { return extent + (has_mma(type) ? 8 : 4); }
/// Of one operand's tile: of halves in either order.
constexpr unsigned tile_elements(dtype type, tile_shape tile, unsigned extent) {
  const unsigned along_rows = tile.depth * pitch_along_rows(type, extent),
                 along_terms = extent * pitch_along_terms(tile);
  return has_mma(type) && along_terms > along_rows ? along_terms : along_rows;
}

template <dtype Type, bool Narrow>
class product_memory {
 public:
  static constexpr tile_shape tile = product_tile_of(Type, Narrow);
  static constexpr bool mma = has_mma(Type);
  using A = type_of<accumulator_of(Type)>;
  using element = std::conditional_t<mma, type_of<Type>, A>;  // of a tile

  static constexpr unsigned of_a = tile_elements(Type, tile, tile.rows),
                            slot = of_a + tile_elements(Type, tile, tile.columns);
  /// Results leave a band of rows at a time.
  static constexpr unsigned band = 32, band_pitch = tile.columns + 1;
  static_assert(band * band_pitch * sizeof(A) <= 2 * slot * sizeof(element));

  alignas(16) element operands[2][slot];
  std::int64_t row_of_a[tile.rows], row_of_c[tile.rows], column_of_b[tile.columns], column_of_c[tile.columns];
  std::int64_t term_of_a[2][tile.depth], term_of_b[2][tile.depth];

  NAPKIN_DEVICE element* a(unsigned s) { return operands[s]; }
  NAPKIN_DEVICE element* b(unsigned s) { return operands[s] + of_a; }
  NAPKIN_DEVICE A* results() { return reinterpret_cast<A*>(operands); }
};

template <class Machine, dtype Type, bool Narrow>
class tile_thread {
  using memory = product_memory<Type, Narrow>;
  using T = type_of<Type>;
  using A = typename memory::A;
  using element = typename memory::element;
  static constexpr tile_shape tile = memory::tile;
  static constexpr bool mma = memory::mma;
  static constexpr unsigned vector = tile_vector(Type), threads = tile.threads;

  // By FMA: a thread's rows are four adjacent ones of each half of the tile where they are eight.
  static constexpr unsigned thread_columns = 4, thread_rows = tile.rows * tile.columns / threads / 4;
  static constexpr unsigned across = tile.columns / thread_columns;
  // By mma: a warp has two bands of 16 rows, and the columns that four warps leave.
  static constexpr unsigned warp_columns = Narrow ? 16 : 32, column_tiles = warp_columns / 8;

  Machine& m_;
  const tile_arguments& k_;
  memory& s_;
  std::uint64_t first_row_ = 0, first_column_ = 0, first_term_ = 0, end_term_ = 0;

 public:
  NAPKIN_DEVICE tile_thread(Machine& machine, const tile_arguments& k, memory& shared)
      : m_(machine), k_(k), s_(shared) {}

  /// Columns' tiles are next to one another, so that what blocks read of rows is in the second cache.
  NAPKIN_DEVICE void run(std::uint64_t number) {
    const tile_product& p = k_.how;
    first_column_ = number % p.column_tiles * tile.columns;
    number /= p.column_tiles;
    first_row_ = number % p.row_tiles * tile.rows;
    number /= p.row_tiles;
    const std::uint64_t batch = number % p.batch.points, split = number / p.batch.points;
    first_term_ = split * p.terms_of_split;
    end_term_ = least(first_term_ + p.terms_of_split, p.summed.points);

    const loop_offsets origin = offsets_at(p.batch, batch);
    const T* const a = static_cast<const T*>(k_.a) + origin.a;
    const T* const b = static_cast<const T*>(k_.b) + origin.b;
    note_rows_and_columns();
    note_terms(0), note_terms(1);
    m_.sync();
    sums sum{};
    multiply_all(a, b, sum);
    if (p.splits == 1) {
      T* const c = static_cast<T*>(k_.c) + origin.c;
      put(sum, p.results_along_rows, [&](unsigned row, unsigned column, A x) {
        c[s_.row_of_c[row] + s_.column_of_c[column]] = planning::stored<Type>(planning::rounded<Type>(x));
      });
    } else {
      A* const c =
          static_cast<A*>(k_.sums) + (split * p.batch.points + batch) * p.rows.points * p.columns.points;
      put(sum, false, [&](unsigned row, unsigned column, A x) {
        c[(first_row_ + row) * p.columns.points + first_column_ + column] = x;
      });
    }
  }

 private:
  struct fma_sums {
    A x[thread_rows][thread_columns];
  };
  struct mma_sums {
    float x[2][column_tiles][4];
  };
  using sums = std::conditional_t<mma, mma_sums, fma_sums>;

  NAPKIN_DEVICE unsigned thread() const { return m_.warp() * 32 + m_.lane(); }
  NAPKIN_DEVICE static std::uint64_t least(std::uint64_t x, std::uint64_t y) { return x < y ? x : y; }
  /// How many of `most` there are from `first` on.
  NAPKIN_DEVICE static unsigned rest(std::uint64_t first, std::uint64_t end, unsigned most) {
    return first >= end ? 0 : static_cast<unsigned>(least(end - first, most));
  }
  NAPKIN_DEVICE unsigned rows() const { return rest(first_row_, k_.how.rows.points, tile.rows); }
  NAPKIN_DEVICE unsigned columns() const { return rest(first_column_, k_.how.columns.points, tile.columns); }

  // ---- addresses

  NAPKIN_DEVICE void note_rows_and_columns() {
    for (unsigned i = thread(); i < rows(); i += threads) {
      const loop_offsets at = offsets_at(k_.how.rows, first_row_ + i);
      s_.row_of_a[i] = at.a, s_.row_of_c[i] = at.c;
    }
    for (unsigned i = thread(); i < columns(); i += threads) {
      const loop_offsets at = offsets_at(k_.how.columns, first_column_ + i);
      s_.column_of_b[i] = at.b, s_.column_of_c[i] = at.c;
    }
  }
  /// Of the terms of a step, in the place that its parity names.
  NAPKIN_DEVICE void note_terms(unsigned step) {
    const std::uint64_t first = first_term_ + std::uint64_t{step} * tile.depth;
    if (const unsigned i = thread(); i < rest(first, end_term_, tile.depth)) {
      const loop_offsets at = offsets_at(k_.how.summed, first + i);
      s_.term_of_a[step % 2][i] = at.a, s_.term_of_b[step % 2][i] = at.b;
    }
  }

  // ---- fetching

  /// What a thread has of an operand's tile on its way.
  template <unsigned Extent>
  struct fetched {
    static constexpr unsigned elements = Extent * tile.depth;
    static constexpr unsigned pieces = elements / vector, turns = (pieces + threads - 1) / threads,
                              single_turns = (elements + threads - 1) / threads;
    static constexpr unsigned size = turns * vector > single_turns ? turns* vector : single_turns;
    T x[size];

    NAPKIN_DEVICE void set(unsigned at, T value) { x[at] = value; }
    NAPKIN_DEVICE T get(unsigned at) const { return x[at]; }
    NAPKIN_DEVICE void set_adjacent(unsigned at, const packed<T, vector>& values) {
      NAPKIN_UNROLL for (unsigned i = 0; i < vector; ++i) x[at + i] = values.x[i];
    }
  };
  /// Halves two a register, or they would take as many as the sums.
  template <unsigned Extent>
  struct fetched_halves {
    std::uint32_t x[(fetched<Extent>::size + 1) / 2];

    NAPKIN_DEVICE void set(unsigned at, T value) {
      std::uint32_t bits = __builtin_bit_cast(std::uint16_t, value);  // const, nvcc 13 fails to evaluate it
      x[at / 2] = at % 2 == 0 ? bits : x[at / 2] | bits << 16;
    }
    NAPKIN_DEVICE T get(unsigned at) const {
      return __builtin_bit_cast(T, static_cast<std::uint16_t>(x[at / 2] >> (at % 2 * 16)));
    }
    // What is adjacent goes as words, not taken apart and joined again.
    using words = packed<std::uint32_t, vector / 2>;
    static_assert(sizeof(words) == sizeof(packed<T, vector>));  // and nvcc 12 knows both, for a bit_cast
    NAPKIN_DEVICE void set_adjacent(unsigned at, const packed<T, vector>& values) {
      auto from = __builtin_bit_cast(words, values);
      NAPKIN_UNROLL for (unsigned i = 0; i < vector / 2; ++i) x[at / 2 + i] = from.x[i];
    }
    NAPKIN_DEVICE packed<T, vector> get_adjacent(unsigned at) const {
      words to;
      NAPKIN_UNROLL for (unsigned i = 0; i < vector / 2; ++i) to.x[i] = x[at / 2 + i];
      return __builtin_bit_cast(packed<T, vector>, to);
    }
  };
  template <unsigned Extent>
  using on_its_way = std::conditional_t<mma, fetched_halves<Extent>, fetched<Extent>>;

  /// What follows from x is made again at each step: kept for all of them, it takes more registers than sums.
  NAPKIN_DEVICE static void forget([[maybe_unused]] unsigned& x) {
#if defined(__CUDA_ARCH__)
    asm volatile("" : "+r"(x));
#endif
  }
  /// f(index into a thread's elements, row, term) for each piece of `Width` elements along rows or terms.
  template <unsigned Extent, unsigned Width, class F>
  NAPKIN_DEVICE void for_pieces(bool along_rows, F f) {
    constexpr unsigned pieces = Extent * tile.depth / Width, turns = (pieces + threads - 1) / threads;
    constexpr unsigned of_rows = Extent / Width, of_terms = tile.depth / Width;
    static_assert(threads % of_rows == 0 && threads % of_terms == 0);
    unsigned t = thread();
    forget(t);
    const unsigned row = along_rows ? t % of_rows * Width : t / of_terms,
                   term = along_rows ? t / of_rows : t % of_terms * Width;
    const unsigned next_row = along_rows ? 0 : threads / of_terms,
                   next_term = along_rows ? threads / of_rows : 0;
    NAPKIN_UNROLL for (unsigned i = 0; i < turns; ++i) if (pieces % threads == 0 || t + i * threads < pieces)
        f(i * Width, row + i * next_row, term + i * next_term);
  }
  template <unsigned Extent>
  NAPKIN_DEVICE void fetch(on_its_way<Extent>& to, const T* from, tile_fetch how, const std::int64_t* of_row,
                           const std::int64_t* of_term, unsigned rows, unsigned terms) {
    if (how.adjacent) {
      for_pieces<Extent, vector>(how.along_rows, [&](unsigned at, unsigned row, unsigned term) {
        packed<T, vector> x{};
        if (row < rows && term < terms)
          x = *reinterpret_cast<const packed<T, vector>*>(from + of_row[row] + of_term[term]);
        to.set_adjacent(at, x);
      });
    } else {
      for_pieces<Extent, 1>(how.along_rows, [&](unsigned at, unsigned row, unsigned term) {
        to.set(at, row < rows && term < terms ? from[of_row[row] + of_term[term]] : T{});
      });
    }
  }
  template <unsigned Extent>
  NAPKIN_DEVICE void put_tile(element* to, const on_its_way<Extent>& from, tile_fetch how) {
    if constexpr (mma) {
      const unsigned pitch = how.along_rows ? pitch_along_rows(Type, Extent) : pitch_along_terms(tile);
      const auto place = [&](unsigned row, unsigned term) {
        return to + (how.along_rows ? term * pitch + row : row * pitch + term);
      };
      if (how.adjacent)
        for_pieces<Extent, vector>(how.along_rows, [&](unsigned at, unsigned row, unsigned term) {
          *reinterpret_cast<packed<T, vector>*>(place(row, term)) = from.get_adjacent(at);
        });
      else
        for_pieces<Extent, 1>(how.along_rows, [&](unsigned at, unsigned row, unsigned term) {
          *place(row, term) = from.get(at);
        });
    } else {
      constexpr unsigned pitch = pitch_along_rows(Type, Extent);
      const auto value = [&](unsigned at) { return static_cast<A>(planning::loaded<Type>(from.get(at))); };
      if (how.adjacent)
        for_pieces<Extent, vector>(how.along_rows, [&](unsigned at, unsigned row, unsigned term) {
          NAPKIN_UNROLL for (unsigned i = 0; i < vector; ++i)
              to[(term + (how.along_rows ? 0 : i)) * pitch + row + (how.along_rows ? i : 0)] = value(at + i);
        });
      else
        for_pieces<Extent, 1>(how.along_rows, [&](unsigned at, unsigned row, unsigned term) {
          to[term * pitch + row] = value(at);
        });
    }
  }

  // ---- multiplying

  NAPKIN_DEVICE void multiply_all(const T* a, const T* b, sums& sum) {
    const tile_product& p = k_.how;
    const unsigned there_rows = rows(), there_columns = columns();
    const auto steps = static_cast<unsigned>((end_term_ - first_term_ + tile.depth - 1) / tile.depth);
    on_its_way<tile.rows> next_a;
    on_its_way<tile.columns> next_b;
    const auto fetch_step = [&](unsigned step) {
      const unsigned terms = rest(first_term_ + std::uint64_t{step} * tile.depth, end_term_, tile.depth);
      fetch<tile.rows>(next_a, a, p.a, s_.row_of_a, s_.term_of_a[step % 2], there_rows, terms);
      fetch<tile.columns>(next_b, b, p.b, s_.column_of_b, s_.term_of_b[step % 2], there_columns, terms);
    };
    const auto put_step = [&](unsigned step) {
      put_tile<tile.rows>(s_.a(step % 2), next_a, p.a);
      put_tile<tile.columns>(s_.b(step % 2), next_b, p.b);
    };
    fetch_step(0);
    put_step(0);
    m_.sync();
    NAPKIN_ROLL for (unsigned step = 0; step < steps; ++step) {
      if (step + 1 < steps) fetch_step(step + 1);
      multiply(s_.a(step % 2), s_.b(step % 2), sum);
      note_terms(step + 2);  // where those of this step stood, which were read a step ago
      if (step + 1 < steps) put_step(step + 1);
      m_.sync();
    }
  }
  NAPKIN_DEVICE A sum_of(A x, A y, A sum) {
    if constexpr (std::is_floating_point_v<A>)
      return m_.fma(x, y, sum);
    else
      return sum + x * y;
  }
  NAPKIN_DEVICE unsigned row_of(unsigned i) const {
    return i / 4 * (tile.rows / (thread_rows / 4)) + thread() / across * 4 + i % 4;
  }
  NAPKIN_DEVICE void multiply(const element* a, const element* b, sums& sum) {
    if constexpr (mma) {
      const bool a_turned = k_.how.a.along_rows, b_turned = k_.how.b.along_rows;
      const unsigned first_row = m_.warp() % 4 * 32, first_column = m_.warp() / 4 * warp_columns;
      NAPKIN_UNROLL for (unsigned term = 0; term < tile.depth; term += 16) {
        std::uint32_t x[2][4];
        NAPKIN_UNROLL for (unsigned band = 0; band < 2; ++band)
            load_rows(x[band], a, a_turned, first_row + 16 * band, term);
        NAPKIN_UNROLL for (unsigned n = 0; n < column_tiles; n += 2) {
          std::uint32_t y[4];
          load_columns(y, b, b_turned, first_column + 8 * n, term);
          NAPKIN_UNROLL for (unsigned band = 0; band < 2; ++band) {
            m_.template multiply<Type>(sum.x[band][n], x[band], y[0], y[1]);
            m_.template multiply<Type>(sum.x[band][n + 1], x[band], y[2], y[3]);
          }
        }
      }
    } else {
      const element* const from_a = a + thread() / across * 4;
      const element* const from_b = b + thread() % across * 4;
      NAPKIN_UNROLL for (unsigned term = 0; term < tile.depth; ++term) {
        A x[thread_rows], y[thread_columns];
        NAPKIN_UNROLL for (unsigned i = 0; i < thread_rows; i += 4)
            get_four(x + i, from_a + term * pitch_along_rows(Type, tile.rows) +
                                i / 4 * (tile.rows / (thread_rows / 4)));
        get_four(y, from_b + term * pitch_along_rows(Type, tile.columns));
        NAPKIN_UNROLL for (unsigned i = 0; i < thread_rows; ++i)
            NAPKIN_UNROLL for (unsigned j = 0; j < thread_columns; ++j)
                sum.x[i][j] = sum_of(x[i], y[j], sum.x[i][j]);
      }
    }
  }
  NAPKIN_DEVICE static void get_four(A* to, const A* from) {
    constexpr unsigned n = at_once<A, 4>;
    NAPKIN_UNROLL for (unsigned i = 0; i < 4; i += n) {
      const auto x = *reinterpret_cast<const packed<A, n>*>(from + i);
      NAPKIN_UNROLL for (unsigned j = 0; j < n; ++j) to[i + j] = x.x[j];
    }
  }
  /// Registers of 16 rows and 16 terms: matrices of 8 x 8, rows first. Turned: as they lie, terms by rows.
  NAPKIN_DEVICE void load_rows(std::uint32_t (&x)[4], const element* a, bool turned, unsigned row,
                               unsigned term) {
    const unsigned in = m_.lane() % 8, lower = m_.lane() / 8 % 2 * 8, later = m_.lane() / 16 * 8;
    if (turned)
      m_.template load_matrices<true>(
          x, a + (term + later + in) * pitch_along_rows(Type, tile.rows) + row + lower);
    else
      m_.template load_matrices<false>(x, a + (row + lower + in) * pitch_along_terms(tile) + term + later);
  }
  /// Of 16 columns and 16 terms, terms first.
  NAPKIN_DEVICE void load_columns(std::uint32_t (&y)[4], const element* b, bool turned, unsigned column,
                                  unsigned term) {
    const unsigned in = m_.lane() % 8, later = m_.lane() / 8 % 2 * 8, right = m_.lane() / 16 * 8;
    if (turned)
      m_.template load_matrices<true>(
          y, b + (term + later + in) * pitch_along_rows(Type, tile.columns) + column + right);
    else
      m_.template load_matrices<false>(y, b + (column + right + in) * pitch_along_terms(tile) + term + later);
  }

  // ---- results

  /// f(row, column, sum) for each that there is, a band of rows at a time, neighbours by neighbours.
  template <class F>
  NAPKIN_DEVICE void put(const sums& sum, bool along_rows, F f) {
    A* const held = s_.results();
    NAPKIN_ROLL for (unsigned band = 0; band < tile.rows / memory::band; ++band) {
      if constexpr (mma) {
        if (m_.warp() % 4 == band) {
          NAPKIN_UNROLL for (unsigned i = 0; i < 2; ++i)
              NAPKIN_UNROLL for (unsigned n = 0; n < column_tiles; ++n)
                  NAPKIN_UNROLL for (unsigned r = 0; r < 4; ++r) {
            const unsigned row = 16 * i + m_.lane() / 4 + 8 * (r / 2);
            const unsigned column = m_.warp() / 4 * warp_columns + 8 * n + m_.lane() % 4 * 2 + r % 2;
            held[row * memory::band_pitch + column] = sum.x[i][n][r];
          }
        }
      } else {
        NAPKIN_UNROLL for (unsigned i = 0; i < thread_rows; ++i) {
          if (row_of(i) / memory::band != band) continue;
          NAPKIN_UNROLL for (unsigned j = 0; j < thread_columns; ++j)
              held[row_of(i) % memory::band * memory::band_pitch + thread() % across * 4 + j] = sum.x[i][j];
        }
      }
      m_.sync();
      const unsigned there_rows = rows(), there_columns = columns();
      NAPKIN_ROLL for (unsigned i = thread(); i < memory::band * tile.columns; i += threads) {
        const unsigned row = along_rows ? i % memory::band : i / tile.columns,
                       column = along_rows ? i / memory::band : i % tile.columns;
        const unsigned of_tile = band * memory::band + row;
        if (of_tile < there_rows && column < there_columns)
          f(of_tile, column, held[row * memory::band_pitch + column]);
      }
      m_.sync();
    }
  }
};

/// Result `i`, counted as blocks counted their sums of it: these added up in order.
template <dtype Type>
NAPKIN_DEVICE void add_splits(const tile_arguments& k, std::uint64_t i) {
  using A = type_of<accumulator_of(Type)>;
  const tile_product& p = k.how;
  const std::uint64_t results = p.results();
  const A* const from = static_cast<const A*>(k.sums) + i;
  A sum = from[0];
  for (std::uint64_t s = 1; s < p.splits; ++s) sum += from[s * results];
  const std::uint64_t column = i % p.columns.points, outer = i / p.columns.points;
  const std::int64_t at = offsets_at(p.batch, outer / p.rows.points).c +
                          offsets_at(p.rows, outer % p.rows.points).c + offsets_at(p.columns, column).c;
  static_cast<type_of<Type>*>(k.c)[at] = planning::stored<Type>(planning::rounded<Type>(sum));
}

}  // namespace napkin::on_cuda::detail
