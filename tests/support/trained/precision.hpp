// What this folder's files compile of support/precision_training.hpp: only they include it.
#pragma once

#include "support/precision_training.hpp"

namespace napkin::testing::precision {

template <class T, class Config>
std::vector<float> losses_on_cpu(int steps, double perturbed) {
  trainer<step<T, cpu, Config>> trained(seed{5});
  for (std::size_t i = 0; i < trained.parameters; ++i) {
    const named_memory v = trained.value(i);
    for (std::size_t j = 0; j < v.count; ++j)
      v.data[j] *= static_cast<float>(1 + (j % 2 == 0 ? perturbed : -perturbed));
  }
  return losses_of(trained, steps);
}

}  // namespace napkin::testing::precision
