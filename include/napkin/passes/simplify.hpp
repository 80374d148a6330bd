// The same values from fewer nodes: what no output needs is dropped, equal nodes become one, constants fold
// and identities vanish (by the builder's own rules, so that passes which build get them for nothing).
#pragma once

#include "napkin/graph/builder.hpp"

namespace napkin {

namespace passes {

/// Which nodes an output depends on.
constexpr buffer<bool> live_nodes(const graph_view& g) {
  buffer<bool> live(g.size(), false);
  bool* const marks = live.data();
  for (std::int32_t out : g.output_ids()) marks[out] = true;
  for (std::size_t id = g.size(); id-- > 0;) {
    if (!marks[id]) continue;
    const std::int32_t* x = g.pool + g.nodes[id].first_operand;
    for (const std::int32_t* end = x + g.nodes[id].arity; x != end;) marks[*x++] = true;
  }
  return live;
}

constexpr bool all_live(const buffer<bool>& live) {
  for (std::size_t id = 0; id < live.count; ++id)
    if (!live.items[id]) return false;
  return true;
}
/// Whether some output needs each node. Of an expression's few, by a bit for each.
constexpr bool all_live(const graph_view& g) {
  if (g.node_count > 64) return all_live(live_nodes(g));
  std::uint64_t live = 0;
  for (std::size_t i = 0; i < g.output_count; ++i) live |= std::uint64_t{1} << g.outputs[i];
  for (std::size_t id = g.node_count; id-- > 0;) {
    if ((live >> id & 1) == 0) return false;
    const std::int32_t* x = g.pool + g.nodes[id].first_operand;
    for (std::int32_t k = g.nodes[id].arity; k > 0; --k) live |= std::uint64_t{1} << *x++;
  }
  return true;
}

/// g again.
constexpr graph same_graph(const graph_view& g) {
  graph out;
  out.nodes.append(g.nodes, g.node_count);
  out.shapes.append(g.shapes, g.shape_count);
  out.pool.append(g.pool, g.pool_count);
  out.outputs.append(g.outputs, g.output_count);
  return out;
}

/// The live nodes and their shapes, in order.
constexpr graph without_dead_nodes(const graph_view& g) {
  const buffer<bool> live = live_nodes(g);
  if (all_live(live)) return same_graph(g);
  graph out;
  out.nodes.reserve(g.size());
  out.pool.reserve(g.pool_count);
  buffer<std::int32_t> numbers(g.size(), -1), shape_now(g.shape_count, -1);
  std::int32_t* const now = numbers.data();
  for (std::size_t id = 0; id < g.node_count; ++id) {
    if (!live.items[id]) continue;
    node n = g.nodes[id];
    std::int32_t& s = shape_now.items[n.shape_id];
    if (s < 0) {
      s = static_cast<std::int32_t>(out.shapes.count);
      out.shapes.push_back(g.shapes[n.shape_id]);
    }
    n.shape_id = s;
    const std::int32_t *x = g.pool + n.first_operand, *attribute = g.pool + n.first_attribute;
    // Nodes may share a run, each of which is its own from here on.
    const std::size_t used = out.pool.count,
                      needed = used + static_cast<std::size_t>(n.arity + n.attribute_count);
    if (needed > out.pool.room) out.pool.reserve(2 * needed);
    out.pool.count = needed;
    std::int32_t* to = out.pool.items + used;
    n.first_operand = static_cast<std::int32_t>(used);
    for (const std::int32_t* end = x + n.arity; x != end;) *to++ = now[*x++];
    n.first_attribute = n.first_operand + n.arity;
    for (const std::int32_t* end = attribute + n.attribute_count; attribute != end;) *to++ = *attribute++;
    now[id] = static_cast<std::int32_t>(out.nodes.count);
    out.nodes.push_back(n);
  }
  for (std::int32_t id : g.output_ids()) out.outputs.push_back(now[id]);
  return out;
}

constexpr graph without_dead_nodes(graph&& g) {
  if (!all_live(g.view())) return without_dead_nodes(g.view());
  return static_cast<graph&&>(g);
}

/// Emit node `id` of g into b, its operands being `xs` there and its shape `shape_id`.
constexpr int emit_again(builder& b, const graph_view& g, int id, ids xs, std::int32_t shape_id) {
  const node& n = g.nodes[id];
  b.origin = n.origin;
  b.composite = n.composite;
  b.when = n.when;
  switch (n.kind) {
    case op::expand:
      return b.expand(xs[0], g.shapes[n.shape_id], g.attributes(id));
    case op::reshape:
      return b.reshape(xs[0], g.shapes[n.shape_id]);
    case op::cast:
      if (n.type == g.nodes[g.operand(id, 0)].type) break;  // a copy (passes/legalize.hpp) stays one
      return b.cast(xs[0], n.type);
    default:
      break;
  }
  if (is_elementwise(n.kind) && n.arity == 1 && n.kind != op::cast) return b.unary(n.kind, xs[0]);
  if (is_elementwise(n.kind) && n.arity == 2) return b.binary(n.kind, xs[0], xs[1]);
  return b.emit({n.kind, n.type, shape_id, xs, g.attributes(id), n.value});
}

constexpr graph simplify(const graph_view& g) {
  builder b;
  b.simplify = true;
  b.result.nodes.reserve(g.size());
  b.result.pool.reserve(g.pool_count);
  b.result.shapes.append(g.shapes, g.shape_count);  // so that their numbers stay
  const buffer<bool> live = live_nodes(g);
  buffer<std::int32_t> now(g.size(), -1), xs;
  for (std::size_t id = 0; id < g.node_count; ++id) {
    if (!live[id]) continue;
    xs.clear();
    const std::int32_t* x = g.pool + g.nodes[id].first_operand;
    for (const std::int32_t* end = x + g.nodes[id].arity; x != end; ++x)
      xs.push_back(now[static_cast<std::size_t>(*x)]);
    now[id] = emit_again(b, g, static_cast<int>(id), xs, g.nodes[id].shape_id);
  }
  for (std::int32_t out : g.output_ids()) b.output(now[static_cast<std::size_t>(out)]);
  return without_dead_nodes(b.take());  // a fold leaves what it no longer needs behind
}

}  // namespace passes
}  // namespace napkin
