// A product of few numbers on a GPU, as one thread of it runs. Written over a Machine (attention_body.hpp
// says what one can do): a GPU's, or threads that the tests run on the host.
//
// cuBLASLt's kernels stage operands in shared memory, in tiles as large as large products want them; of a
// product that is over in microseconds a block's first tile is most of the time. Here a block's warps share
// its terms, each has a tile's sums of its own, and operands go from memory to the registers that multiply
// them, the next step's while one is multiplied. At the end the warps' sums meet in shared memory and are
// added up in the warps' order: the bits depend on shapes alone.
//
// Threads fetch 16 bytes, along terms or across them, whichever are adjacent, and that settles which thread
// has what (where they do not lie so, element by element, to the same places): mma.m16n8k16 sums over its
// terms, so that any of them may stand in any place if both operands agree, and its rows and columns may be
// any rows and columns.
#pragma once

#include <cstdint>
#include <type_traits>

#include "napkin/cuda/device_function.hpp"
#include "napkin/cuda/packed.hpp"
#include "napkin/cuda/small_product.hpp"

namespace napkin::on_cuda::detail {

/// How many of `most` there are from `first` on.
NAPKIN_DEVICE unsigned rest_of(unsigned first, unsigned end, unsigned most) {
  if (first >= end) return 0;
  return end - first < most ? end - first : most;
}

/// Elements that follow one another; zeros for all past `there`. At once: there are all or none.
template <bool AtOnce, class T, unsigned Count>
NAPKIN_DEVICE void fetch_elements(packed<T, Count>& to, const T* from, unsigned there) {
  to = {};
  if constexpr (AtOnce) {
    if (there > 0) to = *reinterpret_cast<const packed<T, Count>*>(from);
  } else {
    NAPKIN_UNROLL for (unsigned i = 0; i < Count; ++i) if (i < there) to.x[i] = from[i];
  }
}

/// By mma. Thread 4 r + q of a warp has terms 8 q to 8 q + 7 of a step of 32, and, as mma numbers them, row
/// and column r. mma's columns are C's rows.
template <dtype Type, bool AAlongRows, bool BAlongColumns, bool AtOnce>
struct small_by_mma {
  static constexpr small_tile tile = small_tile_of(Type, BAlongColumns);
  static constexpr unsigned bands = tile.columns / 16, tiles = tile.rows / 8;
  static constexpr bool at_once = AtOnce;
  using T = type_of<Type>;
  static constexpr unsigned words_of_b = BAlongColumns ? 2 : 4;

  /// Of A eight words of four: of each of its rows, or of each term; of B two rows, or eight terms of four
  /// columns.
  struct operands {
    std::uint32_t a[8][4], b[BAlongColumns ? 8 : 2][words_of_b];
  };
  struct sums {
    float x[bands][tiles][4];
  };

  template <unsigned Words>
  NAPKIN_DEVICE static void fetch(std::uint32_t (&to)[Words], const T* from, unsigned there) {
    packed<std::uint16_t, 2 * Words> x;
    fetch_elements<AtOnce>(x, reinterpret_cast<const std::uint16_t*>(from), there);
    using in_words = packed<std::uint32_t, Words>;
    static_assert(sizeof(in_words) == sizeof(x));  // and nvcc 12 knows both, for a bit_cast
    const auto words = __builtin_bit_cast(in_words, x);
    NAPKIN_UNROLL for (unsigned i = 0; i < Words; ++i) to[i] = words.x[i];
  }
  /// a, b: of this batch index; terms from `first` up to `end`.
  template <class Machine>
  NAPKIN_DEVICE static void fetch(Machine& m, operands& to, const small_product& k, const T* a, const T* b,
                                  unsigned first_row, unsigned first_column, unsigned first, unsigned end) {
    const unsigned r = m.lane() / 4, term = first + m.lane() % 4 * 8, terms = rest_of(term, end, 8);
    NAPKIN_UNROLL for (unsigned i = 0; i < 8; ++i) {
      if constexpr (AAlongRows) {
        const unsigned row = first_row + 8 * r;
        fetch(to.a[i], a + static_cast<std::int64_t>(term + i) * k.lda + row,
              i < terms ? rest_of(row, k.m, 8) : 0);
      } else {
        const unsigned row = first_row + 8 * i + r;
        fetch(to.a[i], a + static_cast<std::int64_t>(row) * k.lda + term, row < k.m ? terms : 0);
      }
    }
    if constexpr (BAlongColumns) {
      const unsigned column = first_column + 4 * r;
      NAPKIN_UNROLL for (unsigned i = 0; i < 8; ++i)
          fetch(to.b[i], b + static_cast<std::int64_t>(term + i) * k.ldb + column,
                i < terms ? rest_of(column, k.n, 4) : 0);
    } else {
      NAPKIN_UNROLL for (unsigned i = 0; i < 2; ++i) {
        const unsigned column = first_column + 8 * i + r;
        fetch(to.b[i], b + static_cast<std::int64_t>(column) * k.ldb + term, column < k.n ? terms : 0);
      }
    }
  }

