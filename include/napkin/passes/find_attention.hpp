// softmax(q k * scale + mask) v, found in the graph of a function and made one operation, before it is
// differentiated, so that the operation's own rule gives the backward pass and no tensor of scores is kept
// for it. Found by what is computed, whoever wrote it; composite attention (nn/attention.hpp) is of this
// form:
//
//   scores   an einsum of q and k, times numbers
//   mask     of positions, causal: where(key's position <= query's, scores, a number below any score), and of
//            a window if also query's - key's < a number; of a tensor that adds to the scores, or that shows
//            where they count, where(shown, scores, that number), or of both by `and` or one within the other
//   weights  exp(scores - max) / sum of that, over one axis: the keys'
//   output   an einsum of weights and v
//
// with casts anywhere between. What any other node reads as well (weights that are a result) stays as it is.
// Casts to a narrower dtype between scores and weights are dropped: the operation rounds once. The tensor is read
// as it lies, before it was repeated along axes that it lacks; the operation gives it no gradient, so that one
// that needs some leaves the products.
//
// A row of which a tensor hides every key is what the graph says: without numbers where hidden is -infinity,
// else of equal weights, those of the keys that positions hide among them (ops/primitives/attention.hpp).
#pragma once

#include <bit>
#include <limits>
#include <string_view>

#include "napkin/graph/coordinate.hpp"
#include "napkin/ops/composite.hpp"
#include "napkin/ops/primitives/table.hpp"
#include "napkin/passes/simplify.hpp"

namespace napkin {

namespace passes {

/// Whether a backend does an attention as one operation; why not.
enum class attention_fit : std::uint8_t {
  fits,
  products_are_faster,
  no_kernel_for_dtype,
  mask_needs_gradient
};

constexpr std::string_view name_of(attention_fit fit) {
  switch (fit) {
    case attention_fit::fits:
      return "fits";
    case attention_fit::products_are_faster:
      return "matrix products are faster";
    case attention_fit::no_kernel_for_dtype:
      return "no kernel for the dtype";
    case attention_fit::mask_needs_gradient:
      return "a mask needs a gradient";
  }
  return "?";
}

/// What was decided for the attentions of a graph.
struct attention_choice {
  std::int32_t fused = 0;                      // each is one operation
  std::int32_t unfused = 0;                    // found, but left as matrix products and a softmax
  attention_fit reason = attention_fit::fits;  // why, of the first of those

  constexpr bool operator==(const attention_choice&) const = default;
  constexpr void add(attention_fit fit, std::int32_t times = 1) {
    if (fit != attention_fit::fits && unfused == 0) reason = fit;
    (fit == attention_fit::fits ? fused : unfused) += times;
  }
};

namespace detail {

/// A score that hides its key whatever the others are: its exponential is 0 beside any of them.
inline constexpr double hidden_score = -1e9;

class attention_finder {
 public:
  constexpr attention_finder(const graph_view& graph, ids wanted)
      : g_(graph), needs_gradient_(graph.size(), false), readers_(graph.size(), 0) {
    for (const std::int32_t w : wanted) needs_gradient_.items[w] = true;
    for (int id = 0; id < static_cast<int>(g_.node_count); ++id) {
      if (!is_floating(g_.nodes[id].type) || !facts_of(g_.nodes[id].kind).differentiable) continue;
      for (const std::int32_t x : g_.operands(id))
        if (needs_gradient_.items[x]) needs_gradient_.items[id] = true;
    }
    for (int id = 0; id < static_cast<int>(g_.node_count); ++id)
      for (const std::int32_t x : g_.operands(id)) ++readers_.items[x];
    for (const std::int32_t out : g_.output_ids()) ++readers_.items[out];
  }

  /// What an attention is made of, if the last match was one.
  std::int32_t q = -1, k = -1, v = -1;
  int mask = -1;  // the tensor's node, if there is one
  double scale = 1;
  buffer<std::int32_t> attributes{};  // row::attention_form's

