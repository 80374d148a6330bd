// The kernel that writes where the matrices of a batch lie; the one that is asked what the library's kernels were
// compiled for.
#include "napkin/cuda/batch_addresses.hpp"
#include "napkin/cuda/early_start.cuh"
#include "napkin/cuda/launch.hpp"

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

bool library_waits_for_earlier() { return waits_for_earlier(reinterpret_cast<const void*>(&address_kernel)); }

}  // namespace napkin::on_cuda
