// The closed vocabulary of primitive operations. Each enumerator has one row in ops/ (shape, cost,
// gradient, scalar formula); everything else in the library is a function over these.
#pragma once

#include <cstddef>
#include <cstdint>

namespace napkin {

enum class op : std::uint8_t {
  // leaves
  input,
  constant,
  iota,
  // elementwise, one operand
  neg,
  abs,
  sign,
  exp,
  log,
  sqrt,
  rsqrt,
  sin,
  cos,
  tanh,
  erf,
  floor,
  logical_not,
  cast,
  stop_gradient,
  // elementwise, two operands
  add,
  sub,
  mul,
  div,
  pow,
  maximum,
  minimum,
  equal,
  less,
  less_equal,
  logical_and,
  logical_or,
  random_bits,
  // elementwise, three operands
  select,
  fma,
  // movement: no arithmetic
  expand,
  reshape,
  slice,
  pad,
  diagonal,
  window,
  concat,
  // reductions over listed axes
  sum,
  product,
  max,
  min,
  any,
  all,
  // contraction of any number of operands
  einsum,
  // by index
  gather,
  scatter_add,
  // attention, made by a pass
  attention,
  attention_backward,
  count_  // not an operation: their number
};

inline constexpr std::size_t op_count = static_cast<std::size_t>(op::count_);

enum class category : std::uint8_t {
  leaf,
  elementwise,
  movement,
  reduction,
  contraction,
  indexing,
  attention
};

// Passes ask these of each node, so they are no calls of category_of.
constexpr bool is_elementwise(op o) { return o > op::iota && o <= op::fma; }
constexpr bool is_reduction(op o) { return o > op::concat && o <= op::all; }

constexpr category category_of(op o) {
  if (is_elementwise(o)) return category::elementwise;
  if (is_reduction(o)) return category::reduction;
  if (o <= op::iota) return category::leaf;
  if (o <= op::concat) return category::movement;
  if (o == op::einsum) return category::contraction;
  if (o <= op::scatter_add) return category::indexing;
  return category::attention;
}

}  // namespace napkin
