// Attention on a GPU, as one thread of it runs: forward, and backward in two kernels without atomics, or in one
// where a block has all keys of a head. Written over a Machine, what a thread can do beside arithmetic: of a
// GPU's (attention.cu), or of threads that the tests run on the host (tests/support/host_warps.hpp).
//
//   lane(), warp()                        of the thread
//   sync()                                all threads of the block meet, and see what they wrote
//   from_lane(x, lane)                    another lane's x
//   any(x)                                whether x of any lane
//   copy_async(to, from, there)           16 bytes from memory to shared memory, zeros if not `there`
//   wait_async()                          for the thread's own copies
//   load_matrices<Turned>(x, row)         ldmatrix.x4: each lane names a row of 8 halves, 16 bytes
//   multiply<Type>(c, a, b0, b1)          mma.m16n8k16: c += a b, c in f32
//   pack<Type>(low, high)                 two floats as halves
//   exp2<Fast>(x), log2(x), larger(x, y), smaller(x, y), fma(a, b, c)
//
// A block has 4 warps and owns rows, one or two bands of 16 a warp: queries, or for the adjoints of keys and
// values keys. It walks the others in tiles of shared memory; while one is computed with, the next is on its
// way. A band's values of 8 columns are 4 registers: rows lane / 4 and 8 below, columns lane % 4 * 2 and the
// next. What is multiplied with V (or dO, K, Q) next is in the registers where it was made; but of all adjoints
// at once that of queries, whose keys are other warps' too.
//
// Two bands, because what a warp reads of a tile goes to each: with one, shared memory is slower than mma.
//
// Source  Dao 2023, "FlashAttention-2"; PTX ISA, "Matrix Fragments for mma.m16n8k16"
#pragma once

#include "attention_weights.hpp"

namespace napkin::on_cuda::detail {

template <class Machine, dtype Type, unsigned Width, attention_kernel Kernel, attention_masking Masking>
class attention_thread : attention_weights<Machine, attention_shape<Type, Width, Kernel, Masking>> {
  using base = attention_weights<Machine, attention_shape<Type, Width, Kernel, Masking>>;
  using base::bands, base::rows_of_warp, base::tile, base::tiles, base::halves, base::owns_keys,
      base::windowed, base::masked, base::least, base::log2_e;
  using base::blocks_of, base::thread, base::clear, base::exp2, base::begin_weights, base::soften,
      base::end_weights, base::read_statistics, base::statistics_of, base::statistic_at, base::put_statistic;
  using base::m_, base::a_, base::row_of, base::quad_column, base::hides_all, base::hides_some, base::hide,
      base::hide_by_positions, base::apply_mask, base::weighs_hidden;
  using typename base::shape, typename base::T, typename base::scores, typename base::of_rows;
  static constexpr unsigned pitch = shape::pitch, width_tiles = Width / 8;
  using results = float[bands][width_tiles][4];

  std::byte* shared_;

 public:
  NAPKIN_DEVICE attention_thread(Machine& machine, const attention_arguments& a, std::byte* shared)
      : base(machine, a), shared_(shared) {}

  /// Of a head (of keys, where the kernel owns them) its block `number`: those that take longest come first.
  NAPKIN_DEVICE void run(unsigned head, unsigned number) {
    if constexpr (Kernel == attention_kernel::forward)
      forward(head, number);
    else if constexpr (Kernel == attention_kernel::adjoints)
      backward_at_once(head);
    else
      backward(head, number);
  }

 private:
  // ---- where things lie

