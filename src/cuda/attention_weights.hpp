// How scores become weights, of those that a warp of a fast kernel holds.
#pragma once

#include "attention_masks.hpp"

namespace napkin::on_cuda::detail {

template <class Machine, class Shape>
class attention_weights : protected attention_masks<Machine, Shape> {
  using base = attention_masks<Machine, Shape>;

 protected:
  using base::bands, base::tiles, base::halves, base::owns_keys, base::windowed, base::masked, base::least;
  using base::base;
  using base::m_, base::a_, base::quad_column;
  using typename base::scores, typename base::of_rows;

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
      const bool none = windowed && most[b][half] == least;  // so far
      const float below = none ? 0 : -most[b][half] * (masked ? 1 : scale);
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
