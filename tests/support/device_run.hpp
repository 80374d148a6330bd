// What a graph gives on the CPU, and by plain loops in f64, for inputs that are made up; and what another
// executor gave, compared with both.
#pragma once

#include <string>
#include <vector>

#include "napkin/graph/graph.hpp"
#include "support/run_plan.hpp"

namespace napkin::testing {

class device_case {
 public:
  std::vector<raw_bytes> inputs, expected;  // by slot; in order

  explicit device_case(const graph_view& made);

  /// Room for the outputs, filled with what none of them should be.
  std::vector<raw_bytes> outputs() const;

  /// Of a Catch2 test.
  void check(const std::vector<raw_bytes>& given, double tolerance) const;

 private:
  graph lowered_;
  std::vector<std::vector<double>> exact_;
  dtype between_ = dtype::f64;
  int contractions_ = 0;

  std::string far_from_exact(const std::vector<double>& given, std::size_t output, double of_largest) const;
};

}  // namespace napkin::testing
