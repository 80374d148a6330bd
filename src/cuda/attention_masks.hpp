// What a query does not see: by positions and by a tensor, of the scores that a warp of a fast kernel holds.
#pragma once

#include <limits>

#include "attention_tiles.hpp"

namespace napkin::on_cuda::detail {

/// `own` and `other`: the warp's first row, and the tile's. Of rows past the last, those of queries are zeros
/// with zeros for statistics, and add nothing; what such a row of the warp's own gives is not stored. So it
/// is keys that are hidden, where others; and where what all keys give is added up, the warp's own.
template <class Machine, class Shape>
class attention_masks {
 protected:
  using shape = Shape;
  using T = typename shape::T;
  static constexpr unsigned bands = shape::bands, rows_of_warp = shape::rows_of_warp, tile = shape::tile;
  static constexpr unsigned tiles = tile / 8;
  static constexpr bool halves = shape::halves, owns_keys = shape::owns_keys;
  static constexpr bool windowed = shape::windowed, masked = shape::masked;
  using scores = float[bands][tiles][4];
  using of_rows = float[bands][2];  // rows lane / 4 of each band, and 8 below

  Machine& m_;
  const attention_arguments& a_;

  NAPKIN_DEVICE attention_masks(Machine& machine, const attention_arguments& a) : m_(machine), a_(a) {}

  NAPKIN_DEVICE unsigned quad_row() const { return m_.lane() / 4; }
  NAPKIN_DEVICE unsigned quad_column() const { return m_.lane() % 4 * 2; }
  /// Of a band's upper or lower rows, among the warp's.
  NAPKIN_DEVICE unsigned row_of(unsigned band, unsigned half) const {
    return band * 16 + half * 8 + quad_row();
  }

  NAPKIN_DEVICE bool hides_all(unsigned own, unsigned other) const {
    if constexpr (windowed)  // all keys are before the window of the first query
      if (a_.causal &&
          (owns_keys ? own + rows_of_warp - 1 + a_.window <= other : other + tile - 1 + a_.window <= own))
        return true;
    return a_.causal && (owns_keys ? other + tile <= own : other >= own + rows_of_warp);
  }
  NAPKIN_DEVICE bool hides_some(unsigned own, unsigned other) const {
    if constexpr (windowed)  // the first key is before the window of the last query
      if (a_.causal && (owns_keys ? own + a_.window < other + tile : other + a_.window < own + rows_of_warp))
        return true;
    if constexpr (masked && owns_keys)
      if (other + tile > a_.queries) return true;
    if constexpr (owns_keys) return a_.causal && other + 1 < own + rows_of_warp;
    return other + tile > a_.keys || (a_.causal && other + tile > own + 1);
  }
  static constexpr float least = -std::numeric_limits<float>::infinity();
  /// `hidden` where a query does not see a key by their positions, `absent` where there is none of them.
  NAPKIN_DEVICE void hide_by_positions(scores& s, unsigned own, unsigned other, float hidden,
                                       float absent) const {
    const int from = static_cast<int>(other + quad_column()), window = static_cast<int>(a_.window),
              last = static_cast<int>(owns_keys ? a_.queries : a_.keys) - from;
    NAPKIN_UNROLL
    for (unsigned b = 0; b < bands; ++b) NAPKIN_UNROLL
    for (unsigned half = 0; half < 2; ++half) {
      // Of the lane's columns, from its first: those from `begin` to before `end` are seen.
      const int row = static_cast<int>(own + row_of(b, half)) - from;
      const int begin = !a_.causal ? 0 : owns_keys ? row : row + 1 - window;
      int end = !a_.causal ? last : owns_keys ? row + window : row + 1;
      if (!masked && end > last) end = last;
      NAPKIN_UNROLL
      for (unsigned n = 0; n < tiles; ++n) NAPKIN_UNROLL
      for (unsigned i = 0; i < 2; ++i) {
        const int column = static_cast<int>(n * 8 + i);
        float& x = s[b][n][2 * half + i];
        if (column < begin || column >= end) x = hidden;
        if (masked && column >= last) x = absent;
      }
    }
  }
  /// -inf where a query does not see a key.
  NAPKIN_DEVICE void hide(scores& s, unsigned own, unsigned other) const {
    if constexpr (windowed) return hide_by_positions(s, own, other, masked ? a_.hidden_score : least, least);
    constexpr float hidden = least;
    NAPKIN_UNROLL
    for (unsigned b = 0; b < bands; ++b) NAPKIN_UNROLL
    for (unsigned half = 0; half < 2; ++half) {
      // A key's queries begin there, a query's keys end: of the lane's first column.
      const unsigned row = own + row_of(b, half);
      const unsigned bound = owns_keys || (a_.causal && row + 1 < a_.keys) ? row + !owns_keys : a_.keys;
      const int from_here = static_cast<int>(bound) - static_cast<int>(other + quad_column());
      NAPKIN_UNROLL
      for (unsigned n = 0; n < tiles; ++n) NAPKIN_UNROLL
      for (unsigned i = 0; i < 2; ++i) {
        const bool before = static_cast<int>(n * 8 + i) < from_here;
        if (before == owns_keys) s[b][n][2 * half + i] = hidden;
      }
    }
  }