  NAPKIN_DEVICE T* own_at(unsigned number) const {
    return reinterpret_cast<T*>(shared_) + number * shape::rows * pitch;
  }
  NAPKIN_DEVICE T* own_of_warp(unsigned number) const {
    return own_at(number) + m_.warp() * rows_of_warp * pitch;
  }
  NAPKIN_DEVICE T* tile_at(unsigned slot, unsigned number) const {
    return reinterpret_cast<T*>(shared_ + shape::own_bytes + slot * shape::slot_bytes +
                                number * shape::tile_bytes);
  }
  /// attention_weights' of the statistics in a slot.
  template <unsigned Count, class F>
  NAPKIN_DEVICE void for_each_score(unsigned slot, unsigned from, const of_rows& of_row, unsigned which,
                                    F&& f) const {
    base::template for_each_score<Count>(statistics_at(slot) + which * tile + from * 8, of_row, f);
  }
  NAPKIN_DEVICE float* statistics_at(unsigned slot) const {
    return reinterpret_cast<float*>(shared_ + shape::own_bytes + slot * shape::slot_bytes +
                                    2 * shape::tile_bytes);
  }
  /// Where all adjoints are given at once: those of scores, a row for each of a warp's keys.
  NAPKIN_DEVICE T* slopes_of_warp(unsigned number) const {
    return reinterpret_cast<T*>(shared_ + shape::own_bytes + shape::slots * shape::slot_bytes) +
           number * rows_of_warp * shape::slope_pitch;
  }
  /// What a warp's keys have of the deltas of the tile's queries, and behind those of their weights.
  NAPKIN_DEVICE float* deltas_of_warp(unsigned number) const {
    return reinterpret_cast<float*>(shared_ + shape::own_bytes + shape::slots * shape::slot_bytes +
                                    shape::slope_bytes) +
           number * 2 * tile;
  }
  template <attention_tensor... X>
  using head_of = attention_head<Type, X...>;
  template <attention_tensor X, unsigned Rows>
  NAPKIN_DEVICE void load(T* to, const T* head, unsigned first, unsigned last, unsigned width) {
    load_rows<X, Rows, Width, pitch>(m_, a_, to, head, first, last, width);
  }
  NAPKIN_DEVICE void put_pair(T* to, float low, float high) {
    if constexpr (halves)
      *reinterpret_cast<std::uint32_t*>(to) = m_.template pack<Type>(low, high);
    else
      to[0] = low, to[1] = high;
  }
  /// The warp's rows, times their factors. They go to memory a row at a time, by way of `staged`: what they
  /// lie in while they are computed are pieces of two.
  template <attention_tensor X>
  NAPKIN_DEVICE void store(T* to, const results& x, T* staged, unsigned first, unsigned last, unsigned width,
                           const of_rows& factor) {
    m_.sync();  // nobody reads the rows that were there
    T* const mine = staged + m_.warp() * rows_of_warp * pitch + quad_column();
    NAPKIN_UNROLL
    for (unsigned b = 0; b < bands; ++b) NAPKIN_UNROLL
    for (unsigned half = 0; half < 2; ++half) NAPKIN_UNROLL
    for (unsigned n = 0; n < width_tiles; ++n) {
      put_pair(mine + row_of(b, half) * pitch + n * 8, x[b][n][2 * half] * factor[b][half],
               x[b][n][2 * half + 1] * factor[b][half]);
    }
    m_.sync();
    store_rows<X, shape::rows, Width, pitch>(m_, a_, to, staged, first, last, width);
  }

  // ---- products of a warp

