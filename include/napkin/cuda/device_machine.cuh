// What a GPU's thread does for the bodies of kernels: attention_body.hpp's Machine.
#pragma once

#include <cstdint>

#include "napkin/core/dtype.hpp"

namespace napkin::on_cuda::detail {
namespace {

struct device_machine {
  __device__ __forceinline__ unsigned lane() const { return threadIdx.x % 32; }
  __device__ __forceinline__ unsigned warp() const { return threadIdx.x / 32; }
  __device__ __forceinline__ void sync() { __syncthreads(); }
  template <class R>
  __device__ __forceinline__ R from_lane(R x, unsigned lane) {
    return __shfl_sync(0xffffffffu, x, static_cast<int>(lane));
  }
  __device__ __forceinline__ bool any(bool x) { return __any_sync(0xffffffffu, x) != 0; }
  /// What follows from x is computed where it is wanted: kept from loop to loop, it would spill on sm_100.
  __device__ __forceinline__ void recompute([[maybe_unused]] unsigned& x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
    asm volatile("" : "+r"(x));
#endif
  }

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
  __device__ __forceinline__ float smaller(float x, float y) { return fminf(x, y); }
  __device__ __forceinline__ double larger(double x, double y) { return fmax(x, y); }
  __device__ __forceinline__ float fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
  __device__ __forceinline__ double fma(double a, double b, double c) { return __fma_rn(a, b, c); }
};

}  // namespace
}  // namespace napkin::on_cuda::detail
