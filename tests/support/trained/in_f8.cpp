// The small GPT of precision_training.hpp on the CPU, in 8 bits.
#include "support/trained/precision.hpp"

namespace napkin::testing::precision {
template std::vector<float> losses_on_cpu<f8>(int, double);
}  // namespace napkin::testing::precision
