// Products of few numbers as the GPU's threads compute them, run on the host: what NaN makes of them; and which products
// are such.
#include "napkin/cuda/small_product.hpp"

#include <catch2/catch.hpp>

#include "support/host_products.hpp"
#include "support/host_warps.hpp"
#include "support/small_product_cases.hpp"

namespace nk = napkin;
using namespace nk::on_cuda;
using namespace nk::testing::small_products;
using nk::dtype;

TEST_CASE("what a small product multiplies by NaN is NaN, and nothing else is", "[small_product]") {
  std::mt19937 random(3);
  const product p = product_of(dtype::bf16, dtype::bf16, {72, 20, 96}, true, false);
  filled<nk::bf16> a(p.gemm.a, 1, &random), b(p.gemm.b, 1, &random), c(p.gemm.c, 1, &random);
  b.of(40, 7, 0) = nk::bf16(std::numeric_limits<float>::quiet_NaN());
  small_product made = small_product_of(p, 16);
  made.a = a.at.bytes(), made.b = b.at.bytes(), made.then.result = c.at.bytes();
  nk::testing::multiply_small_on_host(made);
  int wrong = 0;
  c.for_each(1, [&](nk::bf16& x, std::uint64_t, std::uint64_t j, std::uint64_t) {
    wrong += std::isnan(wide(x)) != (j == 7);
  });
  CHECK(wrong == 0);
}

namespace {

constexpr bool is_small(const product& p) { return small_product_of(p, 16).m > 0; }
constexpr product plain(dtype type, sizes s, bool transpose_a = false, bool transpose_b = false) {
  return product_of(type, type, s, transpose_a, transpose_b);
}

static_assert(is_small(plain(dtype::bf16, {128, 768, 512})) && is_small(plain(dtype::f32, {128, 768, 512})));
static_assert(!is_small(plain(dtype::f64, {128, 768, 512})));
static_assert(!is_small(plain(dtype::bf16, {768, 65536, 768})));  // of GPT-2's training
static_assert(!is_small(plain(dtype::bf16, {128, 0, 512})));
// What lies adjacent is fetched, and stored, at once.
constexpr small_product made(sizes s, bool transpose_a, bool transpose_b, std::size_t align = 16) {
  return small_product_of(plain(dtype::bf16, s, transpose_a, transpose_b), align);
}
static_assert(made({128, 768, 512}, false, false).fetches_at_once);
static_assert(!made({128, 768, 512}, false, false, 8).fetches_at_once);
static_assert(!made({65, 768, 128}, false, false).fetches_at_once &&
              made({65, 768, 128}, true, false).fetches_at_once);
static_assert(!made({128, 768, 65}, false, false).fetches_at_once &&
              made({128, 768, 65}, false, true).fetches_at_once);
static_assert(!made({128, 7, 64}, false, true).fetches_at_once &&
              made({128, 7, 64}, false, false).fetches_at_once);
static_assert(made({128, 768, 65}, false, true).stores_at_once &&
              !made({65, 768, 128}, true, false).stores_at_once);
static_assert(!made({128, 768, 512}, false, false, 4).stores_at_once);
constexpr product in_tf32 = [] {
  product p = plain(dtype::f32, {128, 768, 512});
  p.gemm.compute = blas_compute::tf32;
  return p;
}();
static_assert(!is_small(in_tf32));
constexpr product of_several_calls = [] {
  product p = plain(dtype::f32, {128, 768, 512});
  p.gemm.outer.push_back({4, 1, 1, 1});
  return p;
}();
static_assert(!is_small(of_several_calls));
// Terms are dealt to eight warps where there are enough for all, whole steps to each.
static_assert(small_product_of(plain(dtype::bf16, {128, 768, 512}), 16).warps() == 8);
static_assert(small_product_of(plain(dtype::bf16, {128, 768, 512}), 16).terms() == 64);
static_assert(small_product_of(plain(dtype::bf16, {128, 768, 72}), 16).warps() == 3);
static_assert(small_product_of(plain(dtype::bf16, {128, 768, 320}), 16).warps() == 5);
static_assert(small_product_of(plain(dtype::f32, {128, 768, 40}), 16).warps() == 3);
static_assert(small_product_of(plain(dtype::f32, {128, 768, 40}), 16).terms() == 16);
static_assert(small_product_of(plain(dtype::bf16, {128, 768, 512}), 16).blocks() == 2 * 48);

}  // namespace
