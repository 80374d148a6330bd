// Attention on a GPU, as one thread of it runs: forward, and backward in two kernels without atomics. Written
// over a Machine, what a thread can do beside arithmetic: of a GPU's (attention.cu), or of threads that the
// tests run on the host (tests/support/host_warps.hpp).
//
//   lane(), warp()                        of the thread
//   sync()                                all threads of the block meet, and see what they wrote
//   from_lane(x, lane)                    another lane's x
//   copy_async(to, from, there)           16 bytes from memory to shared memory, zeros if not `there`
//   wait_async()                          for the thread's own copies
//   load_matrices<Turned>(x, row)         ldmatrix.x4: each lane names a row of 8 halves, 16 bytes
//   multiply<Type>(c, a, b0, b1)          mma.m16n8k16: c += a b, c in f32
//   pack<Type>(low, high)                 two floats as halves
//   exp2<Fast>(x), log2(x), fma(a, b, c)
//
// A block has 4 warps and owns 64 rows, 16 a warp: queries, or for the adjoints of keys and values keys. It
// walks the others in tiles that lie in shared memory. A warp's values of 16 rows by 8 columns are `tiles` of
// 4 registers: rows lane / 4 and 8 below, columns lane % 4 * 2 and the next. What is multiplied with V (or
// dO, K, Q) next is in the registers where it was made.
//
// Source  Dao 2023, "FlashAttention-2"; PTX ISA, "Matrix Fragments for mma.m16n8k16"
#pragma once

#include <limits>

#include "napkin/cuda/attention.hpp"
#include "napkin/cuda/device_function.hpp"
#include "napkin/plan/scalar.hpp"

namespace napkin::on_cuda::detail {

inline constexpr unsigned attention_threads = 128, attention_rows = 64;

/// Kernels, by what they give.
enum class attention_kernel : std::uint8_t { forward, query_adjoint, key_adjoints };

/// Sizes of a kernel for heads of up to Width.
template <dtype Type, unsigned Width, attention_kernel Kernel>
struct attention_shape {
  using T = type_of<Type>;
  static constexpr bool halves = sizeof(T) == 2;
  static constexpr bool forward = Kernel == attention_kernel::forward;
  static constexpr bool owns_keys = Kernel == attention_kernel::key_adjoints;
  /// Rows of a tile: as many as registers and shared memory bear.
  static constexpr unsigned tile = halves ? (forward || Width <= 64 ? 64 : 32) : (Width <= 64 ? 32 : 16);
  /// Elements from a row to the next: 16 bytes more than the row, so that 8 rows lie in different banks.
  static constexpr unsigned pitch = Width + 16 / sizeof(T);
  /// The block's own rows in shared memory; halves of a forward pass stay in registers.
  static constexpr unsigned own_tiles = forward ? (halves ? 0 : 1) : 2;
  static constexpr unsigned own_bytes = own_tiles * attention_rows * pitch * sizeof(T);
  static constexpr unsigned tile_bytes = tile * pitch * sizeof(T);
  static constexpr unsigned statistic_bytes = owns_keys ? 2 * tile * sizeof(float) : 0;
  /// Blocks of a multiprocessor that registers are dealt for: by ptxas's own choice one kernel spills.
  static constexpr unsigned resident = owns_keys || Width > 64 ? 2 : forward ? 4 : 3;
  static constexpr unsigned shared_bytes = own_bytes + 2 * tile_bytes + statistic_bytes;
};

template <class Machine, dtype Type, unsigned Width, attention_kernel Kernel>
class attention_thread {
  using shape = attention_shape<Type, Width, Kernel>;
  using T = type_of<Type>;
  static constexpr unsigned tile = shape::tile, pitch = shape::pitch;
  static constexpr unsigned tiles = tile / 8, width_tiles = Width / 8;
  static constexpr bool halves = shape::halves, owns_keys = shape::owns_keys;

  Machine& m_;
  const attention_arguments& a_;
  std::byte* shared_;

 public:
  NAPKIN_DEVICE attention_thread(Machine& machine, const attention_arguments& a, std::byte* shared)
      : m_(machine), a_(a), shared_(shared) {}

