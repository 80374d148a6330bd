// Whether a training step fits in a device's memory, and the largest batch that does: constants. What the
// driver and the libraries take there for themselves (a CUDA context, cuBLAS) is not known here.
#pragma once

#include "napkin/cost/device.hpp"
#include "napkin/train/step.hpp"

namespace napkin {

namespace fact {
template <const device& On>
struct of_device;
template <std::size_t Bytes>
struct step_takes;
template <std::size_t Bytes>
struct device_has;
}  // namespace fact

namespace rule {
/// step_takes<N>, device_has<M>, of_device<On>
template <class... Facts>
struct step_exceeds_the_device {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "fits: the training step takes more bytes than the device has: a smaller batch, which "
      "max_batch<device, step_of_batch> finds, micro_batches<n> or fewer layers take less");
};
/// of_device<On>
template <class... Facts>
struct device_says_no_memory {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "fits: this device does not say how many bytes of memory it has; write them in its `memory`");
};
}  // namespace rule

namespace detail {
template <const device& On, class Step>
constexpr auto find_fit_mistake() {
  if constexpr (is_mistake<step_mistake_of<Step>>)
    return std::type_identity<step_mistake_of<Step>>{};
  else if constexpr (On.memory == 0)
    return std::type_identity<rule::device_says_no_memory<fact::of_device<On>>>{};
  else
    return std::type_identity<accepted>{};
}
/// What keeps it from being asked whether a step fits.
template <const device& On, class Step>
using fit_mistake = typename decltype(find_fit_mistake<On, Step>())::type;

/// Raised is what raising the mistake gave: so that the variable itself raises it.
template <const device& On, class Step, class Raised>
constexpr bool fits_asked_for() {
  if constexpr (is_mistake<fit_mistake<On, Step>>)
    return false;
  else
    return Step::memory.peak <= On.memory;
}
}  // namespace detail

/// Does all that Step holds in memory at once fit in the device's?
///
/// Rules    device_says_no_memory, no_training_step
/// Example  static_assert(nk::fits<nk::h100_sxm, step>);
template <const device& On, class Step>
inline constexpr bool fits =
    detail::fits_asked_for<On, Step, decltype(detail::fit_mistake<On, Step>::raise())>();

/// Compiles where it does: a statement of its own, whose error has both numbers.
///
/// Rules    step_exceeds_the_device, device_says_no_memory, no_training_step
template <const device& On, class Step>
constexpr auto require_fits() {
  if constexpr (!detail::TrainingStep<Step>)
    return detail::step_mistake_of<Step>::raise();
  else if constexpr (is_mistake<detail::model_mistake<typename Step::model>>)
    return failed{};  // the model's own error is enough
  else if constexpr (is_mistake<detail::fit_mistake<On, Step>>)
    return detail::fit_mistake<On, Step>::raise();
  else if constexpr (!fits<On, Step>)
    return rule::step_exceeds_the_device<fact::step_takes<Step::memory.peak>, fact::device_has<On.memory>,
                                         fact::of_device<On>>::raise();
}

namespace detail {

/// The peak of a step of so many batches: each is a step of its own to the compiler, so few are asked for.
template <template <std::size_t> class StepOf, std::size_t Batch>
inline constexpr std::size_t peak_of_batch = StepOf<Batch>::memory.peak;

/// Where the line through two batches' peaks reaches `bytes`, but between `least` and `most`, both included.
constexpr std::size_t batch_on_line(std::size_t a, std::size_t peak_a, std::size_t b, std::size_t peak_b,
                                    std::size_t bytes, std::size_t least, std::size_t most) {
  if (peak_b <= peak_a) return most;
  const double each = static_cast<double>(peak_b - peak_a) / static_cast<double>(b - a);
  const double at =
      static_cast<double>(b) + (static_cast<double>(bytes) - static_cast<double>(peak_b)) / each;
  if (!(at > static_cast<double>(least))) return least;
  return at < static_cast<double>(most) ? static_cast<std::size_t>(at) : most;
}

/// Fits is a batch that does, Exceeds one that does not, or, where none is known yet, the first that is not
/// looked at. Memory is all but linear in the batch, so lines through what is known lead there in a few
/// steps.
template <template <std::size_t> class StepOf, std::size_t Bytes, std::size_t Fits, std::size_t Exceeds,
          std::size_t Before>
constexpr std::size_t largest_batch() {
  if constexpr (Fits + 1 >= Exceeds) {
    return Fits;
  } else {
    constexpr std::size_t next = [] {
      if (Before == 0) return Fits + 1;
      const std::size_t low = peak_of_batch<StepOf, Before>, high = peak_of_batch<StepOf, Fits>;
      return batch_on_line(Before, low, Fits, high, Bytes, Fits + 1, Exceeds - 1);
    }();
    if constexpr (peak_of_batch<StepOf, next> <= Bytes)
      return largest_batch<StepOf, Bytes, next, Exceeds, Fits>();
    else
      return largest_batch<StepOf, Bytes, Fits, next, Before>();
  }
}

template <const device& On, template <std::size_t> class StepOf, std::size_t Most, class Raised>
constexpr std::size_t find_max_batch() {
  if constexpr (!fits_asked_for<On, StepOf<1>, Raised>())
    return 0;
  else
    return largest_batch<StepOf, On.memory, 1, Most + 1, 0>();
}

}  // namespace detail

/// The largest batch, of at most Most, whose step fits in the device's memory while that of one more does
/// not; 0 where not even a batch of 1 does. StepOf is the step as a template of its batch; some five of them
/// are planned.
///
/// Rules    device_says_no_memory, no_training_step
/// Example  template <std::size_t Batch> using step_of = nk::train_step<model<Batch>, nk::adamw>;
///          static_assert(nk::max_batch<nk::h100_sxm, step_of> == 212);
template <const device& On, template <std::size_t> class StepOf, std::size_t Most = 65536>
inline constexpr std::size_t max_batch =
    detail::find_max_batch<On, StepOf, Most, decltype(detail::fit_mistake<On, StepOf<1>>::raise())>();

}  // namespace napkin
