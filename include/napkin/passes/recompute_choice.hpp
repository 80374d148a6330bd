// Which values of the forward pass to make again: the cheapest choices, each keeping fewer bytes than the one
// before, from nothing made again to as little kept as there can be.
//
// For a price of a kept byte, the choice that costs least, FLOPs and bytes together, is a minimum cut
// (Herrmann et al. 2019 and PyTorch's partitioner cut by bytes alone); prices at which it changes are found
// by halving, so the choices are all those of the lower convex hull of cost over bytes.
#pragma once

#include "napkin/ops/primitives/table.hpp"
#include "napkin/passes/contract.hpp"
#include "napkin/passes/fuse.hpp"
#include "napkin/passes/minimum_cut.hpp"
#include "napkin/passes/plan_memory.hpp"
#include "napkin/passes/recompute.hpp"
#include "napkin/passes/repeats.hpp"

namespace napkin {

namespace passes {

/// One way to do it.
struct recompute_choice {
  buffer<bool> again;        // by class; of what recompute_choices returns, by node
  buffer<bool> kept_values;  // by class
  double cost = 0;           // nominal FLOPs
  double kept = 0;           // bytes
};

namespace detail {

/// FLOPs of making a node again; of a product the larger of that and its bytes at the nominal machine's rate.
constexpr double cost_again(const graph_view& g, int id) {
  const node& n = g.nodes[id];
  const double elements = static_cast<double>(numel(g.shape_of(id)));
  if (n.kind == op::einsum) {
    const contraction_problem p(g, id, objective::least_time);
    label_set all = p.result;
    double bytes = elements;
    for (const label_set x : p.operands) {
      all |= x;
      bytes += static_cast<double>(p.points(x));
    }
    const double flops = 2 * static_cast<double>(p.points(all));
    bytes *= static_cast<double>(p.element_bytes * flops_per_byte);
    return flops > bytes ? flops : bytes;
  }
  if (n.kind == op::attention || n.kind == op::attention_backward) {
    const row::attention_form a(g, id);
    const std::size_t widths = a.size[row::attention_form::hidden] + a.size[row::attention_form::value];
    return 2 * static_cast<double>(a.heads() * a.queries()) * static_cast<double>(a.keys() * widths);
  }
  if (is_reduction(n.kind)) return static_cast<double>(numel(g.shape_of(g.operand(id, 0))));
  if (is_elementwise(n.kind)) {
    const primitive_facts& row = facts_of(n.kind);
    return elements * static_cast<double>(row.flops + row.transcendental);
  }
  const double bytes = 2 * elements * static_cast<double>(size_of(n.type));
  return bytes * static_cast<double>(flops_per_byte);
}

/// Nodes that are computed before the loss, and what it costs to keep or to make again each. Equal nodes of
/// equal layers are one class, which is decided once; other nodes are classes alone.
class recompute_problem {
 public:
  /// `left_out`: how many layers more the whole model has than `found`.
  constexpr recompute_problem(const graph_view& graph, const step_halves& halves, const repetition& found,
                              std::int32_t left_out)
      : g(graph),
        h(halves),
        r(found),
        times_(static_cast<double>(found.count + left_out)),
        class_at_(graph.size(), -1) {
    find_values();
    find_fixed();
    for (value& v : values_) {
      v.kept = network_.add_vertex();
      v.again = network_.add_vertex();
      if (!v.view)
        network_.add_edge(flow_network::source, v.again, v.fixed ? flow_network::unlimited : v.cost);
      v.edge = network_.add_edge(v.again, v.kept, v.view ? flow_network::unlimited : v.traffic);
      if (v.read) network_.add_edge(v.kept, flow_network::sink, flow_network::unlimited);
      total_ += v.cost + v.traffic;
      if (!v.fixed)
        for (const std::int32_t x : operands_of(v))
          network_.add_edge(values_.items[x].kept, v.again, flow_network::unlimited);
    }
  }

