// The kernels of attention (attention_body.hpp, general_attention_body.hpp).
#include "napkin/cuda/device_machine.cuh"
#include "napkin/cuda/early_start.cuh"
#include "warpgroup_attention_launch.hpp"

namespace napkin::on_cuda {

namespace detail {
namespace {

/// Blocks of a multiprocessor that registers are dealt for. With one more, kernels for sm_100 spill some.
template <class Shape>
constexpr unsigned resident_blocks() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
  if (Shape::halves && Shape::resident > 2) return 2;
  if (Shape::masked && Shape::resident > 3) return 3;
#endif
  return Shape::resident;
}

template <dtype Type, unsigned Width, attention_kernel Kernel, attention_masking Masking>
__global__ void __launch_bounds__(attention_threads,
                                  (resident_blocks<attention_shape<Type, Width, Kernel, Masking>>()))
    attention(const __grid_constant__ attention_arguments a, unsigned blocks) {
  wait_for_earlier_kernels();
  extern __shared__ __align__(16) std::byte shared[];
  device_machine machine;
  attention_thread<device_machine, Type, Width, Kernel, Masking>(machine, a, shared)
      .run(blockIdx.x / blocks, blockIdx.x % blocks);
}

template <dtype Type, attention_kernel Kernel>
__global__ void __launch_bounds__(attention_threads, 2)
    general_attention(const __grid_constant__ attention_arguments a, unsigned blocks, unsigned pieces) {
  wait_for_earlier_kernels();
  __shared__ __align__(16) std::byte shared[general_attention_shape<Type>::shared_bytes];
  device_machine machine;
  const unsigned number = blockIdx.x % blocks;
  run_general_attention<device_machine, Type, Kernel>(machine, a, shared, blockIdx.x / blocks,
                                                      number / pieces, number % pieces);
}

#if NAPKIN_HAS_WARPGROUPS
bool has_warpgroups() {
  int device = 0, major = 0, minor = 0;
  return cudaGetDevice(&device) == cudaSuccess &&
         cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
         cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) == cudaSuccess &&
         major == 9 && minor == 0;
}
#endif

}  // namespace
}  // namespace detail

void attend(const planning::attention_record& record, const attention_addresses& at, CUstream_st* on) {
  const attention_arguments a = detail::attention_arguments_of(record, at);
  if (is_general(record))
    return detail::dispatch_general_attention(record, [&]<dtype Type, detail::attention_kernel Kernel>() {
      const detail::attention_grid grid = detail::general_attention_grid<Type, Kernel>(a);
      if (grid.heads == 0 || grid.blocks == 0) return;
      detail::general_attention<Type, Kernel><<<grid.size(), detail::attention_threads, 0, on>>>(
          a, grid.blocks, detail::general_attention_pieces<Kernel>(a));
    });
#if NAPKIN_HAS_WARPGROUPS
  if (detail::is_for_warpgroups(record, a) && detail::has_warpgroups())
    return detail::attend_by_warpgroups(record, a, on);
#endif
  detail::dispatch_attention(
      record,
      [&]<dtype Type, unsigned Width, detail::attention_kernel Kernel, detail::attention_masking Masking>() {
        using shape = detail::attention_shape<Type, Width, Kernel, Masking>;
        const detail::attention_grid grid = detail::attention_grid_of<shape>(a);
        if (grid.heads == 0 || grid.blocks == 0) return;
        const auto kernel = &detail::attention<Type, Width, Kernel, Masking>;
        constexpr unsigned bytes = shape::shared_bytes;
        if constexpr (bytes >
                      48 * 1024)  // more than a launch is given unasked; if that fails, the launch does
          cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
        kernel<<<grid.size(), detail::attention_threads, bytes, on>>>(a, grid.blocks);
      });
}

}  // namespace napkin::on_cuda
