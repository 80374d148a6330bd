// What a trainer has, as one vector, to compare runs by: parameters, gradients, states of the optimizer. From
// a trainer on a device they are fetched first.
#pragma once

#include <cstddef>
#include <vector>

#include "napkin/train/named_memory.hpp"

namespace napkin::testing {

/// What `take` adds for each parameter: it is given how to add a named_memory, and the parameter's number.
template <class Trainer, class Take>
std::vector<float> numbers_of(const Trainer& trainer, Take take) {
  if constexpr (requires { trainer.fetch(); }) trainer.fetch();
  std::vector<float> all;
  const auto add = [&all](const named_memory& m) { all.insert(all.end(), m.data, m.data + m.count); };
  for (std::size_t i = 0; i < Trainer::parameters; ++i) take(add, i);
  return all;
}

/// Every parameter, one behind the other.
template <class Trainer>
std::vector<float> values_of(const Trainer& trainer) {
  return numbers_of(trainer, [&](const auto& add, std::size_t i) { add(trainer.value(i)); });
}

/// Every parameter's gradient, one behind the other.
template <class Trainer>
std::vector<float> gradients_of(const Trainer& trainer) {
  return numbers_of(trainer, [&](const auto& add, std::size_t i) { add(trainer.gradient(i)); });
}

/// Every parameter, and behind it what the optimizer keeps for it.
template <class Trainer>
std::vector<float> everything_of(const Trainer& trainer) {
  return numbers_of(trainer, [&](const auto& add, std::size_t i) {
    add(trainer.value(i));
    for (std::size_t s = 0; s < Trainer::step_type::states_of(i); ++s) add(trainer.state(s, i));
  });
}

}  // namespace napkin::testing
