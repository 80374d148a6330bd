// Activation checkpointing: values of the forward pass that the backward pass makes again, from others that
// are kept, where it first needs them, instead of keeping them. The graph is a lowered one (contracted,
// legal), so that nothing is simplified after: copies are marked, and never one with their originals. Which
// values those are is passes/recompute_choice.hpp's to say.
#pragma once

#include "napkin/passes/layout.hpp"
#include "napkin/passes/schedule.hpp"
#include "napkin/passes/simplify.hpp"

namespace napkin {

namespace passes {

/// By node of a lowered graph whose first output is a loss.
struct step_halves {
  buffer<bool> after;  // computed when the loss is known
  buffer<std::int32_t>
      first_read;  // of other nodes: how many units after the loss one reads it; -1: none does
};
constexpr step_halves halves_of(const graph_view& g, const fusion& f) {
  step_halves h{buffer<bool>(g.size(), false), buffer<std::int32_t>(g.size(), -1)};
  const buffer<std::int32_t> order = schedule(g, f);
  const std::int32_t loss = f.unit_of[static_cast<std::size_t>(g.outputs[0])];
  std::int32_t since = loss < 0 ? 1 : 0;  // units, from the loss on
  for (const std::int32_t u : order) {
    if (since > 0) {
      for (const std::int32_t id : f.units[static_cast<std::size_t>(u)].members) {
        h.after[static_cast<std::size_t>(id)] = true;
        for (const std::int32_t x : g.operands(id))
          for (std::int32_t v = x;; v = g.operand(v, 0)) {  // a view is computed by what reads it
            std::int32_t& first = h.first_read[static_cast<std::size_t>(v)];
            if (first < 0) first = since;
            if (!is_view(g.nodes[v].kind)) break;
          }
      }
    }
    since += since > 0 || u == loss;
  }
  // A view that only those read is made after the loss, as they are.
  buffer<bool> before(g.size(), false);
  for (std::size_t id = g.size(); id-- > 0;) {
    if (is_view(g.nodes[id].kind) && !before[id]) h.after[id] = true;
    if (h.after[id]) continue;
    for (const std::int32_t x : g.operands(static_cast<int>(id))) before[static_cast<std::size_t>(x)] = true;
  }
  return h;
}

namespace detail {

struct recomputer {
  const graph_view& g;
  const buffer<bool>& again;  // by node: made again, not kept
  graph made;
  buffer<std::int32_t> now,
      copy;  // by node of g: where it is; what stands for it after the loss, -1: unknown

  constexpr recomputer(const graph_view& from, const buffer<bool>& recomputed)
      : g(from), again(recomputed), now(g.size(), -1), copy(g.size(), -1) {
    made.nodes.reserve(g.size() + g.size() / 2);
    made.pool.reserve(g.pool_count + g.pool_count / 2);
    made.shapes.append(g.shapes, g.shape_count);
  }

  constexpr std::int32_t emit(std::int32_t id, const std::int32_t* operands, bool is_copy) {
    node n = g.nodes[id];
    const std::int32_t* const attributes = g.pool + n.first_attribute;
    n.first_operand = static_cast<std::int32_t>(made.pool.size());
    made.pool.append(operands, static_cast<std::size_t>(n.arity));
    n.first_attribute = static_cast<std::int32_t>(made.pool.size());
    made.pool.append(attributes, static_cast<std::size_t>(n.attribute_count));
    if (is_copy) n.when = computed::again;
    made.nodes.push_back(n);
    return static_cast<std::int32_t>(made.nodes.size() - 1);
  }

  /// What the backward pass reads for `root`: itself where it is kept; else a copy, which is made after those
  /// of its operands. A loop: constant evaluation bounds how deep calls go.
  constexpr std::int32_t after_loss(std::int32_t root) {
    buffer<std::int32_t> stack, xs;
    stack.push_back(root);
    while (!stack.empty()) {
      const std::int32_t id = stack.back();
      if (copy[static_cast<std::size_t>(id)] >= 0) {
        stack.pop_back();
        continue;
      }
      const node& n = g.nodes[id];
      const bool view = is_view(n.kind);
      bool ready = true, moved = false;
      xs.clear();
      if (view || again[static_cast<std::size_t>(id)])
        for (const std::int32_t x : g.operands(id)) {
          const std::int32_t c = copy[static_cast<std::size_t>(x)];
          if (c < 0) {
            stack.push_back(x);
            ready = false;
          }
          moved = moved || c != now[static_cast<std::size_t>(x)];
          xs.push_back(c);
        }
      if (!ready) continue;
      const bool anew = again[static_cast<std::size_t>(id)] ? n.arity > 0 && (!view || moved) : view && moved;
      copy[static_cast<std::size_t>(id)] =
          anew ? emit(id, xs.data(), true) : now[static_cast<std::size_t>(id)];
      stack.pop_back();
    }
    return copy[static_cast<std::size_t>(root)];
  }
};

}  // namespace detail

/// The same outputs, bit for bit; nodes after the loss read copies of the marked ones, each of which is made
/// at most once, just before the first that needs it. Operands of a marked node are marked too, or else kept
/// for it.
constexpr graph recompute(const graph_view& g, const step_halves& halves, const buffer<bool>& again) {
  detail::recomputer r(g, again);
  buffer<std::int32_t> xs;
  for (std::int32_t id = 0; id < static_cast<std::int32_t>(g.node_count); ++id) {
    xs.clear();
    for (const std::int32_t x : g.operands(id))
      xs.push_back(halves.after[static_cast<std::size_t>(id)] && !halves.after[static_cast<std::size_t>(x)]
                       ? r.after_loss(x)
                       : r.now[static_cast<std::size_t>(x)]);
    r.now[static_cast<std::size_t>(id)] = r.emit(id, xs.data(), false);
  }
  for (const std::int32_t out : g.output_ids())
    r.made.outputs.push_back(r.now[static_cast<std::size_t>(out)]);
  // What only the backward pass reads is then made there alone.
  const buffer<bool> live = live_nodes(r.made.view());
  for (std::size_t id = 0; id < g.node_count; ++id)
    if (r.copy[id] >= 0 && !live[static_cast<std::size_t>(r.now[id])])
      r.made.nodes[static_cast<std::size_t>(r.copy[id])].when = computed::later;
  return without_dead_nodes(static_cast<graph&&>(r.made));
}

}  // namespace passes
}  // namespace napkin
