// The reference that every backend is held against: a graph evaluated node by node in plain loops, with
// each row's own scalar formula. For tests and debugging; nothing is fused, reused or freed.
#pragma once

#include <span>
#include <vector>

#include "napkin/graph/graph.hpp"

namespace napkin {

/// none      every floating-point node is computed and kept in f64, whatever its dtype
/// as_typed  every node is rounded to its dtype. Elementwise formulas are evaluated in f64 for f64 nodes and
///           in f32 for all narrower ones, as kernels do, so that their results have the kernels' bits; sums,
///           products, einsums and scatter_adds accumulate in f64 and are rounded once
enum class rounding { none, as_typed };

/// The outputs of a legal graph (passes/verify.hpp), each in row-major order.
///
/// Inputs    inputs_by_slot[s] holds the elements of slot s, row-major; as_typed rounds them first
/// Integers  wrap around at their own width in either mode; i64 is exact up to 2^53, since values are held
///           as doubles. A cast of a float to an integer is core/truncate.hpp's
/// Errors    input_error: an input is missing or has a wrong number of elements, an index is out of range,
///           an integer is divided by zero
std::vector<std::vector<double>> interpret(const graph_view& g,
                                           std::span<const std::vector<double>> inputs_by_slot,
                                           rounding mode = rounding::none);

}  // namespace napkin
