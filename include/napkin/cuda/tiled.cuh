// Kernels in tiles as nvcc compiles them: the threads of a block side by side.
#pragma once

#include "napkin/cuda/early_start.cuh"
#include "napkin/cuda/tiled.hpp"

namespace napkin::on_cuda {

template <class Program, class Geometry, class Tile>
__global__ void __launch_bounds__(tile_threads)
    tiled_kernel(const __grid_constant__ typename fused<Program, Geometry>::arguments k) {
  wait_for_earlier_kernels();
  using kernel = tiled<Program, Geometry, Tile>;
  __shared__ __align__(16) std::byte room[kernel::shared_bytes];
  typename kernel::thread t{k, room, blockIdx.x, threadIdx.x};
  t.fetch();
  __syncthreads();
  t.run();
}

}  // namespace napkin::on_cuda
