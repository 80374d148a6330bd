#include "attention_blocks.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "attention_lanes.hpp"
#include "gemm_pack.hpp"
#include "gemm_tile.hpp"
#include "napkin/cpu/threads.hpp"
#include "napkin/passes/attention_loops.hpp"
#include "napkin/plan/scalar.hpp"

namespace napkin::on_cpu::detail {
namespace {

using passes::attention_extent;
using passes::attention_tensor;
using range = attention_extent::range;

constexpr bool is_empty(const range& r) { return r.begin >= r.end; }

/// Rows of one head: where the first lies, how far apart they and their elements are.
template <class T>
struct row_list {
  T* at;
  std::ptrdiff_t row, element;
  row_list from(std::size_t position) const {
    return {at + static_cast<std::ptrdiff_t>(position) * row, row, element};
  }
};

template <class T>
struct attention_scratch {
  static constexpr std::size_t rows = query_lanes<T> * widest_of_blocks;
  alignas(64) T query_columns[rows], d_output_columns[rows];  // packed, strip by strip
  alignas(64) T query_rows[rows], d_output_rows[rows];        // where they are copied
  alignas(64) T key_rows[rows], value_rows[rows];
  alignas(64) T sums[rows];  // on their way to where elements are no neighbours
  alignas(64) T scores[most_keys<T> * query_lanes<T>], d_weights[most_keys<T> * query_lanes<T>];
  alignas(64) T masks[most_keys<T> * query_lanes<T>];
};

template <class T>
class attention_blocks {
 public:
  attention_blocks(const planning::attention_record& record, const attention_call& call)
      : e_(record.extent), call_(call) {}

  std::size_t forward_tasks() const { return e_.key_heads() * e_.group() * query_blocks(); }
  std::size_t backward_tasks() const { return e_.key_heads(); }

  /// The output and sums of some queries of a head.
  void forward(std::size_t task) const {
    using enum attention_tensor;
    const std::size_t head = task / query_blocks(), i = task % query_blocks() * most_lanes;
    const std::size_t queries = std::min(most_lanes, e_.queries - i), lanes = lanes_of(queries);
    scratch s;
    clear_scores(s.scores);
    softmax_lanes<T> sums;
    std::fill(sums.most, sums.most + most_lanes, -std::numeric_limits<T>::infinity());
    std::fill(sums.total, sums.total + most_lanes, T{0});
    pack(rows_of(query, head).from(i), queries, e_.hidden, s.query_columns);
    const row_list<T> to = rows_of(output, head).from(i);
    const range seen = keys_seen(i, queries);
    for (std::size_t j = seen.begin; j < seen.end; j += keys_of_block_) {
      const std::size_t keys = std::min(keys_of_block_, seen.end - j);
      const row_list<T> k = left(rows_of(key, head).from(j), keys, e_.hidden, s.key_rows);
      multiply_with_queries(k, {j, j + keys}, i, lanes, s.query_columns, e_.hidden, s.scores);
      lanes_.weigh(block(head, i, queries, {j, j + keys}, s), sums);
      if (to.at == nullptr) continue;
      if (j > seen.begin) scale_rows(to, queries, e_.value, [&](std::size_t l) { return sums.shrink[l]; });
      const row_list<T> v = right(rows_of(value, head).from(j), keys, e_.value, s.value_rows);
      multiply(
          {s.scores, 1, most_lanes}, queries, v, to, e_.value, j > seen.begin, s.sums,
          [&](std::size_t first, std::size_t last) { return keys_seen(i + first, last - first, j, keys); });
    }
    if (to.at != nullptr)
      scale_rows(to, queries, e_.value, [&](std::size_t l) { return T{1} / sums.total[l]; });
    const row_list<T> of_sums = rows_of(log_sum, head).from(i), of_largest = rows_of(largest, head).from(i);
    for (std::size_t l = 0; l < queries; ++l) {
      const auto at = static_cast<std::ptrdiff_t>(l);
      if (of_sums.at != nullptr)
        of_sums.at[at * of_sums.row] = (e_.is_masked() ? T{0} : sums.most[l]) + math::log(sums.total[l]);
      if (of_largest.at != nullptr) of_largest.at[at * of_largest.row] = sums.most[l];
    }
  }

  /// The adjoints of a head of keys, and those of all queries that share it.
  void backward(std::size_t task) const {
    using enum attention_tensor;
    const std::size_t first_head = task * e_.group();
    scratch s;
    clear_scores(s.scores);
    clear_scores(s.d_weights);
    const row_list<T> to_key = rows_of(d_key, first_head), to_value = rows_of(d_value, first_head);
    clear(to_key, e_.keys, e_.hidden);
    clear(to_value, e_.keys, e_.value);
    for (std::size_t head = first_head; head < first_head + e_.group(); ++head)
      for (std::size_t i = 0; i < e_.queries; i += most_lanes) backward_of_queries(head, i, s);
    const auto scale = [this](std::size_t) { return static_cast<T>(e_.scale); };
    if (to_key.at != nullptr) scale_rows(to_key, e_.keys, e_.hidden, scale);
  }

