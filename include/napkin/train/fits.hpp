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

/// A search for the largest batch whose step takes at most so many bytes, that asks for few, since each is a
/// plan of its own to the compiler: memory is all but linear in the batch, so lines through what is known
/// lead there.
struct batch_search {
  struct known {
    std::size_t batch = 0, peak = 0;
  };
  std::size_t bytes = 0;
  known fits;     // the largest that is known to
  known below;    // one that fits too, and was asked for before; batch 0: none
  known exceeds;  // the smallest that is known to; peak 0: none is, and `batch` is not to be looked at
  std::size_t lines = 0;  // asked for between one that fits and one that does not

  constexpr bool done() const { return fits.batch + 1 >= exceeds.batch; }
  /// What to ask for.
  constexpr std::size_t next() const {
    if (exceeds.peak == 0) return below.batch == 0 ? fits.batch + 1 : on_line(below, fits);
    // However the peaks lie, each third of these halves what is left.
    if (lines % 3 == 2) return fits.batch + (exceeds.batch - fits.batch) / 2;
    return on_line(fits, exceeds);
  }
  constexpr batch_search with(known asked) const {
    batch_search now = *this;
    now.lines = exceeds.peak == 0 ? 0 : lines + 1;
    if (asked.peak <= bytes) {
      now.below = fits;
      now.fits = asked;
    } else {
      now.exceeds = asked;
    }
    return now;
  }

 private:
  /// Where the line through two of them reaches `bytes`, of those that may be asked for.
  constexpr std::size_t on_line(const known& a, const known& b) const {
    const std::size_t least = fits.batch + 1, most = exceeds.batch - 1;
    if (b.peak <= a.peak) return most;
    const double each = static_cast<double>(b.peak - a.peak) / static_cast<double>(b.batch - a.batch);
    const double at =
        static_cast<double>(a.batch) + (static_cast<double>(bytes) - static_cast<double>(a.peak)) / each;
    if (!(at > static_cast<double>(least))) return least;
    return at < static_cast<double>(most) ? static_cast<std::size_t>(at) : most;
  }
};

template <template <std::size_t> class StepOf, std::size_t Batch>
constexpr batch_search::known peak_of_batch() {
  return {Batch, StepOf<Batch>::memory.peak};
}
template <template <std::size_t> class StepOf, batch_search Search>
constexpr std::size_t largest_batch() {
  if constexpr (Search.done())
    return Search.fits.batch;
  else
    return largest_batch<StepOf, Search.with(peak_of_batch<StepOf, Search.next()>())>();
}

template <const device& On, template <std::size_t> class StepOf, std::size_t Most, class Raised>
constexpr std::size_t find_max_batch() {
  if constexpr (!fits_asked_for<On, StepOf<1>, Raised>())
    return 0;
  else
    return largest_batch<StepOf, batch_search{On.memory, peak_of_batch<StepOf, 1>(), {}, {Most + 1, 0}, 0}>();
}

}  // namespace detail

/// The largest batch, of at most Most, whose step fits in the device's memory while that of one more does
/// not; 0 where not even a batch of 1 does. StepOf is the step as a template of its batch; some five of them
/// are planned.
///
/// Rules    device_says_no_memory, no_training_step
/// Example  template <std::size_t Batch> using step_of = nk::train_step<model<Batch>, nk::adamw>;
///          static_assert(nk::max_batch<nk::h100_sxm, step_of> == 212);
template <const device& On, template <std::size_t> class StepOf, std::size_t Most = std::size_t{1} << 30>
inline constexpr std::size_t max_batch =
    detail::find_max_batch<On, StepOf, Most, decltype(detail::fit_mistake<On, StepOf<1>>::raise())>();

}  // namespace napkin
