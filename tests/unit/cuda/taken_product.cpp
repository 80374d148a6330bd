// Which products a kernel may take in, by how long its rows are: they lie in a block's shared memory.
#include "napkin/cuda/taken_product.hpp"

#include <catch2/catch.hpp>

#include "support/device_graphs.hpp"
#include "support/planned.hpp"
#include "support/scaled_product.hpp"

namespace nk = napkin;
namespace on_cuda = napkin::on_cuda;

namespace {

/// A product of 768 rows, so many that a team has two, and the kernel that reads them.
nk::graph scaled_rows(nk::dtype type, std::size_t length) {
  nk::builder b;
  nk::testing::scaled_product(b, type, 768, 64, length);
  return b.take();
}
/// By the kernels of its plan.
std::size_t count_taken(const nk::graph& g) {
  const auto plan =
      nk::testing::planned<on_cuda::target>(nk::testing::lowered<on_cuda::target>(g.view()).view());
  const on_cuda::plan_view view = nk::planning::view_of(plan);
  std::size_t n = 0;
  for (std::size_t i = 0; i < view.count.instructions; ++i) n += on_cuda::find_taken(view, i).found();
  return n;
}

}  // namespace

TEST_CASE("a kernel takes in a product whose rows fit in shared memory that any kernel may have", "[cuda]") {
  for (const nk::dtype type : {nk::dtype::bf16, nk::dtype::f16})
    for (const std::size_t length : {128u, 256u, 384u, 448u, 456u, 512u, 520u}) {
      CAPTURE(nk::name_of(type), length);
      // Of eight warps 64 x 16 sums, whose columns begin in banks of their own; 16 rows.
      const std::size_t bytes = 8 * 16 * 68 * 4 + 16 * length * 2;
      CHECK(on_cuda::taking_memory(type, length) == bytes);
      CHECK(count_taken(scaled_rows(type, length)) == (bytes <= 48 * 1024 ? 1 : 0));
    }
}
TEST_CASE("nor is one whose kernel reads across its rows what the product keeps beside them", "[cuda]") {
  // y = gelu(x) and x turned, each row of the sum times its own sum; y is read again, so that the product
  // stores both.
  const std::size_t n = 64;
  const std::int32_t labels[] = {0, 1, 1, 2}, result[] = {0, 2}, turned[] = {1, 0}, along[] = {1},
                     row[] = {0, -1};
  for (const bool turns : {false, true}) {
    nk::builder b;
    const auto product = [&](std::int32_t x, std::int32_t y) {
      const std::int32_t operands[] = {x, y};
      return b.einsum(operands, labels, result);
    };
    const std::int32_t w = b.input(1, nk::dtype::bf16, {n, n});
    const std::int32_t x = product(b.input(0, nk::dtype::bf16, {n, n}), w), y = nk::testing::gelu(b, x);
    const std::int32_t other = turns ? b.expand(x, {n, n}, turned) : b.input(2, nk::dtype::bf16, {n, n});
    const std::int32_t sum = b.cast(b.add(y, other), nk::dtype::f32);
    b.output(b.mul(sum, b.expand(b.reduce(nk::op::sum, sum, along), {n, n}, row)));
    b.output(product(y, w));
    CAPTURE(turns);
    CHECK(count_taken(b.take()) == (turns ? 0 : 1));
  }
}
TEST_CASE("products in f32 are not taken in", "[cuda]") {
  CHECK(count_taken(scaled_rows(nk::dtype::f32, 128)) == 0);
}
