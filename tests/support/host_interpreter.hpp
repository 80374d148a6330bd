// Kernels of a GPU's plan that was made at run time, on a device that is the host: each is interpreted from its
// plan's records, by the CPU's interpreter, team after team; its columns are joined as the device joins them.
// So any graph can be lowered, planned and run as on a GPU, in a test or a debugger, without a compiler.
#pragma once

#include <vector>

#include "napkin/cuda/launch.hpp"
#include "napkin/cuda/plan.hpp"

namespace napkin::testing {

/// The entries of a plan's kernels. One at a time: an entry is functions without a state, which look for the
/// plan's records here.
class interpreted_launches {
 public:
  static constexpr std::size_t most_kernels = 128;

  /// `of`'s tables outlive this. Errors  `error` for a plan of more kernels, or where another is alive.
  explicit interpreted_launches(const on_cuda::plan_view& of);
  interpreted_launches(const interpreted_launches&) = delete;
  interpreted_launches& operator=(const interpreted_launches&) = delete;
  ~interpreted_launches();

  const on_cuda::kernel_entry* table() const { return entries_.data(); }

 private:
  std::vector<on_cuda::kernel_entry> entries_;
};

}  // namespace napkin::testing