  /// The network where a kept byte costs nothing.
  constexpr const flow_network& network() const { return network_; }
  /// The choice that costs least where a kept byte costs so much more than when `priced` was cut before; by
  /// class.
  constexpr buffer<bool> choose(flow_network& priced, double dearer) const {
    for (const value& v : values_)
      if (!v.view && v.bytes > 0) priced.widen(v.edge, dearer * v.bytes);
    const buffer<bool> side = priced.cut();
    buffer<bool> again;
    again.reserve(values_.size());
    for (const value& v : values_) again.push_back(side.items[v.again]);
    return again;
  }
  /// A price at which nothing is kept that need not be.
  constexpr double highest_price() const { return total_ / static_cast<double>(alignment) + 1; }

  /// What comes of making these classes again; those are left out that nothing reads.
  constexpr recompute_choice evaluate(const buffer<bool>& again) const {
    recompute_choice made{buffer<bool>(values_.size(), false), buffer<bool>(values_.size(), false)};
    buffer<bool> needed(values_.size(), false);
    for (std::size_t c = values_.size(); c-- > 0;) {
      const value& v = values_.items[c];
      if (!v.read && !needed.items[c]) continue;
      if (!v.view && !again.items[c]) {
        made.kept_values.items[c] = true;
        made.kept += v.bytes;
        made.cost += v.traffic;
        continue;
      }
      made.again.items[c] = true;
      made.cost += v.cost;
      for (const std::int32_t x : operands_of(v)) needed.items[x] = true;
    }
    return made;
  }

  /// Class c made again too, with those that it is made of where `more` makes them again.
  constexpr buffer<bool> with(const buffer<bool>& again, const buffer<bool>& more, std::size_t c) const {
    buffer<bool> made = again;
    buffer<std::int32_t> stack;
    stack.push_back(static_cast<std::int32_t>(c));
    while (!stack.empty()) {
      const std::int32_t at = stack.back();
      stack.pop_back();
      made.items[at] = true;
      for (const std::int32_t x : operands_of(values_.items[at]))
        if (more.items[x] && !made.items[x]) stack.push_back(x);
    }
    return made;
  }

  constexpr std::size_t classes() const { return values_.size(); }
  /// Of classes, as of nodes.
  constexpr buffer<bool> by_node(const buffer<bool>& classes) const {
    buffer<bool> all(g.size(), false);
    const std::int32_t* const at = class_at_.data();
    const bool* const chosen = classes.data();
    for (std::size_t id = 0; id < all.size(); ++id)
      if (at[id] >= 0 && chosen[at[id]]) all.items[id] = true;
    return all;
  }

 private:
  struct value {         // of a class; of all its layers together
    bool read = false;   // after the loss
    bool view = false;   // computed by what reads it
    bool fixed = false;  // kept, if needed
    double bytes = 0;    // that keeping it takes
    double traffic = 0;  // nominal FLOPs of writing it for that alone, and of reading it
    double cost = 0;     // nominal FLOPs of making it again
    std::int32_t first_operand = 0, operands = 0;  // classes, in pool_
    std::int32_t kept = -1, again = -1;  // vertices: on the sink's side where it is there; is made again
    std::int32_t edge = -1;              // cut where it is kept
  };
  graph_view g;
  const step_halves& h;
  repetition r;
  double times_;
  buffer<value> values_;  // by class, operands first
  buffer<std::int32_t> pool_;
  buffer<std::int32_t> class_at_;  // by node: its class; -1: it is no value
  flow_network network_;
  double total_ = 0;

  // What is read so soon after the loss, in units, is never idle.
  static constexpr std::int32_t soon = 2;

  constexpr std::int32_t size() const { return static_cast<std::int32_t>(g.size()); }
  constexpr bool is_value(std::int32_t id) const { return g.nodes[id].arity > 0 && !h.after.items[id]; }
  constexpr ids operands_of(const value& v) const {
    return {pool_.data() + v.first_operand, static_cast<std::size_t>(v.operands)};
  }
  constexpr std::int32_t layer_of(std::int32_t id) const {
    if (id < r.first_node || id >= r.first_node + r.nodes * r.count) return -1;
    return (id - r.first_node) / r.nodes;
  }
  constexpr std::int32_t class_of(std::int32_t id) const {
    const std::int32_t layer = layer_of(id);
    return layer < 0 ? id : id - layer * r.nodes;
  }

