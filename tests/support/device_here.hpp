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

/// The same of products of 8-bit floats, which not every device has.
inline std::string why_no_8_bit_products() {
  const std::string reason = why_no_device();
  if (!reason.empty()) return reason;
  const bool has_them = on_cuda::facts_of_device(on_cuda::cuda_runtime()).compute_capability >= 89;
  return has_them ? ""
                  : "this device has no products of 8-bit floats, which begin with compute capability 8.9";
}

}  // namespace napkin::testing
