// The kernels of attention by warpgroups (warpgroup_attention_body.hpp). Compiled for sm_90a alone: wgmma is of
// compute capability 9.0 and of no other.
#include "napkin/cuda/early_start.cuh"
#include "warpgroup_attention_launch.hpp"
#include "warpgroup_machine.cuh"

namespace napkin::on_cuda::detail {
namespace {

template <dtype Type, unsigned Width, attention_kernel Kernel>
__global__ void __launch_bounds__((warpgroup_attention_shape<Type, Width, Kernel>::threads),
                                  (warpgroup_attention_shape<Type, Width, Kernel>::resident))
    attention_by_warpgroups(const __grid_constant__ attention_arguments a, unsigned blocks) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  wait_for_earlier_kernels();
  extern __shared__ __align__(1024) std::byte shared_by_warpgroups[];
  warpgroup_machine machine;
  warpgroup_attention_thread<warpgroup_machine, Type, Width, Kernel>(machine, a, shared_by_warpgroups)
      .run(blockIdx.x / blocks, blockIdx.x % blocks);
#endif
}

}  // namespace

void attend_by_warpgroups(const planning::attention_record& record, const attention_arguments& a,
                          CUstream_st* on) {
  dispatch_warpgroup_attention(record, [&]<dtype Type, unsigned Width, attention_kernel Kernel>() {
    using shape = warpgroup_attention_shape<Type, Width, Kernel>;
    const attention_grid grid = attention_grid_of<shape>(a);
    if (grid.heads == 0 || grid.blocks == 0) return;
    const auto kernel = &attention_by_warpgroups<Type, Width, Kernel>;
    constexpr unsigned bytes = shape::shared_bytes;
    // more than a launch is given unasked; if that fails, the launch does
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
    kernel<<<grid.size(), shape::threads, bytes, on>>>(a, grid.blocks);
  });
}

}  // namespace napkin::on_cuda::detail
