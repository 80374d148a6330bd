// Attention row by row, in plain loops: what every fast path is checked against. The interpreter runs these, and
// the CPU where its blocks do not take a shape; sizes and strides are all they know.
#pragma once

#include <limits>

#include "napkin/graph/strides.hpp"
#include "napkin/ops/primitives/table.hpp"

namespace napkin::passes {

/// The tensors of an attention and of its backward pass.
enum class attention_tensor : std::uint8_t {
  query,
  key,
  value,
  output,  // of a backward pass its adjoint
  log_sum,
  delta,  // for each query the sum of the output times its adjoint; a backward pass may lack it
  mask,
  largest,  // for each query, of a masked attention
  d_query,
  d_key,
  d_value,
  count_
};
inline constexpr std::size_t attention_tensors = static_cast<std::size_t>(attention_tensor::count_);

/// How a tensor lies, in elements: along positions (queries or keys), along its width, and along batches and
/// heads; a mask along queries and along keys. 0 along what it has not.
struct attention_walk {
  std::ptrdiff_t position = 0, width = 0;
  inplace_vector<std::ptrdiff_t, row::max_attention_axes> outer;

  constexpr bool operator==(const attention_walk&) const = default;
};

/// An attention as loops.
struct attention_extent {
  std::size_t queries = 0, keys = 0;
  std::size_t hidden = 0, value = 0;                           // widths: of q and k, of v and the output
  inplace_vector<std::size_t, row::max_attention_axes> outer;  // batches and heads, those of keys first
  std::size_t shared = 0;                                      // how many of them keys have
  bool causal = false;
  std::size_t window = 0;  // of a causal one: how many positions up to its own a query sees; 0: all
  attention_mask mask = attention_mask::none;
  dtype mask_type = dtype::b8;
  float hidden_score = 0;  // of a masked one
  double scale = 1;
  attention_walk walks[attention_tensors];

  constexpr const attention_walk& walk(attention_tensor x) const {
    return walks[static_cast<std::size_t>(x)];
  }
  constexpr attention_walk& walk(attention_tensor x) { return walks[static_cast<std::size_t>(x)]; }
  constexpr bool is_masked() const { return mask != attention_mask::none; }
  constexpr std::size_t widest() const { return hidden > value ? hidden : value; }
  /// By their positions, whatever a mask says.
  constexpr bool sees(std::size_t i, std::size_t j) const {
    return !causal || (j <= i && (window == 0 || i - j < window));
  }
  /// Keys whose scores count for query i, from the first to before the last; queries for which key j's does.
  /// Masked, all of them: what is hidden has a score too.
  struct range {
    std::size_t begin, end;
  };
  constexpr range keys_of(std::size_t i) const {
    if (is_masked() || !causal) return {0, keys};
    return {window != 0 && i >= window ? i + 1 - window : 0, i < keys ? i + 1 : keys};
  }
  constexpr range queries_of(std::size_t j) const {
    if (is_masked() || !causal) return {0, queries};
    return {j, window != 0 && j + window < queries ? j + window : queries};
  }
  /// Of keys, and of queries that share them.
  constexpr std::size_t key_heads() const { return points(0, shared); }
  constexpr std::size_t group() const { return points(shared, outer.size()); }

  constexpr bool operator==(const attention_extent&) const = default;

 private:
  constexpr std::size_t points(std::size_t begin, std::size_t end) const {
    std::size_t n = 1;
    for (; begin < end; ++begin) n *= outer[begin];
    return n;
  }
};

/// Which part of a node is which tensor.
constexpr attention_tensor tensor_of(attention_part part, bool backward) {
  switch (part) {
    case attention_part::output:
      return attention_tensor::output;
    case attention_part::log_sum:
      return attention_tensor::log_sum;
    case attention_part::largest:
      return attention_tensor::largest;
    case attention_part::query:
      return backward ? attention_tensor::d_query : attention_tensor::query;
    case attention_part::key:
      return backward ? attention_tensor::d_key : attention_tensor::key;
    case attention_part::value:
      break;
  }
  return backward ? attention_tensor::d_value : attention_tensor::value;
}

/// How a tensor of the form's axes lies that has these strides.
constexpr attention_walk walk_of(const row::attention_form& f, attention_part part,
                                 const stride_list& strides) {
  const row::attention_form::labels labels = f.labels_of(part);
  attention_walk w;
  for (std::size_t o = 0; o < f.outer.size(); ++o) w.outer.push_back(0);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::int32_t l = labels[i];
    if (l == row::attention_form::query || l == row::attention_form::key)
      w.position = strides[i];
    else if (l == row::attention_form::hidden || l == row::attention_form::value)
      w.width = strides[i];
    else
      w.outer[f.outer.index_of(l)] = strides[i];
  }
  return w;
}

