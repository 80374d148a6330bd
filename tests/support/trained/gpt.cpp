// The small GPT of device_training.hpp on the CPU, in one batch and in micro-batches, with its plans.
#include "support/device_training.hpp"
#include "support/trained/plans_of.hpp"

namespace napkin::testing {

training train_gpt_on_cpu(std::size_t steps) {
  trainer<gpt_step> t(seed{5});
  return train_small(t, steps);
}
training train_gpt_in_two_on_cpu(std::size_t steps) {
  trainer<gpt_step_in_two> t(seed{5});
  return train_small(t, steps);
}

std::vector<compiled_cpu_plan> plans_of_gpt_on_cpu() { return plans_of_step<gpt_step>(); }
std::vector<compiled_cpu_plan> plans_of_gpt_in_two_on_cpu() { return plans_of_step<gpt_step_in_two>(); }

}  // namespace napkin::testing
