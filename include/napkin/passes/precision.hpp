// Mixed precision: a graph of f32 values becomes one that contracts, and keeps what is large, in a narrower
// dtype. Two ordinary functions. One on the graph of a loss, before it is differentiated: gradients then flow
// back through the casts, so that the backward pass contracts in the narrow dtype too, and what arrives at a
// parameter is f32. One after that, on what the backward pass reads of the forward one. Neither knows of
// parameters, layers or kernels.
#pragma once

#include "napkin/ops/composite.hpp"
#include "napkin/passes/simplify.hpp"

namespace napkin {

namespace passes {

namespace detail {

/// Whether a dtype has a number exactly.
constexpr bool is_exact_in(double value, dtype t) {
  return dispatch(t, [value]<class T>(std::type_identity<T>) {
    if constexpr (is_floating(dtype_of<T>))
      return static_cast<double>(static_cast<T>(value)) == value;
    else
      return false;
  });
}

constexpr bool is_extremum(op o) { return o == op::max || o == op::min; }

/// Losses over classes: they end in a few numbers, and what they take logarithms of spans all magnitudes.
constexpr bool is_kept_wide(std::uint16_t composite_id) {
  const auto c = static_cast<composite>(composite_id);
  return c == composite::cross_entropy || c == composite::log_softmax;
}

class narrower {
 public:
  constexpr narrower(const graph_view& graph, dtype narrow) : g_(graph), narrow_(narrow) {
    b_.simplify = true;
    b_.reserve(2 * g_.size() + 16);
    b_.result.pool.reserve(2 * g_.pool_count + 64);
    b_.result.shapes.append(g_.shapes, g_.shape_count);  // so that their numbers stay
    find_readers();
  }

  constexpr graph run() {
    now_.resize(g_.size(), -1);
    large_.resize(g_.size(), false);
    for (int id = 0; id < static_cast<int>(g_.node_count); ++id) {
      now_.items[id] = emit(id);
      if (g_.nodes[id].type == dtype::f32 && b_[now_.items[id]].type == narrow_) large_.items[id] = true;
    }
    for (std::int32_t out : g_.output_ids()) b_.output(b_.cast(now_.items[out], g_.nodes[out].type));
    return b_.take();
  }

 private:
  const graph_view& g_;
  dtype narrow_;
  builder b_;
  buffer<std::int32_t> now_, xs_;
  buffer<bool> large_;     // by node: rounded to narrow, or to be where it is stored
  buffer<bool> summed_;    // by node: sums and their like read it, and nothing else
  buffer<bool> compared_;  // by node: a maximum or minimum over an axis is one of its elements

  constexpr void find_readers() {
    summed_.resize(g_.size(), true);
    compared_.resize(g_.size(), false);
    for (int id = 0; id < static_cast<int>(g_.node_count); ++id)
      for (std::int32_t x : g_.operands(id)) {
        if (!is_reduction(g_.nodes[id].kind)) summed_.items[x] = false;
        if (is_extremum(g_.nodes[id].kind) && g_.nodes[id].composite == 0) compared_.items[x] = true;
      }
    for (std::int32_t out : g_.output_ids()) summed_.items[out] = false;
  }

  /// x in another dtype; a number is as exact there as it can be.
  constexpr std::int32_t in(dtype t, std::int32_t x) {
    if (b_[x].kind == op::constant && b_[x].type != t)
      return b_.constant_like(b_[x].value, t, b_[x].shape_id);
    return b_.cast(x, t);
  }
  constexpr void bring_to(dtype t, int id) {
    for (std::size_t k = 0; k < xs_.size(); ++k)
      if (g_.nodes[g_.operand(id, static_cast<int>(k))].type == dtype::f32) xs_[k] = in(t, xs_[k]);
  }
  /// Node id of its operands as they now are, in dtype t if it was f32.
  constexpr std::int32_t emit_in(dtype t, int id) {
    b_.origin = g_.nodes[id].origin;
    b_.composite = g_.nodes[id].composite;
    node n = g_.nodes[id];
    if (n.type == dtype::f32) n.type = t;
    const shape& s = g_.shapes[n.shape_id];
    if (n.kind == op::expand) return b_.expand(xs_[0], s, g_.attributes(id));
    if (n.kind == op::reshape) return b_.reshape(xs_[0], s);
    if (n.kind == op::cast) return b_.cast(xs_[0], n.type);
    if (is_elementwise(n.kind) && n.arity == 1) return b_.unary(n.kind, xs_[0]);
    if (is_elementwise(n.kind) && n.arity == 2) return b_.binary(n.kind, xs_[0], xs_[1]);
    return b_.emit({n.kind, n.type, n.shape_id, xs_, g_.attributes(id), n.value});
  }
  /// The same, of operands of dtype t.
  constexpr std::int32_t compute_in(dtype t, int id) {
    bring_to(t, id);
    return emit_in(t, id);
  }