  constexpr std::int32_t index_of(std::int32_t id) const { return class_at_.items[id]; }

  constexpr void find_values() {
    enum : char { by_kernel = 1, by_other = 2, before = 4 };  // who reads it; by_other << 2: before the loss
    buffer<char> readers(g.size(), 0);
    buffer<bool> in_layer(g.size(), false);  // or made of what is
    buffer<bool> idle(g.size(), false);
    for (std::int32_t id = size(); id-- > 0;) {
      const node& n = g.nodes[id];
      const bool after = h.after.items[id], view = is_view(n.kind);
      const bool kernel = is_elementwise(n.kind) || is_reduction(n.kind);
      const char now = static_cast<char>((kernel ? by_kernel : by_other) << (after ? 0 : 2));
      for (const std::int32_t x : g.operands(id)) {
        char& seen = readers.items[class_of(x)];
        seen = static_cast<char>(seen | (view ? readers.items[class_of(id)] : now));
      }
      const std::int32_t first = h.first_read.items[id];
      if (is_value(id) && (first < 0 || first > soon)) idle.items[class_of(id)] = true;
    }
    for (std::int32_t id = 0; id < size(); ++id) {
      if (!is_value(id)) continue;
      in_layer.items[id] = layer_of(id) >= 0;
      for (const std::int32_t x : g.operands(id))
        if (in_layer.items[x]) in_layer.items[id] = true;
      const bool read = h.first_read.items[id] >= 0;
      if (const std::int32_t named = class_of(id); named != id) {
        class_at_.items[id] = index_of(named);
        value& v = values_.items[index_of(named)];
        v.read = v.read || read;
        continue;
      }
      value v;
      v.read = read;
      v.view = is_view(g.nodes[id].kind);
      v.first_operand = static_cast<std::int32_t>(pool_.size());
      for (const std::int32_t x : g.operands(id))
        if (is_value(x)) pool_.push_back(index_of(x));
      v.operands = static_cast<std::int32_t>(pool_.size()) - v.first_operand;
      class_at_.items[id] = static_cast<std::int32_t>(values_.size());
      // What the backward pass has the forward pass compute stands once for each layer that is there.
      const double times = layer_of(id) >= 0                       ? times_
                           : in_layer.items[id] && !is_forward(id) ? times_ / r.count
                                                                   : 1;
      if (v.view) {
        values_.push_back(v);
        continue;
      }
      const char who = readers.items[id];
      const double bytes = static_cast<double>(numel(g.shape_of(id)) * size_of(g.nodes[id].type));
      const double moved = bytes * static_cast<double>(flops_per_byte) * times;
      const bool kernel = is_elementwise(g.nodes[id].kind) || is_reduction(g.nodes[id].kind);
      const bool written = !kernel || (who & (by_other << 2)) != 0;
      v.bytes = idle.items[id] ? static_cast<double>(aligned(static_cast<std::size_t>(bytes))) * times : 0;
      v.traffic = written ? moved : 2 * moved;
      v.cost = cost_again(g, id) * times;
      if (kernel && (who & by_other) != 0) v.cost += 2 * moved;
      values_.push_back(v);
    }
  }
  constexpr bool is_forward(std::int32_t id) const { return id <= g.outputs[0]; }

