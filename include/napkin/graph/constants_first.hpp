// The order of a traced graph's nodes: inputs, then what depends on none of them, then the rest. Layers that
// are alike then are so node for node, the first too, which came upon masks and angles that all share.
#pragma once

#include "napkin/graph/graph.hpp"

namespace napkin {

/// The same graph, its nodes in that order and else in their own.
constexpr graph constants_first(graph&& g) {
  const auto n = static_cast<std::int32_t>(g.nodes.size());
  const node* const nodes = g.nodes.data();
  std::int32_t* const pool = g.pool.data();
  // By node: where it goes, counted within its part; the parts' sizes are known when all have been seen.
  buffer<std::int32_t> places(g.nodes.size()), parts(g.nodes.size());
  std::int32_t *const place = places.data(), *const part = parts.data();
  enum : std::int32_t { inputs, constants, others };
  std::int32_t count[3]{};
  for (std::int32_t id = 0; id < n; ++id) {
    const node& x = nodes[id];
    std::int32_t p = x.kind == op::input ? inputs : constants;
    const std::int32_t* operand = pool + x.first_operand;
    for (const std::int32_t* end = operand + x.arity; operand != end; ++operand)
      if (part[*operand] != constants) p = others;
    part[id] = p;
    place[id] = count[p]++;
  }
  const std::int32_t first[] = {0, count[inputs], count[inputs] + count[constants]};
  for (std::int32_t id = 0; id < n; ++id) place[id] += first[part[id]];

  buffer<node> ordered(g.nodes.size());
  node* const to = ordered.data();
  for (std::int32_t id = 0; id < n; ++id) {
    const node& x = to[place[id]] = nodes[id];
    std::int32_t* operand = pool + x.first_operand;
    for (const std::int32_t* end = operand + x.arity; operand != end; ++operand) *operand = place[*operand];
  }
  for (std::int32_t& out : g.outputs) out = place[out];
  g.nodes = static_cast<buffer<node>&&>(ordered);
  return static_cast<graph&&>(g);
}

}  // namespace napkin
