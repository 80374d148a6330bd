// The tensors that a run of training is made of, parameters and states of the optimizer, in the order and under the
// names that a checkpoint has them.
#pragma once

#include <cstddef>
#include <string_view>

#include "napkin/train/parameter_layout.hpp"

namespace napkin::detail {

/// In their order: f(i, -1) for parameter i, f(i, s) for the optimizer's state s of it.
template <class Step, class F>
constexpr void for_each_trained_tensor(F&& f) {
  constexpr std::size_t parameters = parameter_table<typename Step::model>.size();
  std::size_t states = 0;
  for (std::size_t i = 0; i < parameters; ++i) {
    f(i, -1);
    if (Step::states_of(i) > states) states = Step::states_of(i);
  }
  for (std::size_t s = 0; s < states; ++s)
    for (std::size_t i = 0; i < parameters; ++i)
      if (s < Step::states_of(i)) f(i, static_cast<int>(s));
}

/// f(text) for each piece of such a tensor's name: "optimizer.", "first_moment", ".", "blocks.0.up".
template <class Step, class F>
constexpr void for_each_piece_of_name(std::size_t i, int state, F&& f) {
  if (state >= 0) {
    f(std::string_view("optimizer."));
    f(Step::state_name(static_cast<std::size_t>(state), i));
    f(std::string_view("."));
  }
  f(parameter_table<typename Step::model>[i].name);
}

}  // namespace napkin::detail