  /// One layer is made again at a time, from what goes into it; the first as the others. What several layers
  /// read is kept for all.
  constexpr void find_fixed() {
    buffer<std::int32_t> read_in(g.size(), -1);  // by node outside of layers: the first that reads it
    for (std::int32_t id = 0; id < size(); ++id) {
      const std::int32_t layer = layer_of(id);
      if (!is_value(id)) continue;
      for (std::int32_t k = 0; k < g.nodes[id].arity; ++k) {
        const std::int32_t x = g.operand(id, k), from = layer_of(x);
        std::int32_t& before = read_in.items[x];
        if (from >= 0 && from != layer && is_forward(id)) {
          fix(x);
          if (layer >= 0) fix(g.operand(class_of(id), k));
        } else if (from < 0 && layer >= 0 && before >= 0 && before != layer) {
          fix(x);
        }
        if (layer >= 0) before = layer;
      }
    }
  }
  constexpr void fix(std::int32_t id) {
    while (is_view(g.nodes[id].kind)) id = g.operand(id, 0);
    if (is_value(id)) values_.items[index_of(id)].fixed = true;
  }
};

/// Choices between two, each of which makes again a little more of what the second does: what saves most
/// bytes for its cost first.
constexpr void steps_between(const recompute_problem& p, const buffer<bool>& from, const buffer<bool>& to,
                             buffer<recompute_choice>& made, std::size_t most) {
  recompute_choice now = p.evaluate(from);
  while (made.size() < most) {
    recompute_choice best;
    double gained = 0;
    for (std::size_t c = 0; c < p.classes(); ++c) {
      if (!to[c] || !now.kept_values[c]) continue;
      recompute_choice next = p.evaluate(p.with(now.again, to, c));
      const double saved = now.kept - next.kept, price = next.cost - now.cost;
      const double gain = price > 0 ? saved / price : saved * 1e9;
      if (!(saved > 0) || !(gain > gained)) continue;
      gained = gain;
      best = static_cast<recompute_choice&&>(next);
    }
    if (!(gained > 0)) return;
    now = best;
    made.push_back(static_cast<recompute_choice&&>(best));
  }
}

/// Between two choices, those of the hull. `cut_at`: the cheap one's network, cut where a byte cost `before`.
constexpr void hull_between(const recompute_problem& p, const recompute_choice& costly,
                            const recompute_choice& cheap, const flow_network& cut_at, double before,
                            buffer<recompute_choice>& to, int depth) {
  const double saved = cheap.kept - costly.kept;
  if (!(saved > 0) || depth == 0) return;
  const double price = (costly.cost - cheap.cost) / saved;
  flow_network priced = cut_at;
  const recompute_choice between = p.evaluate(p.choose(priced, price - before));
  const double least = cheap.cost + price * cheap.kept, there = between.cost + price * between.kept;
  if (!(there < least * (1 - 1e-9)) || between.kept >= cheap.kept || between.kept <= costly.kept) return;
  hull_between(p, between, cheap, cut_at, before, to, depth - 1);
  to.push_back(between);
  hull_between(p, costly, between, priced, price, to, depth - 1);
}

}  // namespace detail

/// At most `most` choices by bytes kept, the first being to make nothing again; each is by node of `lowered`.
/// first_copy: as find_repetition takes it.
constexpr buffer<recompute_choice> recompute_choices(const graph_view& lowered, const step_halves& halves,
                                                     std::size_t parameters, std::int32_t left_out,
                                                     std::size_t most, std::int32_t first_copy = -1) {
  graph_view forward = lowered;
  forward.node_count = static_cast<std::size_t>(lowered.outputs[0]) + 1;
  repetition layers = find_repetition(forward, parameters, first_copy);
  if (layers.nodes < fuse_options{}.reach) layers = {};  // too short to be planned once for all
  const detail::recompute_problem p(lowered, halves, layers, left_out);
  buffer<recompute_choice> hull, made;
  flow_network free = p.network();
  const recompute_choice fastest = p.evaluate(p.choose(free, 0));
  flow_network dear = free;
  const recompute_choice least = p.evaluate(p.choose(dear, p.highest_price()));
  hull.push_back(fastest);
  detail::hull_between(p, least, fastest, free, 0, hull, 5);
  hull.push_back(least);
  made.push_back(p.evaluate(buffer<bool>(p.classes(), false)));
  for (std::size_t k = 0; k < hull.size() && made.size() < most; ++k) {
    if (k > 0) detail::steps_between(p, hull[k - 1].again, hull[k].again, made, most - 1);
    if (hull[k].kept < made.back().kept) made.push_back(hull[k]);
  }
  for (recompute_choice& c : made) c.again = p.by_node(c.again);
  return made;
}

}  // namespace passes
}  // namespace napkin
