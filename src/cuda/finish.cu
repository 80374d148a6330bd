// The kernels that stand beside products with epilogues.
#include "napkin/cuda/early_start.cuh"
#include "napkin/cuda/finish.hpp"

namespace napkin::on_cuda {
namespace {

constexpr unsigned threads = 256;

template <dtype Type, unsigned Width>
__global__ void __launch_bounds__(threads)
    finish_kernel(const __grid_constant__ finish_arguments k, std::uint64_t count) {
  wait_for_earlier_kernels();
  const std::uint64_t i = std::uint64_t{blockIdx.x} * threads + threadIdx.x;
  if (i < count) finish_elements<Type, Width>(k, i);
}

/// A block's lanes add up in order what each of them has.
template <dtype Type, unsigned Width, unsigned Lanes>
__global__ void __launch_bounds__(sum_columns* Lanes) sum_kernel(const __grid_constant__ sum_arguments k) {
  wait_for_earlier_kernels();
  __shared__ float of_lane[Lanes][Width][sum_columns];
  const unsigned column = threadIdx.x % sum_columns, lane = threadIdx.x / sum_columns;
  const std::uint64_t first = (std::uint64_t{blockIdx.x} * sum_columns + column) * Width;
  const bool has_sums = first < k.sums;
  float sums[Width] = {};
  if (has_sums) add_terms<Type, Width>(k, first, blockIdx.y, lane, Lanes, sums);
  for (unsigned e = 0; e < Width; ++e) of_lane[lane][e][column] = sums[e];
  __syncthreads();
  if (!has_sums || lane >= Width) return;
  float sum = 0;
  for (unsigned l = 0; l < Lanes; ++l) sum += of_lane[l][lane][column];
  put_sum(k, blockIdx.y, first + lane, sum);
}

template <dtype Type>
__global__ void __launch_bounds__(threads)
    round_kernel(const std::byte* from, std::byte* to, std::size_t size) {
  wait_for_earlier_kernels();
  const std::size_t i = std::size_t{blockIdx.x} * threads + threadIdx.x;
  const auto at = static_cast<std::int64_t>(i);
  if (i < size) put_element<Type>(to, at, element_at<dtype::f32>(from, at));
}

/// Below 2^31, the most of a grid: a result of 16-bit numbers in 2^31 blocks would have a terabyte.
unsigned blocks_for(std::uint64_t elements, unsigned each) {
  return static_cast<unsigned>((elements + each - 1) / each);
}

template <dtype Type, unsigned Width>
void launch_finish(const finish_arguments& k, stream_handle on) {
  const std::uint64_t count = k.elements() / Width;
  finish_kernel<Type, Width><<<blocks_for(count, threads), threads, 0, on>>>(k, count);
}

template <dtype Type, unsigned Width, unsigned Lanes>
void launch_sums(const sum_arguments& k, stream_handle on) {
  const dim3 blocks(blocks_for(k.sums, sum_columns * Width), static_cast<unsigned>(k.splits()));
  sum_kernel<Type, Width, Lanes><<<blocks, sum_columns * Lanes, 0, on>>>(k);
}

}  // namespace

void finish_product(const product& p, apart left, const finish_operands& at, stream_handle on) {
  const finish_arguments k(p, at);
  if (left == apart::all && k.changes_elements())
    for_epilogue_type(p.follows.type, [&]<dtype Type>(std::integral_constant<dtype, Type>) {
      constexpr unsigned most = most_adjacent(Type);
      k.may_move(most) ? launch_finish<Type, most>(k, on) : launch_finish<Type, 1>(k, on);
    });
  const sum_arguments s(p, at);
  if (s.sums == 0) return;
  const sum_dealing d(s, at.workspace, p.gemm.workspace);
  for_epilogue_type(s.from_type, [&]<dtype Type>(std::integral_constant<dtype, Type>) {
    constexpr unsigned most = most_adjacent(Type);
    d.width > 1 ? launch_sums<Type, most, sum_lanes>(d.parts, on)
                : launch_sums<Type, 1, sum_lanes>(d.parts, on);
  });
  if (d.join.sums > 0) launch_sums<dtype::f32, 1, join_lanes>(d.join, on);
}

void round_vector(dtype type, const std::byte* from, std::byte* to, std::size_t size, stream_handle on) {
  for_epilogue_type(type, [&]<dtype Type>(std::integral_constant<dtype, Type>) {
    round_kernel<Type><<<blocks_for(size, threads), threads, 0, on>>>(from, to, size);
  });
}

}  // namespace napkin::on_cuda