  /// Of two terms, in one word each with another's row or column: the lower or the upper halves, side by
  /// side.
  NAPKIN_DEVICE static std::uint32_t lower(std::uint32_t x, std::uint32_t y) {
    return (x & 0xffffu) | y << 16;
  }
  NAPKIN_DEVICE static std::uint32_t upper(std::uint32_t x, std::uint32_t y) {
    return x >> 16 | (y & 0xffff0000u);
  }

  template <class Machine>
  NAPKIN_DEVICE static void multiply(Machine& m, const operands& from, sums& sum) {
    NAPKIN_UNROLL for (unsigned half = 0; half < 2; ++half) {  // terms 4 half to 4 half + 3 of each thread
      const unsigned t = 4 * half;
      std::uint32_t x[bands][4];
      NAPKIN_UNROLL for (unsigned band = 0; band < bands; ++band) if constexpr (BAlongColumns) {
        x[band][0] = lower(from.b[t][band], from.b[t + 1][band]);
        x[band][1] = upper(from.b[t][band], from.b[t + 1][band]);
        x[band][2] = lower(from.b[t + 2][band], from.b[t + 3][band]);
        x[band][3] = upper(from.b[t + 2][band], from.b[t + 3][band]);
      }
      else {
        NAPKIN_UNROLL for (unsigned i = 0; i < 4; ++i) x[band][i] = from.b[i % 2][2 * half + i / 2];
      }
      NAPKIN_UNROLL for (unsigned i = 0; i < tiles; ++i) {
        std::uint32_t y[2];
        NAPKIN_UNROLL for (unsigned j = 0; j < 2; ++j) if constexpr (!AAlongRows) y[j] =
            from.a[i][2 * half + j];
        else if (i % 2 == 0) y[j] = lower(from.a[t + 2 * j][i / 2], from.a[t + 2 * j + 1][i / 2]);
        else y[j] = upper(from.a[t + 2 * j][i / 2], from.a[t + 2 * j + 1][i / 2]);
        NAPKIN_UNROLL for (unsigned band = 0; band < bands; ++band)
            m.template multiply<Type>(sum.x[band][i], x[band], y[0], y[1]);
      }
    }
  }

  template <class Machine>
  NAPKIN_DEVICE static void put(Machine& m, const sums& sum, unsigned band, small_memory& to) {
    const unsigned r = m.lane() / 4, q = m.lane() % 4;
    NAPKIN_UNROLL for (unsigned i = 0; i < tiles; ++i) NAPKIN_UNROLL for (unsigned c = 0; c < 4; ++c) {
      const unsigned of_eight = 2 * q + c % 2, row = AAlongRows ? 8 * of_eight + i : 8 * i + of_eight;
      to.sums[m.warp()][r + 8 * (c / 2)][row] = sum.x[band][i][c];
    }
  }
  /// The tile's column that is the band's column `of_band`.
  NAPKIN_DEVICE static unsigned column(unsigned band, unsigned of_band) {
    return BAlongColumns ? 4 * (of_band % 8) + 2 * band + of_band / 8 : of_band;
  }
};

/// By FMA, in f32: a thread has eight rows and four columns, a step four terms.
template <bool AAlongRows, bool BAlongColumns, bool AtOnce>
struct small_by_fma {
  static constexpr small_tile tile = small_tile_of(dtype::f32, BAlongColumns);
  static constexpr unsigned bands = 1;
  static constexpr bool at_once = AtOnce;
  using T = float;

