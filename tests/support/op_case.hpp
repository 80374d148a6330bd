// What the graphs of op_graphs.hpp give: by plain loops in f64, on inputs rounded to their dtypes, to the
// tolerances that PyTorch has for each dtype; and by the CPU's kernels, to the bit but where that is not
// promised.
#pragma once

#include <string>
#include <vector>

#include "napkin/graph/graph.hpp"
#include "support/run_plan.hpp"

namespace napkin::testing {

class op_case {
 public:
  std::vector<raw_bytes> inputs;  // by slot

  explicit op_case(graph&& made);

  /// Room for the outputs, filled with what none of them should be.
  std::vector<raw_bytes> outputs() const;

  /// Of a Catch2 test.
  void check(const std::vector<raw_bytes>& given) const;

 private:
  graph g_;
  std::vector<std::vector<double>> exact_, magnitudes_;
  std::vector<raw_bytes> on_cpu_;  // none where the CPU refuses

  dtype operand_type(int id) const;
  /// The first element that is too far from the reference; empty where none is.
  std::string far_from_exact(const raw_bytes& given, std::size_t output) const;
  std::string first_unequal(const raw_bytes& given, std::size_t output) const;
};

}  // namespace napkin::testing
