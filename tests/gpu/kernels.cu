// The kernels of the graphs that the device runs, as nvcc compiles them; plan.cpp runs them.
#include "napkin/cuda/launch.cuh"
#include "napkin/cuda/plan.hpp"
#include "support/device_graphs.hpp"
#include "support/device_kernels.hpp"

namespace napkin::testing {

std::vector<const on_cuda::kernel_entry*> device_kernels() {
  std::vector<const on_cuda::kernel_entry*> all;
  for_each_device_graph([&]<class Make>(std::type_identity<Make>, double) {
    all.push_back(on_cuda::kernels_of<on_cuda::frozen_plan<Make>>.data());
  });
  return all;
}

}  // namespace napkin::testing