constexpr attention_walk walk_of_mask(const row::attention_form& f, const stride_list& strides) {
  attention_walk w;
  for (std::size_t o = 0; o < f.outer.size(); ++o) w.outer.push_back(0);
  for (std::size_t i = 0; i < f.of_mask.size(); ++i) {
    const std::int32_t l = f.of_mask[i];
    (l == row::attention_form::query ? w.position
     : l == row::attention_form::key ? w.width
                                     : w.outer[f.outer.index_of(l)]) = strides[i];
  }
  return w;
}

/// Sizes, and the walks of operands, which lie as `strides_of(operand)` says, and of results, row-major: a
/// plan that puts one elsewhere replaces its walk.
template <class StridesOf>
constexpr attention_extent extent_of(const graph_view& g, int id, StridesOf strides_of) {
  const row::attention_form f(g, id);
  const bool backward = g[id].kind == op::attention_backward;
  attention_extent e;
  e.queries = f.queries();
  e.keys = f.keys();
  e.hidden = f.size[row::attention_form::hidden];
  e.value = f.size[row::attention_form::value];
  for (const std::int32_t l : f.outer) e.outer.push_back(f.size[l]);
  e.shared = f.shared;
  e.causal = f.causal;
  e.window = f.window;
  e.mask = f.mask;
  e.mask_type = f.mask_type;
  e.hidden_score = f.hidden_score;
  e.scale = f.scale;
  constexpr attention_part q = attention_part::query, k = attention_part::key, v = attention_part::value,
                           o = attention_part::output, rows = attention_part::log_sum;
  const auto operand = [&](attention_tensor x, attention_part as, int number) {
    e.walk(x) = walk_of(f, as, strides_of(g.operand(id, number)));
  };
  const auto result = [&](attention_tensor x, attention_part as) {
    e.walk(x) = walk_of(f, as, row_major_strides(f.shape_of(as)));
  };
  operand(attention_tensor::query, q, 0);
  operand(attention_tensor::key, k, 1);
  operand(attention_tensor::value, v, 2);
  if (f.is_masked())
    e.walk(attention_tensor::mask) =
        walk_of_mask(f, strides_of(g.operand(id, row::attention_form::mask_operand(g[id]))));
  if (backward) {
    operand(attention_tensor::output, o, 3);
    operand(attention_tensor::log_sum, rows, 4);
    if (row::attention_form::has_deltas(g[id])) operand(attention_tensor::delta, rows, 5);
    if (f.is_masked()) operand(attention_tensor::largest, rows, 7);
    result(attention_tensor::d_query, q);
    result(attention_tensor::d_key, k);
    result(attention_tensor::d_value, v);
  } else {
    result(attention_tensor::output, o);
    result(attention_tensor::log_sum, rows);
    result(attention_tensor::largest, rows);
  }
  return e;
}

/// Of a result that is wider, scores are taken again.
inline constexpr std::size_t attention_columns = 256;

/// The loops over T, in arithmetic of A.
template <class T, class A>
class attention_loops {
 public:
  const attention_extent& e;
  const T *query = nullptr, *key = nullptr, *value = nullptr, *d_output = nullptr;
  const A *log_sums = nullptr, *all_largest = nullptr;  // of a backward pass
  const A* deltas = nullptr;                            // or null: they are computed
  const void* mask = nullptr;                           // of the extent's type
  T *output = nullptr, *d_query = nullptr, *d_key = nullptr, *d_value = nullptr;
  A *log_sum = nullptr, *largest = nullptr;  // what is null is not wanted

  /// Rows of the forward pass and of `query_row`; of `key_row`.
  constexpr std::size_t query_rows() const { return e.key_heads() * e.group() * e.queries; }
  constexpr std::size_t key_rows() const { return e.key_heads() * e.keys; }