  /// Is node id the output of one?
  constexpr bool match(int id) {
    const node& n = g_.nodes[id];
    if (n.kind != op::einsum || n.arity != 2 || !is_floating(n.type)) return false;
    return match_weights(id, 0) || match_weights(id, 1);
  }
  constexpr bool mask_needs_gradient() const { return mask >= 0 && needs_gradient_.items[mask]; }

 private:
  graph_view g_;
  buffer<bool> needs_gradient_;
  buffer<std::int32_t> readers_, inside_;
  int scores_ = -1, key_axis_ = -1;
  /// A query sees a key where the sum of their positions, of which one is subtracted (of_key is 2 or -2), and
  /// a number is 0 or less.
  struct position_bound {
    int axis;  // of the scores: the query's
    std::int64_t number;
    int of_key;
  };
  // Masks: which axis of the scores each axis of the tensor is; bounds on positions; what is hidden has this
  // score, NaN while nothing is.
  inplace_vector<std::int32_t, max_rank> mask_axes_;
  inplace_vector<position_bound, 4> positions_;
  double hidden_ = std::numeric_limits<double>::quiet_NaN();
  bool by_positions_ = true;  // whether conditions on them are looked for, or are tensors like others

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
      if (reads[i] != readers_.items[inside_[i]]) return true;
    return false;
  }
  /// A cast that rounds to 16 bits, or widens: not one to 8 bits, integers or truths, which is arithmetic.
  constexpr bool only_rounds(int x) const {
    const auto is_wide = [](dtype t) { return is_floating(t) && !is_8_bit_float(t); };
    return kind(x) == op::cast && is_wide(g_.nodes[x].type) && is_wide(g_.nodes[g_.operand(x, 0)].type);
  }
  /// x before it was rounded.
  constexpr int before_casts(int x) {
    while (only_rounds(x)) x = g_.operand(inside(x), 0);
    return x;
  }
  constexpr bool find_number(int x, double& value) const {
    while (kind(x) == op::expand || only_rounds(x)) x = g_.operand(x, 0);
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
    for (const bool by_positions : {true, false}) {
      by_positions_ = by_positions;
      if (match_scores(x) && !is_read_elsewhere(id) && write_labels(id, side)) return true;
    }
    return false;
  }

