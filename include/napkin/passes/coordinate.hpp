// Which node is the coordinate along an axis: what masks are made of.
#pragma once

#include "napkin/graph/graph.hpp"

namespace napkin::passes {

/// The axis of x along which it is the coordinate, -1 if it is none.
constexpr int coordinate_axis(const graph_view& g, int x) {
  if (g[x].kind == op::iota) return g.attribute(x, 0);
  if (g[x].kind == op::cast) return coordinate_axis(g, g.operand(x, 0));
  if (g[x].kind != op::expand) return -1;
  const int axis = coordinate_axis(g, g.operand(x, 0));
  for (int i = 0; axis >= 0 && i < g[x].attribute_count; ++i)
    if (g.attribute(x, i) == axis) return i;
  return -1;
}

}  // namespace napkin::passes
