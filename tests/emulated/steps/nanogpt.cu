// The trainers of nanogpt.cpp.
#include <napkin/cuda.hpp>

#include "emulated/steps/nanogpt.hpp"
#include "support/start_of.hpp"
#include "support/taken_choices.hpp"

namespace napkin::testing::nanogpt {
namespace {

trainer_options<adamw> options_of(launch_order order) { return {.order = order, .start = start_of(order)}; }

template <class T>
losses_and_norms train_in(std::size_t steps, launch_order order) {
  trainer<step<T, cuda>> t(first, options_of(order));
  return run(t, steps);
}

}  // namespace

losses_and_norms train_in_f32(std::size_t steps, launch_order order) { return train_in<f32>(steps, order); }
losses_and_norms train_in_bf16(std::size_t steps, launch_order order) { return train_in<bf16>(steps, order); }
losses_and_norms train_in_bf16_with_products_taken(std::size_t steps, launch_order order,
                                                   std::size_t& taken) {
  return with_products_taken<trainer<step<bf16, cuda>>>(first, options_of(order), [&](auto& t) {
    taken = t.taken_products();
    return run(t, steps);
  });
}

}  // namespace napkin::testing::nanogpt
