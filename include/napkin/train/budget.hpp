// A budget that a training step must keep, as an error that has both numbers: what it takes and what it may.
#pragma once

#include "napkin/train/step.hpp"

namespace napkin {

namespace fact {
template <std::size_t Bytes>
struct takes_bytes;
template <std::size_t Bytes>
struct of_at_most;
}  // namespace fact

namespace rule {
/// takes_bytes<N>, of_at_most<M>
template <class... Facts>
struct step_exceeds_its_budget {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "budget: the training step takes more bytes of memory than it may: a smaller batch or fewer layers "
      "take less; step::memory has them by what they are for");
};
}  // namespace rule

/// Compiles where all that Step holds in memory at once is at most Bytes: a statement of its own.
///
/// Rules    step_exceeds_its_budget
/// Example  nk::require_memory<step, 80'000'000'000>();
template <class Step, std::size_t Bytes>
constexpr auto require_memory() {
  if constexpr (is_mistake<detail::model_mistake<typename Step::model>>)
    return failed{};  // the model's own error is enough
  else if constexpr (Step::memory.peak > Bytes)
    return rule::step_exceeds_its_budget<fact::takes_bytes<Step::memory.peak>,
                                         fact::of_at_most<Bytes>>::raise();
}

}  // namespace napkin
