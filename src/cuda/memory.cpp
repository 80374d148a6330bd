// Allocations of the device and of pinned host memory.
#include "napkin/cuda/memory.hpp"

#include <string>

namespace napkin::on_cuda {
namespace {

std::string of_bytes(std::size_t bytes) { return "of " + std::to_string(bytes) + " bytes"; }

}  // namespace

device_memory::device_memory(cuda_calls& calls, std::size_t bytes, std::source_location where)
    : bytes_(bytes) {
  if (bytes == 0) return;
  void* memory = nullptr;
  const int result = calls.malloc(memory, bytes);
  if (result != 0) check(calls, result, "cudaMalloc", of_bytes(bytes), where);
  memory_ = {calls, memory};
}

pinned_memory::pinned_memory(cuda_calls& calls, std::size_t bytes, std::source_location where)
    : bytes_(bytes) {
  if (bytes == 0) return;
  void* memory = nullptr;
  const int result = calls.malloc_host(memory, bytes);
  if (result != 0) check(calls, result, "cudaMallocHost", of_bytes(bytes), where);
  memory_ = {calls, memory};
}

}  // namespace napkin::on_cuda
