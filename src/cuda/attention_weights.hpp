// How scores become weights, of those that a warp of a fast kernel holds, and the statistics of queries that stand
// for it: logarithms of sums, deltas, with a mask what is subtracted. What attention_body.hpp and
// warpgroup_attention_body.hpp do alike.
#pragma once

#include <limits>

#include "attention_masks.hpp"

namespace napkin::on_cuda::detail {

template <class Machine, class Shape>
class attention_weights : protected attention_masks<Machine, Shape> {
  using base = attention_masks<Machine, Shape>;

 protected:
  using base::bands, base::tile, base::tiles, base::halves, base::owns_keys, base::windowed, base::masked,
      base::least;
  using base::base;
  using base::m_, base::a_, base::row_of, base::quad_column;
  using typename base::shape, typename base::scores, typename base::of_rows;

  NAPKIN_DEVICE static unsigned blocks_of(unsigned rows) { return (rows + shape::rows - 1) / shape::rows; }
  NAPKIN_DEVICE unsigned thread() const { return m_.warp() * 32 + m_.lane(); }
  template <unsigned Bands, unsigned Columns>
  NAPKIN_DEVICE static void clear(float (&x)[Bands][Columns][4]) {
    NAPKIN_UNROLL
    for (unsigned b = 0; b < Bands; ++b) NAPKIN_UNROLL
    for (unsigned n = 0; n < Columns; ++n) NAPKIN_UNROLL
    for (unsigned i = 0; i < 4; ++i) x[b][n][i] = 0;
  }

  static constexpr float ln_2 = 0.693147180559945309f, log2_e = 1.44269504088896341f;

  NAPKIN_DEVICE float of_quad_max(float x) {
    x = m_.larger(x, m_.from_lane(x, m_.lane() ^ 1));
    return m_.larger(x, m_.from_lane(x, m_.lane() ^ 2));
  }
  NAPKIN_DEVICE float of_quad_sum(float x) {
    x += m_.from_lane(x, m_.lane() ^ 1);
    return x + m_.from_lane(x, m_.lane() ^ 2);
  }
  NAPKIN_DEVICE float exp2(float x) { return m_.template exp2<halves>(x); }

  /// Scores become weights, 1 where a score is `most`. That follows the largest so far, and what was summed
  /// before is made as small; of halves it stays until a row's largest weight would exceed 2^8, which their
  /// exponents and f32's sums bear (as FlashAttention-4 has it), so that most tiles leave sums alone.
  template <unsigned Columns>
  NAPKIN_DEVICE void soften(scores& s, of_rows& most, of_rows& total, float (&sums)[bands][Columns][4]) {
    constexpr float bearable = halves ? 8 : 0;
    const float scale = a_.scale_log2;  // above 0: the largest stays the largest
    of_rows smaller;
    bool moves = false;
    NAPKIN_UNROLL
    for (unsigned b = 0; b < bands; ++b) NAPKIN_UNROLL
    for (unsigned half = 0; half < 2; ++half) {
      float x = most[b][half];
      NAPKIN_UNROLL
      for (unsigned n = 0; n < tiles; ++n) NAPKIN_UNROLL
      for (unsigned i = 2 * half; i < 2 * half + 2; ++i) x = m_.larger(x, s[b][n][i]);
      x = of_quad_max(x);
      const float above = (x - most[b][half]) * (masked ? log2_e : scale);
      const bool moved = above > bearable;
      smaller[b][half] = moved ? exp2(-above) : 1;
      if (moved) most[b][half] = x;
      moves = moves || moved;
    }
    if (m_.any(moves)) {
      NAPKIN_UNROLL
      for (unsigned b = 0; b < bands; ++b) NAPKIN_UNROLL
      for (unsigned half = 0; half < 2; ++half) {
        total[b][half] *= smaller[b][half];
        NAPKIN_UNROLL
        for (unsigned n = 0; n < Columns; ++n) NAPKIN_UNROLL
        for (unsigned i = 2 * half; i < 2 * half + 2; ++i) sums[b][n][i] *= smaller[b][half];
      }
    }
    NAPKIN_UNROLL
    for (unsigned b = 0; b < bands; ++b) NAPKIN_UNROLL
    for (unsigned half = 0; half < 2; ++half) {
      // Where there is none so far, scores are -inf, and stay so whatever finite number is added.
      const float below =
          m_.smaller(most[b][half] * (masked ? -1 : -scale), std::numeric_limits<float>::max());
      NAPKIN_UNROLL
      for (unsigned n = 0; n < tiles; ++n) NAPKIN_UNROLL
      for (unsigned i = 2 * half; i < 2 * half + 2; ++i) {
        if constexpr (masked)
          s[b][n][i] = exp2((s[b][n][i] + below) * log2_e);
        else
          s[b][n][i] = exp2(m_.fma(s[b][n][i], scale, below));
        total[b][half] += s[b][n][i];
      }
    }
  }

