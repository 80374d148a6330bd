// The kernels of products of few numbers.
#include "napkin/cuda/device_machine.cuh"
#include "napkin/cuda/early_start.cuh"
#include "napkin/cuda/small_product_body.hpp"

namespace napkin::on_cuda {

namespace detail {
namespace {

template <dtype Type, bool AAlongRows, bool BAlongColumns, bool AtOnce>
__global__ void __launch_bounds__(small_memory::warps * 32)
    small_kernel(const __grid_constant__ small_product k, const __grid_constant__ small_dealing d) {
  wait_for_earlier_kernels();
  __shared__ small_memory shared;
  device_machine machine;
  small_thread<device_machine, Type, AAlongRows, BAlongColumns, AtOnce>(machine, k, d, shared)
      .run(blockIdx.x);
}

}  // namespace
}  // namespace detail

void multiply_small(const small_product& p, stream_handle on) {
  const detail::small_dealing d(p);
  const auto blocks = static_cast<unsigned>(p.blocks());  // of 2^28 multiplications at most
  detail::dispatch_small(p, [&]<dtype Type, bool AAlongRows, bool BAlongColumns, bool AtOnce>() {
    detail::small_kernel<Type, AAlongRows, BAlongColumns, AtOnce><<<blocks, d.warps * 32, 0, on>>>(p, d);
  });
}

}  // namespace napkin::on_cuda