  NAPKIN_DEVICE void run(unsigned block) {
    if constexpr (Kernel == attention_kernel::forward)
      forward(block);
    else
      backward(block);
  }

 private:
  // ---- where things lie

  NAPKIN_DEVICE T* tile_at(unsigned number) const {
    return reinterpret_cast<T*>(shared_ + shape::own_bytes + number * shape::tile_bytes);
  }
  NAPKIN_DEVICE T* own_at(unsigned number) const {
    return reinterpret_cast<T*>(shared_) + number * attention_rows * pitch;
  }
  NAPKIN_DEVICE float* statistics() const {
    return reinterpret_cast<float*>(shared_ + shape::own_bytes + 2 * shape::tile_bytes);
  }
  template <attention_tensor X>
  NAPKIN_DEVICE std::int64_t offset_of(unsigned head) const {
    std::int64_t to = 0;
    for (unsigned o = a_.outer_rank; o-- > 0;) {
      to += static_cast<std::int64_t>(head % a_.outer_size[o]) * a_.walk<X>().outer[o];
      head /= a_.outer_size[o];
    }
    return to;
  }
  template <attention_tensor X, class E = T>
  NAPKIN_DEVICE E* head_of(unsigned head) const {
    return reinterpret_cast<E*>(a_.at<X>()) + offset_of<X>(head);
  }
  NAPKIN_DEVICE unsigned quad_row() const { return m_.lane() / 4; }
  NAPKIN_DEVICE unsigned quad_column() const { return m_.lane() % 4 * 2; }
  /// Of register `i` of a tile, in the block's rows or in the tile's columns.
  NAPKIN_DEVICE unsigned row_of(unsigned i) const { return m_.warp() * 16 + quad_row() + i / 2 * 8; }

  /// Rows from `first` to shared memory; zeros past the last, and past a row's width.
  template <attention_tensor X, unsigned Rows>
  NAPKIN_DEVICE void load(T* to, unsigned head, unsigned first, unsigned last, unsigned width) {
    const T* from = head_of<X>(head);
    const std::int64_t step = a_.walk<X>().position, across = a_.walk<X>().width;
    const unsigned thread = m_.warp() * 32 + m_.lane();
    if (a_.by_vectors) {
      constexpr unsigned n = 16 / sizeof(T), in_row = Width / n;
      for (unsigned i = thread; i < Rows * in_row; i += attention_threads) {
        const unsigned row = i / in_row, column = i % in_row * n;
        const bool there = first + row < last && column < width;
        m_.copy_async(to + row * pitch + column, there ? from + (first + row) * step + column : from, there);
      }
    } else {
      for (unsigned i = thread; i < Rows * Width; i += attention_threads) {
        const unsigned row = i / Width, column = i % Width;
        const bool there = first + row < last && column < width;
        to[row * pitch + column] = there ? from[(first + row) * step + column * across] : T{};
      }
    }
  }
  template <attention_tensor X>
  NAPKIN_DEVICE void store(const float (&x)[width_tiles][4], unsigned head, unsigned first, unsigned last,
                           unsigned width, const float (&factor)[2]) {
    T* to = head_of<X>(head);
    const std::int64_t step = a_.walk<X>().position, across = a_.walk<X>().width;
    NAPKIN_UNROLL
    for (unsigned n = 0; n < width_tiles; ++n) NAPKIN_UNROLL
    for (unsigned half = 0; half < 2; ++half) {
      const unsigned row = first + row_of(2 * half), column = n * 8 + quad_column();
      const float low = x[n][2 * half] * factor[half], high = x[n][2 * half + 1] * factor[half];
      if (row >= last || column >= width) continue;
      T* const at = to + row * step + column * across;
      if constexpr (halves) {
        if (a_.by_vectors) {  // widths are even
          *reinterpret_cast<std::uint32_t*>(at) = m_.template pack<Type>(low, high);
          continue;
        }
      }
      at[0] = planning::stored<Type>(planning::rounded<Type>(low));
      if (column + 1 < width) at[across] = planning::stored<Type>(planning::rounded<Type>(high));
    }
  }

