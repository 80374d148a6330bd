// Functions of small floats are computed in f32, as PyTorch computes them, and rounded once, at the end. Within
// 16 or 8 bits the square of 300 would be beyond f16, a count of more than 256 none of bf16's numbers, and a
// softmax's x - max off by a share of itself.
#pragma once

#include "napkin/ops/elementwise.hpp"
#include "napkin/ops/function.hpp"

namespace napkin::detail {

/// x, an operand of floating-point numbers or a number, in the dtype that it is computed in.
template <class X>
constexpr auto widened(const X& x) {
  if constexpr (is_number<X>)
    return x;
  else
    return cast<accumulator_type<typename X::element>>(x);
}

/// A number among the arguments of fn: of tensors it takes the dtype that x is computed in, which has 1e-8
/// too; a traced function has it unrounded.
template <class X>
constexpr auto number_beside(double value) {
  using A = accumulator_type<typename X::element>;
  if constexpr (is_traced_operand<X>)
    return value;
  else
    return scalar<A>{static_cast<A>(value)};
}

}  // namespace napkin::detail