  // ---- a tensor as mask
  //
  // Scores are scaled before it is added. Most rows see some key, and what is hidden weighs nothing: tiles
  // that positions hide are left out. If a row sees none, its hidden keys have all the weight, and those
  // tiles are walked too.

  /// s, products of the warp's rows and the tile's, scaled and masked; hidden by positions if some are.
  NAPKIN_DEVICE void apply_mask(scores& s, const std::byte* of_head, unsigned own, unsigned other) const {
    if (!a_.mask_shows && a_.mask_type == dtype::f32)
      mask_by<float>(s, of_head, own, other);
    else if (!a_.mask_shows && a_.mask_type == dtype::bf16)
      mask_by<bf16>(s, of_head, own, other);
    else if (!a_.mask_shows)
      mask_by<f16>(s, of_head, own, other);
    else
      mask_by<b8>(s, of_head, own, other);
    if (hides_some(own, other)) hide(s, own, other);
  }
  template <class M>
  NAPKIN_DEVICE float masked_score(float s, M x) const {
    if constexpr (std::is_same_v<M, b8>)
      return x ? s * a_.scale : a_.hidden_score;
    else
      return m_.fma(s, a_.scale, planning::loaded<dtype_of<M>>(x));
  }
  /// Past the last row or column that there is, the last is read again. Only within a tile are elements
  /// counted in 32 bits.
  template <class M>
  NAPKIN_DEVICE void mask_by(scores& s, const std::byte* of_head, unsigned own, unsigned other) const {
    static_assert(shape::rows + tile <= fast_mask_steps);
    const int along_rows = static_cast<int>(owns_keys ? a_.mask_along_keys : a_.mask_along_queries),
              along_columns = static_cast<int>(owns_keys ? a_.mask_along_queries : a_.mask_along_keys),
              last_row = static_cast<int>(owns_keys ? a_.keys : a_.queries) - 1 - static_cast<int>(own),
              last_column = static_cast<int>(owns_keys ? a_.queries : a_.keys) - 1 - static_cast<int>(other);
    const M* const from = reinterpret_cast<const M*>(of_head) + std::int64_t{own} * along_rows +
                          std::int64_t{other} * along_columns;
    int rows[bands][2];
    NAPKIN_UNROLL
    for (unsigned b = 0; b < bands; ++b) NAPKIN_UNROLL
    for (unsigned half = 0; half < 2; ++half) {
      const int row = static_cast<int>(row_of(b, half));
      rows[b][half] = (row < last_row ? row : last_row) * along_rows;
    }
    if (!owns_keys && a_.mask_by_pairs && other + tile <= a_.keys) {
      NAPKIN_UNROLL
      for (unsigned b = 0; b < bands; ++b) NAPKIN_UNROLL
      for (unsigned half = 0; half < 2; ++half) {
        struct alignas(2 * sizeof(M)) pair {
          M x[2];
        };
        const pair* const pairs =
            reinterpret_cast<const pair*>(from + (rows[b][half] + static_cast<int>(quad_column())));
        NAPKIN_UNROLL
        for (unsigned n = 0; n < tiles; ++n) {
          const pair two = pairs[4 * n];
          NAPKIN_UNROLL
          for (unsigned i = 0; i < 2; ++i)
            s[b][n][2 * half + i] = masked_score(s[b][n][2 * half + i], two.x[i]);
        }
      }
      return;
    }
    NAPKIN_UNROLL
    for (unsigned n = 0; n < tiles; ++n) NAPKIN_UNROLL
    for (unsigned i = 0; i < 2; ++i) {
      const int column = static_cast<int>(n * 8 + quad_column() + i);
      const int at = (column < last_column ? column : last_column) * along_columns;
      NAPKIN_UNROLL
      for (unsigned b = 0; b < bands; ++b) NAPKIN_UNROLL
      for (unsigned half = 0; half < 2; ++half)
        s[b][n][2 * half + i] = masked_score(s[b][n][2 * half + i], from[rows[b][half] + at]);
    }
  }
  /// Of a query whose largest score, or little less, is this: whether what is hidden weighs anything.
  NAPKIN_DEVICE bool weighs_hidden(float largest) const {
    constexpr float nothing = -128;  // exp of it is 0 in f32
    return !(a_.hidden_score - largest < nothing);
  }
};

}  // namespace napkin::on_cuda::detail