  /// One query's output and log_sum. Numbers are kept below the largest score so far; while that is
  /// -infinity, nothing is summed.
  constexpr void forward_row(std::size_t row) const {
    const std::size_t head = row / e.queries, i = row % e.queries;
    const auto [begin, end] = e.keys_of(i);
    const T *q = at(query, attention_tensor::query, head, i), *k = at(key, attention_tensor::key, head, 0),
            *v = at(value, attention_tensor::value, head, 0);
    A sums[block], most = A(0), total = A(0);
    for (std::size_t first = 0; first < e.value; first += block) {
      const std::size_t n = e.value - first < block ? e.value - first : block;
      for (std::size_t c = 0; c < n; ++c) sums[c] = A(0);
      total = A(0);
      for (std::size_t j = begin; j < end; ++j) {
        const A s = score(q, k, head, i, j);
        if (j == begin) most = s;
        if (s == least) continue;
        if (s > most) {
          const A smaller = exponential(most - s);
          total *= smaller;
          for (std::size_t c = 0; c < n; ++c) sums[c] *= smaller;
          most = s;
        }
        const A weight = exponential(s - most);
        total += weight;
        add(sums, n, weight, v, attention_tensor::value, j, first);
      }
      for (std::size_t c = 0; c < n; ++c) sums[c] /= total;
      put(output, attention_tensor::output, head, i, first, sums, n);
    }
    if (log_sum != nullptr)
      *at(log_sum, attention_tensor::log_sum, head, i) =
          (e.is_masked() ? A(0) : most) + primitive<op::log>::apply(total);
    if (largest != nullptr) *at(largest, attention_tensor::largest, head, i) = most;
  }

  /// One query's adjoint.
  constexpr void query_row(std::size_t row) const {
    const std::size_t head = row / e.queries, i = row % e.queries;
    const auto [begin, end] = e.keys_of(i);
    const T* k = at(key, attention_tensor::key, head, 0);
    const A delta = delta_of(head, i);
    A sums[block];
    for (std::size_t first = 0; first < e.hidden; first += block) {
      const std::size_t n = e.hidden - first < block ? e.hidden - first : block;
      for (std::size_t c = 0; c < n; ++c) sums[c] = A(0);
      for (std::size_t j = begin; j < end; ++j) {
        add(sums, n, slope_of(head, i, j, delta), k, attention_tensor::key, j, first);
      }
      for (std::size_t c = 0; c < n; ++c) sums[c] *= static_cast<A>(e.scale);
      put(d_query, attention_tensor::d_query, head, i, first, sums, n);
    }
  }

  /// One key's adjoints, of k and of v.
  constexpr void key_row(std::size_t row) const {
    const std::size_t head = row / e.keys * e.group(), j = row % e.keys;
    sum_over_queries(d_key, attention_tensor::d_key, attention_tensor::query, query, e.hidden, head, j);
    sum_over_queries(d_value, attention_tensor::d_value, attention_tensor::output, d_output, e.value, head,
                     j);
  }

 private:
  static constexpr std::size_t block = attention_columns;
  static constexpr A least = -std::numeric_limits<A>::infinity();

  static constexpr A exponential(A x) { return primitive<op::exp>::apply(x); }

