// A device on the host: what nvcc compiles elsewhere, run by fake_cuda when its streams come to it; products
// are fake_blas's. Kernels are in host_kernels.hpp. A program that includes this links tests/device_on_host's
// movements.cpp and loops.cpp, which take the place of what the library launches.
#pragma once

#include <utility>

#include "support/fake_blas.hpp"
#include "support/fake_cuda.hpp"

namespace napkin::testing {

/// The fake that launches go to: of the innermost host_device.
inline fake_cuda* launched_on = nullptr;

struct host_device {
  fake_cuda cuda;
  fake_blas blas{cuda};
  fake_cuda* before = std::exchange(launched_on, &cuda);

  host_device() { blas.algorithms.resize(1); }  // several are timed, each by loops on the host
  host_device(const host_device&) = delete;
  host_device& operator=(const host_device&) = delete;
  ~host_device() { launched_on = before; }
};

}  // namespace napkin::testing
