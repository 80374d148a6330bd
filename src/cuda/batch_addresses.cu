// The kernel that writes where the matrices of a batch lie.
#include "napkin/cuda/batch_addresses.hpp"
#include "napkin/cuda/early_start.cuh"

namespace napkin::on_cuda {
namespace {

constexpr unsigned threads = 128;

__global__ void __launch_bounds__(threads) address_kernel(const __grid_constant__ batch_addresses x) {
  wait_for_earlier_kernels();
  const std::uint64_t i = std::uint64_t{blockIdx.x} * threads + threadIdx.x;
  if (i < x.size()) x.to[i] = x.address(i);
}

}  // namespace

void write_addresses(const batch_addresses& x, stream_handle on) {
  address_kernel<<<static_cast<unsigned>((x.size() + threads - 1) / threads), threads, 0, on>>>(x);
}

}  // namespace napkin::on_cuda
