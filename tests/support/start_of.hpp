// When kernels of a test's training start on the device in use.
#pragma once

#include "napkin/cuda/device.hpp"
#include "napkin/cuda/graph_capture.hpp"
#include "napkin/train/trainer.hpp"

namespace napkin::testing {

/// In order each in its turn; by data early, where the device can.
inline launch_start start_of(launch_order order) {
  const bool can = on_cuda::facts_of_device(on_cuda::cuda_runtime()).compute_capability >=
                   on_cuda::least_capability_to_start_early;
  return order == launch_order::by_data && can ? launch_start::early : launch_start::in_turn;
}

}  // namespace napkin::testing
