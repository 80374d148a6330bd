// What a row of the table of primitives says. A row is `primitive<op::name>`:
//
//   name            as reports and printed graphs show it
//   arity           operands, or -1 for any number
//   flops           arithmetic operations per element of the result (elementwise rows)
//   transcendental  exp, log, sqrt and the like per element, counted apart
//   apply(x...)     the scalar formula: what the interpreter, the CPU's loops and CUDA kernels all evaluate
//   gradient(g, n, dy, give)   emits the adjoint of operand k of node n and hands it over: give(k, id)
//   example(g, v)   emits variant v < examples of the operation on f64 inputs: the generic tests' food
//
// Shapes are inferred where nodes are built (graph/builder.hpp) and checked by passes/verify.hpp.
#pragma once

#include "napkin/core/math.hpp"
#include "napkin/graph/builder.hpp"

namespace napkin {

/// Declared for every operation, defined for every operation: a missing row does not build.
template <op O>
struct primitive;

namespace row {

struct base {
  static constexpr int flops = 0;
  static constexpr int transcendental = 0;
  static constexpr int examples = 1;
  static constexpr bool differentiable = true;
};

/// Inputs of the example are drawn from [low, high]; the generic tests read these.
template <op O, int Arity, int Flops, int Transcendental = 0>
struct elementwise : base {
  static constexpr op kind = O;
  static constexpr int arity = Arity;
  static constexpr int flops = Flops;
  static constexpr int transcendental = Transcendental;
  static constexpr double low = -2, high = 2;
  static constexpr int example(builder& g, int) {
    const shape s{2, 3};
    if constexpr (Arity == 1)
      return g.unary(O, g.input(0, dtype::f64, s));
    else
      return g.binary(O, g.input(0, dtype::f64, s), g.input(1, dtype::f64, s));
  }
};

struct movement : base {
  static constexpr int arity = 1;
  static constexpr double low = -2, high = 2;
};

}  // namespace row
}  // namespace napkin
