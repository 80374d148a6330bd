// softmax(q k * scale + mask) v, found in the graph of a function and made one operation, before it is
// differentiated, so that the operation's own rule gives the backward pass and no tensor of scores is kept
// for it. Found by what is computed, whoever wrote it; composite attention (nn/attention.hpp) is of this
// form:
//
//   scores   an einsum of q and k, times numbers
//   mask     none, or causal: where(key's position <= query's, scores, a number below any score)
//   weights  exp(scores - max) / sum of that, over one axis: the keys'
//   output   an einsum of weights and v
//
// with casts anywhere between. What any other node reads as well (weights that are a result) stays as it is.
// Casts to a narrower dtype between scores and weights are dropped: the operation rounds once.
#pragma once

#include <string_view>

#include "napkin/ops/composite.hpp"
#include "napkin/ops/primitives/table.hpp"
#include "napkin/passes/coordinate.hpp"
#include "napkin/passes/simplify.hpp"

namespace napkin {

namespace passes {

/// Whether a backend does an attention as one operation; why not.
enum class attention_fit : std::uint8_t {
  fits,
  products_are_faster,
  too_wide,
  no_kernel_for_dtype,
  scale_not_positive
};

constexpr std::string_view name_of(attention_fit fit) {
  switch (fit) {
    case attention_fit::fits:
      return "fits";
    case attention_fit::products_are_faster:
      return "matrix products are faster";
    case attention_fit::too_wide:
      return "heads are wider than the kernels";
    case attention_fit::no_kernel_for_dtype:
      return "no kernel for the dtype";
    case attention_fit::scale_not_positive:
      return "the scale is not positive";
  }
  return "?";
}

/// What was decided for the attentions of a graph.
struct attention_choice {
  std::int32_t fused = 0;                      // each is one operation
  std::int32_t unfused = 0;                    // found, but left as matrix products and a softmax
  attention_fit reason = attention_fit::fits;  // why, of the first of those

  constexpr bool operator==(const attention_choice&) const = default;
};

namespace detail {

/// A score that hides its key whatever the others are: its exponential is 0 beside any of them.
inline constexpr double hidden_score = -1e9;

class attention_finder {
 public:
  constexpr explicit attention_finder(const graph_view& graph) : g_(graph), readers_(graph.size(), 0) {
    for (int id = 0; id < static_cast<int>(g_.size()); ++id)
      for (const std::int32_t x : g_.operands(id)) ++readers_.data()[x];
    for (const std::int32_t out : g_.output_ids()) ++readers_.data()[out];
  }

  /// What an attention is made of, if the last match was one.
  std::int32_t q = -1, k = -1, v = -1;
  double scale = 1;
  buffer<std::int32_t> attributes{};  // row::attention_form's

  /// Is node id the output of one?
  constexpr bool match(int id) {
    const node& n = g_.nodes[id];
    if (n.kind != op::einsum || n.arity != 2 || !is_floating(n.type)) return false;
    return match_weights(id, 0) || match_weights(id, 1);
  }

 private:
  graph_view g_;
  buffer<std::int32_t> readers_, inside_;
  int scores_ = -1, key_axis_ = -1, mask_ = -1;

  constexpr op kind(int x) const { return g_.nodes[x].kind; }
  /// Of what is matched: no other node may read it.
  constexpr int inside(int x) {
    if (!is_inside(x)) inside_.push_back(x);
    return x;
  }
  constexpr bool is_inside(int x) const {
    for (const std::int32_t known : inside_)
      if (known == x) return true;
    return false;
  }
  constexpr bool is_read_elsewhere(int output) {
    buffer<std::int32_t> reads(inside_.size(), 0);
    const auto count = [&](int reader) {
      for (const std::int32_t x : g_.operands(reader))
        for (std::size_t i = 0; i < inside_.size(); ++i) reads[i] += inside_[i] == x;
    };
    for (const std::int32_t x : inside_) count(x);
    count(output);
    for (std::size_t i = 0; i < inside_.size(); ++i)
      if (reads[i] != readers_.data()[inside_[i]]) return true;
    return false;
  }
  /// x before it was cast.
  constexpr int before_casts(int x) {
    while (kind(x) == op::cast) x = g_.operand(inside(x), 0);
    return x;
  }
  constexpr bool find_number(int x, double& value) const {
    while (kind(x) == op::expand || kind(x) == op::cast) x = g_.operand(x, 0);
    value = g_.nodes[x].value;
    return kind(x) == op::constant;
  }
  /// What x is a reduction of, over one axis along which it is then repeated; -1: it is none.
  constexpr int reduced_by(int x, op o, int& axis) {
    x = before_casts(x);
    if (kind(x) != op::expand) return -1;
    int r = before_casts(g_.operand(inside(x), 0));
    if (kind(r) == op::stop_gradient) r = before_casts(g_.operand(inside(r), 0));
    if (kind(r) != o || g_.nodes[r].attribute_count != 1) return -1;
    axis = g_.attribute(r, 0);
    for (int i = 0; i < g_.nodes[x].attribute_count; ++i)
      if (g_.attribute(x, i) != (i < axis ? i : i == axis ? -1 : i - 1)) return -1;
    return before_casts(g_.operand(inside(r), 0));
  }

