// Which node is the coordinate along an axis: what masks are made of.
#pragma once

#include "napkin/graph/graph.hpp"

namespace napkin {

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

/// A whole number at each position: so many times the coordinate along each axis, and a number.
struct coordinate_sum {
  bool known = false;
  std::int64_t number = 0, times[max_rank]{};

  friend constexpr coordinate_sum operator-(coordinate_sum x, const coordinate_sum& y) {
    x.known = x.known && y.known;
    x.number -= y.number;
    for (std::size_t i = 0; i < max_rank; ++i) x.times[i] -= y.times[i];
    return x;
  }
};

/// What x is as such a sum, in a dtype that holds it; unknown where it is something else.
constexpr coordinate_sum coordinate_sum_of(const graph_view& g, int x) {
  const node& n = g[x];
  coordinate_sum s;
  const dtype t = n.type;
  if (t != dtype::i32 && t != dtype::i64 && t != dtype::f32 && t != dtype::f64) return s;
  constexpr double large = 1 << 20;
  switch (n.kind) {
    case op::iota:
      s.known = true;
      s.times[g.attribute(x, 0)] = 1;
      return s;
    case op::constant:
      if (!(n.value <= large && n.value >= -large)) return s;
      s.number = static_cast<std::int64_t>(n.value);
      s.known = static_cast<double>(s.number) == n.value;
      return s;
    case op::cast:
      return coordinate_sum_of(g, g.operand(x, 0));
    case op::add:
      return coordinate_sum_of(g, g.operand(x, 0)) -
             (coordinate_sum{true} - coordinate_sum_of(g, g.operand(x, 1)));
    case op::sub:
      return coordinate_sum_of(g, g.operand(x, 0)) - coordinate_sum_of(g, g.operand(x, 1));
    case op::expand: {
      const coordinate_sum of = coordinate_sum_of(g, g.operand(x, 0));
      s.known = of.known;
      s.number = of.number;
      for (int i = 0; i < n.attribute_count; ++i)
        if (g.attribute(x, i) >= 0) s.times[i] = of.times[g.attribute(x, i)];
      return s;
    }
    default:
      return s;
  }
}

}  // namespace napkin
