// The kernels that follow the scales of a step in 8-bit floats.
#include "napkin/core/inplace_vector.hpp"
#include "napkin/cuda/early_start.cuh"
#include "napkin/cuda/scales.hpp"

namespace napkin::on_cuda {
namespace {

constexpr unsigned threads = 256;      // a tensor each
constexpr unsigned row_threads = 512;  // of one tensor
constexpr unsigned loads = 4;          // in flight, of a thread

/// Some of the tensors, as an argument: so many as the 4 KB that every device takes have room for.
struct some_tensors {
  std::size_t first = 0;  // among all
  inplace_vector<seen_rows, 250> seen;
};
static_assert(sizeof(scale_memory) + sizeof(some_tensors) <= 4096);

unsigned blocks_of(const scale_memory& of) {
  return static_cast<unsigned>((of.tensors + threads - 1) / threads);
}

__global__ void __launch_bounds__(threads)
    set_kernel(const __grid_constant__ scale_memory of, const scale_settings* by) {
  wait_for_earlier_kernels();
  const unsigned i = blockIdx.x * threads + threadIdx.x;
  if (i >= of.tensors) return;
  of.set(i, by->margin);
  of.forget(i);
}

/// A block for each tensor. The largest is the same in whatever order numbers are compared.
__global__ void __launch_bounds__(row_threads)
    add_kernel(const __grid_constant__ scale_memory of, const __grid_constant__ some_tensors some) {
  wait_for_earlier_kernels();
  const seen_rows& t = some.seen.items[blockIdx.x];
  float most = 0;
  std::size_t at = threadIdx.x;
  for (; at + (loads - 1) * row_threads < t.count; at += loads * row_threads) {
    float x[loads];
#pragma unroll
    for (unsigned k = 0; k < loads; ++k) x[k] = t.rows[at + k * row_threads];
#pragma unroll
    for (unsigned k = 0; k < loads; ++k) most = scale_memory::larger(most, x[k]);
  }
  for (; at < t.count; at += row_threads) most = scale_memory::larger(most, t.rows[at]);

  constexpr unsigned warps = row_threads / 32, all = 0xffffffff;
  __shared__ float of_warps[warps];
  for (int half = 16; half > 0; half /= 2)
    most = scale_memory::larger(most, __shfl_xor_sync(all, most, half));
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = most;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (unsigned w = 1; w < warps; ++w) most = scale_memory::larger(most, of_warps[w]);
  of.add(some.first + blockIdx.x, most);
}

__global__ void __launch_bounds__(threads)
    keep_kernel(const __grid_constant__ scale_memory of, const scale_settings* by, const b8* applied) {
  wait_for_earlier_kernels();
  const unsigned i = blockIdx.x * threads + threadIdx.x;
  if (i < of.tensors && static_cast<bool>(*applied)) of.keep(i, by->step);
}

}  // namespace

void set_scales(const scale_memory& of, const scale_settings* by, stream_handle on) {
  set_kernel<<<blocks_of(of), threads, 0, on>>>(of, by);
}

void add_seen(const scale_memory& of, std::span<const seen_rows> seen, stream_handle on) {
  for (std::size_t i = 0; i < seen.size();) {
    some_tensors some;
    for (some.first = i; i < seen.size() && some.seen.size() < some.seen.capacity(); ++i)
      some.seen.push_back(seen[i]);
    add_kernel<<<static_cast<unsigned>(some.seen.size()), row_threads, 0, on>>>(of, some);
  }
}

void keep_seen(const scale_memory& of, const scale_settings* by, const b8* applied, stream_handle on) {
  keep_kernel<<<blocks_of(of), threads, 0, on>>>(of, by, applied);
}

}  // namespace napkin::on_cuda
