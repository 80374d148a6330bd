// Reading and adding at positions that are data.
#pragma once

#include "napkin/ops/primitives/row.hpp"

namespace napkin {

/// operands: table, index (integers); attributes: [axis]. The table's axis is replaced by the index's axes.
template <>
struct primitive<op::gather> : row::base {
  static constexpr auto name = "gather";
  static constexpr int arity = 2;
  static constexpr int examples = 2;
  static constexpr double low = -2, high = 2;
  /// The index counts along an axis, so that the example needs no integer input: 0 1 2 or 0 0 1 1.
  static constexpr int index(builder& g, int variant) {
    const int position = g.iota(0, dtype::f64, {variant == 0 ? 3u : 4u});
    return g.cast(variant == 0 ? position : g.unary(op::floor, g.scale(position, 0.5)), dtype::i32);
  }
  static constexpr int example(builder& g, int variant) {
    return g.gather(g.input(0, dtype::f64, {2, 3, 2}), index(g, variant), 1);
  }
  static constexpr void gradient(builder& g, int n, int dy, auto give) {
    give(0, g.scatter_add(dy, g.operand(n, 1), shape{g.shape_of(g.operand(n, 0))}, g.attribute(n, 0)));
  }
};

/// operands: values, index; attributes: [axis]. Values of equal index are added in order of position.
template <>
struct primitive<op::scatter_add> : row::base {
  static constexpr auto name = "scatter_add";
  static constexpr int arity = 2;
  static constexpr int flops = 1;  // per element of the values
  static constexpr double low = -2, high = 2;
  static constexpr int example(builder& g, int) {
    return g.scatter_add(g.input(0, dtype::f64, {2, 4}), primitive<op::gather>::index(g, 1), {2, 3}, 1);
  }
  static constexpr void gradient(builder& g, int n, int dy, auto give) {
    give(0, g.gather(dy, g.operand(n, 1), g.attribute(n, 0)));
  }
};

}  // namespace napkin