  /// Of A four terms of each row, or two times four rows of each term; of B four terms of each column, or
  /// four columns of each term.
  struct operands {
    packed<float, 4> a[8], b[4];
  };
  struct sums {
    float x[8][4];
  };
  NAPKIN_DEVICE static unsigned row(unsigned lane, unsigned i) {
    return AAlongRows ? i / 4 * 32 + lane % 8 * 4 + i % 4 : lane % 8 + 8 * i;
  }
  NAPKIN_DEVICE static unsigned column_of(unsigned lane, unsigned j) {
    return BAlongColumns ? lane / 8 * 4 + j : lane / 8 + 4 * j;
  }

  template <class Machine>
  NAPKIN_DEVICE static void fetch(Machine& m, operands& to, const small_product& k, const float* a,
                                  const float* b, unsigned first_row, unsigned first_column, unsigned first,
                                  unsigned end) {
    NAPKIN_UNROLL for (unsigned i = 0; i < 8; ++i) {
      const unsigned at = first_row + row(m.lane(), AAlongRows ? i / 4 * 4 : i),
                     term = first + (AAlongRows ? i % 4 : 0);
      const auto outer = static_cast<std::int64_t>(AAlongRows ? term : at);
      fetch_elements<AtOnce>(
          to.a[i], a + outer * k.lda + (AAlongRows ? at : term),
          AAlongRows ? (term < end ? rest_of(at, k.m, 4) : 0) : (at < k.m ? rest_of(term, end, 4) : 0));
    }
    NAPKIN_UNROLL for (unsigned j = 0; j < 4; ++j) {
      const unsigned at = first_column + column_of(m.lane(), BAlongColumns ? 0 : j),
                     term = first + (BAlongColumns ? j : 0);
      const auto outer = static_cast<std::int64_t>(BAlongColumns ? term : at);
      fetch_elements<AtOnce>(
          to.b[j], b + outer * k.ldb + (BAlongColumns ? at : term),
          BAlongColumns ? (term < end ? rest_of(at, k.n, 4) : 0) : (at < k.n ? rest_of(term, end, 4) : 0));
    }
  }
  template <class Machine>
  NAPKIN_DEVICE static void multiply(Machine& m, const operands& from, sums& sum) {
    NAPKIN_UNROLL for (unsigned term = 0; term < 4; ++term) NAPKIN_UNROLL for (unsigned i = 0; i < 8; ++i)
        NAPKIN_UNROLL for (unsigned j = 0; j < 4; ++j) {
      const float x = AAlongRows ? from.a[i / 4 * 4 + term].x[i % 4] : from.a[i].x[term];
      const float y = BAlongColumns ? from.b[term].x[j] : from.b[j].x[term];
      sum.x[i][j] = m.fma(x, y, sum.x[i][j]);
    }
  }
  template <class Machine>
  NAPKIN_DEVICE static void put(Machine& m, const sums& sum, unsigned, small_memory& to) {
    NAPKIN_UNROLL for (unsigned i = 0; i < 8; ++i) NAPKIN_UNROLL for (unsigned j = 0; j < 4; ++j)
        to.sums[m.warp()][column_of(m.lane(), j)][row(m.lane(), i)] = sum.x[i][j];
  }
  NAPKIN_DEVICE static unsigned column(unsigned, unsigned of_band) { return of_band; }
};

template <dtype Type, bool AAlongRows, bool BAlongColumns, bool AtOnce>
using small_way = std::conditional_t<has_mma(Type), small_by_mma<Type, AAlongRows, BAlongColumns, AtOnce>,
                                     small_by_fma<AAlongRows, BAlongColumns, AtOnce>>;

/// A warp's sums over terms from `begin` to `end`, of a tile of C. a, b: of this batch index.
template <class Way, class Machine>
NAPKIN_DEVICE void multiply_terms(Machine& m, const small_product& k, const typename Way::T* a,
                                  const typename Way::T* b, unsigned first_row, unsigned first_column,
                                  unsigned begin, unsigned end, typename Way::sums& sum) {
  typename Way::operands now;
  [[maybe_unused]] typename Way::operands next;
  const auto fetch = [&](typename Way::operands& to, unsigned term) {
    Way::fetch(m, to, k, a, b, first_row, first_column, term, end);
  };
  if constexpr (Way::at_once) {
    // Two steps on their way before the first is waited for: asked for within the loop's turn that multiplies
    // one, nvcc puts the next one's loads behind the products.
    fetch(now, begin);
    fetch(next, begin + Way::tile.step);
    NAPKIN_ROLL for (unsigned term = begin; term < end; term += Way::tile.step) {
      Way::multiply(m, now, sum);
      now = next;
      fetch(next, term + 2 * Way::tile.step);
    }
  } else {  // of so many loads registers hold one step's
    NAPKIN_ROLL for (unsigned term = begin; term < end; term += Way::tile.step) {
      fetch(now, term);
      Way::multiply(m, now, sum);
    }
  }
}

/// Warps have no more terms than `terms`, of which warp w has the w-th.
struct small_dealing {
  unsigned row_tiles, column_tiles, warps, terms;
  constexpr explicit small_dealing(const small_product& p)
      : row_tiles(static_cast<unsigned>(p.row_tiles())),
        column_tiles(static_cast<unsigned>(p.column_tiles())),
        warps(p.warps()),
        terms(p.terms()) {}
};

/// What becomes of adjacent sums, from C's row `row` on, at offset `at`.
template <dtype Result, unsigned Width>
NAPKIN_DEVICE adjacent<Result, Width> finish_small(const small_product& k, unsigned row, std::int64_t at,
                                                   float (&values)[Width]) {
  NAPKIN_UNROLL for (unsigned e = 0; e < Width; ++e) values[e] *= k.scale;
  if (k.added != nullptr) {
    const auto x = adjacent_at<Result, Width>(k.added, at);
    NAPKIN_UNROLL for (unsigned e = 0; e < Width; ++e) values[e] += planning::loaded<Result>(x.x[e]);
  }
  return finish_values<Result, Width>(k.then, row, at, values);
}

template <class Machine, dtype Type, bool AAlongRows, bool BAlongColumns, bool AtOnce>
class small_thread {
  using way = small_way<Type, AAlongRows, BAlongColumns, AtOnce>;
  using T = typename way::T;

