// Reverse-mode differentiation, source to source: a graph with one scalar output becomes a graph with that
// output and the adjoints of chosen inputs. Each operation's rule stands in its row (ops/primitives); what
// leads to no wanted input is never built.
#pragma once

#include "napkin/graph/builder.hpp"
#include "napkin/ops/primitives/table.hpp"

namespace napkin {

namespace passes {

/// A builder that begins as a copy of a graph, so that node ids stay valid.
constexpr builder copy_of(const graph_view& g, std::size_t nodes = 0) {
  builder b;
  b.result.nodes.reserve(nodes);
  b.result.pool.reserve(nodes * 4);
  b.result.nodes.append(g.nodes, g.node_count);
  b.result.shapes.append(g.shapes, g.shape_count);
  b.result.pool.append(g.pool, g.pool_count);
  return b;
}

namespace detail {

/// The adjoint of what was sliced into parts: a sum of the parts' adjoints, each between zeros. Where nothing
/// is missing along one axis, and nothing there twice, they are joined instead.
class padded_parts {
 public:
  constexpr padded_parts(builder& b, int sum) : b_(b) {
    is_whole_ = b_[sum].kind == op::add && collect(sum) && follow(b_.shape_of(sum));
  }
  constexpr bool is_whole() const { return is_whole_; }
  constexpr int joined() const { return b_.concat(parts_, axis_); }

 private:
  builder& b_;
  bool is_whole_ = false;
  int axis_ = -1;
  buffer<std::int32_t> parts_, starts_;

  constexpr bool collect(int x) {
    if (b_[x].kind == op::add) return collect(b_.operand(x, 0)) && collect(b_.operand(x, 1));
    if (b_[x].kind != op::pad) return false;
    const int part = b_.operand(x, 0);
    const shape &few = b_.shape_of(part), &all = b_.shape_of(x);
    int along = -1;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (b_.attribute(x, static_cast<int>(i + all.size())) != 1) return false;
      if (few[i] == all[i]) continue;
      if (along >= 0) return false;
      along = static_cast<int>(i);
    }
    if (along < 0 || (axis_ >= 0 && along != axis_)) return false;
    axis_ = along;
    std::size_t at = parts_.size();
    while (at > 0 && starts_[at - 1] > b_.attribute(x, along)) --at;
    parts_.insert(at, part);
    starts_.insert(at, b_.attribute(x, along));
    return true;
  }
  /// Does each part begin where the one before it ends?
  constexpr bool follow(const shape& all) const {
    std::size_t end = 0;
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      if (static_cast<std::size_t>(starts_[k]) != end) return false;
      end += b_.shape_of(parts_[k])[static_cast<std::size_t>(axis_)];
    }
    return end == all[static_cast<std::size_t>(axis_)];
  }
};
constexpr int join_parts(builder& b, int adjoint) {
  const padded_parts parts(b, adjoint);
  return parts.is_whole() ? parts.joined() : adjoint;
}

}  // namespace detail

/// Outputs of the result: g's own outputs, then the adjoint of each wanted node (zeros where the output does
/// not depend on it). `g` has one scalar, floating output first; wanted nodes are floating.
constexpr graph differentiate(const graph_view& g, ids wanted) {
  const std::size_t expected = 3 * g.size() + 16;
  builder b = copy_of(g, expected);
  b.simplify = true;
  b.reserve(expected);
  const int loss = g.outputs[0];

  buffer<bool> needs(g.size(), false);  // leads to the loss from a wanted node
  for (std::int32_t w : wanted) needs[static_cast<std::size_t>(w)] = true;
  for (int id = 0; id < static_cast<int>(g.node_count); ++id) {
    if (!is_floating(g[id].type) || !facts_of(g[id].kind).differentiable) continue;
    for (std::int32_t x : g.operands(id))
      if (needs[static_cast<std::size_t>(x)]) needs[static_cast<std::size_t>(id)] = true;
  }

  buffer<std::int32_t> adjoint(g.size(), -1);
  if (needs[static_cast<std::size_t>(loss)]) adjoint[static_cast<std::size_t>(loss)] = b.ones_like(loss);
  for (int id = loss; id >= 0; --id) {
    int dy = adjoint[static_cast<std::size_t>(id)];
    if (dy < 0 || g[id].arity == 0) continue;
    b.origin = g[id].origin;
    b.composite = g[id].composite;
    dy = detail::join_parts(b, dy);
    const auto give = [&](int k, int value) {
      const auto x = static_cast<std::size_t>(g.operand(id, k));
      if (!needs[x]) return;
      adjoint[x] = adjoint[x] < 0 ? value : b.add(adjoint[x], value);
    };
    with_primitive(g[id].kind, [&](auto row) { row.gradient(b, id, dy, give); });
  }

  for (std::int32_t out : g.output_ids()) b.output(out);
  for (std::int32_t w : wanted) {
    const int a = adjoint[static_cast<std::size_t>(w)];
    b.output(a < 0 ? b.zeros_like(w) : detail::join_parts(b, a));
  }
  return b.take();
}

}  // namespace passes
}  // namespace napkin
