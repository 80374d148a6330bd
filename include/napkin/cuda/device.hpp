// What is known of the GPU in use.
#pragma once

#include <source_location>

#include "napkin/cuda/error.hpp"

namespace napkin::on_cuda {

/// Of the device that the calling thread uses. `cuda_error` where there is none, or no driver for it.
inline device_facts facts_of_device(cuda_calls& calls,
                                    std::source_location where = std::source_location::current()) {
  device_facts facts;
  check(calls, calls.get_device_facts(facts), "cudaGetDeviceProperties", "", where);
  return facts;
}

}  // namespace napkin::on_cuda
