// The kernel for contractions that no GEMM says.
#include <algorithm>

#include "napkin/core/error.hpp"
#include "napkin/cuda/contract.hpp"

namespace napkin::on_cuda {
namespace {

constexpr unsigned threads = 256;

template <dtype Type>
__global__ void __launch_bounds__(threads)
    contract_kernel(const __grid_constant__ loop_product l, const type_of<Type>* a, const type_of<Type>* b,
                    type_of<Type>* c) {
  const std::uint64_t first = (std::uint64_t{blockIdx.x} * threads + threadIdx.x) / l.lanes;
  const std::uint64_t step = std::uint64_t{gridDim.x} * threads / l.lanes;
  const unsigned lane = l.lanes == 1 ? 0 : threadIdx.x % 32;
  for (std::uint64_t i = first; i < l.results; i += step) {  // a warp's lanes take the same turns
    auto sum = sum_of_lane<Type>(l, i, lane, a, b);
    if (l.lanes == 32)
      for (unsigned half = 16; half > 0; half /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, half);
    if (lane == 0) store_result<Type>(l, i, c, sum);
  }
}

}  // namespace

void contract_by_loops(const product& p, const void* a, const void* b, void* c, stream_handle on) {
  const loop_product l = loops_of(p);
  if (l.results == 0) return;
  const std::uint64_t blocks = (l.results * l.lanes + threads - 1) / threads;
  const auto grid = static_cast<unsigned>(std::min<std::uint64_t>(blocks, 1 << 20));
  dispatch(p.type, [&]<class T>(std::type_identity<T>) {
    constexpr dtype type = dtype_of<T>;
    if constexpr (is_complex(type) || type == dtype::b8)
      throw error("a contraction has no sums in this dtype");
    else
      contract_kernel<type><<<grid, threads, 0, on>>>(l, static_cast<const T*>(a), static_cast<const T*>(b),
                                                      static_cast<T*>(c));
  });
}

}  // namespace napkin::on_cuda
