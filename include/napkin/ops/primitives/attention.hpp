// Scaled dot-product attention as one operation, which no tensor of scores comes between. Nobody writes it:
// passes/find_attention.hpp makes it of the primitives that models are written in.
#pragma once

#include <bit>

#include "napkin/core/error.hpp"
#include "napkin/ops/primitives/row.hpp"

namespace napkin {

/// Which of the results a node is. Nodes that differ in this alone have the same operands, and are lowered
/// together: `output` with `log_sum` and `largest`, `key` with `value`.
enum class attention_part : std::int32_t { output, log_sum, query, key, value, largest };

/// What a tensor does to the scores that it lies beside, broadcast along axes that it lacks: `adds` its
/// numbers, or `shows` where a query sees a key (b8), every other score being a number that hides it.
enum class attention_mask : std::uint8_t { none, adds, shows };

namespace row {

/// Axes beside positions and width: batches and heads.
inline constexpr std::size_t max_attention_axes = 6;

/// A node of attention, or of its backward pass, taken apart. Its attributes are labels, of the axes of q, k,
/// v and the mask, if it has one, in turn and then of the output's; whether it is causal; how many positions
/// up to its own a query of a causal one sees, 0 if all; the score of what is hidden, an f32's bits; its
/// part. Labels of batches and heads are first_outer and above; those that k lacks are of a group of queries
/// that share keys.
struct attention_form {
  static constexpr std::int32_t query = 0, key = 1, hidden = 2, value = 3, first_outer = 4;
  static constexpr std::size_t label_count = static_cast<std::size_t>(first_outer) + max_attention_axes;
  static constexpr std::size_t numbers = 4;                   // attributes that are no labels: the last
  static constexpr std::int32_t operands_without_deltas = 5;  // of a backward pass
  using labels = inplace_vector<std::int32_t, max_rank>;

  labels of_query, of_key, of_value, of_mask, of_output;
  labels outer;            // those of keys first
  std::size_t shared = 0;  // how many of `outer` keys have
  std::size_t size[label_count]{};
  bool causal = false;
  std::size_t window = 0;
  attention_mask mask = attention_mask::none;
  dtype mask_type = dtype::b8;
  float hidden_score = 0;
  attention_part part = attention_part::output;
  double scale = 1;

  constexpr attention_form(const graph_view& g, int id) {
    const ids all = g.attributes(id);
    scale = g[id].value;
    std::size_t at = 0;
    const auto take = [&](int k, labels& to) {
      for (const std::size_t s : g.shape_of(g.operand(id, k))) {
        const std::int32_t l = all[at++];
        to.push_back(l);
        size[l] = s;
      }
    };
    take(0, of_query);
    take(1, of_key);
    take(2, of_value);
    if (const int m = mask_operand(g[id]); m >= 0) {
      take(m, of_mask);
      mask_type = g[g.operand(id, m)].type;
      mask = mask_type == dtype::b8 ? attention_mask::shows : attention_mask::adds;
    }
    while (at + numbers < all.size()) of_output.push_back(all[at++]);
    causal = all[at] != 0;
    window = static_cast<std::size_t>(all[at + 1]);
    hidden_score = std::bit_cast<float>(all[at + 2]);
    part = static_cast<attention_part>(all[at + 3]);
    for (const std::int32_t l : of_key)
      if (l >= first_outer) outer.push_back(l);
    shared = outer.size();
    for (const std::int32_t l : of_query)
      if (l >= first_outer && !of_key.contains(l)) outer.push_back(l);
  }

