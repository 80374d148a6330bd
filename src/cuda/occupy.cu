// The kernel that keeps a device while the host launches what is timed.
#include "napkin/cuda/early_start.cuh"
#include "napkin/cuda/time_in_turns.hpp"

namespace napkin::on_cuda {
namespace {

__global__ void occupying_kernel(unsigned long long nanoseconds) {
  wait_for_earlier_kernels();
  const auto now = [] {
    unsigned long long t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
  };
  const unsigned long long begin = now();
  while (now() - begin < nanoseconds) __nanosleep(200);
}

}  // namespace

void occupy(unsigned microseconds, stream_handle on) {
  occupying_kernel<<<1, 1, 0, on>>>(1000ull * microseconds);
}

}  // namespace napkin::on_cuda