  constexpr bool match_weights(int id, int side) {
    inside_.clear();
    const int weights = before_casts(g_.operand(id, side));
    if (kind(weights) != op::div) return false;
    const int e = before_casts(g_.operand(inside(weights), 0));
    if (kind(e) != op::exp || reduced_by(g_.operand(weights, 1), op::sum, key_axis_) != e) return false;
    const int below = before_casts(g_.operand(inside(e), 0));
    if (kind(below) != op::sub) return false;
    const int x = before_casts(g_.operand(inside(below), 0));
    int axis = -1;
    if (reduced_by(g_.operand(below, 1), op::max, axis) != x || axis != key_axis_) return false;
    return match_scores(x) && !is_read_elsewhere(id) && write_labels(id, side);
  }

  constexpr bool match_scores(int x) {
    mask_ = -1;
    scale = 1;
    double number = 0;
    if (kind(x) == op::select) {
      if (!find_number(g_.operand(x, 2), number) || !(number <= hidden_score)) return false;
      mask_ = g_.operand(inside(x), 0);
      x = before_casts(g_.operand(x, 1));
    }
    while (kind(x) == op::mul || kind(x) == op::div) {
      const bool divides = kind(x) == op::div;
      int scores = g_.operand(x, 0);
      if (!find_number(g_.operand(x, 1), number)) {
        if (divides || !find_number(scores, number)) return false;
        scores = g_.operand(x, 1);
      }
      if (divides && number == 0) return false;
      scale = divides ? scale / number : scale * number;
      (void)inside(x);
      x = before_casts(scores);
    }
    if (kind(x) != op::einsum || g_.nodes[x].arity != 2) return false;
    scores_ = inside(x);
    q = g_.operand(x, 0);
    k = g_.operand(x, 1);
    return true;
  }

  /// Of a mask that is true where the position along one axis is at most that along another: which.
  constexpr void find_mask_axes(int mask, int& seen, int& by) const {
    if (kind(mask) == op::less_equal) {
      seen = coordinate_axis(g_, g_.operand(mask, 0));
      by = coordinate_axis(g_, g_.operand(mask, 1));
    } else if (kind(mask) == op::expand) {
      int from_seen = -1, from_by = -1;
      find_mask_axes(g_.operand(mask, 0), from_seen, from_by);
      for (int i = 0; from_seen >= 0 && from_by >= 0 && i < g_.nodes[mask].attribute_count; ++i) {
        if (g_.attribute(mask, i) == from_seen) seen = i;
        if (g_.attribute(mask, i) == from_by) by = i;
      }
    }
  }

  static constexpr bool has_twice(ids labels) {
    for (std::size_t i = 0; i < labels.size(); ++i)
      if (row::has_label(labels.first(i), labels[i])) return true;
    return false;
  }

