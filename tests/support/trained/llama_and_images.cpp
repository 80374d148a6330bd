// The small llama of device_training.hpp and the network of device_images.hpp on the CPU, with their plans.
#include "support/device_images.hpp"
#include "support/device_training.hpp"
#include "support/trained/plans_of.hpp"

namespace napkin::testing {

training train_llama_on_cpu(std::size_t steps) {
  trainer<llama_step> t(seed{5});
  return train_small(t, steps);
}
images::training images::train_on_cpu(int steps) {
  trainer<step> t(seed{3});
  return train(t, steps);
}

std::vector<compiled_cpu_plan> plans_of_llama_on_cpu() { return plans_of_step<llama_step>(); }
std::vector<compiled_cpu_plan> plans_of_images_on_cpu() { return plans_of_step<images::step>(); }

}  // namespace napkin::testing
