// The kernels of movements and their launches; CUB's sort.
#include <cub/device/device_radix_sort.cuh>

#include "movement_launch.hpp"
#include "napkin/cuda/early_start.cuh"
#include "napkin/cuda/error.hpp"

namespace napkin::on_cuda {

namespace detail {

namespace {

template <class Count>
__device__ Count thread_number() {
  return static_cast<Count>(blockIdx.x) * movement_threads + threadIdx.x;
}

template <unsigned Bytes, class Offset>
__global__ void __launch_bounds__(movement_threads) copy(const __grid_constant__ copy_arguments<Offset> a) {
  wait_for_earlier_kernels();
  copy_units<Bytes>(a, thread_number<count_of<Offset>>());
}
template <unsigned Bytes, class Offset>
__global__ void __launch_bounds__(movement_threads) pad(const __grid_constant__ pad_arguments<Offset> a) {
  wait_for_earlier_kernels();
  pad_units<Bytes>(a, thread_number<count_of<Offset>>());
}
template <unsigned Bytes, class Offset>
__global__ void __launch_bounds__(movement_threads)
    gather(const __grid_constant__ gather_arguments<Offset> a) {
  wait_for_earlier_kernels();
  gather_units<Bytes>(a, thread_number<count_of<Offset>>());
}
template <class Offset>
__global__ void __launch_bounds__(movement_threads)
    write_keys(const __grid_constant__ key_arguments<Offset> a) {
  wait_for_earlier_kernels();
  write_key(a, thread_number<count_of<Offset>>());
}
template <dtype Type, unsigned Vector, class Offset>
__global__ void __launch_bounds__(movement_threads,
                                  2)  // of ptxas's own choice some spill to stay at 64 registers
    sum_pieces(const __grid_constant__ sum_arguments<Offset> a) {
  wait_for_earlier_kernels();
  sum_piece<Type, Vector>(a, thread_number<count_of<Offset>>());
}
/// What the block's threads add up together goes to the result.
template <class Block>
__device__ void run_block(const Block& block) {
  __shared__ __align__(16) typename Block::sum shared[movement_threads * Block::place::vector];
  block.add(shared, threadIdx.x);
  __syncthreads();
  block.write(shared, threadIdx.x);
}
template <dtype Type, unsigned Vector, class Offset>
__global__ void __launch_bounds__(movement_threads)
    join_segments(const __grid_constant__ sum_arguments<Offset> a) {
  wait_for_earlier_kernels();
  __shared__ std::uint32_t key;
  joined_pieces<Type, Vector, Offset> block(a, blockIdx.x);
  if (threadIdx.x == 0) key = block.find();
  __syncthreads();
  block.key = key;
  if (key != block.none) run_block(block);
}
template <dtype Type, unsigned Vector>
__global__ void __launch_bounds__(movement_threads)
    look_for_values(const __grid_constant__ look_arguments a) {
  wait_for_earlier_kernels();
  run_block(looked_for<Type, Vector>(a, blockIdx.x));
}

unsigned grid_of(std::size_t blocks) {
  if (blocks >> 31 != 0) throw error("a movement of this size has more blocks than a GPU launches");
  return static_cast<unsigned>(blocks);
}
unsigned blocks_for(std::size_t threads) {
  return grid_of((threads + movement_threads - 1) / movement_threads);
}

struct sort_buffers {
  cub::DoubleBuffer<std::uint32_t> keys, positions;
};
template <class Offset>
sort_buffers buffers_of(const scatter_arguments<Offset>& s) {
  const auto at = [&s](std::size_t offset) { return reinterpret_cast<std::uint32_t*>(s.workspace + offset); };
  return {{at(s.layout.keys[0]), at(s.layout.keys[1])},
          {at(s.layout.positions[0]), at(s.layout.positions[1])}};
}
/// Stable. `memory` null: how many bytes there.
void sort(const scatter_layout& layout, sort_buffers& b, void* memory, std::size_t& bytes,
          cudaStream_t stream) {
  const cudaError_t result =
      cub::DeviceRadixSort::SortPairs(memory, bytes, b.keys, b.positions, static_cast<int>(layout.picks), 0,
                                      static_cast<int>(layout.bits), stream);
  check(cuda_runtime(), result, "cub::DeviceRadixSort::SortPairs", "of scatter_add",
        std::source_location::current());
}

struct launcher {
  cudaStream_t stream;
  unsigned unit;

