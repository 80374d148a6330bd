// Scaled dot-product attention as one operation, which no tensor of scores comes between. Nobody writes it:
// passes/find_attention.hpp makes it of the primitives that models are written in.
#pragma once

#include "napkin/core/error.hpp"
#include "napkin/ops/primitives/row.hpp"

namespace napkin {

/// Which of the results a node is. Nodes that differ in this alone have the same operands, and are lowered
/// together: `output` with `log_sum`, `key` with `value`.
enum class attention_part : std::int32_t { output, log_sum, query, key, value };

namespace row {

/// Axes beside positions and width: batches and heads.
inline constexpr std::size_t max_attention_axes = 6;

/// A node of attention, or of its backward pass, taken apart. Its attributes are labels, of the axes of q, k
/// and v in turn and then of the output's; whether it is causal; its part. Labels of batches and heads are
/// first_outer and above; those that k lacks are of a group of queries that share keys.
struct attention_form {
  static constexpr std::int32_t query = 0, key = 1, hidden = 2, value = 3, first_outer = 4;
  static constexpr std::size_t label_count = static_cast<std::size_t>(first_outer) + max_attention_axes;
  using labels = inplace_vector<std::int32_t, max_rank>;

  labels of_query, of_key, of_value, of_output;
  labels outer;            // those of keys first
  std::size_t shared = 0;  // how many of `outer` keys have
  std::size_t size[label_count]{};
  bool causal = false;
  attention_part part = attention_part::output;
  double scale = 1;

  constexpr attention_form(const graph_view& g, int id) {
    const ids all = g.attributes(id);
    scale = g[id].value;
    std::size_t at = 0;
    labels* const to[] = {&of_query, &of_key, &of_value};
    for (int k = 0; k < 3; ++k)
      for (const std::size_t s : g.shape_of(g.operand(id, k))) {
        const std::int32_t l = all[at++];
        to[k]->push_back(l);
        size[l] = s;
      }
    while (at + 2 < all.size()) of_output.push_back(all[at++]);
    causal = all[at] != 0;
    part = static_cast<attention_part>(all[at + 1]);
    for (const std::int32_t l : of_key)
      if (l >= first_outer) outer.push_back(l);
    shared = outer.size();
    for (const std::int32_t l : of_query)
      if (l >= first_outer && !of_key.contains(l)) outer.push_back(l);
  }

