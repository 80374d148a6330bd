// Products of few numbers as the GPU's threads compute them, run on the host, beside doubles.
#include <catch2/catch.hpp>

#include "napkin/cuda/small_product.hpp"
#include "support/host_products.hpp"
#include "support/host_warps.hpp"
#include "support/small_product_cases.hpp"

namespace nk = napkin;
using namespace nk::on_cuda;
using namespace nk::testing::small_products;

namespace {

void on_host(const small_product& p, std::span<const std::span<std::byte>>) {
  nk::testing::multiply_small_on_host(p);
}

}  // namespace

TEST_CASE("a small product is what doubles make of it, whatever is adjacent, and no more is written",
          "[small_product]") {
  check_all<float, float>(on_host);
  check_all<nk::bf16, nk::bf16>(on_host);
  check_all<nk::bf16, float>(on_host);
  check_all<nk::f16, nk::f16>(on_host);
  check_all<nk::f16, float>(on_host);
  CHECK(!nk::testing::host_machine::unfinished());
}
