// The kernels that stand beside products with epilogues.
#include "napkin/cuda/finish.hpp"

namespace napkin::on_cuda {
namespace {

constexpr unsigned threads = 256;
constexpr unsigned sum_rows = 32,
                   sum_lanes = 8;  // of a block: rows whose sums it makes, lanes that share one

template <dtype Type>
__global__ void __launch_bounds__(threads) finish_kernel(const __grid_constant__ finish_arguments k) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * threads + threadIdx.x;
  if (i < k.elements()) finish_element<Type>(k, i);
}

template <dtype Type, dtype Sum>
__global__ void __launch_bounds__(sum_rows* sum_lanes) sum_kernel(const __grid_constant__ sum_arguments k) {
  __shared__ float sums[sum_lanes][sum_rows];
  const unsigned row = threadIdx.x % sum_rows, lane = threadIdx.x / sum_rows;
  const std::uint64_t i = std::uint64_t{blockIdx.x} * sum_rows + row;
  sums[lane][row] = i < k.sums ? sum_of_lane<Type>(k, i, lane, sum_lanes) : 0;
  __syncthreads();
  if (lane > 0 || i >= k.sums) return;
  float sum = 0;
  for (unsigned l = 0; l < sum_lanes; ++l) sum += sums[l][row];
  put_element<Sum>(k.to, static_cast<std::int64_t>(i), sum);
}

template <dtype Type>
__global__ void __launch_bounds__(threads)
    round_kernel(const std::byte* from, std::byte* to, std::size_t size) {
  const std::size_t i = std::size_t{blockIdx.x} * threads + threadIdx.x;
  const auto at = static_cast<std::int64_t>(i);
  if (i < size) put_element<Type>(to, at, element_at<dtype::f32>(from, at));
}

/// Below 2^31, the most of a grid: a result of 16-bit numbers in 2^31 blocks would have a terabyte.
unsigned blocks_for(std::uint64_t elements, unsigned each) {
  return static_cast<unsigned>((elements + each - 1) / each);
}

}  // namespace

void finish_product(const product& p, const std::byte* a, const std::byte* b, std::byte* result,
                    std::byte* vector, std::byte* auxiliary, stream_handle on) {
  const finish_arguments k(p, result, vector, auxiliary);
  const sum_arguments s(p, a, b, result, vector);
  for_epilogue_type(p.follows.type, [&]<dtype Type>(std::integral_constant<dtype, Type>) {
    if (p.follows.then != passes::activation::none || k.adds_vector)
      finish_kernel<Type><<<blocks_for(k.elements(), threads), threads, 0, on>>>(k);
    const unsigned blocks = blocks_for(s.sums, sum_rows);
    if (blocks > 0 && s.from_type == Type)
      sum_kernel<Type, Type><<<blocks, sum_rows * sum_lanes, 0, on>>>(s);
    else if (blocks > 0 && s.from_type == dtype::f16)  // products widen to f32 alone
      sum_kernel<dtype::f16, dtype::f32><<<blocks, sum_rows * sum_lanes, 0, on>>>(s);
    else if (blocks > 0)
      sum_kernel<dtype::bf16, dtype::f32><<<blocks, sum_rows * sum_lanes, 0, on>>>(s);
  });
}

void round_vector(dtype type, const std::byte* from, std::byte* to, std::size_t size, stream_handle on) {
  for_epilogue_type(type, [&]<dtype Type>(std::integral_constant<dtype, Type>) {
    round_kernel<Type><<<blocks_for(size, threads), threads, 0, on>>>(from, to, size);
  });
}

}  // namespace napkin::on_cuda
