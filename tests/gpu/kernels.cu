// The kernels of the graphs that the device runs, as nvcc compiles them; plan.cpp runs them.
#include "napkin/cuda/launch.cuh"
#include "napkin/cuda/plan.hpp"
#include "support/device_graphs.hpp"
#include "support/device_kernels.hpp"

namespace napkin::testing {

std::vector<compiled_plan> device_plans() {
  std::vector<compiled_plan> all;
  for_each_device_graph([&]<class Make>(std::type_identity<Make>, double) {
    using plan = on_cuda::frozen_plan<Make>;
    all.push_back({plan::view(), plan::graph(), on_cuda::kernels_of<plan>.data()});
  });
  return all;
}

}  // namespace napkin::testing
