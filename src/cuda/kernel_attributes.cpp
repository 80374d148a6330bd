// What is asked of a kernel before it is launched: room beyond what a launch is given unasked, and what it was compiled
// for.
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

bool waits_for_earlier(const void* kernel) {
  cudaFuncAttributes of{};
  return cudaFuncGetAttributes(&of, kernel) == cudaSuccess && of.ptxVersion >= 90;
}

}  // namespace napkin::on_cuda

#endif