  // ---- products of a warp

  /// The warp's 16 rows as fragments of halves: each time from shared memory, or kept.
  struct shared_rows {
    const T* rows;
    template <class M>
    NAPKIN_DEVICE void fragment(M& m, unsigned step, std::uint32_t (&a)[4]) const {
      const unsigned row = m.lane() % 16, column = step * 16 + m.lane() / 16 * 8;
      m.template load_matrices<false>(a, rows + row * pitch + column);
    }
  };
  struct kept_rows {
    std::uint32_t kept[Width / 16][4];
    template <class M>
    NAPKIN_DEVICE void fragment(M&, unsigned step, std::uint32_t (&a)[4]) const {
      NAPKIN_UNROLL
      for (unsigned i = 0; i < 4; ++i) a[i] = kept[step][i];
    }
  };

  /// c = rows * others^T: 16 rows by the tile's, over the width.
  template <class Rows>
  NAPKIN_DEVICE void multiply_rows(float (&c)[tiles][4], const Rows& rows, const T* others) {
    NAPKIN_UNROLL
    for (unsigned n = 0; n < tiles; ++n) NAPKIN_UNROLL
    for (unsigned i = 0; i < 4; ++i) c[n][i] = 0;
    if constexpr (halves) {
      NAPKIN_UNROLL
      for (unsigned step = 0; step < Width / 16; ++step) {
        std::uint32_t a[4], b[4];
        rows.fragment(m_, step, a);
        NAPKIN_UNROLL
        for (unsigned n = 0; n < tiles; n += 2) {
          const unsigned lane = m_.lane(), row = n * 8 + lane / 16 * 8 + lane % 8;
          m_.template load_matrices<false>(b, others + row * pitch + step * 16 + lane / 8 % 2 * 8);
          m_.template multiply<Type>(c[n], a, b[0], b[1]);
          m_.template multiply<Type>(c[n + 1], a, b[2], b[3]);
        }
      }
    } else {
      const T *upper = rows.rows + quad_row() * pitch, *lower = upper + 8 * pitch;
      const T* other = others + quad_column() * pitch;
      for (unsigned d = 0; d < Width; ++d) {
        const float x = upper[d], y = lower[d];
        NAPKIN_UNROLL
        for (unsigned n = 0; n < tiles; ++n) {
          const float left = other[n * 8 * pitch + d], right = other[(n * 8 + 1) * pitch + d];
          c[n][0] = m_.fma(x, left, c[n][0]);
          c[n][1] = m_.fma(x, right, c[n][1]);
          c[n][2] = m_.fma(y, left, c[n][2]);
          c[n][3] = m_.fma(y, right, c[n][3]);
        }
      }
    }
  }
  /// sums += weights * others: 16 rows by the width, over the tile's rows.
  NAPKIN_DEVICE void add_products(float (&sums)[width_tiles][4], const float (&weights)[tiles][4],
                                  const T* others) {
    if constexpr (halves) {
      NAPKIN_UNROLL
      for (unsigned step = 0; step < tile / 16; ++step) {
        const float(&left)[4] = weights[2 * step], (&right)[4] = weights[2 * step + 1];
        const std::uint32_t a[4] = {
            m_.template pack<Type>(left[0], left[1]), m_.template pack<Type>(left[2], left[3]),
            m_.template pack<Type>(right[0], right[1]), m_.template pack<Type>(right[2], right[3])};
        NAPKIN_UNROLL
        for (unsigned n = 0; n < width_tiles; n += 2) {
          std::uint32_t b[4];
          const unsigned row = step * 16 + m_.lane() % 16, column = n * 8 + m_.lane() / 16 * 8;
          m_.template load_matrices<true>(b, others + row * pitch + column);
          m_.template multiply<Type>(sums[n], a, b[0], b[1]);
          m_.template multiply<Type>(sums[n + 1], a, b[2], b[3]);
        }
      }
    } else {
      NAPKIN_UNROLL
      for (unsigned n = 0; n < tiles; ++n) NAPKIN_UNROLL
      for (unsigned k = 0; k < 8; ++k) {
        const unsigned owner = m_.lane() / 4 * 4 + k / 2;
        const float x = m_.from_lane(weights[n][k % 2], owner);
        const float y = m_.from_lane(weights[n][2 + k % 2], owner);
        const T* other = others + (n * 8 + k) * pitch + quad_column();
        NAPKIN_UNROLL
        for (unsigned w = 0; w < width_tiles; ++w) {
          const float left = other[w * 8], right = other[w * 8 + 1];
          sums[w][0] = m_.fma(x, left, sums[w][0]);
          sums[w][1] = m_.fma(x, right, sums[w][1]);
          sums[w][2] = m_.fma(y, left, sums[w][2]);
          sums[w][3] = m_.fma(y, right, sums[w][3]);
        }
      }
    }
  }
  NAPKIN_DEVICE static void clear(float (&x)[width_tiles][4]) {
    NAPKIN_UNROLL
    for (unsigned n = 0; n < width_tiles; ++n) NAPKIN_UNROLL
    for (unsigned i = 0; i < 4; ++i) x[n][i] = 0;
  }

