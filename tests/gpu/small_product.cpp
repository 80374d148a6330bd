// Products of few numbers by their own kernel, on a GPU, beside doubles.
#include <catch2/catch.hpp>

#include "support/device_here.hpp"
#include "support/skip.hpp"
#include "support/small_product_cases.hpp"
#include "support/small_product_on_device.hpp"

namespace nk = napkin;
using namespace nk::testing::small_products;

TEST_CASE("a small product is what doubles make of it, on the device") {
  if (const std::string reason = nk::testing::why_no_device(); !reason.empty()) SKIP(reason);
  check_all<float, float>(on_device);
  check_all<nk::bf16, nk::bf16>(on_device);
  check_all<nk::bf16, float>(on_device);
  check_all<nk::f16, nk::f16>(on_device);
  check_all<nk::f16, float>(on_device);
}