  /// Heads count the axes of keys first, so that those of a group follow one another.
  template <class X>
  constexpr X* at(X* x, attention_tensor of, std::size_t head, std::size_t position) const {
    if (x == nullptr) return x;
    const attention_walk& w = e.walk(of);
    std::ptrdiff_t to = static_cast<std::ptrdiff_t>(position) * w.position;
    for (std::size_t o = e.outer.size(); o-- > 0;) {
      to += static_cast<std::ptrdiff_t>(head % e.outer[o]) * w.outer[o];
      head /= e.outer[o];
    }
    return x + to;
  }
  constexpr A dot(const T* x, attention_tensor of_x, const T* y, attention_tensor of_y, std::size_t n) const {
    const std::ptrdiff_t step_x = e.walk(of_x).width, step_y = e.walk(of_y).width;
    A sum = A(0);
    for (std::size_t c = 0; c < n; ++c, x += step_x, y += step_y)
      sum += static_cast<A>(*x) * static_cast<A>(*y);
    return sum;
  }
  /// The mask's number for query i and key j; of one that shows 0 or 1.
  constexpr A masked(std::size_t head, std::size_t i, std::size_t j) const {
    const std::ptrdiff_t along = static_cast<std::ptrdiff_t>(j) * e.walk(attention_tensor::mask).width;
    A x = A(0);
    dispatch(e.mask_type, [&]<class M>(std::type_identity<M>) {
      if constexpr (is_floating(dtype_of<M>) || dtype_of<M> == dtype::b8)
        x = static_cast<A>(at(static_cast<const M*>(mask), attention_tensor::mask, head, i)[along]);
    });
    return x;
  }
  constexpr bool sees(std::size_t head, std::size_t i, std::size_t j) const {
    return e.sees(i, j) && (e.mask != attention_mask::shows || masked(head, i, j) != A(0));
  }
  constexpr A score(const T* q, const T* k, std::size_t head, std::size_t i, std::size_t j) const {
    if (e.is_masked() && !sees(head, i, j)) return static_cast<A>(e.hidden_score);
    const std::ptrdiff_t step = e.walk(attention_tensor::key).position;
    const A s =
        static_cast<A>(e.scale) * dot(q, attention_tensor::query, k + static_cast<std::ptrdiff_t>(j) * step,
                                      attention_tensor::key, e.hidden);
    return e.mask == attention_mask::adds ? s + masked(head, i, j) : s;
  }
  constexpr void add(A* sums, std::size_t n, A weight, const T* rows, attention_tensor of,
                     std::size_t position, std::size_t first) const {
    const attention_walk& w = e.walk(of);
    const T* x = rows + static_cast<std::ptrdiff_t>(position) * w.position +
                 static_cast<std::ptrdiff_t>(first) * w.width;
    for (std::size_t c = 0; c < n; ++c, x += w.width) sums[c] += weight * static_cast<A>(*x);
  }
  constexpr void put(T* rows, attention_tensor of, std::size_t head, std::size_t position, std::size_t first,
                     const A* sums, std::size_t n) const {
    if (rows == nullptr) return;
    const attention_walk& w = e.walk(of);
    T* to = at(rows, of, head, position) + static_cast<std::ptrdiff_t>(first) * w.width;
    for (std::size_t c = 0; c < n; ++c, to += w.width) *to = static_cast<T>(sums[c]);
  }
  constexpr A weight_of(std::size_t head, std::size_t i, std::size_t j) const {
    const T *q = at(query, attention_tensor::query, head, i), *k = at(key, attention_tensor::key, head, 0);
    A s = score(q, k, head, i, j);
    if (e.is_masked()) s -= *at(all_largest, attention_tensor::largest, head, i);
    return exponential(s - *at(log_sums, attention_tensor::log_sum, head, i));
  }
  constexpr A adjoint_of_weight(std::size_t head, std::size_t i, std::size_t j) const {
    return dot(at(d_output, attention_tensor::output, head, i), attention_tensor::output,
               at(value, attention_tensor::value, head, j), attention_tensor::value, e.value);
  }
  constexpr A delta_of(std::size_t head, std::size_t i) const {
    if (deltas != nullptr) return *at(deltas, attention_tensor::delta, head, i);
    A sum = A(0), all = A(0);  // which is 1, but for what scores were rounded by
    const auto [begin, end] = e.keys_of(i);
    for (std::size_t j = begin; j < end; ++j) {
      const A weight = weight_of(head, i, j);
      sum += weight * adjoint_of_weight(head, i, j);
      all += weight;
    }
    return sum / all;
  }
  /// The adjoint of the score of query i, whose delta that is, and key j, before it was scaled. None of one
  /// that is hidden.
  constexpr A slope_of(std::size_t head, std::size_t i, std::size_t j, A delta) const {
    if (e.is_masked() && !sees(head, i, j)) return A(0);
    return weight_of(head, i, j) * (adjoint_of_weight(head, i, j) - delta);
  }
  /// Over the queries that see key j, of all heads that share it: slope times q, or weight times dy.
  constexpr void sum_over_queries(T* to, attention_tensor of, attention_tensor of_rows, const T* rows,
                                  std::size_t width, std::size_t head, std::size_t j) const {
    if (to == nullptr) return;
    const bool of_keys = of == attention_tensor::d_key;
    A sums[block];
    for (std::size_t first = 0; first < width; first += block) {
      const std::size_t n = width - first < block ? width - first : block;
      for (std::size_t c = 0; c < n; ++c) sums[c] = A(0);
      for (std::size_t h = head; h < head + e.group(); ++h) {
        const T* x = at(rows, of_rows, h, 0);
        const auto [begin, end] = e.queries_of(j);
        for (std::size_t i = begin; i < end; ++i) {
          add(sums, n, of_keys ? slope_of(h, i, j, delta_of(h, i)) : weight_of(h, i, j), x, of_rows, i,
              first);
        }
      }
      if (of_keys)
        for (std::size_t c = 0; c < n; ++c) sums[c] *= static_cast<A>(e.scale);
      put(to, of, head, j, first, sums, n);
    }
  }
};

}  // namespace napkin::passes
