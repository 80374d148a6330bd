// The GPU in use: which the calling thread uses, and what is known of it.
#pragma once

#include <source_location>

#include "napkin/cuda/error.hpp"
#include "napkin/cuda/handle.hpp"

namespace napkin::on_cuda {

/// Of the device that the calling thread uses. `cuda_error` where there is none, or no driver for it.
inline device_facts facts_of_device(cuda_calls& calls,
                                    std::source_location where = std::source_location::current()) {
  device_facts facts;
  check(calls, calls.get_device_facts(facts), "cudaGetDeviceProperties", "", where);
  return facts;
}

/// CUDA's number of it. Errors as above.
inline int device_of_thread(cuda_calls& calls, std::source_location where = std::source_location::current()) {
  int device = 0;
  check(calls, calls.get_device(device), "cudaGetDevice", "", where);
  return device;
}

/// While it lives, the calling thread uses this device: memory is allocated there, and kernels are launched
/// into its streams.
class using_device {
 public:
  using_device(cuda_calls& calls, int device, std::source_location where = std::source_location::current())
      : calls_(calls), before_(device_of_thread(calls, where)), is_another_(before_ != device) {
    if (is_another_) check(calls, calls.set_device(device), "cudaSetDevice", "", where);
  }
  using_device(const using_device&) = delete;
  using_device& operator=(const using_device&) = delete;
  ~using_device() {
    if (is_another_) report_failure(calls_, calls_.set_device(before_), "cudaSetDevice");
  }

 private:
  cuda_calls& calls_;
  int before_;
  bool is_another_;
};

}  // namespace napkin::on_cuda
