// Whether there is a GPU to test on.
#pragma once

#include <string>

#include "napkin/cuda/device.hpp"

namespace napkin::testing {

/// Why nothing can run on a device here; empty where it can.
inline std::string why_no_device() {
  try {
    on_cuda::facts_of_device(on_cuda::cuda_runtime());
    return "";
  } catch (const error& e) {
    return e.what();
  }
}

}  // namespace napkin::testing
