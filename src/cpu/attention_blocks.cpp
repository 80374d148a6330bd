#include "attention_blocks.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "attention_lanes.hpp"
#include "convert.hpp"
#include "gemm_strip.hpp"
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

template <class A>
struct attention_scratch {
  static constexpr std::size_t rows = query_lanes<A> * widest_of_blocks;
  alignas(64) A query_columns[rows], d_output_columns[rows];  // packed, strip by strip
  alignas(64) A query_rows[rows], d_output_rows[rows];        // where they are copied
  alignas(64) A key_rows[rows], value_rows[rows];
  alignas(64) A sums[rows], more_sums[rows];  // on their way to memory that takes no sums as they are
  alignas(64) A scores[most_keys<A> * query_lanes<A>], d_weights[most_keys<A> * query_lanes<A>];
  alignas(64) A masks[most_keys<A> * query_lanes<A>];
};

/// Of tensors of T, in arithmetic of A.
template <class T, class A>
class attention_blocks {
 public:
  attention_blocks(const planning::attention_record& record, const attention_call& call)
      : e_(record.extent), call_(call) {}

  void forward() const {
    parallel_for(e_.key_heads() * e_.group() * query_blocks(), [this](std::size_t task) {
      forward_of_queries(task / query_blocks(), task % query_blocks() * most_lanes);
    });
  }
  /// All adjoints of a head of keys at once, from scores that are made once, where sums over queries can be
  /// added up in their tensors; else those of queries, and those of keys and values.
  void backward() const {
    using enum attention_tensor;
    const bool of_queries = is_wanted(d_query), of_keys = is_wanted(d_key) || is_wanted(d_value);
    if (std::is_same_v<T, A> && of_queries && of_keys)
      return parallel_for(e_.key_heads(), [this](std::size_t task) { backward_of_head(task * e_.group()); });
    if (of_queries)
      parallel_for(e_.key_heads() * e_.group() * query_blocks(), [this](std::size_t task) {
        scratch s;
        clear_scores(s.scores);
        clear_scores(s.d_weights);
        const std::size_t head = task / query_blocks();
        backward_of_queries(head, task % query_blocks() * most_lanes, false, s);
      });
    if (of_keys)
      parallel_for(e_.key_heads() * key_blocks(), [this](std::size_t task) {
        backward_of_keys(task / key_blocks() * e_.group(), task % key_blocks() * keys_of_block_);
      });
  }

 private:
  static constexpr std::size_t most_lanes = query_lanes<A>;
  using scratch = attention_scratch<A>;
  const attention_extent& e_;
  const attention_call& call_;
  const tile_kernels<A>& tiles_ = best_tile_kernels<A>();
  const score_kernels<A>& lanes_ = best_score_kernels<A>();
  const std::size_t keys_of_block_ =
      std::min(most_keys<A>, scratch::rows / std::max<std::size_t>(1, e_.widest()));

  std::size_t query_blocks() const { return (e_.queries + most_lanes - 1) / most_lanes; }
  std::size_t key_blocks() const { return (e_.keys + keys_of_block_ - 1) / keys_of_block_; }
  static std::size_t lanes_of(std::size_t queries) { return (queries + 15) / 16 * 16; }
  bool is_wanted(attention_tensor x) const { return call_.of[static_cast<std::size_t>(x)] != nullptr; }

