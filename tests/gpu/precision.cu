// The training of support/precision_training.hpp on a GPU; precision.cpp compares what comes of it.
#include <napkin/cuda.hpp>

#include "support/precision_training.hpp"
#include "support/start_of.hpp"
#include "support/taken_choices.hpp"

namespace napkin::testing::precision {
namespace {

template <class T, class Config = config>
std::vector<float> losses_in(int steps, launch_order order) {
  trainer<step<T, cuda, Config>> t(seed{5}, {.order = order, .start = start_of(order)});
  return losses_of(t, steps);
}

static_assert(step<bf16, cuda>::attention ==
              passes::attention_choice{config::layers, 0, passes::attention_fit::fits});

}  // namespace

std::vector<float> losses_in_bf16_on_gpu(int steps, launch_order order) {
  return losses_in<bf16>(steps, order);
}
std::vector<float> losses_in_bf16_with_products_taken_on_gpu(int steps, launch_order order,
                                                             std::size_t& taken) {
  return with_products_taken<trainer<step<bf16, cuda>>>(
      seed{5}, trainer_options<adamw>{.order = order, .start = start_of(order)}, [&](auto& t) {
        taken = t.taken_products();
        return losses_of(t, steps);
      });
}
std::vector<float> losses_in_f16_on_gpu(int steps, launch_order order) {
  return losses_in<f16>(steps, order);
}
std::vector<float> losses_in_f8_on_gpu(int steps, launch_order order) {
  return losses_in<f8, by_sixteens>(steps, order);
}

}  // namespace napkin::testing::precision
