// A llama's queries and keys as one product, a gate and what it lets through as another, on a device that is the host.
#include "device_on_host/compare_merged.hpp"

namespace nk = napkin;

namespace {
/// As many queries as keys.
struct of_one_group : nk::testing::narrow_config {
  struct group : nk::dim<"group", 1> {};
};
struct queries_slower {
  static constexpr nk::parameter_group value[] = {{.pattern = "*.query", .rate_scale = 0.5}};
};
}  // namespace

TEST_CASE("queries and keys are one product on the device, a gate and what it lets through another",
          "[cuda]") {
  nk::testing::compare_merged<nk::nn::llama<of_one_group>>(2 * 2, 2 * 2);
}

TEST_CASE("and so they are of parameters that are stored apart and joined in each step", "[cuda]") {
  nk::testing::compare_merged<nk::nn::llama<of_one_group>, nk::groups<queries_slower>>(2 * 2, 0);
}