  /// Nothing is weighed yet.
  NAPKIN_DEVICE static void begin_weights(of_rows& most, of_rows& total) {
    NAPKIN_UNROLL
    for (unsigned b = 0; b < bands; ++b) NAPKIN_UNROLL
    for (unsigned half = 0; half < 2; ++half) {
      most[b][half] = -std::numeric_limits<float>::infinity();
      total[b][half] = 0;
    }
  }
  /// All is: what sums are multiplied with; and the rows' statistics go to the head's, from row `own` on.
  NAPKIN_DEVICE void end_weights(of_rows& factor, const of_rows& most, const of_rows& total, float* log_sums,
                                 [[maybe_unused]] float* all_largest, unsigned own) {
    using enum attention_tensor;
    NAPKIN_UNROLL
    for (unsigned b = 0; b < bands; ++b) NAPKIN_UNROLL
    for (unsigned half = 0; half < 2; ++half) {
      const float all = of_quad_sum(total[b][half]);
      factor[b][half] = 1 / all;
      const unsigned row = own + row_of(b, half);
      if (row >= a_.queries || m_.lane() % 4 != 0) continue;
      if (a_.template at<log_sum>() != nullptr)
        log_sums[row * a_.template walk<log_sum>().position] =
            ((masked ? 0 : most[b][half] * a_.scale_log2) + m_.log2(all)) * ln_2;
      if constexpr (masked)
        if (a_.template at<largest>() != nullptr)
          all_largest[row * a_.template walk<largest>().position] = most[b][half];
    }
  }

  /// Of a head's queries, a thread's own rows, from row `own` on; zeros past the last.
  template <class Head>
  NAPKIN_DEVICE void read_statistics(of_rows& log_sums, of_rows& deltas, const Head& from,
                                     unsigned own) const {
    using enum attention_tensor;
    NAPKIN_UNROLL
    for (unsigned b = 0; b < bands; ++b) NAPKIN_UNROLL
    for (unsigned half = 0; half < 2; ++half) {
      log_sums[b][half] = deltas[b][half] = 0;
      if constexpr (!owns_keys) {
        const unsigned row = own + row_of(b, half);
        if (row >= a_.queries) continue;
        log_sums[b][half] = from.template at<log_sum>()[row * a_.template walk<log_sum>().position] * log2_e;
        deltas[b][half] = from.template at<delta>()[row * a_.template walk<delta>().position];
      }
    }
  }

  // Where a kernel owns keys, of a tile's queries each of the first threads has one statistic on its way.
  NAPKIN_DEVICE bool has_sum() const { return thread() < tile; }
  NAPKIN_DEVICE bool has_statistic() const { return thread() < shape::statistics * tile; }
  /// Of a head: the thread's kind.
  template <class Head>
  NAPKIN_DEVICE const float* statistics_of(const Head& from, [[maybe_unused]] unsigned head) const {
    using enum attention_tensor;
    if constexpr (masked)
      if (thread() >= 2 * tile) return attention_head<shape::type, largest>(a_, head).template at<largest>();
    if constexpr (shape::statistics == 1) return from.template at<log_sum>();
    return has_sum() ? from.template at<log_sum>() : from.template at<delta>();
  }
  /// Of the tile whose first query is `other`.
  NAPKIN_DEVICE float statistic_at(const float* statistics, unsigned other) const {
    using enum attention_tensor;
    const unsigned row = other + thread() % tile;
    std::int64_t step = has_sum() ? a_.template walk<log_sum>().position : a_.template walk<delta>().position;
    if constexpr (masked)
      if (thread() >= 2 * tile) step = a_.template walk<largest>().position;
    return has_statistic() && row < a_.queries ? statistics[row * step] : 0;
  }
  NAPKIN_DEVICE void put_statistic(float* of_tile, float statistic) const {
    if (has_statistic()) of_tile[thread()] = has_sum() ? statistic * log2_e : statistic;
  }

  /// f(band, n, register, the statistic of its query) for Count times 8 columns: a row's own, or the columns'
  /// from shared memory.
  template <unsigned Count, class F>
  NAPKIN_DEVICE void for_each_score(const float* of_columns, const of_rows& of_row, F&& f) const {
    const float* const of_column = of_columns + quad_column();
    NAPKIN_UNROLL
    for (unsigned n = 0; n < Count; ++n) {
      float columns[2] = {0, 0};
      if constexpr (owns_keys) {
        columns[0] = of_column[n * 8];
        columns[1] = of_column[n * 8 + 1];
      }
      NAPKIN_UNROLL
      for (unsigned b = 0; b < bands; ++b) NAPKIN_UNROLL
      for (unsigned i = 0; i < 4; ++i) f(b, n, i, owns_keys ? columns[i % 2] : of_row[b][i / 2]);
    }
  }
};

}  // namespace napkin::on_cuda::detail
