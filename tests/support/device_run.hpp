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

  /// The first element of an output that is too far from the same by plain loops in f64; empty where none is.
  ///
  /// As torch.testing.assert_close, relative to each element; but where products are summed, relative to the
  /// output's largest element. A sum's error is as large as its terms make it, however small the sum, and an
  /// output's elements are sums of equally many terms that are made alike: the largest is the one of which
  /// least has cancelled. 1.3e-6 of it are 11 units in f32's last place, for sums of a few tens or hundreds.
  ///
  /// What is computed of values of 16 bits is as near as these are to the largest element, since each was
  /// rounded; or as far off as the graph may be from the CPU (`of_largest`), whose values are those. Of
  /// several products in a row each adds an absolute error, of its own sign.
  std::string far_from_exact(const std::vector<double>& given, std::size_t output, double of_largest) const;

  /// Of a Catch2 test.
  void check(const std::vector<raw_bytes>& given, double tolerance) const;

 private:
  graph lowered_;
  std::vector<std::vector<double>> exact_;
  dtype between_ = dtype::f64;
  int contractions_ = 0;
};

}  // namespace napkin::testing