  /// The output and sums of the queries from i on.
  void forward_of_queries(std::size_t head, std::size_t i) const {
    using enum attention_tensor;
    const std::size_t queries = std::min(most_lanes, e_.queries - i), lanes = lanes_of(queries);
    scratch s;
    clear_scores(s.scores);
    softmax_lanes<A> sums;
    std::fill(sums.most, sums.most + most_lanes, -std::numeric_limits<A>::infinity());
    std::fill(sums.total, sums.total + most_lanes, A{0});
    pack(rows_of(query, head).from(i), queries, e_.hidden, s.query_columns);
    const row_list<T> result = rows_of(output, head).from(i);
    const row_list<A> to = summed(result, e_.value, s.more_sums);
    const range seen = keys_seen(i, queries);
    for (std::size_t j = seen.begin; j < seen.end; j += keys_of_block_) {
      const std::size_t keys = std::min(keys_of_block_, seen.end - j);
      const row_list<A> k = left(rows_of(key, head).from(j), keys, e_.hidden, s.key_rows);
      multiply_with_queries(k, {j, j + keys}, i, lanes, s.query_columns, e_.hidden, s.scores);
      lanes_.weigh(block(head, i, queries, {j, j + keys}, s), sums);
      if (to.at == nullptr) continue;
      if (j > seen.begin) scale_rows(to, queries, e_.value, [&](std::size_t l) { return sums.shrink[l]; });
      const row_list<A> v = right(rows_of(value, head).from(j), keys, e_.value, s.value_rows);
      multiply(
          {s.scores, 1, most_lanes}, queries, v, to, e_.value, j > seen.begin, s.sums,
          [&](std::size_t first, std::size_t last) { return keys_seen(i + first, last - first, j, keys); });
    }
    if (to.at != nullptr)
      scale_rows(to, queries, e_.value, [&](std::size_t l) { return A{1} / sums.total[l]; });
    give(to, queries, e_.value, result);
    const row_list<A> of_sums = rows_of<A>(log_sum, head).from(i),
                      of_largest = rows_of<A>(largest, head).from(i);
    for (std::size_t l = 0; l < queries; ++l) {
      if (of_sums.at != nullptr)
        *of_sums.from(l).at = (e_.is_masked() ? A{0} : sums.most[l]) + math::log(sums.total[l]);
      if (of_largest.at != nullptr) *of_largest.from(l).at = sums.most[l];
    }
  }

  /// The adjoints of a head of keys, and those of all queries that share it.
  void backward_of_head(std::size_t first_head) const {
    using enum attention_tensor;
    scratch s;
    clear_scores(s.scores);
    clear_scores(s.d_weights);
    if constexpr (std::is_same_v<T, A>) {
      const row_list<A> to_key = rows_of(d_key, first_head), to_value = rows_of(d_value, first_head);
      clear(to_key, e_.keys, e_.hidden);
      clear(to_value, e_.keys, e_.value);
      for (std::size_t head = first_head; head < first_head + e_.group(); ++head)
        for (std::size_t i = 0; i < e_.queries; i += most_lanes) backward_of_queries(head, i, true, s);
      scale_rows(to_key, e_.keys, e_.hidden, by_scale());
    }
  }
  /// Those of the queries from i on; `of_keys`: adds what these are to those of their head's keys and values.
  void backward_of_queries(std::size_t head, std::size_t i, bool of_keys, scratch& s) const {
    using enum attention_tensor;
    known_queries q;
    read_queries(head, i, of_keys, s, q);
    const row_list<T> result = rows_of(d_query, head).from(i);
    targets to;
    to.query = summed(result, e_.hidden, s.more_sums);
    clear(to.query, q.queries, e_.hidden);
    const range seen = keys_seen(i, q.queries);
    for (std::size_t j = seen.begin; j < seen.end; j += keys_of_block_) {
      const std::size_t keys = std::min(keys_of_block_, seen.end - j);
      if constexpr (std::is_same_v<T, A>)
        if (of_keys) {
          to.key = rows_of(d_key, head).from(j);
          to.value = rows_of(d_value, head).from(j);
        }
      meet(q, {j, j + keys}, right(rows_of(key, head).from(j), keys, e_.hidden, s.key_rows),
           left(rows_of(value, head).from(j), keys, e_.value, s.value_rows), to, s);
    }
    scale_rows(to.query, q.queries, e_.hidden, by_scale());
    give(to.query, q.queries, e_.hidden, result);
  }
  /// Those of the keys and values from j on.
  void backward_of_keys(std::size_t first_head, std::size_t j) const {
    using enum attention_tensor;
    const std::size_t keys = std::min(keys_of_block_, e_.keys - j);
    scratch s;
    clear_scores(s.scores);
    clear_scores(s.d_weights);
    const row_list<A> k = left(rows_of(key, first_head).from(j), keys, e_.hidden, s.key_rows),
                      v = left(rows_of(value, first_head).from(j), keys, e_.value, s.value_rows);
    const row_list<T> key_result = rows_of(d_key, first_head).from(j),
                      value_result = rows_of(d_value, first_head).from(j);
    targets to;
    // A block's keys are as many as fit, so that both sums do.
    to.key = summed(key_result, e_.hidden, s.more_sums);
    to.value = summed(value_result, e_.value, s.sums);
    clear(to.key, keys, e_.hidden);
    clear(to.value, keys, e_.value);
    const range seeing{e_.queries_of(j).begin, e_.queries_of(j + keys - 1).end};
    known_queries q;
    for (std::size_t head = first_head; head < first_head + e_.group(); ++head)
      for (std::size_t i = seeing.begin / most_lanes * most_lanes; i < seeing.end; i += most_lanes) {
        read_queries(head, i, true, s, q);
        meet(q, {j, j + keys}, k, v, to, s);
      }
    scale_rows(to.key, keys, e_.hidden, by_scale());
    give(to.key, keys, e_.hidden, key_result);
    give(to.value, keys, e_.value, value_result);
  }

