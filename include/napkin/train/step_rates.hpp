// How fast training goes: tokens and FLOPs a second, and the part that this is of the device's peak. What a
// step costs by kernel is in train/step_account.hpp.
#pragma once

#include <cstdint>
#include <utility>

#include "napkin/cost/device.hpp"
#include "napkin/train/seconds.hpp"
#include "napkin/train/step_report.hpp"

namespace napkin {

/// What one step is, for rates.
struct step_work {
  std::uint64_t tokens = 0;
  std::uint64_t flops = 0;  // the model's, by conventions::exact: not what recomputation adds
  dense_flops peak{};       // of the device in the arithmetic of the longest products; 0: not known
};

/// What came of one step.
struct step_made {
  std::int64_t step = 0;  // steps made, this one included
  double loss = 0;        // nats per token
  double norm = 0;        // of the gradient, before clipping
  double rate = 0;        // learning rate
  double seconds = 0;     // it took, all that the loop did for it included, validation and saving not
  bool applied = true;    // false: loss or norm was not finite, and nothing was changed
};

struct step_rates {
  double tokens_per_second = 0;  // 0: not known yet
  double flops_per_second = 0;
  double mfu = 0;  // model FLOPs utilisation: of the peak; 0: not known. Above 1 where the peak was too low
};

constexpr step_rates rates_of(const step_work& work, double seconds) {
  if (!(seconds > 0)) return {};
  step_rates r{static_cast<double>(work.tokens) / seconds, static_cast<double>(work.flops) / seconds, 0};
  if (work.peak.per_second > 0) r.mfu = r.flops_per_second / static_cast<double>(work.peak.per_second);
  return r;
}

namespace detail {
step_work work_of(const step_description& step, const device* on);
}

/// On a device; on none, or on one without a rate for one of the step's products, the peak is not known: no
/// other stands in for it.
///
/// Rules  no_training_step
template <detail::TrainingStep Step>
step_work work_of(const device* on) {
  return detail::work_of(detail::describe<Step>(), on);
}
template <class NoStep>
auto work_of(const device*) {  // refused
  return detail::step_misfit<NoStep>::raise();
}

/// Seconds from step to step. A trainer's step returns when the device is done with it, so this is the time
/// of the work, not of its launch.
class step_clock {
 public:
  /// Seconds since construction, or since the last lap or restart.
  double lap() {
    const double now = steady_seconds();
    return now - std::exchange(last_, now);
  }
  /// What went on since the last lap is no part of the next.
  void restart() { last_ = steady_seconds(); }

 private:
  double last_ = steady_seconds();
};

}  // namespace napkin