  /// c = rows * others^T: the warp's rows by Count times 8 of the tile's, over the width.
  template <unsigned Count>
  NAPKIN_DEVICE void multiply_rows(float (&c)[bands][Count][4], const T* rows, const T* others) {
    NAPKIN_UNROLL
    for (unsigned b = 0; b < bands; ++b) NAPKIN_UNROLL
    for (unsigned n = 0; n < Count; ++n) NAPKIN_UNROLL
    for (unsigned i = 0; i < 4; ++i) c[b][n][i] = 0;
    if constexpr (halves) {
      multiply_by_mma<Type, Width, pitch>(m_, c, rows, others);
    } else {
      const T* other = others + quad_column() * pitch;
      for (unsigned d = 0; d < Width; ++d) NAPKIN_UNROLL
      for (unsigned b = 0; b < bands; ++b) {
        const float x = rows[row_of(b, 0) * pitch + d], y = rows[row_of(b, 1) * pitch + d];
        NAPKIN_UNROLL
        for (unsigned n = 0; n < Count; ++n) {
          const float left = other[n * 8 * pitch + d], right = other[(n * 8 + 1) * pitch + d];
          c[b][n][0] = m_.fma(x, left, c[b][n][0]);
          c[b][n][1] = m_.fma(x, right, c[b][n][1]);
          c[b][n][2] = m_.fma(y, left, c[b][n][2]);
          c[b][n][3] = m_.fma(y, right, c[b][n][3]);
        }
      }
    }
  }
  /// sums += weights * others: the warp's rows by the width, over the tile's rows.
  NAPKIN_DEVICE void add_products(results& sums, const scores& weights, const T* others) {
    if constexpr (halves) {
      add_by_mma<Type, Width, pitch>(m_, sums, 0, weights, others);
    } else {
      NAPKIN_UNROLL
      for (unsigned n = 0; n < tiles; ++n) NAPKIN_UNROLL
      for (unsigned k = 0; k < 8; ++k) NAPKIN_UNROLL
      for (unsigned b = 0; b < bands; ++b) {
        const unsigned owner = m_.lane() / 4 * 4 + k / 2;
        const float x = m_.from_lane(weights[b][n][k % 2], owner);
        const float y = m_.from_lane(weights[b][n][2 + k % 2], owner);
        const T* other = others + (n * 8 + k) * pitch + quad_column();
        NAPKIN_UNROLL
        for (unsigned w = 0; w < width_tiles; ++w) {
          const float left = other[w * 8], right = other[w * 8 + 1];
          sums[b][w][0] = m_.fma(x, left, sums[b][w][0]);
          sums[b][w][1] = m_.fma(x, right, sums[b][w][1]);
          sums[b][w][2] = m_.fma(y, left, sums[b][w][2]);
          sums[b][w][3] = m_.fma(y, right, sums[b][w][3]);
        }
      }
    }
  }

  // ---- tiles

  /// f(the tile's first row, its slot) for the tiles of a head's others from `begin` to `end`. When it
  /// returns, a thread's copies are all there.
  template <attention_tensor First, attention_tensor Second, class F>
  NAPKIN_DEVICE void walk(unsigned head, unsigned begin, unsigned end, F&& f) {
    using enum attention_tensor;
    if constexpr (masked && owns_keys) m_.recompute(begin), m_.recompute(end);
    if (begin >= end) return m_.wait_async();  // for the block's own rows
    const head_of<First, Second, log_sum, delta> from(a_, head);
    const float* statistics = nullptr;
    if constexpr (owns_keys) statistics = statistics_of(from, head);
    float statistic = 0;
    const auto fetch = [&](unsigned other, unsigned slot) {
      const unsigned last = owns_keys ? a_.queries : a_.keys;
      load<First, tile>(tile_at(slot, 0), from.template at<First>(), other, last, a_.hidden);
      load<Second, tile>(tile_at(slot, 1), from.template at<Second>(), other, last, a_.value);
      if constexpr (owns_keys) statistic = statistic_at(statistics, other);
    };
    fetch(begin, 0);
    unsigned slot = 0;
    NAPKIN_ROLL
    for (unsigned other = begin; other < end; other += tile) {
      m_.wait_async();
      if constexpr (owns_keys) put_statistic(statistics_at(slot), statistic);
      m_.sync();  // the tile is there; nobody reads the one before
      const bool more = other + tile < end;
      if constexpr (shape::slots == 2) {
        if (more) fetch(other + tile, 1 - slot);
        f(other, slot);
        slot = 1 - slot;
      } else {
        f(other, slot);
        m_.sync();  // nobody reads the tile
        if (more) fetch(other + tile, slot);
      }
    }
  }
  /// Of any thread. It asks the block to meet, and that nobody's copies are on their way.
  NAPKIN_DEVICE bool any_of_block(bool x) {
    unsigned* const said = reinterpret_cast<unsigned*>(tile_at(0, 0));
    const bool of_warp = m_.any(x);
    m_.sync();  // nobody reads the tile
    if (m_.lane() == 0) said[m_.warp()] = of_warp;
    m_.sync();
    unsigned any = 0;
    NAPKIN_UNROLL
    for (unsigned w = 0; w < attention_warps; ++w) any |= said[w];
    m_.sync();  // it may be filled
    return any != 0;
  }

