// All that a run needs to go on, bit for bit, where it stopped: parameters, the optimizer's states, the step
// and the sampler's state, in one safetensors file. When to save, and where, is the program's to say.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "napkin/train/checkpoint_file.hpp"
#include "napkin/train/trainer.hpp"

namespace napkin {

namespace detail {

template <class Trainer>
checkpoint_contents contents_of(const Trainer& t) {
  using step = typename Trainer::step_type;
  checkpoint_contents contents;
  const auto add = [&contents](const std::string& prefix, const named_memory& m) {
    contents.tensors.push_back(
        {prefix + std::string(m.name), dtype::f32, {m.sizes.begin(), m.sizes.end()}, m.data});
  };
  for (std::size_t i = 0; i < t.parameters; ++i) add("", t.value(i));
  std::size_t states = 0;
  for (std::size_t i = 0; i < t.parameters; ++i) states = std::max(states, step::states_of(i));
  for (std::size_t s = 0; s < states; ++s)
    for (std::size_t i = 0; i < t.parameters; ++i)
      if (s < step::states_of(i))
        add("optimizer." + std::string(step::state_name(s, i)) + ".", t.state(s, i));
  contents.optimizer = step::optimizer::name;
  contents.graph = checksum_of(frozen<model_graph<typename step::model>>::view());
  return contents;
}

}  // namespace detail

/// Write a checkpoint, whole or not at all: parameters under their names, the states that belong to them as
/// `optimizer.<state>.<name>`; of a trainer on a GPU also the algorithms that its products run by. A device
/// that is lost ends the process first. Errors as `save_safetensors`.
template <class Step, class Backend>
void save_checkpoint(file_system& files, const std::string& path, const trainer<Step, Backend>& t,
                     const sampler_state& sampler, const tensor_metadata& settings = {}) {
  run_state state{static_cast<std::uint64_t>(t.steps()), sampler, settings, ""};
  if constexpr (trainer<Step, Backend>::step_type::scales_loss) state.scale = t.scale();
  if constexpr (requires { t.fetch(); }) {
    t.fetch();  // before the file is touched
    state.algorithms = t.algorithms();
  }
  detail::save_contents(files, path, detail::contents_of(t), state);
}

/// Set a trainer to what a checkpoint holds. The same step on the same batch then gives the same bits.
///
/// Before anything is changed, all is read and found sound: the checksums, the names, shapes and dtypes of
/// all tensors, the optimizer and the model (its loss's graph: two models may differ in heads and agree in
/// every shape). While it reads, it takes as much memory again as the tensors. `input_error` for a file that
/// is missing, damaged, or another model's.
template <class Step, class Backend>
run_state load_checkpoint(file_system& files, const std::string& path, trainer<Step, Backend>& t) {
  run_state state = detail::load_contents(files, path, detail::contents_of(t));
  if constexpr (requires { t.store(); }) {
    t.store();
    if (!state.algorithms.empty()) state.same_algorithms = t.use_algorithms(state.algorithms);
  }
  t.set_steps(static_cast<std::int64_t>(state.step));
  if constexpr (trainer<Step, Backend>::step_type::scales_loss)
    if (state.scale) t.set_scale(*state.scale);
  return state;
}

}  // namespace napkin