 private:
  static constexpr std::size_t most_lanes = query_lanes<T>;
  using scratch = attention_scratch<T>;
  const attention_extent& e_;
  const attention_call& call_;
  const tile_kernels<T>& tiles_ = best_tile_kernels<T>();
  const score_kernels<T>& lanes_ = best_score_kernels<T>();
  const std::size_t keys_of_block_ =
      std::min(most_keys<T>, scratch::rows / std::max<std::size_t>(1, e_.widest()));

  std::size_t query_blocks() const { return (e_.queries + most_lanes - 1) / most_lanes; }
  static std::size_t lanes_of(std::size_t queries) { return (queries + 15) / 16 * 16; }

  void backward_of_queries(std::size_t head, std::size_t i, scratch& s) const {
    using enum attention_tensor;
    const std::size_t queries = std::min(most_lanes, e_.queries - i), lanes = lanes_of(queries);
    const row_list<T> to_query = rows_of(d_query, head).from(i), to_key = rows_of(d_key, head),
                      to_value = rows_of(d_value, head), q_rows = rows_of(query, head).from(i),
                      d_rows = rows_of(output, head).from(i);
    pack(q_rows, queries, e_.hidden, s.query_columns);
    const bool slopes = to_query.at != nullptr || to_key.at != nullptr;
    if (slopes) pack(d_rows, queries, e_.value, s.d_output_columns);
    const row_list<T> q = to_key.at == nullptr ? q_rows : right(q_rows, queries, e_.hidden, s.query_rows),
                      d = to_value.at == nullptr ? d_rows : right(d_rows, queries, e_.value, s.d_output_rows);
    adjoint_lanes<T> known;
    load(rows_of(largest, head).from(i), queries, known.largest);
    load(rows_of(log_sum, head).from(i), queries, known.log_sum);
    load(rows_of(delta, head).from(i), queries, known.delta);
    clear(to_query, queries, e_.hidden);
    const range seen = keys_seen(i, queries);
    for (std::size_t j = seen.begin; j < seen.end; j += keys_of_block_) {
      const std::size_t keys = std::min(keys_of_block_, seen.end - j);
      const range here{j, j + keys};
      const row_list<T> k_rows = rows_of(key, head).from(j),
                        k = to_query.at == nullptr ? left(k_rows, keys, e_.hidden, s.key_rows)
                                                   : right(k_rows, keys, e_.hidden, s.key_rows);
      multiply_with_queries(k, here, i, lanes, s.query_columns, e_.hidden, s.scores);
      if (slopes)
        multiply_with_queries(left(rows_of(value, head).from(j), keys, e_.value, s.value_rows), here, i,
                              lanes, s.d_output_columns, e_.value, s.d_weights);
      lanes_.slope(block(head, i, queries, here, s), known, s.d_weights);
      const auto by_key = [&](std::size_t first, std::size_t last) {
        return queries_seeing(j + first, last - first, i, queries);
      };
      const auto by_query = [&](std::size_t first, std::size_t last) {
        return keys_seen(i + first, last - first, j, keys);
      };
      constexpr std::ptrdiff_t row = most_lanes;
      if (to_value.at != nullptr)
        multiply({s.scores, row, 1}, keys, d, to_value.from(j), e_.value, true, s.sums, by_key);
      if (to_key.at != nullptr)
        multiply({s.d_weights, row, 1}, keys, q, to_key.from(j), e_.hidden, true, s.sums, by_key);
      if (to_query.at != nullptr)
        multiply({s.d_weights, 1, row}, queries, k, to_query, e_.hidden, true, s.sums, by_query);
    }
    if (to_query.at != nullptr)
      scale_rows(to_query, queries, e_.hidden, [this](std::size_t) { return static_cast<T>(e_.scale); });
  }

  // ---- where rows lie

  template <class X = T>
  row_list<X> rows_of(attention_tensor of, std::size_t head) const {
    const passes::attention_walk& w = e_.walk(of);
    auto* at = reinterpret_cast<X*>(call_.of[static_cast<std::size_t>(of)]);
    if (at == nullptr) return {nullptr, 0, 0};
    for (std::size_t o = e_.outer.size(); o-- > 0;) {
      at += static_cast<std::ptrdiff_t>(head % e_.outer[o]) * w.outer[o];
      head /= e_.outer[o];
    }
    return {at, w.position, w.width};
  }
  /// Keys that some of these queries see, or whose scores count all the same; of those from j on.
  range keys_seen(std::size_t i, std::size_t queries) const {
    return {e_.keys_of(i).begin, e_.keys_of(i + queries - 1).end};
  }
  range keys_seen(std::size_t i, std::size_t queries, std::size_t j, std::size_t keys) const {
    return within(keys_seen(i, queries), j, keys);
  }
  range queries_seeing(std::size_t j, std::size_t keys, std::size_t i, std::size_t queries) const {
    return within({e_.queries_of(j).begin, e_.queries_of(j + keys - 1).end}, i, queries);
  }
  /// r's positions among n from `first` on.
  static range within(const range& r, std::size_t first, std::size_t n) {
    const std::size_t begin = std::max(r.begin, first), end = std::min(r.end, first + n);
    return begin < end ? range{begin - first, end - first} : range{0, 0};
  }

