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
  for (int id = 0; id < static_cast<int>(g.size()); ++id) {
    if (!is_floating(g[id].type) || !facts_of(g[id].kind).differentiable) continue;
    for (std::int32_t x : g.operands(id))
      if (needs[static_cast<std::size_t>(x)]) needs[static_cast<std::size_t>(id)] = true;
  }

  buffer<std::int32_t> adjoint(g.size(), -1);
  if (needs[static_cast<std::size_t>(loss)]) adjoint[static_cast<std::size_t>(loss)] = b.ones_like(loss);
  for (int id = loss; id >= 0; --id) {
    const int dy = adjoint[static_cast<std::size_t>(id)];
    if (dy < 0 || g[id].arity == 0) continue;
    b.origin = g[id].origin;
    b.composite = g[id].composite;
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
    b.output(a < 0 ? b.zeros_like(w) : a);
  }
  return b.take();
}

}  // namespace passes
}  // namespace napkin