  /// A block of queries: packed in the scratch, as rows, and what is known of each.
  struct known_queries {
    std::size_t head, i, queries, lanes;
    row_list<A> rows, d_output;  // of no use but for the adjoints of keys and of values
    adjoint_lanes<A> lane;
  };
  /// Where adjoints are added; null: not wanted.
  struct targets {
    row_list<A> query{}, key{}, value{};
  };
  void read_queries(std::size_t head, std::size_t i, bool of_keys, scratch& s, known_queries& q) const {
    using enum attention_tensor;
    q.head = head;
    q.i = i;
    q.queries = std::min(most_lanes, e_.queries - i);
    q.lanes = lanes_of(q.queries);
    const row_list<T> rows = rows_of(query, head).from(i), d_output = rows_of(output, head).from(i);
    pack(rows, q.queries, e_.hidden, s.query_columns);
    if (is_wanted(d_query) || is_wanted(d_key)) pack(d_output, q.queries, e_.value, s.d_output_columns);
    if (of_keys && is_wanted(d_key)) q.rows = right(rows, q.queries, e_.hidden, s.query_rows);
    if (of_keys && is_wanted(d_value)) q.d_output = right(d_output, q.queries, e_.value, s.d_output_rows);
    load(rows_of<A>(largest, head).from(i), q.queries, q.lane.largest);
    load(rows_of<A>(log_sum, head).from(i), q.queries, q.lane.log_sum);
    load(rows_of<A>(delta, head).from(i), q.queries, q.lane.delta);
  }
  /// What queries and keys of a head give one another.
  void meet(const known_queries& q, const range& which, const row_list<A>& k, const row_list<A>& v,
            const targets& to, scratch& s) const {
    const std::size_t keys = which.end - which.begin;
    multiply_with_queries(k, which, q.i, q.lanes, s.query_columns, e_.hidden, s.scores);
    if (to.query.at != nullptr || to.key.at != nullptr)
      multiply_with_queries(v, which, q.i, q.lanes, s.d_output_columns, e_.value, s.d_weights);
    lanes_.slope(block(q.head, q.i, q.queries, which, s), q.lane, s.d_weights);
    const auto by_key = [&](std::size_t first, std::size_t last) {
      return queries_seeing(which.begin + first, last - first, q.i, q.queries);
    };
    const auto by_query = [&](std::size_t first, std::size_t last) {
      return keys_seen(q.i + first, last - first, which.begin, keys);
    };
    constexpr std::ptrdiff_t row = most_lanes;
    if (to.value.at != nullptr)
      multiply({s.scores, row, 1}, keys, q.d_output, to.value, e_.value, true, s.sums, by_key);
    if (to.key.at != nullptr)
      multiply({s.d_weights, row, 1}, keys, q.rows, to.key, e_.hidden, true, s.sums, by_key);
    if (to.query.at != nullptr)
      multiply({s.d_weights, 1, row}, q.queries, k, to.query, e_.hidden, true, s.sums, by_query);
  }
  auto by_scale() const {
    return [this](std::size_t) { return static_cast<A>(e_.scale); };
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
  static row_list<A> left(const row_list<T>& x, std::size_t n, std::size_t width, A* copy) {
    if constexpr (std::is_same_v<T, A>)
      if (x.element == 1 || width == 1) return {x.at, x.row, 1};
    return copied(x, n, width, copy);
  }
  /// As a right operand: and rows that are not each in a page of its own.
  static row_list<A> right(const row_list<T>& x, std::size_t n, std::size_t width, A* copy) {
    constexpr std::ptrdiff_t page = 4096 / sizeof(T);
    const bool near = -page < x.row && x.row < page;
    return near ? left(x, n, width, copy) : copied(x, n, width, copy);
  }
  static row_list<A> copied(const row_list<T>& x, std::size_t n, std::size_t width, A* to) {
    for (std::size_t r = 0; r < n; ++r) convert_run(x.from(r).at, x.element, width, to + r * width, 1);
    return {to, static_cast<std::ptrdiff_t>(width), 1};
  }
  /// What no product writes, since nothing there is seen, is read all the same.
  void clear_scores(A* scores) const {
    if (!e_.causal) return;
    std::fill(scores, scores + std::min(e_.keys, keys_of_block_) * most_lanes, A{0});
  }
  /// Strips of tiles_.columns() queries, element by element; lanes without a query hold some number.
  void pack(const row_list<T>& x, std::size_t queries, std::size_t width, A* to) const {
    const std::size_t strip = tiles_.columns(), whole = queries / strip * strip,
                      all = (lanes_of(queries) + strip - 1) / strip * strip;
    std::fill(to + whole * width, to + all * width, A{0});
    for (std::size_t i = 0; i < queries; i += strip, to += strip * width) {
      const std::size_t n = std::min(strip, queries - i);
      pack_strip(x.from(i).at, n, x.row, width, x.element, strip, to);
    }
  }
  static void load(const row_list<A>& x, std::size_t queries, A* to) {
    std::fill(to, to + most_lanes, A{0});
    if (x.at != nullptr)
      for (std::size_t l = 0; l < queries; ++l) to[l] = *x.from(l).at;
  }

  // ---- results

  /// Where sums for x are made: there, or else in `apart`, from where `give` takes them.
  static row_list<A> summed(const row_list<T>& x, std::size_t width, A* apart) {
    if constexpr (std::is_same_v<T, A>)
      return x;
    else
      return {x.at == nullptr ? nullptr : apart, static_cast<std::ptrdiff_t>(width), 1};
  }
  static void give(const row_list<A>& sums, std::size_t n, std::size_t width, const row_list<T>& to) {
    if constexpr (!std::is_same_v<T, A>)
      if (to.at != nullptr)
        for (std::size_t r = 0; r < n; ++r) convert_run(sums.from(r).at, 1, width, to.from(r).at, to.element);
  }
  template <class Factor>
  static void scale_rows(const row_list<A>& x, std::size_t n, std::size_t width, Factor factor) {
    if (x.at == nullptr) return;
    for (std::size_t r = 0; r < n; ++r) {
      const A by = factor(r);
      if (by == A{1}) continue;
      A* const row = x.from(r).at;
      if (x.element == 1)
        for (std::size_t c = 0; c < width; ++c) row[c] *= by;
      else
        for (std::size_t c = 0; c < width; ++c) row[static_cast<std::ptrdiff_t>(c) * x.element] *= by;
    }
  }
  static void clear(const row_list<A>& x, std::size_t n, std::size_t width) {
    if (x.at == nullptr) return;
    for (std::size_t r = 0; r < n; ++r) {
      A* at = x.from(r).at;
      if (x.element == 1)
        std::fill_n(at, width, A{0});
      else
        for (std::size_t c = 0; c < width; ++c, at += x.element) *at = A{0};
    }
  }

  // ---- products

  /// to(key, lane) = the sum over `width` of the key's element and the query's, where any of a tile is seen.
  void multiply_with_queries(const row_list<A>& keys, const range& which, std::size_t i, std::size_t lanes,
                             const A* columns, std::size_t width, A* to) const {
    tile_call<A> call{};
    call.a_row = keys.row;
    call.a_k = 1;
    call.b_row = static_cast<std::ptrdiff_t>(tiles_.columns());
    call.c_row = most_lanes;
    call.k = width;
    for_tiles(which.end - which.begin, [&](std::size_t first, std::size_t last) {
      const range seeing =
          e_.causal ? queries_seeing(which.begin + first, last - first, i, lanes) : range{0, lanes};
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
  void multiply(const row_list<A>& a, std::size_t m, const row_list<A>& b, const row_list<A>& to,
                std::size_t n, bool add, A* sums, Counts counts) const {
    const bool direct = to.element == 1;
    tile_call<A> call{};
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
          A& x = to.from(r).at[static_cast<std::ptrdiff_t>(c) * to.element];
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

  score_block<A> block(std::size_t head, std::size_t i, std::size_t queries, const range& keys,
                       scratch& s) const {
    score_block<A> b;
    b.scores = s.scores;
    b.keys = keys.end - keys.begin;
    b.lanes = lanes_of(queries);
    b.scale = static_cast<A>(e_.scale);
    b.first = -static_cast<std::ptrdiff_t>(most_keys<A>);
    b.end = most_lanes;
    if (e_.causal) {
      b.first = static_cast<std::ptrdiff_t>(keys.begin) - static_cast<std::ptrdiff_t>(i);
      if (e_.window != 0) b.end = b.first + static_cast<std::ptrdiff_t>(e_.window);
    }
    b.mask = e_.mask;
    b.masks = s.masks;
    b.hidden = e_.is_masked() ? static_cast<A>(e_.hidden_score) : -std::numeric_limits<A>::infinity();
    if (e_.is_masked()) load_mask(head, i, queries, keys, s.masks);
    return b;
  }
  void load_mask(std::size_t head, std::size_t i, std::size_t queries, const range& keys, A* to) const {
    dispatch(e_.mask_type, [&]<class M>(std::type_identity<M>) {
      if constexpr (is_floating(dtype_of<M>) || dtype_of<M> == dtype::b8) {
        const row_list<const M> mask = rows_of<const M>(attention_tensor::mask, head).from(i);
        for (std::size_t j = keys.begin; j < keys.end; ++j, to += most_lanes) {
          const M* const at = mask.at + static_cast<std::ptrdiff_t>(j) * mask.element;
          for (std::size_t l = 0; l < most_lanes; ++l)
            to[l] = l < queries ? static_cast<A>(at[static_cast<std::ptrdiff_t>(l) * mask.row]) : A{0};
        }
      }
    });
  }
};

}  // namespace

template <class T>
void attend_by_blocks(const planning::attention_record& record, const attention_call& at) {
  const attention_blocks<T, accumulator_type<T>> blocks(record, at);
  if (record.backward)
    blocks.backward();
  else
    blocks.forward();
}

template void attend_by_blocks<float>(const planning::attention_record&, const attention_call&);
template void attend_by_blocks<double>(const planning::attention_record&, const attention_call&);
template void attend_by_blocks<f16>(const planning::attention_record&, const attention_call&);
template void attend_by_blocks<bf16>(const planning::attention_record&, const attention_call&);

}  // namespace napkin::on_cpu::detail