  constexpr bool match_scores(int x) {
    mask = -1;
    positions_.clear();
    hidden_ = std::numeric_limits<double>::quiet_NaN();
    scale = 1;
    double number = 0;
    while (kind(x) == op::select) {
      const int hidden = g_.operand(x, 2);
      if (!find_number(hidden, number) || !(number <= hidden_score) || !hide_by(number, hidden) ||
          !take_shown(g_.operand(inside(x), 0)))
        return false;
      x = before_casts(g_.operand(x, 1));
    }
    if (kind(x) == op::add) {
      const int side = leads_to_scores(g_.operand(x, 0)) ? 0 : 1;
      if (!take_added(g_.operand(inside(x), 1 - side))) return false;
      x = before_casts(g_.operand(x, side));
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

  // ---- masks

  /// Is x an einsum, but for casts and numbers that it is multiplied by?
  constexpr bool leads_to_scores(int x) const {
    double number = 0;
    while (true) {
      if (only_rounds(x)) {
        x = g_.operand(x, 0);
      } else if ((kind(x) == op::mul || kind(x) == op::div) && find_number(g_.operand(x, 1), number)) {
        x = g_.operand(x, 0);
      } else if (kind(x) == op::mul && find_number(g_.operand(x, 0), number)) {
        x = g_.operand(x, 1);
      } else {
        return kind(x) == op::einsum && g_.nodes[x].arity == 2;
      }
    }
  }
  static constexpr float in_f32(double x) {
    constexpr double most = std::numeric_limits<float>::max(),
                     infinity = std::numeric_limits<double>::infinity();
    if (x < -most)
      return x == -infinity ? -std::numeric_limits<float>::infinity() : static_cast<float>(-most);
    return static_cast<float>(x);
  }
  /// One number hides, wherever; as its own dtype has it, which may be -infinity.
  constexpr bool hide_by(double number, int node) {
    constexpr double least = -std::numeric_limits<double>::infinity();
    if (g_.nodes[node].type == dtype::f16 && number < -65519) number = least;
    if (hidden_ == hidden_ && hidden_ != number) return false;
    hidden_ = number;
    return true;
  }
  /// The tensor that x repeats; axes[i] is the axis of the scores that axis i of x is.
  constexpr bool take_tensor(int x, inplace_vector<std::int32_t, max_rank> axes) {
    while (true) {
      const node& n = g_.nodes[x];
      const int from = n.arity > 0 ? g_.operand(x, 0) : -1;
      if (n.kind == op::expand) {
        inplace_vector<std::int32_t, max_rank> of(g_.shape_of(from).size(), -1);
        for (int i = 0; i < n.attribute_count; ++i)
          if (g_.attribute(x, i) >= 0)
            of[static_cast<std::size_t>(g_.attribute(x, i))] = axes[static_cast<std::size_t>(i)];
        axes = of;
      } else if (n.kind != op::cast || !is_left_out(g_.nodes[from].type, n.type)) {
        break;
      }
      x = from;
    }
    if (mask >= 0 || axes.contains(-1) || kind(x) == op::constant) return false;
    mask_axes_ = axes;
    mask = x;
    return true;
  }
  /// A cast that changes nothing, or rounds; one to f16 would make numbers infinite.
  static constexpr bool is_left_out(dtype from, dtype to) {
    const bool is_wide = to == dtype::f32 || to == dtype::f64;
    return (is_wide && (from == dtype::bf16 || from == dtype::f16)) ||
           (from == dtype::f32 && to == dtype::bf16);
  }
  constexpr inplace_vector<std::int32_t, max_rank> own_axes(int x) const {
    inplace_vector<std::int32_t, max_rank> axes;
    for (std::size_t i = 0; i < g_.shape_of(x).size(); ++i) axes.push_back(static_cast<std::int32_t>(i));
    return axes;
  }
  constexpr bool take_added(int x) {
    const dtype t = g_.nodes[x].type;
    return (t == dtype::f64 || t == dtype::f32 || t == dtype::f16 || t == dtype::bf16) &&
           take_tensor(x, own_axes(x));
  }
  /// A condition under which scores count: of positions, of a tensor, or both by `and`; of more tensors than
  /// one it is a tensor itself.
  constexpr bool take_shown(int x) {
    const int known_mask = mask;
    const auto known_axes = mask_axes_;
    const auto known_positions = positions_;
    if (take_conditions(x, own_axes(x), true)) return true;
    mask = known_mask;
    mask_axes_ = known_axes;
    positions_ = known_positions;
    return take_tensor(x, own_axes(x));
  }
  constexpr bool take_conditions(int x, const inplace_vector<std::int32_t, max_rank>& axes, bool is) {
    const op o = kind(x);
    if (o == op::expand) {
      inplace_vector<std::int32_t, max_rank> of(g_.shape_of(g_.operand(x, 0)).size(), -1);
      for (int i = 0; i < g_.nodes[x].attribute_count; ++i)
        if (g_.attribute(x, i) >= 0)
          of[static_cast<std::size_t>(g_.attribute(x, i))] = axes[static_cast<std::size_t>(i)];
      return take_conditions(g_.operand(x, 0), of, is);
    }
    if (o == (is ? op::logical_and : op::logical_or))
      return take_conditions(g_.operand(x, 0), axes, is) && take_conditions(g_.operand(x, 1), axes, is);
    if (o == op::logical_not && take_conditions(g_.operand(x, 0), axes, !is)) return true;
    if (by_positions_ && (o == op::less || o == op::less_equal) && take_comparison(x, axes, is)) return true;
    return is && take_tensor(x, axes);
  }
  constexpr bool take_comparison(int x, const inplace_vector<std::int32_t, max_rank>& axes, bool is) {
    const int a = g_.operand(x, is ? 0 : 1), b = g_.operand(x, is ? 1 : 0);
    const bool may_be_equal = (kind(x) == op::less_equal) == is;
    const bool is_distance = kind(a) == op::abs;
    const coordinate_sum left = coordinate_sum_of(g_, is_distance ? g_.operand(a, 0) : a),
                         right = coordinate_sum_of(g_, b);
    const auto take = [&](const coordinate_sum& s) {
      if (!s.known || positions_.size() == positions_.capacity()) return false;
      position_bound bound{-1, s.number + (may_be_equal ? 0 : 1), 0};
      for (std::size_t i = 0; i < max_rank; ++i) {
        if (s.times[i] == 0) continue;
        if (i >= axes.size() || axes[i] < 0 || s.times[i] * s.times[i] != 1) return false;
        if (axes[i] == key_axis_) {
          bound.of_key += static_cast<int>(s.times[i]);
        } else {
          if (bound.axis >= 0) return false;
          bound.axis = axes[i];
          bound.of_key -= static_cast<int>(s.times[i]);
        }
      }
      // times 1 and -1, together 2: the key's less the query's, or the query's less the key's
      if (bound.axis < 0 || bound.of_key * bound.of_key != 4 || bound.number > 0) return false;
      positions_.push_back(bound);
      return true;
    };
    return take(left - right) && (!is_distance || take(coordinate_sum{true} - left - right));
  }

  /// What the conditions on positions come to: that of a causal mask, by the position along which axis, and
  /// how many keys a window leaves; false where they are others.
  constexpr bool find_positions(int& by, std::int64_t& window) const {
    by = -1;
    window = 0;
    bool causal = false;
    for (const position_bound& p : positions_) {
      if (by >= 0 && p.axis != by) return false;
      by = p.axis;
      if (p.of_key > 0) {  // key <= query - number: said by a causal mask, which there must be
        causal = causal || p.number == 0;
      } else {  // query <= key - number
        const std::int64_t sees = 1 - p.number;
        window = window == 0 || sees < window ? sees : window;
      }
    }
    return causal || positions_.empty();
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
        has_twice(of_v) || g_.nodes[q].type != g_.nodes[v].type || g_.nodes[k].type != g_.nodes[v].type ||
        g_.nodes[id].type != g_.nodes[v].type)
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
    int by = -1;
    std::int64_t window = 0;
    if (!find_positions(by, window)) return false;
    const bool causal = by >= 0;
    if (causal) {
      query = of_scores[static_cast<std::size_t>(by)];
      if (row::has_label(of_k, query)) return false;
      const std::size_t queries = g_.shape_of(scores_)[static_cast<std::size_t>(by)],
                        keys = g_.shape_of(scores_)[static_cast<std::size_t>(key_axis_)];
      if (window >= static_cast<std::int64_t>(queries)) window = 0;
      if (window > 0 && queries >= keys + static_cast<std::size_t>(window)) return false;  // some see none
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
    if (mask >= 0)
      for (const std::int32_t axis : mask_axes_)
        attributes.push_back(now[of_scores[static_cast<std::size_t>(axis)]]);
    for (const std::int32_t l : of_out) attributes.push_back(l == value ? form::value : now[in_scores(l)]);
    attributes.push_back(causal);
    attributes.push_back(static_cast<std::int32_t>(window));
    attributes.push_back(mask >= 0 && hidden_ == hidden_ ? std::bit_cast<std::int32_t>(in_f32(hidden_)) : 0);
    attributes.push_back(static_cast<std::int32_t>(attention_part::output));
    return true;
  }
};

/// g with each attention that fits as one operation, and all that this leaves unread. Calls
/// decided(the einsum's number among g's, fit) for each that is found.
template <class Fits, class Decided>
constexpr graph with_attentions(const graph_view& g, Fits fits, ids wanted, Decided&& decided) {
  attention_finder finder(g, wanted);
  builder b;  // does not simplify: nodes are as they were
  b.result.nodes.reserve(g.size());
  b.result.pool.reserve(g.pool_count);
  b.result.shapes.append(g.shapes, g.shape_count);
  std::int32_t einsums = 0;
  for (int id = 0; id < static_cast<int>(g.node_count); ++id) {
    const node& n = g.nodes[id];
    b.origin = n.origin;
    b.composite = n.composite;
    b.when = n.when;
    if (n.kind == op::einsum && finder.match(id)) {
      const std::int32_t xs[] = {finder.q, finder.k, finder.v, finder.mask};
      const std::size_t nodes = b.result.nodes.size(), pool = b.result.pool.size();
      const int made = b.emit({op::attention,
                               n.type,
                               n.shape_id,
                               {xs, finder.mask < 0 ? 3u : 4u},
                               {finder.attributes.data(), finder.attributes.size()},
                               finder.scale});
      attention_fit fit = fits(row::attention_form(b.view(), made), n.type);
      if (fit == attention_fit::fits && finder.mask_needs_gradient())
        fit = attention_fit::mask_needs_gradient;
      decided(einsums++, fit);
      if (fit == attention_fit::fits) continue;
      b.result.nodes.resize(nodes);
      b.result.pool.resize(pool);
    } else if (n.kind == op::einsum) {
      ++einsums;
    }
    b.emit({n.kind, n.type, n.shape_id, g.operands(id), g.attributes(id), n.value});
  }
  return b.take();
}

/// A softmax's exponential and two products: without them there is no attention.
constexpr bool may_have_attention(const graph_view& g) {
  bool exponential = false;
  int products = 0;
  for (std::size_t id = 0; id < g.node_count; ++id) {
    exponential = exponential || g.nodes[id].kind == op::exp;
    products += g.nodes[id].kind == op::einsum;
  }
  return exponential && products > 1;
}

}  // namespace detail

/// g with each attention that `fits` one operation of op::attention; what that leaves unread is gone, but
/// inputs keep their places. `fits(form, dtype)`: what a backend says (attention_fit). Values differ by
/// rounding alone. `wanted`: nodes of which gradients will be asked. `choice`, if given: what was decided.
///
/// Source  Vaswani et al. 2017; Dao et al. 2022, "FlashAttention"
template <class Fits>
constexpr graph find_attention(const graph_view& g, Fits fits, ids wanted,
                               attention_choice* choice = nullptr) {
  if (choice != nullptr) *choice = {};
  if (!detail::may_have_attention(g)) return same_graph(g);
  attention_choice made;
  graph found = detail::with_attentions(g, fits, wanted,
                                        [&](std::int32_t /*einsum*/, attention_fit fit) { made.add(fit); });
  if (choice != nullptr) *choice = made;
  if (made.fused == 0) return same_graph(g);
  for (const std::int32_t out : g.output_ids()) found.outputs.push_back(out);
  // Inputs are outputs for a moment: parameters stay the first nodes, read or not.
  for (int id = 0; id < static_cast<int>(g.node_count); ++id)
    if (g.nodes[id].kind == op::input) found.outputs.push_back(id);
  found = without_dead_nodes(static_cast<graph&&>(found));
  found.outputs.resize(g.output_count);
  return found;
}
/// The same of a graph that is not kept.
template <class Fits>
constexpr graph find_attention(graph&& g, Fits fits, ids wanted) {
  // No conditional expression: g++ 12 then says in a constant evaluation that the graph is gone.
  if (detail::may_have_attention(g.view())) return find_attention(g.view(), fits, wanted);
  return static_cast<graph&&>(g);
}

/// What find_attention decides for a graph, each attention counted times(einsum), where that is the number of
/// its second product among g's einsums.
template <class Fits, class Times>
constexpr attention_choice choose_attention(const graph_view& g, Fits fits, ids wanted, Times times) {
  attention_choice choice;
  if (detail::may_have_attention(g))
    (void)detail::with_attentions(
        g, fits, wanted, [&](std::int32_t einsum, attention_fit fit) { choice.add(fit, times(einsum)); });
  return choice;
}

/// Of whatever input a gradient may be asked.
template <class Fits>
constexpr graph find_attention(const graph_view& g, Fits fits, attention_choice* choice = nullptr) {
  buffer<std::int32_t> wanted;
  for (int id = 0; id < static_cast<int>(g.node_count); ++id)
    if (g.nodes[id].kind == op::input && is_floating(g.nodes[id].type)) wanted.push_back(id);
  return find_attention(g, fits, wanted, choice);
}

}  // namespace passes
}  // namespace napkin
