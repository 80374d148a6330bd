// The graph in the form that lowering takes (stop_gradient, which only differentiation heeds, is gone):
// - every reduction is over trailing axes (a row) or over leading axes (columns); others read a transposed
//   view, and what only they read of a narrower type is cast as they read it;
// - every reshape is a view: where strides cannot say it, its operand is copied first;
// - a cast that widens, or of an input, is made again for readers far behind it: what is kept for them is
//   then the narrow value, or, of an input (a parameter that is computed with in another dtype), nothing;
// - constants and coordinates that something reads from memory are stored, once for readers that are near;
// - inputs that are joined and then cast are cast and then joined, so that they are written where they go;
// - every output is computed by a node of its own, not a view, an input, a constant or another output; where
//   it is that node's elements in the same order, the node stands for it with its own shape. A copy is a cast
//   to the same dtype: an elementwise node that writes row-major.
#pragma once

#include "napkin/passes/layout.hpp"
#include "napkin/passes/simplify.hpp"

namespace napkin {

namespace passes {

constexpr int copy_node(builder& b, std::int32_t x) {
  return b.emit({op::cast, b.type_of(x), b[x].shape_id, {&x, 1}, {}, 0});
}

constexpr bool is_constant_or_iota(op o) { return o == op::constant || o == op::iota; }

constexpr bool reduces_row(const graph_view& g, int id) {
  const int rank = static_cast<int>(g.shape_of(g.operand(id, 0)).size()), k = g.nodes[id].attribute_count;
  return g.attribute(id, 0) == rank - k;
}
constexpr bool reduces_columns(const graph_view& g, int id) {
  return !reduces_row(g, id) &&
         g.attribute(id, g.nodes[id].attribute_count - 1) == g.nodes[id].attribute_count - 1;
}

/// How many nodes after its first reader a kernel still takes elements; farther, what is computed anew is
/// computed elsewhere.
inline constexpr std::int32_t kernel_reach = 24;

/// Constants and coordinates that were stored for what reads memory: once for readers that are near.
class stored_leaves {
 public:
  /// Node x of the graph in b, stored; another node is what it is.
  constexpr std::int32_t of(builder& b, std::int32_t x) {
    if (!is_constant_or_iota(b[x].kind)) return x;
    for (std::size_t i = leaves_.size();
         i-- > 0 && b.size() - copies_[i] <= kernel_reach;)  // the last are nearest
      if (leaves_[i] == x && b[copies_[i]].when == b.when) return copies_[i];
    leaves_.push_back(x);
    copies_.push_back(copy_node(b, x));
    return copies_.back();
  }

