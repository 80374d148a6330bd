// The small GPT of precision_training.hpp on the CPU.
#include "support/trained/precision.hpp"

namespace napkin::testing::precision {
template std::vector<float> losses_on_cpu<f32>(int, double);
template std::vector<float> losses_on_cpu<bf16>(int, double);
}  // namespace napkin::testing::precision
