// What tests/gpu/kernels.cu gives to the tests that g++ compiles.
#pragma once

#include <vector>

#include "napkin/cuda/launch.hpp"
#include "napkin/cuda/plan.hpp"

namespace napkin::testing {

/// A plan with the graph that it is of and its kernels. Whoever has it need not make it again.
struct compiled_plan {
  on_cuda::plan_view plan;
  graph_view lowered;
  const on_cuda::kernel_entry* kernels = nullptr;
};

/// Of each graph of for_each_device_graph, in its order.
std::vector<compiled_plan> device_plans();

/// Of each graph of for_each_op_graph_of_gpus.
std::vector<compiled_plan> op_plans();

}  // namespace napkin::testing