  // ---- forward

  /// Of a block's queries, from `first`: where the tile with the first key of their windows begins.
  NAPKIN_DEVICE unsigned first_tile_seen(unsigned first) const {
    if constexpr (windowed)
      if (a_.causal && first >= a_.window) return (first + 1 - a_.window) / tile * tile;
    return 0;
  }

  NAPKIN_DEVICE void forward(unsigned head, unsigned number) {
    using enum attention_tensor;
    const unsigned first = (blocks_of(a_.queries) - 1 - number) * shape::rows;
    const unsigned own = first + m_.warp() * rows_of_warp;
    const unsigned seen = a_.causal && first + shape::rows < a_.keys ? first + shape::rows : a_.keys;
    {
      const head_of<query> from(a_, head);
      load<query, shape::rows>(own_at(0), from.template at<query>(), first, a_.queries, a_.hidden);
    }
    results sums;
    of_rows most, total;
    clear(sums);
    begin_weights(most, total);
    const std::byte* of_mask = nullptr;
    if constexpr (masked)
      of_mask = head_of<attention_tensor::mask>(a_, head).template at<attention_tensor::mask>();
    const unsigned begin = first_tile_seen(first);
    walk<key, value>(head, begin, seen, [&](unsigned other, unsigned slot) {
      if (hides_all(own, other)) return;
      scores s;
      multiply_rows(s, own_of_warp(0), tile_at(slot, 0));
      if constexpr (masked)
        apply_mask(s, of_mask, own, other);
      else if (hides_some(own, other))
        hide(s, own, other);
      soften(s, most, total, sums);
      add_products(sums, s, tile_at(slot, 1));
    });
    if constexpr (masked) {
      bool weighs = false;
      NAPKIN_UNROLL
      for (unsigned b = 0; b < bands; ++b) NAPKIN_UNROLL
      for (unsigned half = 0; half < 2; ++half)
        weighs = weighs || (own + row_of(b, half) < a_.queries && weighs_hidden(most[b][half]));
      if (a_.causal && any_of_block(weighs))
        walk<key, value>(head, 0, a_.keys, [&](unsigned other, unsigned slot) {
          if (!hides_all(own, other)) return;  // is counted
          scores s;
          hide_by_positions(s, own, other, a_.hidden_score, least);
          soften(s, most, total, sums);
          add_products(sums, s, tile_at(slot, 1));
        });
    }

    of_rows factor;
    const head_of<output, log_sum> to(a_, head);
    float* all_largest = nullptr;
    if constexpr (masked) all_largest = head_of<largest>(a_, head).template at<largest>();
    end_weights(factor, most, total, to.template at<log_sum>(), all_largest, own);
    if (a_.template at<output>() != nullptr)
      store<output>(to.template at<output>(), sums, own_at(0), first, a_.queries, a_.value, factor);
  }

  // ---- backward

