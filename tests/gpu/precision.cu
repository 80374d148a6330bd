// The training of support/precision_training.hpp on a GPU; precision.cpp compares what comes of it.
#include <napkin/cuda.hpp>

#include "support/precision_training.hpp"

namespace napkin::testing::precision {
namespace {

template <class T, class Config = config>
std::vector<float> losses_in(int steps) {
  trainer<step<T, cuda, Config>> t(seed{5});
  return losses_of(t, steps);
}

static_assert(step<bf16, cuda>::attention ==
              passes::attention_choice{config::layers, 0, passes::attention_fit::fits});

}  // namespace

std::vector<float> losses_in_bf16_on_gpu(int steps) { return losses_in<bf16>(steps); }
std::vector<float> losses_in_f16_on_gpu(int steps) { return losses_in<f16>(steps); }
std::vector<float> losses_in_f8_on_gpu(int steps) { return losses_in<f8, by_sixteens>(steps); }

}  // namespace napkin::testing::precision
