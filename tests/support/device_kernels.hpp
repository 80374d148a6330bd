// What tests/gpu/kernels.cu gives to the tests that g++ compiles.
#pragma once

#include <vector>

#include "napkin/cuda/launch.hpp"

namespace napkin::testing {

/// The kernels of each graph of for_each_device_graph, in its order.
std::vector<const on_cuda::kernel_entry*> device_kernels();

/// Of each graph of for_each_op_graph_of_gpus.
std::vector<const on_cuda::kernel_entry*> op_kernels();

}  // namespace napkin::testing
