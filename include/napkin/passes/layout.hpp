// Where a node's elements lie: in its own buffer, row-major, or as a strided view of another node's buffer.
// Views cost nothing; what cannot be said by strides is copied (passes/legalize.hpp inserts the copy).
#pragma once

#include <cstddef>

#include "napkin/graph/strides.hpp"

namespace napkin {

namespace passes {

/// Element (i, j, ...) of a node is element offset + i * stride[0] + j * stride[1] + ... of the base's
/// buffer.
struct access {
  int base = -1;
  stride_list stride;
  std::ptrdiff_t offset = 0;
  bool possible = true;  // false: a reshape that strides cannot express
};

/// Axes as they lie in memory, the outermost first.
using axis_order = inplace_vector<std::int32_t, max_rank>;

constexpr stride_list strides_in(ids order, const shape& s) {
  stride_list strides(s.size(), 0);
  std::ptrdiff_t stride = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const auto axis = static_cast<std::size_t>(order[i]);
    strides[axis] = stride;
    stride *= static_cast<std::ptrdiff_t>(s[axis]);
  }
  return strides;
}
/// An elementwise node whose kernel writes its elements in another order than row-major: its attributes are
/// the axes in that order (passes/order_results.hpp).
constexpr bool has_own_order(const node& n) { return n.attribute_count > 0 && is_elementwise(n.kind); }

constexpr bool is_view(op o) {
  return o == op::expand || o == op::reshape || o == op::slice || o == op::diagonal || o == op::window;
}

/// Where view `id` finds its elements, those of its operand lying as `from` says.
constexpr access view_access(const graph_view& g, int id, const access& from) {
  const node& n = g.nodes[id];
  const shape& s = g.shapes[n.shape_id];
  access to{from.base, stride_list(s.size(), 0), from.offset, true};
  switch (n.kind) {
    case op::expand:
      for (std::size_t i = 0; i < s.count; ++i) {
        const std::int32_t m = g.pool[n.first_attribute + static_cast<std::int32_t>(i)];
        if (m >= 0) to.stride.items[i] = from.stride.items[m];
      }
      break;
    case op::diagonal:
      for (std::size_t i = 0; i < from.stride.size(); ++i)
        to.stride[static_cast<std::size_t>(g.attribute(id, static_cast<int>(i)))] += from.stride[i];
      break;
    case op::slice:
      for (std::size_t i = 0; i < s.size(); ++i) {
        const int rank = static_cast<int>(s.size());
        to.offset += g.attribute(id, static_cast<int>(i)) * from.stride[i];
        to.stride[i] = g.attribute(id, rank + static_cast<int>(i)) * from.stride[i];
      }
      break;
    case op::window: {
      const auto axis = static_cast<std::size_t>(g.attribute(id, 0));
      const std::ptrdiff_t walked = from.stride[axis];
      for (std::size_t i = 0; i < s.size(); ++i) to.stride[i] = from.stride[i > axis ? i - 1 : i];
      to.offset += g.attribute(id, 1) * walked;
      to.stride[axis] = g.attribute(id, 2) * walked;
      to.stride[axis + 1] = g.attribute(id, 3) * walked;
      break;
    }
    default:  // reshape
      to.possible = reshape_strides(g.shape_of(g.operand(id, 0)), from.stride, s, to.stride);
      break;
  }
  return to;
}

constexpr access access_of(const graph_view& g, int id) {
  const node& n = g.nodes[id];
  if (is_view(n.kind)) {
    const access from = access_of(g, g.operand(id, 0));
    return from.possible ? view_access(g, id, from) : from;
  }
  const shape& s = g.shapes[n.shape_id];
  access a{id, row_major_strides(s), 0, true};
  if (n.attribute_count == 0) return a;
  if (n.kind == op::input && n.attribute_count > 1)  // a view handed in: its strides follow the slot
    for (std::size_t i = 0; i < s.size(); ++i) a.stride[i] = g.attribute(id, static_cast<int>(i) + 1);
  if (has_own_order(n)) a.stride = strides_in(g.attributes(id), s);
  return a;
}

/// Two operands lie alike in their buffers: the same views of equal shapes.
constexpr bool lie_alike(const graph_view& g, int x, int y) {
  while (true) {
    const node &a = g.nodes[x], &b = g.nodes[y];
    if (a.kind != b.kind && (is_view(a.kind) || is_view(b.kind))) return false;
    if (a.shape_id != b.shape_id) return false;
    const bool view = is_view(a.kind) || a.kind == op::input;
    if (!view && b.kind == op::input) return false;
    if (!view && !has_own_order(a) && !has_own_order(b)) return true;
    if (!view && has_own_order(a) != has_own_order(b)) return false;
    const ids of_a = g.attributes(x), of_b = g.attributes(y);
    if (of_a.size() != of_b.size()) return false;
    for (std::size_t i = a.kind == op::input ? 1 : 0; i < of_a.size(); ++i)
      if (of_a[i] != of_b[i]) return false;
    if (a.kind == op::input) return b.kind == op::input;
    if (!view) return true;
    x = g.operand(x, 0);
    y = g.operand(y, 0);
  }
}

/// Two einsums of two operands each: the same products of operands that lie alike.
constexpr bool contract_alike(const graph_view& g, int e, int f) {
  const node &a = g.nodes[e], &b = g.nodes[f];
  if (a.shape_id != b.shape_id || a.type != b.type || a.attribute_count != b.attribute_count) return false;
  for (int i = 0; i < a.attribute_count; ++i)
    if (g.attribute(e, i) != g.attribute(f, i)) return false;
  for (int k = 0; k < 2; ++k)
    if (g.nodes[g.operand(e, k)].type != g.nodes[g.operand(f, k)].type) return false;
  return lie_alike(g, g.operand(e, 0), g.operand(f, 0)) && lie_alike(g, g.operand(e, 1), g.operand(f, 1));
}
}  // namespace passes
}  // namespace napkin
