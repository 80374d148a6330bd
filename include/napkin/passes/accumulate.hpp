// Outputs that are added to what lies there already: gradients of several batches, one after the other.
#pragma once

#include "napkin/graph/builder.hpp"
#include "napkin/ops/composite.hpp"
#include "napkin/passes/simplify.hpp"

namespace napkin {

namespace passes {

/// The graph with outputs `first` to first + count - 1 each added to an input of its own. Those inputs lie
/// behind all others, in the outputs' order. Output and input may be bound to the same memory: an element of
/// it is read only for the sum that is written there, and what computes the first output alone leaves it be
/// (passes/place_accumulations.hpp).
///
/// An input has the shape in which its output is computed, which may be the output's own or another of as
/// many elements: so a product's call adds to it, whatever its result is reshaped to.
constexpr graph accumulate(const graph_view& g, std::size_t first, std::size_t count) {
  builder b;
  b.reserve(g.size() + 3 * count);
  b.result.shapes.append(g.shapes, g.shape_count);  // so that their numbers stay
  const std::int32_t slot = g.next_slot();
  buffer<std::int32_t> computed;  // by output: the node that it is, but for how it is reshaped
  buffer<std::int32_t> first_sum(g.size(), -1), next_sum(g.output_count, -1);  // outputs, by that node
  buffer<std::int32_t> now(g.size(), -1), outputs(g.output_count, -1), xs;
  for (const std::int32_t out : g.output_ids()) {
    std::int32_t x = out;
    while (g.nodes[x].kind == op::reshape) x = g.operand(x, 0);
    computed.push_back(x);
  }
  for (std::size_t o = first + count; o-- > first;) {
    next_sum[o] = first_sum[static_cast<std::size_t>(computed[o])];
    first_sum[static_cast<std::size_t>(computed[o])] = static_cast<std::int32_t>(o);
  }
  for (int id = 0; id < static_cast<int>(g.node_count); ++id) {
    xs.clear();
    for (const std::int32_t x : g.operands(id)) xs.push_back(now[static_cast<std::size_t>(x)]);
    b.simplify = false;
    const std::int32_t made = now[static_cast<std::size_t>(id)] =
        emit_again(b, g, id, xs, g.nodes[id].shape_id);
    b.simplify = true;
    b.composite = 0;
    // at once, so that both are done together
    for (std::int32_t o = first_sum[static_cast<std::size_t>(id)]; o >= 0;
         o = next_sum[static_cast<std::size_t>(o)]) {
      const shape lies = g.shape_of(id), given = g.shape_of(g.outputs[o]);
      const std::int32_t sum = b.input(slot + o - static_cast<std::int32_t>(first), g.nodes[id].type, lies);
      b.composite = static_cast<std::uint16_t>(composite::accumulation);
      const std::int32_t total = b.add(made, sum);
      b.composite = 0;
      outputs[static_cast<std::size_t>(o)] = b.reshape(total, given);
    }
  }
  for (std::size_t o = 0; o < g.output_count; ++o)
    b.output(outputs[o] >= 0 ? outputs[o] : now[static_cast<std::size_t>(g.outputs[o])]);
  return without_dead_nodes(b.take());  // how an output was reshaped
}

}  // namespace passes
}  // namespace napkin
