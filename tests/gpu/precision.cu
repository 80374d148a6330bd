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
  using trainer_type = trainer<step<bf16, cuda>>;
  on_cuda::blas_choices& choices = on_cuda::current_session().choices();
  const trainer_options<adamw> options{.order = order, .start = start_of(order)};
  { const trainer_type timed(seed{5}, options); }
  const on_cuda::blas_choices before = choices;
  take_all(choices);
  trainer_type t(seed{5}, options);
  taken = t.taken_products();
  std::vector<float> losses = losses_of(t, steps);
  choices = before;
  return losses;
}
std::vector<float> losses_in_f16_on_gpu(int steps, launch_order order) {
  return losses_in<f16>(steps, order);
}
std::vector<float> losses_in_f8_on_gpu(int steps, launch_order order) {
  return losses_in<f8, by_sixteens>(steps, order);
}

}  // namespace napkin::testing::precision