  /// The labels of both products as row::attention_form names them; false where they are no attention's.
  constexpr bool write_labels(int id, int side) {
    using form = row::attention_form;
    const row::einsum_labels inner(g_, scores_), outer(g_, id);
    v = g_.operand(id, 1 - side);
    const ids of_weights = outer.operand(static_cast<std::size_t>(side)),
              of_v = outer.operand(static_cast<std::size_t>(1 - side)), of_out = outer.result(),
              of_scores = inner.result();
    ids of_q = inner.operand(0), of_k = inner.operand(1);
    const std::int32_t key = of_scores[static_cast<std::size_t>(key_axis_)];
    if (row::has_label(of_q, key)) {  // the second operand has the queries
      const ids swapped = of_q;
      of_q = of_k;
      of_k = swapped;
      const std::int32_t first = q;
      q = k;
      k = first;
    }
    if (row::has_label(of_q, key) || has_twice(of_q) || has_twice(of_k) || has_twice(of_weights) ||
        has_twice(of_v) || g_[q].type != g_[v].type || g_[k].type != g_[v].type || g_[id].type != g_[v].type)
      return false;

    // Label l of the first product is now[l]; of the second, scores_label gives the first's, or is its own.
    std::int32_t now[max_labels];
    for (std::int32_t& l : now) l = -1;
    const auto in_scores = [&](std::int32_t of_second) {
      for (std::size_t i = 0; i < of_weights.size(); ++i)
        if (of_weights[i] == of_second) return of_scores[i];
      return std::int32_t{-1};
    };
    const auto second_has = [&](ids labels, std::int32_t of_first) {
      for (const std::int32_t l : labels)
        if (in_scores(l) == of_first) return true;
      return false;
    };
    std::int32_t next = form::first_outer, query = -1;
    std::size_t largest = 0;
    for (std::size_t i = 0; i < of_scores.size(); ++i) {
      const std::int32_t l = of_scores[i];
      const std::size_t size = g_.shape_of(scores_)[i];
      if (size == 0) return false;
      const bool of_keys = row::has_label(of_k, l), in_v = second_has(of_v, l),
                 in_out = second_has(of_out, l);
      if (l == key) {
        if (!in_v || in_out) return false;
        now[l] = form::key;
        continue;
      }
      if (!row::has_label(of_q, l) || !in_out || of_keys != in_v) return false;
      now[l] = next++;
      if (!of_keys && (query < 0 || size > largest)) {
        query = l;
        largest = size;
      }
    }
    if (now[key] != form::key || next > form::first_outer + static_cast<int>(row::max_attention_axes) + 1)
      return false;
    bool causal = false;
    if (mask_ >= 0) {
      int seen = -1, by = -1;
      find_mask_axes(mask_, seen, by);
      if (seen != key_axis_ || by < 0 || by == key_axis_) return false;
      query = of_scores[static_cast<std::size_t>(by)];
      if (row::has_label(of_k, query)) return false;
      causal = true;
    }
    if (query < 0) return false;
    const std::int32_t freed = now[query];
    now[query] = form::query;
    for (std::int32_t& l : now)
      if (l > freed) --l;
    // one label is summed by each product, and one is v's own
    std::int32_t hidden = -1, value = -1;
    for (const std::int32_t l : of_q)
      if (now[l] < 0) {
        if (hidden >= 0 || !row::has_label(of_k, l)) return false;
        hidden = l;
      }
    if (hidden < 0) return false;
    now[hidden] = form::hidden;
    for (const std::int32_t l : of_k)
      if (now[l] < 0) return false;
    for (const std::int32_t l : of_v)
      if (in_scores(l) < 0) {
        if (value >= 0 || !row::has_label(of_out, l)) return false;
        value = l;
      }
    if (value < 0) return false;
    for (const std::int32_t l : of_out)
      if (l != value && in_scores(l) < 0) return false;
    if (of_out.size() != of_scores.size()) return false;  // of weights all but the keys, and v's own

    attributes.clear();
    for (const std::int32_t l : of_q) attributes.push_back(now[l]);
    for (const std::int32_t l : of_k) attributes.push_back(now[l]);
    for (const std::int32_t l : of_v) attributes.push_back(l == value ? form::value : now[in_scores(l)]);
    for (const std::int32_t l : of_out) attributes.push_back(l == value ? form::value : now[in_scores(l)]);
    attributes.push_back(causal);
    attributes.push_back(static_cast<std::int32_t>(attention_part::output));
    return true;
  }
};

}  // namespace detail

/// g with each attention that `fits` one operation of op::attention; what that leaves unread is gone, but
/// inputs keep their places. `fits(form, dtype)`: what a backend says (attention_fit). Values differ by
/// rounding alone. `choice`, if given: what was decided.
///
/// Source  Vaswani et al. 2017; Dao et al. 2022, "FlashAttention"
template <class Fits>
constexpr graph find_attention(const graph_view& g, Fits fits, attention_choice* choice = nullptr) {
  attention_choice decided;
  bool any = false;
  for (int id = 0; id < static_cast<int>(g.size()) && !any; ++id)  // the sign of a softmax
    any = g.nodes[id].kind == op::exp;
  if (choice != nullptr) *choice = {};
  if (!any) return same_graph(g);

  detail::attention_finder finder(g);
  builder b;  // does not simplify: nodes are as they were
  b.result.nodes.reserve(g.size());
  b.result.pool.reserve(g.pool_count);
  b.result.shapes.append(g.shapes, g.shape_count);
  for (int id = 0; id < static_cast<int>(g.size()); ++id) {
    const node& n = g.nodes[id];
    b.origin = n.origin;
    b.composite = n.composite;
    b.when = n.when;
    if (n.kind == op::einsum && finder.match(id)) {
      const std::int32_t xs[] = {finder.q, finder.k, finder.v};
      const std::size_t nodes = b.result.nodes.size(), pool = b.result.pool.size();
      const int made = b.emit({op::attention,
                               n.type,
                               n.shape_id,
                               xs,
                               {finder.attributes.data(), finder.attributes.size()},
                               finder.scale});
      const attention_fit fit = fits(row::attention_form(b.view(), made), n.type);
      if (fit == attention_fit::fits) {
        ++decided.fused;
        continue;
      }
      b.result.nodes.resize(nodes);
      b.result.pool.resize(pool);
      if (decided.unfused == 0) decided.reason = fit;
      ++decided.unfused;
    }
    b.emit({n.kind, n.type, n.shape_id, g.operands(id), g.attributes(id), n.value});
  }
  if (choice != nullptr) *choice = decided;
  if (decided.fused == 0) return same_graph(g);
  for (const std::int32_t out : g.output_ids()) b.output(out);
  // Inputs are outputs for a moment: parameters stay the first nodes, read or not.
  for (int id = 0; id < static_cast<int>(g.size()); ++id)
    if (g.nodes[id].kind == op::input) b.output(id);
  graph made = without_dead_nodes(b.take());
  made.outputs.resize(g.output_count);
  return made;
}

}  // namespace passes
}  // namespace napkin
