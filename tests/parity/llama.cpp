// The Llama-style model, trained beside PyTorch's.
#include "support/parity_step.hpp"

using namespace napkin::testing;

TEST_CASE("20 steps of the Llama-style model are PyTorch's") {
  check_training_step<parity_llama>("llama", [](std::string_view) { return false; });
}
