// The functions of nn/ in f32, and their gradients, beside PyTorch's.
#include "support/parity_functions.hpp"

TEST_CASE("the kernels of nn's functions give PyTorch's values and gradients in f32") {
  napkin::testing::functions::check_all<float>();
}