  constexpr std::int32_t emit(int id) {
    xs_.clear();
    bool takes_large = false, takes_wide = false;
    for (std::int32_t x : g_.operands(id)) {
      const std::int32_t now = now_.items[x];
      xs_.push_back(now);
      if (g_.nodes[x].type != dtype::f32) continue;
      if (b_[now].kind == op::constant && is_exact_in(b_[now].value, narrow_)) continue;
      (large_.items[x] ? takes_large : takes_wide) = true;
    }
    b_.origin = g_.nodes[id].origin;
    b_.composite = g_.nodes[id].composite;
    const op kind = g_.nodes[id].kind;
    switch (category_of(kind)) {
      case category::leaf:
        return emit_in(dtype::f32, id);
      case category::contraction:
        // of one operand it is a sum, a diagonal or a transposition
        return compute_in(g_.nodes[id].arity > 1 ? narrow_ : dtype::f32, id);
      case category::reduction:
        return compute_in(dtype::f32, id);
      case category::movement:
        return compute_in(takes_large ? narrow_ : dtype::f32, id);
      case category::indexing: {
        if (kind == op::scatter_add) return compute_in(dtype::f32, id);
        const bool rounds = g_.nodes[id].type == dtype::f32;
        const std::int32_t taken = emit_in(b_[xs_[0]].type, id);
        return rounds ? b_.cast(taken, narrow_) : taken;
      }
      case category::attention:  // is made later, of what this pass gives
        return compute_in(dtype::f32, id);
      case category::elementwise:
        break;
    }
    return elementwise(id, takes_large, takes_wide);
  }