  // ---- masks

  NAPKIN_DEVICE bool sees(unsigned query, unsigned key) const {
    return query < a_.queries && key < a_.keys && (!a_.causal || key <= query);
  }
  /// -inf where a query does not see a key, in a tile that has such places.
  NAPKIN_DEVICE void hide(float (&s)[tiles][4], unsigned own, unsigned other) {
    constexpr float hidden = -std::numeric_limits<float>::infinity();
    NAPKIN_UNROLL
    for (unsigned n = 0; n < tiles; ++n) NAPKIN_UNROLL
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned row = own + row_of(i), column = other + n * 8 + quad_column() + i % 2;
      if (!(owns_keys ? sees(column, row) : sees(row, column))) s[n][i] = hidden;
    }
  }

  // ---- forward

  NAPKIN_DEVICE float of_quad_max(float x) {
    x = larger(x, m_.from_lane(x, m_.lane() ^ 1));
    return larger(x, m_.from_lane(x, m_.lane() ^ 2));
  }
  NAPKIN_DEVICE float of_quad_sum(float x) {
    x += m_.from_lane(x, m_.lane() ^ 1);
    return x + m_.from_lane(x, m_.lane() ^ 2);
  }
  NAPKIN_DEVICE static float larger(float x, float y) { return x > y ? x : y; }
  NAPKIN_DEVICE float exp2(float x) { return m_.template exp2<halves>(x); }

  /// Scores become weights below the rows' largest so far; what was summed before is made as small.
  NAPKIN_DEVICE void soften(float (&s)[tiles][4], float (&most)[2], float (&total)[2],
                            float (&sums)[width_tiles][4]) {
    const float scale = a_.scale_log2;  // above 0: the largest stays the largest
    NAPKIN_UNROLL
    for (unsigned half = 0; half < 2; ++half) {
      float x = most[half];
      NAPKIN_UNROLL
      for (unsigned n = 0; n < tiles; ++n) NAPKIN_UNROLL
      for (unsigned i = 2 * half; i < 2 * half + 2; ++i) x = larger(s[n][i], x);
      x = of_quad_max(x);
      const float smaller = exp2((most[half] - x) * scale), below = -x * scale;
      most[half] = x;
      total[half] *= smaller;
      NAPKIN_UNROLL
      for (unsigned n = 0; n < width_tiles; ++n) {
        sums[n][2 * half] *= smaller;
        sums[n][2 * half + 1] *= smaller;
      }
      NAPKIN_UNROLL
      for (unsigned n = 0; n < tiles; ++n) NAPKIN_UNROLL
      for (unsigned i = 2 * half; i < 2 * half + 2; ++i) {
        s[n][i] = exp2(m_.fma(s[n][i], scale, below));
        total[half] += s[n][i];
      }
    }
  }