  Machine& m_;
  const small_product& k_;
  const small_dealing& d_;
  small_memory& s_;

 public:
  NAPKIN_DEVICE small_thread(Machine& machine, const small_product& k, const small_dealing& d,
                             small_memory& shared)
      : m_(machine), k_(k), d_(d), s_(shared) {}

  NAPKIN_DEVICE void run(unsigned block) {
    const unsigned first_row = block % d_.row_tiles * way::tile.rows, rest = block / d_.row_tiles;
    const unsigned first_column = rest % d_.column_tiles * way::tile.columns, batch = rest / d_.column_tiles;
    const T* const a = reinterpret_cast<const T*>(k_.a) + batch * k_.a_batch;
    const T* const b = reinterpret_cast<const T*>(k_.b) + batch * k_.b_batch;
    typename way::sums sum{};
    const unsigned begin = m_.warp() * d_.terms, past = begin + d_.terms, end = past < k_.k ? past : k_.k;
    multiply_terms<way>(m_, k_, a, b, first_row, first_column, begin, end, sum);
    NAPKIN_ROLL for (unsigned band = 0; band < way::bands; ++band) {
      NAPKIN_UNROLL for (unsigned which = 0; which < way::bands; ++which) {
        if (which == band) way::put(m_, sum, which, s_);
      }
      m_.sync();
      if (k_.stores_at_once)
        finish<4>(first_row, first_column, batch, band);
      else
        finish<1>(first_row, first_column, batch, band);
      if (band + 1 < way::bands) m_.sync();
    }
  }

