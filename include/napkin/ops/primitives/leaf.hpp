// Leaves: where values come from. None has operands, none has a gradient of its own.
#pragma once

#include "napkin/ops/primitives/row.hpp"

namespace napkin {

namespace row {
struct leaf : base {
  static constexpr int arity = 0;
  static constexpr int examples = 0;
  static constexpr bool differentiable = false;
  static constexpr void gradient(builder&, int, int, auto) {}
};
}  // namespace row

/// attributes: [slot]: which of the tensors handed in from outside.
template <>
struct primitive<op::input> : row::leaf {
  static constexpr auto name = "input";
};

/// value: the same number at every position; takes no storage.
template <>
struct primitive<op::constant> : row::leaf {
  static constexpr auto name = "constant";
};

/// attributes: [axis]: the coordinate along that axis; takes no storage.
template <>
struct primitive<op::iota> : row::leaf {
  static constexpr auto name = "iota";
};

}  // namespace napkin