  NAPKIN_DEVICE void forward(unsigned block) {
    using enum attention_tensor;
    const unsigned heads = a_.key_heads * a_.group,
                   blocks = (a_.queries + attention_rows - 1) / attention_rows;
    const unsigned head = block % heads;
    const unsigned first = (blocks - 1 - block / heads) * attention_rows;  // what takes longest begins first
    const unsigned seen = a_.causal && first + attention_rows < a_.keys ? first + attention_rows : a_.keys;
    T *const keys = tile_at(0), *const values = tile_at(1);

    float sums[width_tiles][4], most[2], total[2] = {0, 0};
    clear(sums);
    most[0] = most[1] = -std::numeric_limits<float>::infinity();
    const auto walk = [&](const auto& rows) {
      load<key, tile>(keys, head, 0, a_.keys, a_.hidden);
      for (unsigned other = 0; other < seen; other += tile) {
        float s[tiles][4];
        m_.wait_async();
        m_.sync();  // keys are there; nobody reads values
        load<value, tile>(values, head, other, a_.keys, a_.value);
        multiply_rows(s, rows, keys);
        if (other + tile > a_.keys || (a_.causal && other + tile > first + 1)) hide(s, first, other);
        soften(s, most, total, sums);
        m_.wait_async();
        m_.sync();  // values are there; nobody reads keys
        if (other + tile < seen) load<key, tile>(keys, head, other + tile, a_.keys, a_.hidden);
        add_products(sums, s, values);
      }
    };
    const unsigned own = m_.warp() * 16 * pitch;
    if constexpr (halves) {
      load<query, attention_rows>(keys, head, first, a_.queries, a_.hidden);
      m_.wait_async();
      m_.sync();
      kept_rows rows;
      NAPKIN_UNROLL
      for (unsigned step = 0; step < Width / 16; ++step)
        shared_rows{keys + own}.fragment(m_, step, rows.kept[step]);
      m_.sync();  // all have theirs
      walk(rows);
    } else {
      load<query, attention_rows>(own_at(0), head, first, a_.queries, a_.hidden);
      walk(shared_rows{own_at(0) + own});
    }

    float factor[2];
    const std::int64_t step = a_.walk<log_sum>().position;
    NAPKIN_UNROLL
    for (unsigned half = 0; half < 2; ++half) {
      const float all = of_quad_sum(total[half]);
      factor[half] = 1 / all;
      const unsigned row = first + row_of(2 * half);
      if (a_.at<log_sum>() != nullptr && row < a_.queries && m_.lane() % 4 == 0)
        head_of<log_sum, float>(head)[row * step] = (most[half] * a_.scale_log2 + m_.log2(all)) * ln_2;
    }
    if (a_.at<output>() != nullptr) store<output>(sums, head, first, a_.queries, a_.value, factor);
  }

  // ---- backward

  static constexpr float ln_2 = 0.693147180559945309f, log2_e = 1.44269504088896341f;

