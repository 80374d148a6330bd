// The GPT-2-style model, trained beside PyTorch's.
#include "support/parity_step.hpp"

using namespace napkin::testing;

TEST_CASE("20 steps of the GPT-2-style model are PyTorch's") {
  // softmax does not see what is added to every key of a query
  check_training_step<parity_gpt>("gpt", [](std::string_view name) { return name.ends_with("key_bias"); });
}
