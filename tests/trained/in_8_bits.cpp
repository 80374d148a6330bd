#include "trained/precision.hpp"

namespace napkin::testing::precision {
template std::vector<float> losses_on_cpu<f8>(int, double);
}  // namespace napkin::testing::precision