  constexpr std::size_t queries() const { return size[query]; }
  constexpr std::size_t keys() const { return size[key]; }
  /// Of the axes of q, k, v and the output; of sums, which are the output's without its width.
  constexpr labels labels_of(attention_part p) const {
    if (p == attention_part::query) return of_query;
    if (p == attention_part::key) return of_key;
    if (p == attention_part::value) return of_value;
    if (p == attention_part::output) return of_output;
    labels rows;
    for (const std::int32_t l : of_output)
      if (l != value) rows.push_back(l);
    return rows;
  }
  constexpr shape shape_of(attention_part p) const {
    shape s;
    for (const std::int32_t l : labels_of(p)) s.push_back(size[l]);
    return s;
  }
  /// Heads in all batches: how often rows meet keys.
  constexpr std::uint64_t heads() const {
    std::uint64_t n = 1;
    for (const std::int32_t l : outer) n *= size[l];
    return n;
  }
};

/// Node n's attention again: another part, from operands that begin with q, k and v.
constexpr int emit_attention(builder& g, int n, op kind, attention_part part, ids operands) {
  const attention_form f(g.view(), n);
  buffer<std::int32_t> attributes;
  const ids all = g.view().attributes(n);
  attributes.append(all.data(), all.size());
  attributes[attributes.size() - 1] = static_cast<std::int32_t>(part);
  const dtype type = g.type_of(operands[0]);
  return g.emit({kind,
                 part == attention_part::log_sum ? accumulator_of(type) : type,
                 g.result.intern(f.shape_of(part)),
                 operands,
                 {attributes.data(), attributes.size()},
                 g[n].value});
}

}  // namespace row

/// operands: q, k, v; attributes: row::attention_form's; value: the scale. Scores are scale * q k over the
/// width, of a causal one those of keys up to the query's own position. Parts
///   output   the scores' softmax over keys, times v
///   log_sum  the logarithm of the sum of the scores' exponentials, for each query; in the accumulator's type
/// Rounded once: scores and weights are values of the accumulator's type (a backend may round the weights
/// that it multiplies v with to v's).
template <>
struct primitive<op::attention> : row::base {
  static constexpr auto name = "attention";
  static constexpr int arity = 3;
  static constexpr int examples = 3;
  static constexpr double low = -1, high = 1;
  /// 0: one head. 1: causal, with a group. 2: causal, more queries than keys, in another order of axes.
  static constexpr int example(builder& g, int variant) {
    using form = row::attention_form;
    constexpr std::int32_t q = form::query, k = form::key, d = form::hidden, w = form::value,
                           a = form::first_outer, b = a + 1;
    const auto made = [&](const shape& s, const shape& t, const shape& u, const shape& to, ids attributes) {
      const std::int32_t xs[] = {g.input(0, dtype::f64, s), g.input(1, dtype::f64, t),
                                 g.input(2, dtype::f64, u)};
      return g.emit({op::attention, dtype::f64, g.result.intern(to), xs, attributes, 0.7});
    };
    if (variant == 0) {
      const std::int32_t labels[] = {q, d, k, d, k, w, q, w, 0, 0};
      return made({3, 2}, {4, 2}, {4, 3}, {3, 3}, labels);
    }
    if (variant == 1) {
      const std::int32_t labels[] = {a, q, b, d, a, k, d, a, k, w, a, q, b, w, 1, 0};
      return made({2, 3, 2, 2}, {2, 3, 2}, {2, 3, 2}, {2, 3, 2, 2}, labels);
    }
    const std::int32_t labels[] = {d, a, q, k, d, a, a, w, k, w, q, a, 1, 0};
    return made({2, 2, 4}, {3, 2, 2}, {2, 3, 3}, {3, 4, 2}, labels);
  }
  /// By attention_backward, from the scores' logarithmic sums and, for each query, the sum of dy times the
  /// output.
  ///
  /// Errors  `error` for log_sum, which is made by differentiation and not differentiated again
  /// Source  Dao et al. 2022, "FlashAttention", appendix B.2
  static constexpr void gradient(builder& g, int n, int dy, auto give) {
    const row::attention_form f(g.view(), n);
    if (f.part != attention_part::output)
      throw error("attention: the logarithmic sums of a backward pass are not differentiated");
    const std::int32_t q = g.operand(n, 0), k = g.operand(n, 1), v = g.operand(n, 2);
    const std::int32_t forward[] = {q, k, v};
    const int sums = row::emit_attention(g, n, op::attention, attention_part::log_sum, forward);
    const dtype wide = g.type_of(sums);
    const std::int32_t width[] = {
        static_cast<std::int32_t>(f.of_output.index_of(row::attention_form::value))};
    const int delta = g.reduce(op::sum, g.mul(g.cast(n, wide), g.cast(dy, wide)), width);
    const std::int32_t backward[] = {q, k, v, dy, sums, delta};
    const auto part = [&](attention_part p) {
      return row::emit_attention(g, n, op::attention_backward, p, backward);
    };
    give(0, part(attention_part::query));
    give(1, part(attention_part::key));
    give(2, part(attention_part::value));
  }
};

/// operands: q, k, v, dy (as the output), its log_sum, and for each query the sum of dy times the output;
/// attributes and value as attention's. Parts query, key and value: the adjoints of q, k and v.
template <>
struct primitive<op::attention_backward> : row::base {
  static constexpr auto name = "attention_backward";
  static constexpr int arity = 6;
  static constexpr int examples = 3;
  static constexpr bool differentiable = false;
  static constexpr double low = -1, high = 1;
  static constexpr int example(builder& g, int variant) {
    const int y = primitive<op::attention>::example(g, 1);
    const row::attention_form f(g.view(), y);
    const shape rows = f.shape_of(attention_part::log_sum), of_y = g.shape_of(y);
    const std::int32_t xs[] = {g.operand(y, 0),
                               g.operand(y, 1),
                               g.operand(y, 2),
                               g.input(3, dtype::f64, of_y),
                               g.input(4, dtype::f64, rows),
                               g.input(5, dtype::f64, rows)};
    constexpr attention_part parts[] = {attention_part::query, attention_part::key, attention_part::value};
    return row::emit_attention(g, y, op::attention_backward, parts[variant], xs);
  }
  static constexpr void gradient(builder&, int, int, auto) {}
};

}  // namespace napkin
