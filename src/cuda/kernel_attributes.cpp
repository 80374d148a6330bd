// Shared memory beyond what a launch is given unasked.
#include "napkin/cuda/launch.hpp"

#if NAPKIN_HAS_CUDA
#include <cuda_runtime_api.h>

namespace napkin::on_cuda {

bool take_room(const void* kernel, std::size_t bytes, std::size_t blocks) {
  constexpr std::size_t of_system = 1024;  // of each block
  int device = 0, all = 0;
  return cudaGetDevice(&device) == cudaSuccess &&
         cudaDeviceGetAttribute(&all, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device) == cudaSuccess &&
         blocks * (bytes + of_system) <= static_cast<std::size_t>(all) &&
         cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)) ==
             cudaSuccess;
}

}  // namespace napkin::on_cuda

#endif
