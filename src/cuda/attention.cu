// The kernels of attention, and what a GPU's thread does for them (attention_body.hpp).
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "attention_launch.hpp"

namespace napkin::on_cuda {

namespace detail {
namespace {

struct device_machine {
  __device__ __forceinline__ unsigned lane() const { return threadIdx.x % 32; }
  __device__ __forceinline__ unsigned warp() const { return threadIdx.x / 32; }
  __device__ __forceinline__ void sync() { __syncthreads(); }
  __device__ __forceinline__ float from_lane(float x, unsigned lane) {
    return __shfl_sync(0xffffffffu, x, static_cast<int>(lane));
  }
  __device__ __forceinline__ bool any(bool x) { return __any_sync(0xffffffffu, x) != 0; }

  __device__ __forceinline__ static unsigned address(const void* shared) {
    return static_cast<unsigned>(__cvta_generic_to_shared(shared));
  }
  __device__ __forceinline__ void copy_async(void* to, const void* from, bool there) {
    const unsigned bytes = there ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address(to)), "l"(from), "r"(bytes)
                 : "memory");
  }
  __device__ __forceinline__ void wait_async() { asm volatile("cp.async.wait_all;" ::: "memory"); }

  template <bool Turned>
  __device__ __forceinline__ void load_matrices(std::uint32_t (&x)[4], const void* row) {
    if constexpr (Turned)
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                   : "r"(address(row))
                   : "memory");
    else
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                   : "r"(address(row))
                   : "memory");
  }
  template <dtype Type>
  __device__ __forceinline__ void multiply(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                           std::uint32_t b1) {
    if constexpr (Type == dtype::bf16)
      asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
          "{%8, %9}, {%0, %1, %2, %3};"
          : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    else
      asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
          "{%8, %9}, {%0, %1, %2, %3};"
          : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
  template <dtype Type>
  __device__ __forceinline__ std::uint32_t pack(float low, float high) {
    std::uint32_t both;
    if constexpr (Type == dtype::bf16)
      asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    else
      asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
  }

  /// Fast: off by 2 units in the last place of f32, which halves do not show.
  template <bool Fast>
  __device__ __forceinline__ float exp2(float x) {
    if constexpr (Fast) {
      float y;
      asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
      return y;
    } else {
      return exp2f(x);
    }
  }
  __device__ __forceinline__ float log2(float x) { return log2f(x); }
  __device__ __forceinline__ float larger(float x, float y) { return fmaxf(x, y); }
  __device__ __forceinline__ float fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
};

/// Blocks of a multiprocessor that registers are dealt for. With three, kernels for sm_100 spill some.
template <class Shape>
constexpr unsigned resident_blocks() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
  if (Shape::halves && Shape::resident > 2) return 2;
#endif
  return Shape::resident;
}

template <dtype Type, unsigned Width, attention_kernel Kernel, attention_masking Masking>
__global__ void __launch_bounds__(attention_threads,
                                  (resident_blocks<attention_shape<Type, Width, Kernel, Masking>>()))
    attention(const __grid_constant__ attention_arguments a) {
  extern __shared__ __align__(16) std::byte shared[];
  device_machine machine;
  attention_thread<device_machine, Type, Width, Kernel, Masking>(machine, a, shared)
      .run(blockIdx.x, blockIdx.y);
}

}  // namespace
}  // namespace detail

void attend(const planning::attention_record& record, const attention_addresses& at, CUstream_st* on) {
  const attention_arguments a = detail::attention_arguments_of(record, at);
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
        kernel<<<dim3(grid.heads, grid.blocks), detail::attention_threads, bytes, on>>>(a);
      });
}

}  // namespace napkin::on_cuda
