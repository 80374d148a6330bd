// When kernels of a test's training start on the device in use.
#pragma once

#include "napkin/cuda/graph_capture.hpp"
#include "napkin/train/trainer.hpp"

namespace napkin::testing {

/// In order each in its turn; by data early, where the device can.
inline launch_start start_of(launch_order order) {
  const bool is_early = order == launch_order::by_data && on_cuda::can_start_early(on_cuda::cuda_runtime());
  return is_early ? launch_start::early : launch_start::in_turn;
}

}  // namespace napkin::testing