  NAPKIN_DEVICE void backward(unsigned of, unsigned number) {
    using enum attention_tensor;
    constexpr attention_tensor own_1 = owns_keys ? key : query, own_2 = owns_keys ? value : output,
                               other_1 = owns_keys ? query : key, other_2 = owns_keys ? output : value;
    const unsigned rows = owns_keys ? a_.keys : a_.queries, others = owns_keys ? a_.queries : a_.keys;
    const unsigned first = (owns_keys ? number : blocks_of(rows) - 1 - number) * shape::rows;
    const unsigned own = first + m_.warp() * rows_of_warp;
    const unsigned head = owns_keys ? of * a_.group : of;
    const head_of<own_1, own_2, log_sum, delta> from(a_, head);
    load<own_1, shape::rows>(own_at(0), from.template at<own_1>(), first, rows, a_.hidden);
    load<own_2, shape::rows>(own_at(1), from.template at<own_2>(), first, rows, a_.value);

    results sums;
    float sums_of_value[owns_keys ? bands : 1][owns_keys ? width_tiles : 1][4];
    clear(sums);
    if constexpr (owns_keys) clear(sums_of_value);
    of_rows log_sums, deltas, all_largest, scale, as_it_is;
    const std::byte* of_mask = nullptr;
    const float* from_largest = nullptr;
    if constexpr (masked) {
      const head_of<attention_tensor::mask, largest> also(a_, head);
      of_mask = also.template at<attention_tensor::mask>();
      from_largest = also.template at<largest>();
    }
    read_statistics(log_sums, deltas, from, own);
    NAPKIN_UNROLL
    for (unsigned b = 0; b < bands; ++b) NAPKIN_UNROLL
    for (unsigned half = 0; half < 2; ++half) {
      scale[b][half] = a_.scale;
      as_it_is[b][half] = 1;
      all_largest[b][half] = 0;
      if constexpr (masked && !owns_keys)
        if (const unsigned row = own + row_of(b, half); row < rows)
          all_largest[b][half] = from_largest[row * a_.template walk<largest>().position];
    }

    const auto compute = [&](unsigned other, unsigned slot) {
      if (hides_all(own, other)) return;
      scores p;
      multiply_rows(p, own_of_warp(0), tile_at(slot, 0));
      if constexpr (masked) {
        apply_mask(p, of_mask, own, other);
        weigh(p, slot, log_sums, all_largest);
      } else {
        if (hides_some(own, other)) hide(p, own, other);
        for_each_score<tiles>(slot, 0, log_sums, 0, [&](unsigned b, unsigned n, unsigned i, float sum) {
          p[b][n][i] = exp2(m_.fma(p[b][n][i], a_.scale_log2, -sum));
        });
      }
      if constexpr (owns_keys) add_products(sums_of_value, p, tile_at(slot, 1));
      constexpr unsigned part = tiles < 4 ? tiles : 4;  // all of them would not fit in registers
      NAPKIN_UNROLL
      for (unsigned begin = 0; begin < tiles; begin += part) {
        float s[bands][part][4];
        multiply_rows(s, own_of_warp(1), tile_at(slot, 1) + begin * 8 * pitch);
        for_each_score<part>(slot, begin, deltas, 1, [&](unsigned b, unsigned n, unsigned i, float delta) {
          p[b][begin + n][i] *= s[b][n][i] - delta;
        });
      }
      if constexpr (masked) {  // nothing goes through what is hidden
        if (a_.mask_shows)     // of a query that sees no key all is
          for_each_score<tiles>(slot, 0, all_largest, 2, [&](unsigned b, unsigned n, unsigned i, float x) {
            if (x <= a_.hidden_score) p[b][n][i] = 0;
          });
        if (hides_some(own, other)) hide_by_positions(p, own, other, 0, 0);
      }
      add_products(sums, p, tile_at(slot, 0));
    };
    if constexpr (owns_keys) {
      const unsigned begin = a_.causal ? first / tile * tile : 0;
      unsigned end = others;
      if constexpr (windowed)  // the last query that has one of these keys in its window, and one
        if (a_.causal && first + shape::rows - 1 + a_.window < others)
          end = first + shape::rows - 1 + a_.window;
      NAPKIN_ROLL
      for (unsigned h = head; h < head + a_.group; ++h) {
        if (h != head) m_.sync();  // nobody reads the tiles of the head before
        if constexpr (masked)
          if (h != head)
            of_mask = head_of<attention_tensor::mask>(a_, h).template at<attention_tensor::mask>();
        walk<other_1, other_2>(h, begin, end, compute);
        if constexpr (masked) {
          const float* const of_queries = head_of<largest>(a_, h).template at<largest>();
          bool weighs = false;
          NAPKIN_ROLL
          for (unsigned i = thread(); a_.causal && i < others; i += attention_threads)
            weighs = weighs || weighs_hidden(of_queries[i * a_.template walk<largest>().position]);
          if (a_.causal && any_of_block(weighs))
            walk<other_1, other_2>(h, 0, others, [&](unsigned other, unsigned slot) {
              if (!hides_all(own, other)) return;  // is counted
              scores p;
              hide_by_positions(p, own, other, a_.hidden_score, least);
              weigh(p, slot, log_sums, all_largest);
              add_products(sums_of_value, p, tile_at(slot, 1));
            });
        }
      }
      const head_of<d_key, d_value> to(a_, head);
      if (a_.template at<d_key>() != nullptr)
        store<d_key>(to.template at<d_key>(), sums, own_at(0), first, rows, a_.hidden, scale);
      if (a_.template at<d_value>() != nullptr)
        store<d_value>(to.template at<d_value>(), sums_of_value, own_at(1), first, rows, a_.value, as_it_is);
    } else {
      const bool sees_some = a_.causal && first + shape::rows < others;
      walk<other_1, other_2>(head, first_tile_seen(first), sees_some ? first + shape::rows : others, compute);
      const head_of<d_query> to(a_, head);
      store<d_query>(to.template at<d_query>(), sums, own_at(0), first, rows, a_.hidden, scale);
    }
  }
  /// Masked scores become weights.
  NAPKIN_DEVICE void weigh(scores& p, unsigned slot, const of_rows& log_sums, const of_rows& all_largest) {
    for_each_score<tiles>(slot, 0, all_largest, 2,
                          [&](unsigned b, unsigned n, unsigned i, float x) { p[b][n][i] -= x; });
    for_each_score<tiles>(slot, 0, log_sums, 0, [&](unsigned b, unsigned n, unsigned i, float sum) {
      p[b][n][i] = exp2(m_.fma(p[b][n][i], log2_e, -sum));
    });
  }

