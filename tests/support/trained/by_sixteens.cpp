// The small GPT of precision_training.hpp on the CPU, with widths that a GPU multiplies in 8 bits.
#include "support/trained/precision.hpp"

namespace napkin::testing::precision {
template std::vector<float> losses_on_cpu<f32, by_sixteens>(int, double);
template std::vector<float> losses_on_cpu<f8, by_sixteens>(int, double);
}  // namespace napkin::testing::precision