  constexpr std::int32_t elementwise(int id, bool takes_large, bool takes_wide) {
    if (g_.nodes[id].kind == op::cast) return emit_in(dtype::f32, id);  // the user's own
    if (!takes_large || is_kept_wide(g_.nodes[id].composite)) return compute_in(dtype::f32, id);
    large_.items[id] = true;
    const bool is_within = g_.nodes[id].composite != 0;
    if (is_within || summed_.items[id]) {
      const std::int32_t wide = compute_in(dtype::f32, id);
      return compared_.items[id] ? rounded(wide) : wide;
    }
    for (std::int32_t x : g_.operands(id))  // what a composite gives is not rounded yet
      takes_wide = takes_wide || (large_.items[x] && b_[now_.items[x]].type == dtype::f32);
    if (!takes_wide) return compute_in(narrow_, id);
    return rounded(compute_in(dtype::f32, id));
  }
  /// A comparison has no rounding.
  constexpr std::int32_t rounded(std::int32_t x) {
    return b_.type_of(x) == dtype::f32 ? b_.cast(x, narrow_) : x;
  }
};

/// By node: a value of narrow, or one in f32 that follows from it element by element.
constexpr buffer<bool> find_large(const graph_view& g, dtype narrow) {
  buffer<bool> large(g.size(), false);
  for (int id = 0; id < static_cast<int>(g.node_count); ++id) {
    const node& n = g.nodes[id];
    const category c = category_of(n.kind);
    bool follows = n.type == narrow;
    if (n.type == dtype::f32 && (c == category::elementwise || c == category::movement) &&
        !is_kept_wide(n.composite))
      for (std::int32_t x : g.operands(id)) follows = follows || large.items[x];
    large.items[id] = follows;
  }
  return large;
}

/// What a forward maximum or minimum over an axis is one element of, and the backward pass looks for it in:
/// none would be that element if they were rounded and it not.
constexpr void leave_compared_wide(const graph_view& g, std::size_t forward, dtype narrow,
                                   buffer<bool>& kept) {
  buffer<bool> looked_through(g.size(), false);
  for (int id = static_cast<int>(forward); id < static_cast<int>(g.node_count); ++id)
    if (g.nodes[id].kind == op::equal)
      for (std::int32_t x : g.operands(id)) looked_through.items[x] = true;
  for (int id = 0; id < static_cast<int>(forward); ++id)
    if (is_extremum(g.nodes[id].kind)) {
      const std::int32_t x = g.operand(id, 0);
      const bool is_exact = g.nodes[x].kind == op::cast && g.nodes[g.operand(x, 0)].type == narrow;
      if (looked_through.items[x] && !is_exact) kept.items[x] = false;
    }
}

}  // namespace detail

/// The graph of a loss with its f32 values computed in `narrow`, a 16-bit float, as far as training bears it:
///
///   contraction         operands rounded to narrow, result too; sums are kept in f32 by every backend
///   reduction           f32, operand and result: statistics of a softmax or a norm, the loss. Of a maximum
///                       or minimum over an axis the operand is rounded, and the result one of its elements:
///                       the gradient looks for it there
///   elementwise         narrow of narrow operands; where one is f32 (a statistic, a bias, a number that
///                       narrow has not), computed in f32 and rounded once. Within a composite (softmax, a
///                       norm, gelu, ...), and on the way into a sum, nothing is rounded. Of f32 operands
///                       alone: f32
///   cross entropy       f32
///   gather              of f32 rows, which are then rounded: the gradient of a table adds up in f32
///   inputs and outputs  f32, as they were: a parameter is its own master
///
/// What is not f32 stays as it is, and so does a cast to f32: it says that f32 is wanted. Inputs keep their
/// numbers where they are the first nodes; the result is simplified as it is built, if g was.
///
/// Source  Micikevicius et al. 2018, "Mixed Precision Training"; torch.autocast's lists of operations
constexpr graph compute_narrow(const graph_view& g, dtype narrow) {
  return detail::narrower(g, narrow).run();
}

/// A differentiated graph, the first `forward` nodes of which compute_narrow made, with what its backward
/// pass reads of them rounded to narrow, but for parameters, statistics and the loss: what is kept in between
/// then takes narrow's bytes. As kernels that were written for it keep what they computed in f32.
constexpr graph keep_narrow(const graph_view& g, std::size_t forward, dtype narrow) {
  const buffer<bool> large = detail::find_large(g, narrow);
  buffer<bool> kept(g.size(), false);
  for (int id = static_cast<int>(forward); id < static_cast<int>(g.size()); ++id)
    for (std::int32_t x : g.operands(id))
      if (static_cast<std::size_t>(x) < forward && g.nodes[x].type == dtype::f32 && large.items[x])
        kept.items[x] = true;
  detail::leave_compared_wide(g, forward, narrow, kept);

  builder b;
  b.simplify = true;
  b.reserve(g.size() + g.size() / 4 + 16);
  b.result.pool.reserve(g.pool_count + g.pool_count / 4);
  b.result.shapes.append(g.shapes, g.shape_count);
  buffer<std::int32_t> now(g.size(), -1), xs;
  for (std::size_t id = 0; id < g.node_count; ++id) {
    xs.clear();
    for (std::int32_t x : g.operands(static_cast<int>(id))) {
      const std::int32_t made = now.items[x];
      const bool is_kept = id >= forward && kept.items[x];
      xs.push_back(is_kept ? b.cast(b.cast(made, narrow), dtype::f32) : made);
    }
    const std::int32_t made = now[id] = emit_again(b, g, static_cast<int>(id), xs, g.nodes[id].shape_id);
    if (kept[id]) (void)b.cast(made, narrow);  // here, so that the kernel which makes it rounds it
  }
  for (std::int32_t out : g.output_ids()) b.output(now.items[out]);
  return b.take();
}

}  // namespace passes
}  // namespace napkin
