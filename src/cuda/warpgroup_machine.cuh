// What a GPU's thread does for warpgroup_attention_body.hpp, beside device_machine.cuh. For sm_90a alone.
#pragma once

#include "napkin/cuda/device_machine.cuh"

namespace napkin::on_cuda::detail {
namespace {

// wgmma.m64n64k16's registers of the sums, as an instruction names them and as they are handed to it.
#define NAPKIN_SUMS                                                         \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}"
#define NAPKIN_SUMS_OF(how, c)                                                                          \
  how(c[0][0]), how(c[0][1]), how(c[0][2]), how(c[0][3]), how(c[1][0]), how(c[1][1]), how(c[1][2]),     \
      how(c[1][3]), how(c[2][0]), how(c[2][1]), how(c[2][2]), how(c[2][3]), how(c[3][0]), how(c[3][1]), \
      how(c[3][2]), how(c[3][3]), how(c[4][0]), how(c[4][1]), how(c[4][2]), how(c[4][3]), how(c[5][0]), \
      how(c[5][1]), how(c[5][2]), how(c[5][3]), how(c[6][0]), how(c[6][1]), how(c[6][2]), how(c[6][3]), \
      how(c[7][0]), how(c[7][1]), how(c[7][2]), how(c[7][3])

#define NAPKIN_MULTIPLY(how, adds, half, c, left, right)                                        \
  asm volatile("{ .reg .pred adds; setp.ne.b32 adds, " adds                                     \
               ", 0; wgmma.mma_async.sync.aligned.m64n64k16.f32." half "." half " " NAPKIN_SUMS \
               ", %32, %33, adds, 1, 1, 0, 0; }"                                                \
               : NAPKIN_SUMS_OF(how, c)                                                         \
               : "l"(left), "l"(right))
#define NAPKIN_ADD(half, c, a, right)                                                  \
  asm volatile(                                                                        \
      "{ .reg .pred adds; setp.ne.b32 adds, 1"                                         \
      ", 0; wgmma.mma_async.sync.aligned.m64n64k16.f32." half "." half " " NAPKIN_SUMS \
      ", {%32, %33, %34, %35}, %36, adds, 1, 1, 1; }"                                  \
      : NAPKIN_SUMS_OF("+f", c)                                                        \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(right))

struct warpgroup_machine : device_machine {
  __device__ __forceinline__ void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
  __device__ __forceinline__ void commit_products() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  }
  template <unsigned Left>
  __device__ __forceinline__ void wait_products() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Left) : "memory");
  }
  __device__ __forceinline__ void publish() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

  template <unsigned Rows, unsigned Columns>
  __device__ __forceinline__ void keep(float (&x)[Rows][Columns]) {
    for_each_of(x, [](float& y) { asm volatile("" : "+f"(y)::"memory"); });
  }
  template <unsigned Rows, unsigned Columns>
  __device__ __forceinline__ void keep(std::uint32_t (&x)[Rows][Columns]) {
    for_each_of(x, [](std::uint32_t& y) { asm volatile("" : "+r"(y)::"memory"); });
  }

  /// c = a b^T, or added to c: 64 rows and 64 rows of panels, of their columns those from 16 times `step`.
  template <dtype Type, bool Adds>
  __device__ __forceinline__ void multiply(float (*c)[4], const void* a, const void* b, unsigned step) {
    const std::uint64_t left = matrix_at(a, step * 32), right = matrix_at(b, step * 32);
    if constexpr (Type == dtype::bf16 && Adds)
      NAPKIN_MULTIPLY("+f", "1", "bf16", c, left, right);
    else if constexpr (Type == dtype::bf16)
      NAPKIN_MULTIPLY("=f", "0", "bf16", c, left, right);
    else if constexpr (Adds)
      NAPKIN_MULTIPLY("+f", "1", "f16", c, left, right);
    else
      NAPKIN_MULTIPLY("=f", "0", "f16", c, left, right);
  }
  /// c += a b: a as mma.m16n8k16 has it, a panel's rows from 16 times `step`.
  template <dtype Type>
  __device__ __forceinline__ void add(float (*c)[4], const std::uint32_t (&a)[4], const void* b,
                                      unsigned step) {
    const std::uint64_t right = matrix_at(b, step * 16 * 128);
    if constexpr (Type == dtype::bf16)
      NAPKIN_ADD("bf16", c, a, right);
    else
      NAPKIN_ADD("f16", c, a, right);
  }

 private:
  /// A matrix descriptor: rows of 128 bytes whose pieces of 16 are swizzled in groups of 8 rows, 1,024 bytes
  /// from one group to the next.
  __device__ __forceinline__ static std::uint64_t matrix_at(const void* panel, unsigned bytes) {
    constexpr std::uint32_t swizzled_128 = 1u << 30, group = 1024 / 16, unused = 1u << 16;
    std::uint64_t descriptor;
    asm("mov.b64 %0, {%1, %2};"
        : "=l"(descriptor)
        : "r"((address(panel) >> 4) + (unused + bytes / 16)), "r"(swizzled_128 | group));
    return descriptor;
  }
  template <class X, unsigned Rows, unsigned Columns, class F>
  __device__ __forceinline__ static void for_each_of(X (&x)[Rows][Columns], F&& f) {
#pragma unroll
    for (unsigned r = 0; r < Rows; ++r)
#pragma unroll
      for (unsigned i = 0; i < Columns; ++i) f(x[r][i]);
  }
};

#undef NAPKIN_ADD
#undef NAPKIN_MULTIPLY
#undef NAPKIN_SUMS
#undef NAPKIN_SUMS_OF

}  // namespace
}  // namespace napkin::on_cuda::detail
