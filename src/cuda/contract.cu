// The kernels for contractions that no GEMM says: in tiles (tile_product_body.hpp), or, where a tile would be
// all but empty, by loops (cuda/loop_product.hpp).
#include <algorithm>

#include "napkin/core/error.hpp"
#include "napkin/cuda/contract.hpp"
#include "napkin/cuda/device_machine.cuh"
#include "napkin/cuda/early_start.cuh"
#include "napkin/cuda/loop_product.hpp"
#include "tile_product_launch.hpp"

namespace napkin::on_cuda {

namespace detail {
namespace {

template <dtype Type, bool Narrow>
__global__ void __launch_bounds__(product_tile_of(Type, Narrow).threads, 2)
    tile_kernel(const __grid_constant__ tile_arguments k) {
  wait_for_earlier_kernels();
  using memory = product_memory<Type, Narrow>;
  __shared__ __align__(16) std::byte shared[sizeof(memory)];
  device_machine machine;
  tile_thread<device_machine, Type, Narrow>(machine, k, *reinterpret_cast<memory*>(shared)).run(blockIdx.x);
}

constexpr unsigned threads = 256;

template <dtype Type>
__global__ void __launch_bounds__(threads) split_kernel(const __grid_constant__ tile_arguments k) {
  wait_for_earlier_kernels();
  const std::uint64_t i = std::uint64_t{blockIdx.x} * threads + threadIdx.x;
  if (i < k.how.results()) add_splits<Type>(k, i);
}

template <dtype Type>
__global__ void __launch_bounds__(threads)
    loop_kernel(const __grid_constant__ loop_product l, const type_of<Type>* a, const type_of<Type>* b,
                type_of<Type>* c) {
  wait_for_earlier_kernels();
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

void contract_by_loops(const product& p, const void* a, const void* b, void* c, stream_handle on) {
  const loop_product l = loops_of(p);
  if (l.results == 0) return;
  const std::uint64_t blocks = (l.results * l.lanes + threads - 1) / threads;
  const auto grid = static_cast<unsigned>(std::min<std::uint64_t>(blocks, 1 << 20));
  dispatch_tiles(p.type, false, [&]<dtype Type, bool>() {
    using T = type_of<Type>;
    loop_kernel<Type>
        <<<grid, threads, 0, on>>>(l, static_cast<const T*>(a), static_cast<const T*>(b), static_cast<T*>(c));
  });
}

}  // namespace
}  // namespace detail

void contract(const product& p, const void* a, const void* b, void* c, void* workspace, stream_handle on) {
  if (!takes_tiles(p.loops)) return detail::contract_by_loops(p, a, b, c, on);
  const detail::tile_arguments k = detail::tile_arguments_of(p, a, b, c, workspace);
  // below 2^31, the most of a grid: a block has 64 results at least
  const auto blocks = static_cast<unsigned>(k.how.blocks());
  detail::dispatch_tiles(p.type, k.how.narrow, [&]<dtype Type, bool Narrow>() {
    detail::tile_kernel<Type, Narrow><<<blocks, product_tile_of(Type, Narrow).threads, 0, on>>>(k);
    if (k.how.splits == 1) return;
    const std::uint64_t all = k.how.results();
    detail::split_kernel<Type>
        <<<static_cast<unsigned>((all + detail::threads - 1) / detail::threads), detail::threads, 0, on>>>(k);
  });
}

}  // namespace napkin::on_cuda