  // ---- rows as products take them

  /// As a left operand: elements are neighbours.
  static row_list<T> left(const row_list<T>& x, std::size_t n, std::size_t width, T* copy) {
    return x.element == 1 || width == 1 ? row_list<T>{x.at, x.row, 1} : copied(x, n, width, copy);
  }
  /// As a right operand: and rows that are not each in a page of its own.
  static row_list<T> right(const row_list<T>& x, std::size_t n, std::size_t width, T* copy) {
    constexpr std::ptrdiff_t page = 4096 / sizeof(T);
    const bool near = -page < x.row && x.row < page;
    return near ? left(x, n, width, copy) : copied(x, n, width, copy);
  }
  static row_list<T> copied(const row_list<T>& x, std::size_t n, std::size_t width, T* to) {
    for (std::size_t r = 0; r < n; ++r) {
      const T* from = x.from(r).at;
      if (x.element == 1)
        std::copy_n(from, width, to + r * width);
      else
        for (std::size_t c = 0; c < width; ++c, from += x.element) to[r * width + c] = *from;
    }
    return {to, static_cast<std::ptrdiff_t>(width), 1};
  }
  /// What no product writes, since nothing there is seen, is read all the same.
  void clear_scores(T* scores) const {
    std::fill(scores, scores + std::min(e_.keys, keys_of_block_) * most_lanes, T{0});
  }
  /// Strips of tiles_.columns() queries, element by element; lanes without a query hold some number.
  void pack(const row_list<T>& x, std::size_t queries, std::size_t width, T* to) const {
    const std::size_t strip = tiles_.columns(), whole = queries / strip * strip,
                      all = (lanes_of(queries) + strip - 1) / strip * strip;
    std::fill(to + whole * width, to + all * width, T{0});
    for (std::size_t i = 0; i < queries; i += strip, to += strip * width) {
      const std::size_t n = std::min(strip, queries - i);
      const T* const from = x.from(i).at;
      if (x.element == 1)
        tiles_.pack_lines(from, n, x.row, width, strip, to);
      else if (x.row == 1)
        tiles_.pack_adjacent(from, n, width, x.element, strip, to);
      else
        pack_converted(from, n, x.row, width, x.element, strip, to);
    }
  }
  void load(const row_list<T>& x, std::size_t queries, T* to) const {
    std::fill(to, to + most_lanes, T{0});
    if (x.at != nullptr)
      for (std::size_t l = 0; l < queries; ++l) to[l] = *x.from(l).at;
  }

  // ---- results

  template <class Factor>
  static void scale_rows(const row_list<T>& x, std::size_t n, std::size_t width, Factor factor) {
    for (std::size_t r = 0; r < n; ++r) {
      const T by = factor(r);
      if (by == T{1}) continue;
      T* const row = x.from(r).at;
      if (x.element == 1)
        for (std::size_t c = 0; c < width; ++c) row[c] *= by;
      else
        for (std::size_t c = 0; c < width; ++c) row[static_cast<std::ptrdiff_t>(c) * x.element] *= by;
    }
  }
  static void clear(const row_list<T>& x, std::size_t n, std::size_t width) {
    if (x.at == nullptr) return;
    for (std::size_t r = 0; r < n; ++r) {
      T* at = x.from(r).at;
      if (x.element == 1)
        std::fill_n(at, width, T{0});
      else
        for (std::size_t c = 0; c < width; ++c, at += x.element) *at = T{0};
    }
  }

  // ---- products

