// Random graphs whose results are added to what lies there, as a step adds the gradients of its micro-batches.
#pragma once

#include <cstddef>

#include "napkin/passes/accumulate.hpp"
#include "support/plan_order.hpp"

namespace napkin::testing {

/// The graph with all outputs but the first added to inputs; truths and integers are no outputs then.
struct accumulated {
  graph g;
  in_place same;
};
inline accumulated accumulate_all(graph g) {
  buffer<std::int32_t> numbers;
  for (const std::int32_t out : g.outputs)
    if (numbers.empty() || is_floating(g.nodes[out].type)) numbers.push_back(out);
  g.outputs = numbers;
  g = passes::without_dead_nodes(g.view());
  const auto slot = static_cast<std::size_t>(g.view().next_slot());
  const std::size_t count = g.outputs.size() - 1;
  return {passes::accumulate(g.view(), 1, count), {slot, 1, count}};
}

}  // namespace napkin::testing
