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

constexpr bool is_view(op o) {
  return o == op::expand || o == op::reshape || o == op::slice || o == op::diagonal || o == op::window;
}

constexpr access access_of(const graph_view& g, int id) {
  const node& n = g.nodes[id];
  const shape& s = g.shapes[n.shape_id];
  if (!is_view(n.kind)) {
    access a{id, row_major_strides(s), 0, true};
    if (n.kind == op::input && n.attribute_count > 1)  // a view handed in: its strides follow the slot
      for (std::size_t i = 0; i < s.size(); ++i) a.stride[i] = g.attribute(id, static_cast<int>(i) + 1);
    return a;
  }
  const int x = g.operand(id, 0);
  access from = access_of(g, x);
  if (!from.possible) return from;
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
      to.possible = reshape_strides(g.shape_of(x), from.stride, s, to.stride);
      break;
  }
  return to;
}

/// Two operands lie alike in their buffers: the same views of equal shapes.
constexpr bool lie_alike(const graph_view& g, int x, int y) {
  while (true) {
    const node &a = g.nodes[x], &b = g.nodes[y];
    if (a.kind != b.kind && (is_view(a.kind) || is_view(b.kind))) return false;
    if (a.shape_id != b.shape_id) return false;
    const bool view = is_view(a.kind) || a.kind == op::input;
    if (!view) return b.kind != op::input;
    const ids of_a = g.attributes(x), of_b = g.attributes(y);
    if (of_a.size() != of_b.size()) return false;
    for (std::size_t i = a.kind == op::input ? 1 : 0; i < of_a.size(); ++i)
      if (of_a[i] != of_b[i]) return false;
    if (a.kind == op::input) return b.kind == op::input;
    x = g.operand(x, 0);
    y = g.operand(y, 0);
  }
}
}  // namespace passes
}  // namespace napkin
