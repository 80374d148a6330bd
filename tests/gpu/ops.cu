// The kernels of op_graphs.hpp, as nvcc compiles them; ops.cpp runs them.
#include "napkin/cuda/launch.cuh"
#include "napkin/cuda/plan.hpp"
#include "support/device_kernels.hpp"
#include "support/op_graphs.hpp"

namespace napkin::testing {

std::vector<const on_cuda::kernel_entry*> op_kernels() {
  std::vector<const on_cuda::kernel_entry*> all;
  for_each_op_graph_of_gpus([&]<class Make>(std::type_identity<Make>) {
    all.push_back(on_cuda::kernels_of<on_cuda::frozen_plan<Make>>.data());
  });
  return all;
}

}  // namespace napkin::testing
