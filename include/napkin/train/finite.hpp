// Numbers that must be finite: a run that has diverged ends before it spoils what it has. What a step does
// with a loss or a gradient that is not finite is in train/trainer.hpp; which checkpoints are kept, in
// train/checkpoint_folder.hpp.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "napkin/core/buffer.hpp"
#include "napkin/core/error.hpp"
#include "napkin/train/named_memory.hpp"
#include "napkin/train/tensor_list.hpp"
#include "napkin/train/trainer.hpp"

namespace napkin {

namespace detail {
/// Reads them once, on all threads.
bool all_finite(std::span<const float> x);
/// The first that has an element which is not finite; as many as there are if none has. Reads all of them
/// once, on all threads.
std::size_t first_nonfinite(const named_memory* tensors, std::size_t count);

template <class Step, class Backend>
constexpr bool find_scaled_loss() {
  if constexpr (is_failed<trainer<Step, Backend>>)
    return false;
  else
    return trainer<Step, Backend>::step_type::scales_loss;
}
/// Whether the trainer has a scale of the loss.
template <class Step, class Backend>
inline constexpr bool trains_scaled_loss = find_scaled_loss<Step, Backend>();
}  // namespace detail

/// The name of a parameter, or of a state of the optimizer, that has an element which is not finite; empty if
/// there is none. Reads all of them once, on all threads; of a trainer on a GPU as they were last brought to
/// the host.
template <class Step, class Backend>
std::string find_nonfinite(const trainer<Step, Backend>& t) {
  std::string found;
  if constexpr (!is_failed<trainer<Step, Backend>>) {
    using step = typename trainer<Step, Backend>::step_type;
    buffer<named_memory> tensors;
    detail::for_each_trained_tensor<step>([&](std::size_t i, int state) {
      tensors.push_back(state < 0 ? t.value(i) : t.state(static_cast<std::size_t>(state), i));
    });
    std::size_t after = detail::first_nonfinite(tensors.data(), tensors.size());
    detail::for_each_trained_tensor<step>([&](std::size_t i, int state) {
      if (after-- != 0) return;
      detail::for_each_piece_of_name<step>(i, state, [&found](std::string_view piece) { found += piece; });
    });
  }
  return found;
}

/// Throws `nonfinite_error` unless all parameters and states are finite. A step asks for itself, as part of
/// its own kernels; this is for what is about to be saved or handed on.
template <class Step, class Backend>
void require_finite(const trainer<Step, Backend>& t) {
  if (const std::string name = find_nonfinite(t); !name.empty())
    throw nonfinite_error("after " + std::to_string(t.steps()) + " steps " + name +
                          " has a number that is not finite: go on from an earlier checkpoint, with a lower "
                          "learning rate");
}

/// Throws `nonfinite_error` unless the step was applied: its loss, the norm of its gradients, a parameter, a
/// state of the optimizer or, of a step in f8, a tensor on the way was not finite, and nothing has been
/// changed. Of a step in f16 gradients may overflow, which lowers the scale of the loss: that is diverged
/// once they would without one.
template <class Step, class Backend>
void require_applied(const trainer<Step, Backend>& t, const step_result& r) {
  if (r.applied) return;
  if constexpr (requires { t.fetch(); }) t.fetch();
  require_finite(t);
  const bool loss = !std::isfinite(r.loss);
  if constexpr (detail::trains_scaled_loss<Step, Backend>)
    if (!loss && t.scale().value >= 1) return;
  std::string what = (loss ? " the loss is " : " the norm of the gradients is ") +
                     std::to_string(loss ? static_cast<double>(r.loss) : r.norm);
  if (!loss && std::isfinite(r.norm)) what = " a number was to be rounded to 8 bits that is not finite";
  throw nonfinite_error("in step " + std::to_string(t.steps() + 1) + what +
                        ": go on from an earlier checkpoint, or begin anew, with a lower learning rate");
}

}  // namespace napkin
