// What a convolution takes of a processor, by the kernel for products that no GEMM says.
#include <catch2/catch.hpp>
#include <string_view>

#include "emulated/device.hpp"
#include "napkin/cuda/contract.hpp"
#include "napkin/cuda/memory.hpp"
#include "napkin/cuda/transfer.hpp"
#include "support/convolution_product.hpp"

namespace nk = napkin;
namespace on_cuda = napkin::on_cuda;
using nk::dtype;

namespace {

/// Of one call, all operands zeros; of the kernels whose names have `of` in them.
nk::testing::ptx::counts counts_of(const on_cuda::product& p, nk::testing::convolution_sizes s,
                                   std::string_view of = {}) {
  on_cuda::cuda_calls& calls = on_cuda::cuda_runtime();
  const on_cuda::stream on(calls);
  const auto zeros = [&](std::size_t elements) {
    on_cuda::device_memory to(calls, elements * nk::size_of(p.type));
    on_cuda::fill_with_zeros(on, to.data(), to.size());
    return to;
  };
  const on_cuda::device_memory a = zeros(s.input()), b = zeros(s.filter()), c = zeros(s.output());
  const on_cuda::device_memory workspace(calls, p.workspace + 1);
  on.synchronize();
  nk::testing::counts_since();
  on_cuda::contract(p, a.data(), b.data(), c.data(), workspace.data(), on.handle());
  on.synchronize();
  return nk::testing::counts_since(of);
}

}  // namespace

// A long sum of few tiles: each block writes its part of the sums, a second kernel reads them all.
TEST_CASE("emulated: sums that blocks share are in a product's bytes") {
  const nk::testing::convolution_sizes s{1, 8, 256, 64};
  for (const dtype type : {dtype::bf16, dtype::f32}) {
    on_cuda::product p = nk::testing::convolution_product(type, s);
    p.gemm.possible = false, p.workspace = on_cuda::tile_workspace(type, p.loops);
    const std::size_t result = s.output() * nk::size_of(type);
    REQUIRE(p.workspace > result);
    CHECK(counts_of(p, s, "tile_kernel").store_bytes == p.workspace_bytes().written);
    const nk::testing::ptx::counts adding = counts_of(p, s, "split_kernel");
    CHECK(adding.load_bytes == p.workspace_bytes().read);
    CHECK(adding.store_bytes == result);
  }
}

// Loops take an element's operands from memory for each product; tiles take them once for 64 or 128 of these.
TEST_CASE("emulated: a convolution in tiles reads a tenth of what its loops read, in whole sectors") {
  const nk::testing::convolution_sizes s{2, 16, 64, 64};
  for (const dtype type : {dtype::bf16, dtype::f32}) {
    on_cuda::product p = nk::testing::convolution_product(type, s);
    p.gemm.possible = false, p.workspace = 0;  // no sums shared by blocks
    const nk::testing::ptx::counts tiles = counts_of(p, s);
    on_cuda::product q = p;  // of one row and one column, the order of results as it was
    for (nk::passes::contraction_loops* group : {&q.loops.rows, &q.loops.columns}) {
      for (const nk::passes::contraction_loop& l : *group) q.loops.batch.push_back(l);
      group->clear();
    }
    REQUIRE(!on_cuda::takes_tiles(q.loops));
    const nk::testing::ptx::counts loops = counts_of(q, s);
    CAPTURE(nk::name_of(type), tiles.instructions, tiles.load_bytes, tiles.load_sectors, tiles.store_sectors,
            tiles.shared_wavefronts, tiles.least_wavefronts, tiles.products);
    CAPTURE(loops.instructions, loops.load_bytes, loops.load_sectors, loops.store_sectors);
    CHECK(10 * tiles.instructions <= loops.instructions);
    CHECK(10 * tiles.load_sectors <= loops.load_sectors);
    CHECK(tiles.load_bytes == 32 * tiles.load_sectors);
    CHECK(tiles.store_bytes == 32 * tiles.store_sectors);
    CHECK((tiles.products > 0) == (type == dtype::bf16));
  }
}