  // ---- backward, all at once

  /// The block has all keys, so that a tile's queries get here all that they are given: a query's delta is
  /// the mean of its weights' adjoints, by its weights, and its adjoint the sum over keys of slopes times
  /// those. Warps have keys apart and meet for both.
  NAPKIN_DEVICE void backward_at_once(unsigned of) {
    using enum attention_tensor;
    static_assert(shape::rows == most_keys_at_once);
    const unsigned own = m_.warp() * rows_of_warp, head = of * a_.group;
    const head_of<key, value> from(a_, head);
    load<key, shape::rows>(own_at(0), from.template at<key>(), 0, a_.keys, a_.hidden);
    load<value, shape::rows>(own_at(1), from.template at<value>(), 0, a_.keys, a_.value);
    results of_keys, of_values;
    clear(of_keys);
    clear(of_values);
    of_rows none, scale, as_it_is;
    NAPKIN_UNROLL
    for (unsigned b = 0; b < bands; ++b) NAPKIN_UNROLL
    for (unsigned half = 0; half < 2; ++half) {
      none[b][half] = 0;
      scale[b][half] = a_.scale;
      as_it_is[b][half] = 1;
    }
    NAPKIN_ROLL
    for (unsigned h = head; h < head + a_.group; ++h) {
      if (h != head) m_.sync();  // nobody reads the tiles of the head before
      const head_of<d_query> to(a_, h);
      walk<query, output>(h, 0, a_.queries, [&](unsigned other, unsigned slot) {
        scores p, slopes;
        const bool sees_none = hides_all(own, other);
        if (sees_none) {
          clear(p);
          clear(slopes);
        } else {
          multiply_rows(p, own_of_warp(0), tile_at(slot, 0));
          if (hides_some(own, other)) hide(p, own, other);
          for_each_score<tiles>(slot, 0, none, 0, [&](unsigned b, unsigned n, unsigned i, float sum) {
            p[b][n][i] = exp2(m_.fma(p[b][n][i], a_.scale_log2, -sum));
          });
          if (own + rows_of_warp > a_.keys) clear_absent_keys(p, own);
          if (a_.template at<d_value>() != nullptr) add_products(of_values, p, tile_at(slot, 1));
          multiply_rows(slopes, own_of_warp(1), tile_at(slot, 1));
        }
        sum_deltas(p, slopes);
        m_.sync();  // deltas are there, and nobody reads the tile's second part
        weigh_slopes(slopes, p);
        if (!sees_none && a_.template at<d_key>() != nullptr) add_products(of_keys, slopes, tile_at(slot, 0));
        if (a_.template at<d_query>() == nullptr) return;
        m_.sync();  // slopes are there
        multiply_slopes(tile_at(slot, 1));
        m_.sync();
        store_rows<d_query, tile, Width, pitch>(m_, a_, to.template at<d_query>(), tile_at(slot, 1), other,
                                                a_.queries, a_.hidden);
      });
    }
    const head_of<d_key, d_value> to(a_, head);
    if (a_.template at<d_key>() != nullptr)
      store<d_key>(to.template at<d_key>(), of_keys, own_at(0), 0, a_.keys, a_.hidden, scale);
    if (a_.template at<d_value>() != nullptr)
      store<d_value>(to.template at<d_value>(), of_values, own_at(1), 0, a_.keys, a_.value, as_it_is);
  }
  /// Keys past the last weigh nothing, however small a query's scores are.
  NAPKIN_DEVICE void clear_absent_keys(scores& p, unsigned own) const {
    NAPKIN_UNROLL
    for (unsigned b = 0; b < bands; ++b) NAPKIN_UNROLL
    for (unsigned half = 0; half < 2; ++half) {
      if (own + row_of(b, half) < a_.keys) continue;
      NAPKIN_UNROLL
      for (unsigned n = 0; n < tiles; ++n) p[b][n][2 * half] = p[b][n][2 * half + 1] = 0;
    }
  }
  /// The warp's part of them, of weights and their adjoints: of its rows, then of its lanes. And of the
  /// weights' sums: as much as these are off 1, where scores are large, their adjoints would be off 0.
  NAPKIN_DEVICE void sum_deltas(const scores& p, const scores& of_p) {
    float* const mine = deltas_of_warp(m_.warp()) + quad_column();
    NAPKIN_UNROLL
    for (unsigned n = 0; n < tiles; ++n) NAPKIN_UNROLL
    for (unsigned i = 0; i < 2; ++i) {
      float sum = 0, all = 0;
      NAPKIN_UNROLL
      for (unsigned b = 0; b < bands; ++b) {
        sum = m_.fma(p[b][n][i], of_p[b][n][i], m_.fma(p[b][n][2 + i], of_p[b][n][2 + i], sum));
        all += p[b][n][i] + p[b][n][2 + i];
      }
      NAPKIN_UNROLL
      for (unsigned lanes = 4; lanes < 32; lanes *= 2) {
        sum += m_.from_lane(sum, m_.lane() ^ lanes);
        all += m_.from_lane(all, m_.lane() ^ lanes);
      }
      if (m_.lane() < 4) mine[n * 8 + i] = sum, mine[tile + n * 8 + i] = all;
    }
  }
  /// Adjoints of weights become the scores', before they were scaled; the block's lie side by side.
  NAPKIN_DEVICE void weigh_slopes(scores& of_p, const scores& p) {
    T* const mine = slopes_of_warp(m_.warp()) + quad_column();
    NAPKIN_UNROLL
    for (unsigned n = 0; n < tiles; ++n) {
      float delta[2] = {0, 0}, all[2] = {0, 0};
      NAPKIN_UNROLL
      for (unsigned w = 0; w < attention_warps; ++w) NAPKIN_UNROLL
      for (unsigned i = 0; i < 2; ++i) {
        const float* const of_warp = deltas_of_warp(w) + n * 8 + quad_column() + i;
        delta[i] += of_warp[0];
        all[i] += of_warp[tile];
      }
      NAPKIN_UNROLL
      for (unsigned i = 0; i < 2; ++i)  // none of a query past the last that sees no key
        delta[i] = all[i] == 0 ? 0 : delta[i] / all[i];
      NAPKIN_UNROLL
      for (unsigned b = 0; b < bands; ++b) NAPKIN_UNROLL
      for (unsigned half = 0; half < 2; ++half) {
        float* const pair = of_p[b][n] + 2 * half;
        NAPKIN_UNROLL
        for (unsigned i = 0; i < 2; ++i) pair[i] = p[b][n][2 * half + i] * (pair[i] - delta[i]);
        put_pair(mine + row_of(b, half) * shape::slope_pitch + n * 8, pair[0], pair[1]);
      }
    }
  }
  /// Adjoints of the tile's queries, to shared memory: slopes times keys, scaled. A warp has 16 queries, and
  /// where these are fewer than four times that a part of their width.
  NAPKIN_DEVICE void multiply_slopes(T* to) {
    constexpr unsigned row_parts = tile / 16, columns = Width / (attention_warps / row_parts);
    static_assert(tile % 16 == 0 && attention_warps % row_parts == 0 && columns % 16 == 0);
    const unsigned first = m_.warp() % row_parts * 16, column = m_.warp() / row_parts * columns;
    float sums[1][columns / 8][4];
    clear(sums);
    const T *slopes = slopes_of_warp(0) + first, *keys = own_at(0) + column;
    if constexpr (halves) {
      slopes += (m_.lane() / 16 * 8 + m_.lane() % 8) * shape::slope_pitch + m_.lane() / 8 % 2 * 8;
      keys += m_.lane() % 16 * pitch + m_.lane() / 16 * 8;
      NAPKIN_UNROLL
      for (unsigned k = 0; k < shape::rows; k += 16) {
        std::uint32_t left[4], right[4];
        m_.template load_matrices<true>(left, slopes + k * shape::slope_pitch);
        NAPKIN_UNROLL
        for (unsigned n = 0; n < columns / 8; n += 2) {
          m_.template load_matrices<true>(right, keys + k * pitch + n * 8);
          m_.template multiply<Type>(sums[0][n], left, right[0], right[1]);
          m_.template multiply<Type>(sums[0][n + 1], left, right[2], right[3]);
        }
      }
    } else {
      slopes += m_.lane() / 4;
      keys += quad_column();
      for (unsigned k = 0; k < shape::rows; ++k) {
        const float x = slopes[k * shape::slope_pitch], y = slopes[k * shape::slope_pitch + 8];
        NAPKIN_UNROLL
        for (unsigned n = 0; n < columns / 8; ++n) {
          const float left = keys[k * pitch + n * 8], right = keys[k * pitch + n * 8 + 1];
          sums[0][n][0] = m_.fma(x, left, sums[0][n][0]);
          sums[0][n][1] = m_.fma(x, right, sums[0][n][1]);
          sums[0][n][2] = m_.fma(y, left, sums[0][n][2]);
          sums[0][n][3] = m_.fma(y, right, sums[0][n][3]);
        }
      }
    }
    T* const mine = to + (first + m_.lane() / 4) * pitch + column + quad_column();
    NAPKIN_UNROLL
    for (unsigned half = 0; half < 2; ++half) NAPKIN_UNROLL
    for (unsigned n = 0; n < columns / 8; ++n)
      put_pair(mine + half * 8 * pitch + n * 8, sums[0][n][2 * half] * a_.scale,
               sums[0][n][2 * half + 1] * a_.scale);
  }
};

}  // namespace napkin::on_cuda::detail