  void operator()(std::monostate) const {}
  template <class Offset>
  void operator()(const copy_arguments<Offset>& a) const {
    dispatch_unit(unit, [&]<unsigned Bytes>() {
      copy<Bytes, Offset><<<blocks_for(threads_for_units(a.count)), movement_threads, 0, stream>>>(a);
    });
  }
  template <class Offset>
  void operator()(const pad_arguments<Offset>& a) const {
    dispatch_unit(unit, [&]<unsigned Bytes>() {
      pad<Bytes, Offset><<<blocks_for(threads_for_units(a.count)), movement_threads, 0, stream>>>(a);
    });
  }
  template <class Offset>
  void operator()(const gather_arguments<Offset>& a) const {
    dispatch_unit(unit, [&]<unsigned Bytes>() {
      gather<Bytes, Offset><<<blocks_for(threads_for_units(a.count)), movement_threads, 0, stream>>>(a);
    });
  }
  template <class Offset>
  void operator()(const key_arguments<Offset>& a) const {
    write_keys<Offset><<<blocks_for(a.count), movement_threads, 0, stream>>>(a);
  }
  template <class Offset>
  void operator()(const scatter_arguments<Offset>& s) const {
    launcher{stream, s.zero_unit}(s.zeros);
    if (s.layout.picks == 0) return;
    (*this)(s.keys);
    sort_buffers b = buffers_of(s);
    std::size_t bytes = s.layout.sort_bytes;
    sort(s.layout, b, s.workspace + s.layout.sort, bytes, stream);
    sum_arguments<Offset> a = s.sums;
    a.keys = b.keys.Current();
    a.positions = b.positions.Current();
    const unsigned blocks = blocks_for(std::size_t{a.pieces} * a.outer_count * a.columns);
    dispatch_sum<Offset>(s.type, s.vector, [&]<dtype Type, unsigned Vector>() {
      using joined = joined_pieces<Type, Vector, Offset>;
      sum_pieces<Type, Vector, Offset><<<blocks, movement_threads, 0, stream>>>(a);
      if (a.pieces == 1) return;
      const unsigned joins = grid_of(std::size_t{a.pieces} * joined::blocks_of_piece(a));
      join_segments<Type, Vector, Offset><<<joins, movement_threads, 0, stream>>>(a);
    });
  }
  void operator()(const look_arguments& s) const {
    const unsigned blocks = blocks_for(s.threads());
    dispatch_look(s.type, s.vector, [&]<dtype Type, unsigned Vector>() {
      look_for_values<Type, Vector><<<blocks, movement_threads, 0, stream>>>(s);
    });
  }
};

/// What the workspace was planned with must be enough for this CUB.
struct sort_check {
  template <class Arguments>
  void operator()(const Arguments&) const {}
  template <class Offset>
  void operator()(const scatter_arguments<Offset>& s) const {
    if (s.layout.picks == 0) return;
    sort_buffers b = buffers_of(s);
    std::size_t bytes = 0;
    sort(s.layout, b, nullptr, bytes, nullptr);
    if (bytes > s.layout.sort_bytes)
      throw error("scatter_add: CUB's sort of " + std::to_string(s.layout.picks) + " pairs wants " +
                  std::to_string(bytes) + " bytes, more than the " + std::to_string(s.layout.sort_bytes) +
                  " that were planned: correct sort_bytes_of in cuda/movement.hpp for this version of CUB");
  }
};

}  // namespace

}  // namespace detail

movement_call::movement_call(const planning::movement_record& record, const movement_addresses& at)
    : launch_(std::make_shared<const detail::movement_launch>(detail::launch_of(record, at))) {
  std::visit(detail::sort_check{}, launch_->how);
}

void movement_call::run(CUstream_st* stream) const {
  std::visit(detail::launcher{stream, launch_->unit}, launch_->how);
}

}  // namespace napkin::on_cuda