 private:
  /// A band's columns, so many adjacent elements a thread at a time.
  template <unsigned Width>
  NAPKIN_DEVICE void finish(unsigned first_row, unsigned first_column, unsigned batch, unsigned band) {
    constexpr unsigned across = small_memory::rows / Width;
    NAPKIN_ROLL for (unsigned i = m_.warp() * 32 + m_.lane(); i < across * small_memory::columns;
                     i += d_.warps * 32) {
      const unsigned of_band = i / across, of_tile = i % across * Width, row = first_row + of_tile,
                     column = first_column + way::column(band, of_band);
      if (row >= k_.m || column >= k_.n) continue;
      float values[Width] = {};
      NAPKIN_UNROLL for (unsigned w = 0; w < small_memory::warps; ++w) {
        packed<float, Width> x{};  // all asked for before any is added
        if (w < d_.warps) x = *reinterpret_cast<const packed<float, Width>*>(&s_.sums[w][of_band][of_tile]);
        NAPKIN_UNROLL for (unsigned e = 0; e < Width; ++e) values[e] += x.x[e];
      }
      const std::int64_t at = k_.then.offset(row, std::uint64_t{batch} * k_.n + column);
      if (Type != dtype::f32 && k_.result_type == Type)
        finish_small<Type, Width>(k_, row, at, values);
      else
        finish_small<dtype::f32, Width>(k_, row, at, values);
    }
  }
};

/// The same for 16 of C's columns and all of its rows, as a kernel begins that reads them
/// (cuda/taken_product.hpp): they stay in shared memory too, as they lie in C. Of the dtype of its operands.
template <class Machine, dtype Type, bool AAlongRows, unsigned Rows>
class taken_columns {
  using way = small_by_mma<Type, AAlongRows, false, true>;
  using T = typename way::T;
  static constexpr unsigned columns = way::tile.columns,
                            row_tiles = (Rows + way::tile.rows - 1) / way::tile.rows,
                            slices = small_memory::warps / row_tiles;
  static_assert(slices > 0 && Rows % 8 == 0);

 public:
  static constexpr unsigned threads = small_memory::warps * 32;  // taking_threads
  struct memory {
    small_memory sums;
    alignas(16) T c[columns][Rows];
  };

  NAPKIN_DEVICE static void run(Machine& m, const small_product& k, unsigned first_column, memory& s) {
    const unsigned slice = m.warp() / row_tiles, steps = (k.k + way::tile.step - 1) / way::tile.step;
    if (slice < slices) {
      const unsigned terms = (steps + slices - 1) / slices * way::tile.step, begin = slice * terms,
                     end = begin + terms < k.k ? begin + terms : k.k;
      typename way::sums sum{};
      multiply_terms<way>(m, k, reinterpret_cast<const T*>(k.a), reinterpret_cast<const T*>(k.b),
                          m.warp() % row_tiles * way::tile.rows, first_column, begin, end, sum);
      way::put(m, sum, 0, s.sums);
    }
    m.sync();
    constexpr unsigned across = Rows / 4;
    NAPKIN_ROLL for (unsigned i = m.warp() * 32 + m.lane(); i < across * columns; i += threads) {
      const unsigned column = i / across, row = i % across * 4;
      float values[4] = {};
      NAPKIN_UNROLL for (unsigned slice_of = 0; slice_of < slices; ++slice_of) {
        const auto x = *reinterpret_cast<const packed<float, 4>*>(
            &s.sums.sums[slice_of * row_tiles + row / way::tile.rows][column][row % way::tile.rows]);
        NAPKIN_UNROLL for (unsigned e = 0; e < 4; ++e) values[e] += x.x[e];
      }
      const std::int64_t at = k.then.offset(row, first_column + column);
      *reinterpret_cast<packed<T, 4>*>(&s.c[column][row]) = finish_small<Type, 4>(k, row, at, values);
    }
    m.sync();
  }
};

/// f<Type, AAlongRows, BAlongColumns, AtOnce>(), where there is such a kernel.
template <class F>
void dispatch_small(const small_product& p, F f) {
  const auto by_flag = [](bool flag, auto then) {
    flag ? then(std::bool_constant<true>{}) : then(std::bool_constant<false>{});
  };
  for_epilogue_type(p.type, [&]<dtype Type>(std::integral_constant<dtype, Type>) {
    by_flag(p.a_along_rows, [&](auto a) {
      by_flag(p.b_along_columns, [&](auto b) {
        by_flag(p.fetches_at_once, [&](auto at_once) { f.template operator()<Type, a(), b(), at_once()>(); });
      });
    });
  });
}

}  // namespace napkin::on_cuda::detail
