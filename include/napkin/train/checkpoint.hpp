// All that a run needs to go on, bit for bit, where it stopped: parameters, the optimizer's states, the step
// and the sampler's state, in one safetensors file. When to save, and where, is the program's to say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "napkin/train/checkpoint_file.hpp"
#include "napkin/train/checkpoint_folder.hpp"
#include "napkin/train/checkpoint_header.hpp"
#include "napkin/train/trainer.hpp"

namespace napkin {

namespace rule {
/// type<what was given>...
template <class... Facts>
struct no_checkpoint_of_this {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "a checkpoint is a trainer's, with its optimizer's states and the place in the data: "
      "save_checkpoint(folder, trainer, sampler.state()), load_checkpoint(folder, trainer); instead of the "
      "folder a file_system and a path");
};
/// type<what was given>...
template <class... Facts>
struct checkpoint_lacks_a_place {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "checkpoints are called so: save_checkpoint(files, path, trainer, sampler.state()), "
      "load_checkpoint(files, path, trainer); files is nk::posix_file_system(), or a checkpoint_folder "
      "stands for files and path");
};
}  // namespace rule

namespace detail {

template <class Trainer>
checkpoint_contents contents_of(const Trainer& t) {
  using step = typename Trainer::step_type;
  checkpoint_contents contents;
  for_each_trained_tensor<step>([&](std::size_t i, int state) {
    std::string name;
    for_each_piece_of_name<step>(i, state, [&name](std::string_view piece) { name += piece; });
    const named_memory m = state < 0 ? t.value(i) : t.state(static_cast<std::size_t>(state), i);
    contents.tensors.push_back({std::move(name), dtype::f32, {m.sizes.begin(), m.sizes.end()}, m.data});
  });
  contents.header = checkpoint_header<step>;
  contents.optimizer = step::optimizer::name;
  contents.graph = checksum_of(frozen<model_graph<typename step::model>>::view());
  return contents;
}

/// What is launched is neither before its step nor behind it.
template <class Trainer>
void require_idle(const Trainer& t, const char* call) {
  if constexpr (requires { t.require_idle(call); }) t.require_idle(call);
}

/// Of a trainer on a GPU, its numbers are brought to the host first.
template <class Step, class Backend>
run_state state_to_save(const trainer<Step, Backend>& t, const sampler_state& sampler,
                        const tensor_metadata& settings) {
  require_idle(t, "save_checkpoint");
  run_state state{static_cast<std::uint64_t>(t.steps()), sampler, settings, ""};
  if constexpr (trainer<Step, Backend>::step_type::scales_loss) state.scale = t.scale();
  if constexpr (requires { t.fetch(); }) {
    t.fetch();  // before the file is touched
    state.algorithms = t.algorithms();
  }
  if constexpr (trainer<Step, Backend>::step_type::quantized_tensors > 0) {
    const std::span<const float> all = t.scales().remembered();
    state.remembered.assign(all.begin(), all.end());
  }
  return state;
}
/// The trainer's tensors have been read; of one on a GPU they are brought there, last: where that fails, all
/// that was trained is the checkpoint's.
template <class Step, class Backend>
void take_state(run_state& state, trainer<Step, Backend>& t) {
  t.set_steps(static_cast<std::int64_t>(state.step));
  if constexpr (trainer<Step, Backend>::step_type::scales_loss)
    if (state.scale) t.set_scale(*state.scale);
  if constexpr (trainer<Step, Backend>::step_type::quantized_tensors > 0)
    t.scales().remember(state.remembered);
  if constexpr (requires { t.store(); }) {
    t.store();
    if (!state.algorithms.empty()) state.same_algorithms = t.use_algorithms(state.algorithms);
  }
}

}  // namespace detail

/// Write a checkpoint, whole or not at all: parameters under their names, the states that belong to them as
/// `optimizer.<state>.<name>`; of a trainer on a GPU also the algorithms that its products run by. A sticky
/// error of the device ends the process first. Errors as `save_safetensors`; `error` where a step is launched
/// that was not waited for.
template <class Step, class Backend>
void save_checkpoint(file_system& files, const std::string& path, const trainer<Step, Backend>& t,
                     const sampler_state& sampler, const tensor_metadata& settings = {}) {
  if constexpr (!is_failed<trainer<Step, Backend>>) {
    const run_state state = detail::state_to_save(t, sampler, settings);
    detail::save_contents(files, path, detail::contents_of(t), state);
  }
}