 private:
  buffer<std::int32_t> leaves_, copies_;
};

/// What a launch costs as long as moving: 2 us at 2 TB/s.
inline constexpr std::uint64_t bytes_a_launch = 4'000'000;

/// A cast that is sooner made again than kept: a 16- or 8-bit float read as a wider one, or an input's.
constexpr bool is_made_again(const graph_view& g, int id) {
  if (g.nodes[id].kind != op::cast) return false;
  const node& from = g.nodes[g.operand(id, 0)];
  const bool widens = is_small_float(from.type) && size_of(g.nodes[id].type) > size_of(from.type);
  return widens || from.kind == op::input;
}

/// A cast of a concatenation of inputs.
constexpr bool casts_joined_inputs(const graph_view& g, int id) {
  if (g.nodes[id].kind != op::cast || g.nodes[g.operand(id, 0)].kind != op::concat) return false;
  for (std::int32_t x : g.operands(g.operand(id, 0))) {
    while (g.nodes[x].kind == op::reshape) x = g.operand(x, 0);
    if (g.nodes[x].kind != op::input) return false;
  }
  return true;
}

/// A concatenation that only such casts read.
constexpr bool is_only_cast(const graph_view& g, int id) {
  if (g.nodes[id].kind != op::concat) return false;
  bool casts = false;
  for (int reader = id + 1; reader < static_cast<int>(g.size()); ++reader)
    for (const std::int32_t x : g.operands(reader)) {
      if (x != id) continue;
      if (!casts_joined_inputs(g, reader)) return false;
      casts = true;
    }
  for (const std::int32_t out : g.output_ids()) casts = casts && out != id;
  return casts;
}

/// In the form said above, as most graphs of a few operations are.
constexpr bool is_legal(const graph_view& g) {
  const auto count = static_cast<std::int32_t>(g.node_count);
  for (std::int32_t id = 0; id < count; ++id) {
    const node& n = g.nodes[id];
    const std::int32_t* const operands = g.pool + n.first_operand;
    if (n.kind == op::stop_gradient || casts_joined_inputs(g, id)) return false;
    if (id > kernel_reach)
      for (std::int32_t k = 0; k < n.arity; ++k)
        if (id - operands[k] > kernel_reach && is_made_again(g, operands[k])) return false;
    const category c = category_of(n.kind);
    if (c == category::leaf || c == category::elementwise) continue;
    if (c == category::reduction) {
      if (!reduces_row(g, id) && !reduces_columns(g, id)) return false;
      continue;
    }
    if (n.kind == op::reshape && !access_of(g, id).possible) return false;
    for (std::int32_t k = 0; k < n.arity; ++k)
      if (is_constant_or_iota(g.nodes[operands[k]].kind)) return false;
  }
  for (std::size_t i = 0; i < g.output_count; ++i) {
    const op kind = g.nodes[g.outputs[i]].kind;
    if (is_view(kind) || category_of(kind) == category::leaf) return false;
    for (std::size_t j = 0; j < i; ++j)
      if (g.outputs[j] == g.outputs[i]) return false;
  }
  return all_live(g);
}

constexpr bool reduces_middle(const graph_view& g, int id) {
  return is_reduction(g.nodes[id].kind) && !reduces_row(g, id) && !reduces_columns(g, id);
}
/// Casts that only reductions over axes in the middle read: before the axes are moved, they would be stored.
constexpr buffer<bool> find_casts_to_move(const graph_view& g, const buffer<bool>& live) {
  buffer<bool> found(g.size(), false), is_read(g.size(), false);
  for (int id = 0; id < static_cast<int>(g.node_count); ++id) {
    if (!live[static_cast<std::size_t>(id)]) continue;
    const bool moves = reduces_middle(g, id);
    for (const std::int32_t x : g.operands(id)) {
      const auto operand = static_cast<std::size_t>(x);
      if (moves && is_made_again(g, x) && !casts_joined_inputs(g, x)) found[operand] = true;
      if (!moves) is_read[operand] = true;
    }
  }
  for (const std::int32_t out : g.output_ids()) is_read[static_cast<std::size_t>(out)] = true;
  for (std::size_t id = 0; id < g.node_count; ++id) found[id] = found[id] && !is_read[id];
  return found;
}

constexpr std::int32_t without_reshapes(const builder& b, std::int32_t x) {
  while (b[x].kind == op::reshape) x = b.operand(x, 0);
  return x;
}

constexpr graph legalize_anew(const graph_view& g) {
  builder b;  // does not simplify: what is copied here would be found to be no copy
  b.result.nodes.reserve(g.size() + g.size() / 8 + 4);
  b.result.pool.reserve(g.pool_count + g.pool_count / 8 + 16);
  b.result.shapes.append(g.shapes, g.shape_count);  // so that their numbers stay
  const buffer<bool> live = live_nodes(g);
  const buffer<bool> moved_casts = find_casts_to_move(g, live);
  buffer<std::int32_t> now(g.size(), -1), as_output(g.size(), -1), xs;
  buffer<bool> is_output(g.size(), false);
  stored_leaves stored;
  for (const std::int32_t out : g.output_ids()) is_output[static_cast<std::size_t>(out)] = true;
  for (int id = 0; id < static_cast<int>(g.node_count); ++id) {
    if (!live[static_cast<std::size_t>(id)]) continue;
    if (moved_casts[static_cast<std::size_t>(id)]) {  // its readers cast
      now[static_cast<std::size_t>(id)] = now[static_cast<std::size_t>(g.operand(id, 0))];
      continue;
    }
    const node& n = g.nodes[id];
    if (is_only_cast(g, id)) continue;
    b.origin = n.origin;
    b.composite = n.composite;
    b.when = n.when;
    xs.clear();
    if (casts_joined_inputs(g, id)) {
      const std::int32_t joined = g.operand(id, 0);
      for (const std::int32_t part : g.operands(joined))
        xs.push_back(b.cast(now[static_cast<std::size_t>(part)], n.type));
      now[static_cast<std::size_t>(id)] =
          b.emit({op::concat, n.type, n.shape_id, xs, g.attributes(joined), 0});
      continue;
    }
    const std::int32_t* x = g.pool + n.first_operand;
    for (const std::int32_t* end = x + n.arity; x != end; ++x) {
      std::int32_t& operand = now[static_cast<std::size_t>(*x)];
      if (b.size() - operand > kernel_reach && is_made_again(b.view(), operand)) {
        const std::int32_t from = b.operand(operand, 0);
        axis_order order;  // a copy: the pool may move
        for (const std::int32_t axis : b.view().attributes(operand)) order.push_back(axis);
        operand = b.emit({op::cast, b.type_of(operand), b[operand].shape_id, {&from, 1}, order, 0});
      }
      xs.push_back(operand);
    }
    std::int32_t& made = now[static_cast<std::size_t>(id)];
    const op kind = n.kind;
    if (kind == op::stop_gradient) {  // has done its work
      made = xs[0];
      continue;
    }
    if (reduces_middle(g, id)) {
      inplace_vector<std::int32_t, max_rank> order, last;
      const auto rank = static_cast<std::int32_t>(g.shape_of(g.operand(id, 0)).size());
      for (std::int32_t i = 0; i < rank; ++i) {
        bool reduced = false;
        for (std::int32_t a : g.attributes(id)) reduced = reduced || a == i;
        if (!reduced) order.push_back(i);
      }
      for (std::int32_t a : g.attributes(id)) {
        last.push_back(static_cast<std::int32_t>(order.size()));
        order.push_back(a);
      }
      xs[0] = stored.of(b, xs[0]);
      const int moved =
          b.cast(b.permute(xs[0], {order.data(), order.size()}), g.nodes[g.operand(id, 0)].type);
      made = b.reduce(kind, moved, {last.data(), last.size()});
      continue;
    }
    if (!is_elementwise(kind) && !is_reduction(kind))  // coordinates and constants have no buffer
      for (std::int32_t& operand : xs) operand = stored.of(b, operand);
    made = b.emit({kind, n.type, n.shape_id, xs, g.attributes(id), n.value});
    if (kind == op::reshape && !access_of(b.view(), made).possible)
      made = b.reshape(copy_node(b, xs[0]), g.shape_of(id));
    // a part of a value is copied where that is made: it need not be kept
    if (is_output[static_cast<std::size_t>(id)] && is_view(b[without_reshapes(b, made)].kind))
      as_output[static_cast<std::size_t>(id)] = copy_node(b, made);
  }
  buffer<std::int32_t> outputs;
  for (std::int32_t out : g.output_ids()) {
    std::int32_t made = as_output[static_cast<std::size_t>(out)];
    if (made < 0) made = now[static_cast<std::size_t>(out)];
    if (const std::int32_t base = without_reshapes(b, made); !is_view(b[base].kind)) made = base;
    bool taken = false;
    for (std::int32_t o : outputs) taken = taken || o == made;
    const category c = category_of(b[made].kind);
    if (taken || is_view(b[made].kind) || c == category::leaf) made = copy_node(b, made);
    outputs.push_back(made);
  }
  for (std::int32_t out : outputs) b.output(out);
  return b.take();
}
constexpr graph legalize(graph&& g) {
  if (is_legal(g.view())) return static_cast<graph&&>(g);
  return legalize_anew(g.view());
}
constexpr graph legalize(const graph_view& g) {
  if (is_legal(g)) return same_graph(g);
  return legalize_anew(g);
}

}  // namespace passes
}  // namespace napkin
