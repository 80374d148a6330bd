// The kernels of op_graphs.hpp, as nvcc compiles them; ops.cpp runs them.
#include "napkin/cuda/launch.cuh"
#include "napkin/cuda/plan.hpp"
#include "support/device_kernels.hpp"
#include "support/op_graphs.hpp"

namespace napkin::testing {

std::vector<compiled_plan> op_plans() {
  std::vector<compiled_plan> all;
  for_each_op_graph_of_gpus([&]<class Make>(std::type_identity<Make>) {
    using plan = on_cuda::frozen_plan<Make>;
    all.push_back({plan::view(), plan::graph(), on_cuda::kernels_of<plan>.data()});
  });
  return all;
}

}  // namespace napkin::testing
