// Products of few numbers as nvcc compiled their kernel: what one takes of a processor. What it computes is
// gpu/small_product.cpp's, here too.
#include <catch2/catch.hpp>

#include "emulated/device.hpp"
#include "support/small_product_cases.hpp"
#include "support/small_product_on_device.hpp"

namespace nk = napkin;
namespace on_cuda = napkin::on_cuda;
using namespace nk::testing::small_products;
using nk::dtype;

// Of nanoGPT's smallest model: a layer's last product, its input's gradient, its weight's gradient.
TEST_CASE(
    "emulated: a small product fetches whole sectors, and its warps' sums meet in few turns of shared "
    "memory") {
  for (const dtype type : {dtype::bf16, dtype::f32})
    for (const auto& [s, transpose_a, transpose_b] : {std::tuple{sizes{128, 768, 512}, false, false},
                                                      {sizes{512, 768, 128}, true, false},
                                                      {sizes{128, 512, 768}, false, true}}) {
      const auto p = product_of(type, type, s, transpose_a, transpose_b);
      on_cuda::small_product made = small_product_of(p, 16);
      REQUIRE(made.m == s.m);
      on_cuda::cuda_calls& calls = on_cuda::cuda_runtime();
      const on_cuda::stream on(calls);
      const auto zeros = [&](std::uint64_t elements) {
        on_cuda::device_memory to(calls, elements * nk::size_of(type));
        on_cuda::fill_with_zeros(on, to.data(), to.size());
        return to;
      };
      const on_cuda::device_memory a = zeros(s.m * s.k), b = zeros(s.k * s.n), c = zeros(s.m * s.n);
      made.a = a.data(), made.b = b.data(), made.then.result = c.data();
      on.synchronize();
      nk::testing::counts_since();
      on_cuda::multiply_small(made, on.handle());
      on.synchronize();
      const nk::testing::ptx::counts counts = nk::testing::counts_since();
      CAPTURE(nk::name_of(type), s.m, s.n, s.k, counts.instructions, counts.products, counts.load_bytes,
              counts.load_sectors, counts.store_bytes, counts.store_sectors, counts.shared_wavefronts,
              counts.least_wavefronts);
      // Of f32 four adjacent terms are half a sector, the other half of which is the next step's.
      const bool is_wide = type == dtype::f32;
      const std::uint64_t reads = s.m * s.n * s.k * nk::size_of(type), of_a = reads / made.tile().columns,
                          of_b = reads / made.tile().rows;
      CHECK(32 * counts.load_sectors ==
            of_a * (is_wide && transpose_a ? 2 : 1) + of_b * (is_wide && !transpose_b ? 2 : 1));
      if (!is_wide) CHECK(counts.load_bytes == of_a + of_b);
      CHECK(counts.store_bytes == s.m * s.n * nk::size_of(type));
      CHECK(counts.store_bytes == 32 * counts.store_sectors);
      CHECK(counts.shared_wavefronts <= 3 * counts.least_wavefronts);
      CHECK(counts.products == (type == dtype::bf16 ? s.m * s.n * s.k / (16 * 8 * 16) : 0));
    }
}
