// A plan launches as many kernels and calls as it says, where something counts them.
#pragma once

#include <catch2/catch.hpp>
#include <cstddef>

#include "napkin/cuda/cost.hpp"
#include "napkin/cuda/plan.hpp"

namespace napkin::testing {

/// Kernels that were launched so far, CUB's left out, and products that cuBLASLt was asked for. Null where
/// nothing counts them: the device that reads PTX does.
inline std::size_t (*launches_so_far)() = nullptr;

class launch_check {
 public:
  /// Before the plan runs.
  launch_check(const on_cuda::plan_view& plan, const graph_view& lowered)
      : said_(planning::cost_of(plan, lowered).launches) {
    for (std::size_t i = 0; i < plan.count.movements; ++i) {
      const planning::movement_record& r = plan.movements[i];
      sorts_ += r.kind == passes::unit_kind::scatter_add && numel(r.index_shape) > 0 &&
                numel(r.to_shape) > 0 && !on_cuda::detail::looks_through_indices(r);
    }
    for (std::size_t i = 0; i < plan.count.contractions; ++i) {
      const on_cuda::product& x = plan.products[plan.contractions[i].product];
      if (x.gemm.possible) open_ += x.gemm.calls() + x.follows.rounds_vector() - x.launches();
    }
    if (launches_so_far != nullptr) before_ = launches_so_far();
  }
  /// Once it has run.
  void check() const {
    if (launches_so_far == nullptr) return;
    const std::size_t ran = launches_so_far() - before_ + sorts_;
    CHECK(ran >= said_);
    CHECK(ran <= said_ + open_);
  }

 private:
  std::size_t said_, before_ = 0;
  std::size_t sorts_ = 0;  // calls of CUB's, each of which is several kernels
  std::size_t open_ = 0;   // calls that arrays of addresses would save, if they are taken
};

}  // namespace napkin::testing
