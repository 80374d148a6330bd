// Queries, keys and values as one product, on a device that is the host.
#include "device_on_host/compare_merged.hpp"

namespace nk = napkin;

TEST_CASE("queries, keys and values with biases are one product on the device, in micro-batches", "[cuda]") {
  // in one batch: emulated, in f8
  nk::testing::compare_merged<nk::nn::gpt<nk::testing::narrow_config>, nk::micro_batches<2>>(2 * 2, 2 * 4);
}