  /// to(key, lane) = the sum over `width` of the key's element and the query's, where any of a tile is seen.
  void multiply_with_queries(const row_list<T>& keys, const range& which, std::size_t i, std::size_t lanes,
                             const T* columns, std::size_t width, T* to) const {
    tile_call<T> call{};
    call.a_row = keys.row;
    call.a_k = 1;
    call.b_row = static_cast<std::ptrdiff_t>(tiles_.columns());
    call.c_row = most_lanes;
    call.k = width;
    for_tiles(which.end - which.begin, [&](std::size_t first, std::size_t last) {
      const range seeing = queries_seeing(which.begin + first, last - first, i, lanes);
      call.a = keys.from(first).at;
      for (std::size_t l = 0; l < lanes; l += tiles_.columns()) {
        call.columns = std::min(tiles_.columns(), lanes - l);
        if (seeing.begin >= l + call.columns || seeing.end <= l) continue;
        call.b = columns + l * width;
        call.c = to + first * most_lanes + l;
        tiles_.run(last - first, call);
      }
    });
  }
  /// to(m, n) = the sum over k of a and b, and what lies there if `add`; `counts(first, last)`: of which k
  /// for these rows.
  template <class Counts>
  void multiply(const row_list<T>& a, std::size_t m, const row_list<T>& b, const row_list<T>& to,
                std::size_t n, bool add, T* sums, Counts counts) const {
    const bool direct = to.element == 1;
    tile_call<T> call{};
    call.a_row = a.row;
    call.a_k = a.element;
    call.b_row = b.row;
    call.c_row = direct ? to.row : static_cast<std::ptrdiff_t>(n);
    call.add = add && direct;
    for_tiles(m, [&](std::size_t first, std::size_t last) {
      const range k = counts(first, last);
      if (is_empty(k) && add) return;
      call.k = k.end - k.begin;
      const auto begin = static_cast<std::ptrdiff_t>(k.begin);
      call.a = a.from(first).at + begin * a.element;
      for (std::size_t j = 0; j < n; j += tiles_.columns()) {
        call.columns = std::min(tiles_.columns(), n - j);
        call.b = b.at + begin * b.row + j;
        call.c = (direct ? to.from(first).at : sums + first * n) + j;
        tiles_.run(last - first, call);
      }
      if (direct) return;
      for (std::size_t r = first; r < last; ++r)
        for (std::size_t c = 0; c < n; ++c) {
          T& x = to.from(r).at[static_cast<std::ptrdiff_t>(c) * to.element];
          x = add ? x + sums[r * n + c] : sums[r * n + c];
        }
    });
  }
  /// f(first, last) for tiles of heights as equal as can be.
  template <class F>
  void for_tiles(std::size_t rows, F f) const {
    const std::size_t count = (rows + tiles_.rows - 1) / tiles_.rows;
    for (std::size_t t = 0, first = 0; t < count; ++t) {
      const std::size_t last = first + rows / count + (t < rows % count);
      f(first, last);
      first = last;
    }
  }

  // ---- masks

  score_block<T> block(std::size_t head, std::size_t i, std::size_t queries, const range& keys,
                       scratch& s) const {
    score_block<T> b;
    b.scores = s.scores;
    b.keys = keys.end - keys.begin;
    b.lanes = lanes_of(queries);
    b.scale = static_cast<T>(e_.scale);
    b.first = -static_cast<std::ptrdiff_t>(most_keys<T>);
    b.end = most_lanes;
    if (e_.causal) {
      b.first = static_cast<std::ptrdiff_t>(keys.begin) - static_cast<std::ptrdiff_t>(i);
      if (e_.window != 0) b.end = b.first + static_cast<std::ptrdiff_t>(e_.window);
    }
    b.mask = e_.mask;
    b.masks = s.masks;
    b.hidden = e_.is_masked() ? static_cast<T>(e_.hidden_score) : -std::numeric_limits<T>::infinity();
    if (e_.is_masked()) load_mask(head, i, queries, keys, s.masks);
    return b;
  }
  void load_mask(std::size_t head, std::size_t i, std::size_t queries, const range& keys, T* to) const {
    dispatch(e_.mask_type, [&]<class M>(std::type_identity<M>) {
      if constexpr (is_floating(dtype_of<M>) || dtype_of<M> == dtype::b8) {
        const row_list<const M> mask = rows_of<const M>(attention_tensor::mask, head).from(i);
        for (std::size_t j = keys.begin; j < keys.end; ++j, to += most_lanes) {
          const M* const at = mask.at + static_cast<std::ptrdiff_t>(j) * mask.element;
          for (std::size_t l = 0; l < most_lanes; ++l)
            to[l] = l < queries ? static_cast<T>(at[static_cast<std::ptrdiff_t>(l) * mask.row]) : T{0};
        }
      }
    });
  }
};

}  // namespace

template <class T>
void attend_by_blocks(const planning::attention_record& record, const attention_call& at) {
  const attention_blocks<T> blocks(record, at);
  if (record.backward)
    parallel_for(blocks.backward_tasks(), [&](std::size_t task) { blocks.backward(task); });
  else
    parallel_for(blocks.forward_tasks(), [&](std::size_t task) { blocks.forward(task); });
}

template void attend_by_blocks<float>(const planning::attention_record&, const attention_call&);
template void attend_by_blocks<double>(const planning::attention_record&, const attention_call&);

}  // namespace napkin::on_cpu::detail