  NAPKIN_DEVICE void backward(unsigned block) {
    using enum attention_tensor;
    constexpr attention_tensor own_1 = owns_keys ? key : query, own_2 = owns_keys ? value : output,
                               other_1 = owns_keys ? query : key, other_2 = owns_keys ? output : value;
    const unsigned heads = owns_keys ? a_.key_heads : a_.key_heads * a_.group;
    const unsigned rows = owns_keys ? a_.keys : a_.queries, others = owns_keys ? a_.queries : a_.keys;
    const unsigned blocks = (rows + attention_rows - 1) / attention_rows;
    const unsigned number = owns_keys ? block / heads : blocks - 1 - block / heads;
    const unsigned first = number * attention_rows;
    // Heads count the axes of keys first: those of a group follow one another.
    const unsigned head = owns_keys ? block % heads * a_.group : block % heads;
    load<own_1, attention_rows>(own_at(0), head, first, rows, a_.hidden);
    load<own_2, attention_rows>(own_at(1), head, first, rows, a_.value);

    float sums[width_tiles][4], sums_of_value[owns_keys ? width_tiles : 1][4];
    clear(sums);
    if constexpr (owns_keys) clear(sums_of_value);
    float log_sums[2] = {0, 0}, deltas[2] = {0, 0};
    if constexpr (!owns_keys) {
      NAPKIN_UNROLL
      for (unsigned half = 0; half < 2; ++half) {
        const unsigned row = first + row_of(2 * half);
        if (row >= rows) continue;
        log_sums[half] = head_of<log_sum, const float>(head)[row * a_.walk<log_sum>().position] * log2_e;
        deltas[half] = head_of<delta, const float>(head)[row * a_.walk<delta>().position];
      }
    }

    const unsigned mine = m_.warp() * 16 * pitch;
    const shared_rows left{own_at(0) + mine}, right{own_at(1) + mine};
    unsigned begin = 0, end = others;
    if (a_.causal) {
      if constexpr (owns_keys)
        begin = first / tile * tile;
      else
        end = first + attention_rows < others ? first + attention_rows : others;
    }
    for (unsigned h = head; h < head + (owns_keys ? a_.group : 1); ++h)
      for (unsigned other = begin; other < end; other += tile) {
        m_.sync();  // nobody reads the tiles
        load<other_1, tile>(tile_at(0), h, other, others, a_.hidden);
        load<other_2, tile>(tile_at(1), h, other, others, a_.value);
        if constexpr (owns_keys) load_statistics(h, other);
        m_.wait_async();
        m_.sync();
        float p[tiles][4], s[tiles][4];
        multiply_rows(p, left, tile_at(0));
        if (!sees_all(first, other)) hide(p, first, other);
        NAPKIN_UNROLL
        for (unsigned n = 0; n < tiles; ++n) NAPKIN_UNROLL
        for (unsigned i = 0; i < 4; ++i)
          p[n][i] = exp2(m_.fma(p[n][i], a_.scale_log2, -statistic(log_sums, 0, n, i)));
        if constexpr (owns_keys) add_products(sums_of_value, p, tile_at(1));
        multiply_rows(s, right, tile_at(1));
        NAPKIN_UNROLL
        for (unsigned n = 0; n < tiles; ++n) NAPKIN_UNROLL
        for (unsigned i = 0; i < 4; ++i) p[n][i] *= s[n][i] - statistic(deltas, 1, n, i);
        add_products(sums, p, tile_at(0));
      }

    const float scale[2] = {a_.scale, a_.scale}, as_it_is[2] = {1, 1};
    if constexpr (owns_keys) {
      if (a_.at<d_key>() != nullptr) store<d_key>(sums, head, first, rows, a_.hidden, scale);
      if (a_.at<d_value>() != nullptr) store<d_value>(sums_of_value, head, first, rows, a_.value, as_it_is);
    } else {
      store<d_query>(sums, head, first, rows, a_.hidden, scale);
    }
  }
  /// Every query of the block's rows and the tile sees every key of them.
  NAPKIN_DEVICE bool sees_all(unsigned own, unsigned other) const {
    const unsigned key = owns_keys ? own : other, query = owns_keys ? other : own;
    const unsigned keys = owns_keys ? attention_rows : tile, queries = owns_keys ? tile : attention_rows;
    return key + keys <= a_.keys && query + queries <= a_.queries && (!a_.causal || key + keys <= query + 1);
  }
  NAPKIN_DEVICE void load_statistics(unsigned head, unsigned first) {
    using enum attention_tensor;
    const unsigned i = m_.warp() * 32 + m_.lane();
    if (i >= tile) return;
    const bool there = first + i < a_.queries;
    const float sum =
        there ? head_of<log_sum, const float>(head)[(first + i) * a_.walk<log_sum>().position] : 0;
    statistics()[i] = sum * log2_e;
    statistics()[tile + i] =
        there ? head_of<delta, const float>(head)[(first + i) * a_.walk<delta>().position] : 0;
  }
  /// Of the query of register i of tile n: a row's own, or the column's from shared memory.
  NAPKIN_DEVICE float statistic(const float (&of_row)[2], unsigned which, unsigned n, unsigned i) const {
    if constexpr (owns_keys)
      return statistics()[which * tile + n * 8 + quad_column() + i % 2];
    else
      return of_row[i / 2];
  }
};

}  // namespace napkin::on_cuda::detail