  /// Which operand of an attention is its mask; -1: none.
  static constexpr int mask_operand(const node& n) {
    if (n.kind == op::attention) return n.arity == 4 ? 3 : -1;
    return n.arity == 8 ? 6 : -1;
  }
  /// Whether a node of the backward pass has deltas for operand 5. One without computes them.
  static constexpr bool has_deltas(const node& n) { return n.arity > operands_without_deltas; }
  constexpr bool is_masked() const { return mask != attention_mask::none; }
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
  /// Heads of queries that share one of keys.
  constexpr std::size_t group() const {
    std::size_t n = 1;
    for (std::size_t o = shared; o < outer.size(); ++o) n *= size[outer[o]];
    return n;
  }
  /// Heads in all batches: how often rows meet keys.
  constexpr std::uint64_t heads() const {
    std::uint64_t n = 1;
    for (const std::int32_t l : outer) n *= size[l];
    return n;
  }
};

/// Whether two nodes differ in their parts alone.
constexpr bool are_one_attention(const graph_view& g, int a, int b) {
  const node &x = g.nodes[a], &y = g.nodes[b];
  if (x.kind != y.kind || x.when != y.when || x.arity != y.arity || x.attribute_count != y.attribute_count ||
      std::bit_cast<std::uint64_t>(x.value) != std::bit_cast<std::uint64_t>(y.value))
    return false;
  const ids as = g.attributes(a), bs = g.attributes(b);
  for (std::size_t i = 0; i + 1 < as.size(); ++i)
    if (as[i] != bs[i]) return false;
  for (int k = 0; k < x.arity; ++k)
    if (g.operand(a, k) != g.operand(b, k)) return false;
  return true;
}
constexpr attention_part attention_part_of(const graph_view& g, int id) {
  return static_cast<attention_part>(g.attribute(id, g.nodes[id].attribute_count - 1));
}

/// Node n's attention again: another part, from operands that begin with q, k and v.
constexpr int emit_attention(builder& g, int n, op kind, attention_part part, ids operands) {
  const attention_form f(g.view(), n);
  buffer<std::int32_t> attributes;
  const ids all = g.view().attributes(n);
  attributes.append(all.data(), all.size());
  attributes[attributes.size() - 1] = static_cast<std::int32_t>(part);
  const dtype type = g.type_of(operands[0]);
  const bool of_sums = part == attention_part::log_sum || part == attention_part::largest;
  return g.emit({kind,
                 of_sums ? accumulator_of(type) : type,
                 g.result.intern(f.shape_of(part)),
                 operands,
                 {attributes.data(), attributes.size()},
                 g[n].value});
}

}  // namespace row

/// operands: q, k, v, and a mask if there is one; attributes: row::attention_form's; value: the scale. Scores
/// are scale * q k over the width, and what the mask adds; of a causal attention those of keys up to the
/// query's own position, the last `window` of them if that is not 0. Parts
///   output   the scores' softmax over keys, times v
///   log_sum  the logarithm of the sum of the scores' exponentials, for each query; in the accumulator's type
/// Without a mask each query sees a key, and hidden keys are left out. With one a query may see none: keys
/// that are hidden, by position or by a mask that `shows`, have the score `hidden_score` then, -infinity or a
/// number below any other, and all the rest follows: weights are NaN or equal. Sums would lose all but such a
/// number, so
///   largest  a score that is subtracted from the others, for each query: the largest, or little less
///   log_sum  the logarithm of the sum of exponentials of what remains
/// Rounded once: scores and weights are values of the accumulator's type (a backend may round the weights
/// that it multiplies v with to v's).
template <>
struct primitive<op::attention> : row::base {
  static constexpr auto name = "attention";
  static constexpr int arity = -1;
  static constexpr int examples = 6;
  static constexpr double low = -1, high = 1;
  /// 0: one head. 1: causal, with a group. 2: causal, more queries than keys, in another order of axes. 3: of
  /// a window. 4: a mask adds, of queries and keys. 5: one shows, of heads and keys, to causal queries.
  static constexpr int example(builder& g, int variant) {
    using form = row::attention_form;
    constexpr std::int32_t q = form::query, k = form::key, d = form::hidden, w = form::value,
                           a = form::first_outer, b = a + 1;
    const auto made = [&](const shape& s, const shape& t, const shape& u, const shape& to, ids attributes,
                          int mask = -1) {
      const std::int32_t xs[] = {g.input(0, dtype::f64, s), g.input(1, dtype::f64, t),
                                 g.input(2, dtype::f64, u), mask};
      return g.emit(
          {op::attention, dtype::f64, g.result.intern(to), {xs, mask < 0 ? 3u : 4u}, attributes, 0.7});
    };
    constexpr std::int32_t far = std::bit_cast<std::int32_t>(-1e30f);
    if (variant == 0) {
      const std::int32_t labels[] = {q, d, k, d, k, w, q, w, 0, 0, 0, 0};
      return made({3, 2}, {4, 2}, {4, 3}, {3, 3}, labels);
    }
    if (variant == 1) {
      const std::int32_t labels[] = {a, q, b, d, a, k, d, a, k, w, a, q, b, w, 1, 0, 0, 0};
      return made({2, 3, 2, 2}, {2, 3, 2}, {2, 3, 2}, {2, 3, 2, 2}, labels);
    }
    if (variant == 2) {
      const std::int32_t labels[] = {d, a, q, k, d, a, a, w, k, w, q, a, 1, 0, 0, 0};
      return made({2, 2, 4}, {3, 2, 2}, {2, 3, 3}, {3, 4, 2}, labels);
    }
    if (variant == 3) {
      const std::int32_t labels[] = {q, d, k, d, k, w, q, w, 1, 2, 0, 0};
      return made({4, 2}, {4, 2}, {4, 3}, {4, 3}, labels);
    }
    if (variant == 4) {
      const std::int32_t labels[] = {a, q, d, a, k, d, a, k, w, q, k, a, q, w, 0, 0, 0, 0};
      return made({2, 3, 2}, {2, 4, 2}, {2, 4, 3}, {2, 3, 3}, labels,
                  g.scale(g.iota(1, dtype::f64, {3, 4}), -0.3));
    }
    const std::int32_t labels[] = {a, q, d, a, k, d, a, k, w, a, k, a, q, w, 1, 0, far, 0};
    return made({2, 3, 2}, {2, 3, 2}, {2, 3, 3}, {2, 3, 3}, labels,
                g.binary(op::less, g.iota(0, dtype::i32, {2, 3}), g.iota(1, dtype::i32, {2, 3})));
  }
  /// By attention_backward, from the scores' logarithmic sums and, for each query, the sum of dy times the
  /// output. A mask gets none: passes/find_attention.hpp takes those that need none.
  ///
  /// Errors  `error` for log_sum and largest, which are made by differentiation and not differentiated again
  /// Source  Dao et al. 2022, "FlashAttention", appendix B.2
  static constexpr void gradient(builder& g, int n, int dy, auto give) {
    const row::attention_form f(g.view(), n);
    if (f.part != attention_part::output)
      throw error("attention: the logarithmic sums of a backward pass are not differentiated");
    const std::int32_t q = g.operand(n, 0), k = g.operand(n, 1), v = g.operand(n, 2);
    const std::int32_t mask = f.is_masked() ? g.operand(n, 3) : -1;
    const std::int32_t operands[] = {q, k, v, mask};
    const ids forward{operands, f.is_masked() ? 4u : 3u};
    const int sums = row::emit_attention(g, n, op::attention, attention_part::log_sum, forward);
    const int largest =
        f.is_masked() ? row::emit_attention(g, n, op::attention, attention_part::largest, forward) : -1;
    const dtype wide = g.type_of(sums);
    const std::int32_t width[] = {
        static_cast<std::int32_t>(f.of_output.index_of(row::attention_form::value))};
    const int delta = g.reduce(op::sum, g.mul(g.cast(n, wide), g.cast(dy, wide)), width);
    const std::int32_t backward[] = {q, k, v, dy, sums, delta, mask, largest};
    const auto part = [&](attention_part p) {
      return row::emit_attention(g, n, op::attention_backward, p, {backward, f.is_masked() ? 8u : 6u});
    };
    give(0, part(attention_part::query));
    give(1, part(attention_part::key));
    give(2, part(attention_part::value));
  }
};

/// operands: q, k, v, dy (as the output), its log_sum, and for each query its delta, the sum of dy times the
/// output; of a masked one the mask too, and largest; attributes and value as attention's. Parts query, key
/// and value: the adjoints of q, k and v. A hidden score is a constant, so that nothing goes through it to q
/// and k. One without a mask may lack deltas (passes/leave_out_deltas.hpp): each is also the sum over keys of
/// a weight times its adjoint.
template <>
struct primitive<op::attention_backward> : row::base {
  static constexpr auto name = "attention_backward";
  static constexpr int arity = -1;
  static constexpr int examples = 8;
  static constexpr bool differentiable = false;
  static constexpr double low = -1, high = 1;
  /// Without a mask each part, of a window, with masks; without deltas each part.
  static constexpr int example(builder& g, int variant) {
    const bool has_deltas = variant < 5;
    const int y = primitive<op::attention>::example(g, variant < 3 || !has_deltas ? 1 : variant + 1);
    const row::attention_form f(g.view(), y);
    const shape rows = f.shape_of(attention_part::log_sum), of_y = g.shape_of(y);
    const std::int32_t xs[] = {g.operand(y, 0),
                               g.operand(y, 1),
                               g.operand(y, 2),
                               g.input(3, dtype::f64, of_y),
                               g.input(4, dtype::f64, rows),
                               g.input(5, dtype::f64, rows),
                               f.is_masked() ? g.operand(y, 3) : -1,
                               f.is_masked() ? g.input(6, dtype::f64, rows) : -1};
    constexpr attention_part parts[] = {attention_part::query, attention_part::key, attention_part::value};
    return row::emit_attention(g, y, op::attention_backward, parts[variant % 3],
                               {xs, !has_deltas     ? 5u
                                    : f.is_masked() ? 8u
                                                    : 6u});
  }
  static constexpr void gradient(builder&, int, int, auto) {}
};

}  // namespace napkin
