// A random graph beside plain loops: what a backend gives of it must be that, to within what its roundings
// carry (rounding_noise.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "napkin/graph/graph.hpp"
#include "support/run_plan.hpp"

namespace napkin::testing {

class random_case {
 public:
  graph g;
  std::vector<raw_bytes> inputs;  // by slot
  // Elements of what was asked about; unsteady: roundings decide what they are.
  std::size_t judged = 0, unsteady = 0;

  random_case(graph&& made, std::uint64_t seed);

  /// Room for the outputs, filled with what none of them should be.
  std::vector<raw_bytes> outputs() const;

  /// Which element is wrong, the first of them; empty where none is.
  std::string fault_of(const std::vector<raw_bytes>& given);

 private:
  std::vector<std::vector<double>> expected_, noise_;
  dtype narrowest_ = dtype::f64;
};

/// The gradient by the first three inputs of what a loss might be of a graph's outputs; with the loss. None
/// of it are outputs of large numbers, whose sines are roundings.
graph gradients_of(const graph& g, std::uint64_t seed);

}  // namespace napkin::testing