/// The same into a folder of a run, whose latest it becomes. Returns its path.
template <class Step, class Backend>
std::string save_checkpoint(checkpoint_folder& folder, const trainer<Step, Backend>& t,
                            const sampler_state& sampler, const tensor_metadata& settings = {}) {
  if constexpr (is_failed<trainer<Step, Backend>>) {
    return {};
  } else {
    const run_state state = detail::state_to_save(t, sampler, settings);
    return folder.save(detail::contents_of(t), state);
  }
}

/// Set a trainer to what a checkpoint holds. The same step on the same batch then gives the same bits.
///
/// Before anything is changed, all is read and found sound: the checksums, the names, shapes and dtypes of
/// all tensors, the optimizer and the model (its loss's graph: two models may differ in heads and agree in
/// every shape). While it reads, it takes as much memory again as the tensors. `checkpoint_error` for a file
/// that is missing, damaged, or another model's; `error` where a step is launched that was not waited for.
template <class Step, class Backend>
run_state load_checkpoint(file_system& files, const std::string& path, trainer<Step, Backend>& t) {
  if constexpr (is_failed<trainer<Step, Backend>>) {
    return {};
  } else {
    detail::require_idle(t, "load_checkpoint");
    run_state state = detail::load_contents(files, path, detail::contents_of(t));
    detail::take_state(state, t);
    return state;
  }
}

/// The same from the latest checkpoint of a run's folder, or the last saved that is sound: what was passed
/// over, and why, is for the program to print. Never one with numbers that are not finite.
template <class Step, class Backend>
resumed_run load_checkpoint(checkpoint_folder& folder, trainer<Step, Backend>& t) {
  if constexpr (is_failed<trainer<Step, Backend>>) {
    return {};
  } else {
    detail::require_idle(t, "load_checkpoint");
    resumed_run run = folder.load(detail::contents_of(t));
    detail::take_state(run.state, t);
    return run;
  }
}

namespace detail {
template <class Step, class Backend>
void take_trainer(const trainer<Step, Backend>&);
template <class X>
concept Trainer = requires(const X& x) {
  take_trainer(x);
};
template <class X>
concept HoldsCheckpoints =
    std::is_convertible_v<X&, file_system&> || std::is_convertible_v<X&, checkpoint_folder&>;

/// Of a trainer, but without where it lies, or saved without the place in the data.
template <bool Saved, class Where, class... Given>
constexpr bool lacks_a_place() {
  if constexpr (!(Trainer<Where> || ... || Trainer<Given>)) {
    return false;
  } else if constexpr (!HoldsCheckpoints<Where>) {
    return true;
  } else {
    constexpr bool is_trainer[] = {Trainer<Given>...};
    constexpr bool lacks_a_path = std::is_convertible_v<Where&, file_system&> && is_trainer[0];
    return lacks_a_path || (Saved && is_trainer[sizeof...(Given) - 1]);
  }
}
}  // namespace detail

// Refused: of no trainer.
template <detail::HoldsCheckpoints Where, class... Given>
requires(!(detail::Trainer<Given> || ...)) auto save_checkpoint(const Where&, const Given&...) {
  return detail::unless_failed<rule::no_checkpoint_of_this<fact::type<Given>...>, Given...>::raise();
}
template <detail::HoldsCheckpoints Where, class... Given>
requires(!(detail::Trainer<Given> || ...)) auto load_checkpoint(const Where&, const Given&...) {
  return detail::unless_failed<rule::no_checkpoint_of_this<fact::type<Given>...>, Given...>::raise();
}
// Refused: of a trainer, in no place.
template <class Where, class... Given>
requires(detail::lacks_a_place<true, Where, Given...>()) auto save_checkpoint(const Where&, const Given&...) {
  return rule::checkpoint_lacks_a_place<fact::type<Where>, fact::type<Given>...>::raise();
}
template <class Where, class... Given>
requires(detail::lacks_a_place<false, Where, Given...>()) auto load_checkpoint(const Where&,
                                                                               const Given&...) {
  return rule::checkpoint_lacks_a_place<fact::type<Where>, fact::type<Given>...>::raise();
}

}  // namespace napkin
