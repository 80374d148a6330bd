// Learning rates over the steps of a run. A schedule is a function of the step, counted from 0; all but
// constant_rate warm up first, in equal steps from peak / warmup_steps to the peak. What decays is at its end
// from step total_steps on, which is the one behind the last of so many steps.
#pragma once

#include <cmath>
#include <cstdint>

namespace napkin {

namespace detail {
constexpr double warmed_up(double peak, std::int64_t step, std::int64_t warmup_steps) {
  return step < warmup_steps ? peak * static_cast<double>(step + 1) / static_cast<double>(warmup_steps)
                             : peak;
}
/// How much of the way from one step to another lies behind: from 0, before the first, to 1.
constexpr double way_behind(std::int64_t step, std::int64_t from, std::int64_t to) {
  if (step >= to) return 1;
  return step <= from ? 0 : static_cast<double>(step - from) / static_cast<double>(to - from);
}
}  // namespace detail

/// Linear warm-up to the peak, then half a cosine down to `final_fraction` of it at step `total_steps`.
///
/// Source  Loshchilov & Hutter, "SGDR", 2017; the form used by nanoGPT and llm.c
struct warmup_cosine {
  double peak = 1e-3;
  std::int64_t warmup_steps = 0;
  std::int64_t total_steps = 1;
  double final_fraction = 0.1;

  double operator()(std::int64_t step) const {
    if (step < warmup_steps) return detail::warmed_up(peak, step, warmup_steps);
    const double last = peak * final_fraction;
    const double progress = detail::way_behind(step, warmup_steps, total_steps);
    return last + 0.5 * (peak - last) * (1 + std::cos(3.14159265358979323846 * progress));
  }
};

/// Linear warm-up to the peak, then a straight line down to `final_fraction` of it at step `total_steps`.
///
/// Source  the form of Hugging Face's get_linear_schedule_with_warmup, which warms up from 0
struct warmup_linear {
  double peak = 1e-3;
  std::int64_t warmup_steps = 0;
  std::int64_t total_steps = 1;
  double final_fraction = 0;

  constexpr double operator()(std::int64_t step) const {
    if (step < warmup_steps) return detail::warmed_up(peak, step, warmup_steps);
    return peak * (1 - (1 - final_fraction) * detail::way_behind(step, warmup_steps, total_steps));
  }
};

/// Linear warm-up, then the peak for good.
struct warmup_constant {
  double peak = 1e-3;
  std::int64_t warmup_steps = 0;

  constexpr double operator()(std::int64_t step) const { return detail::warmed_up(peak, step, warmup_steps); }
};

/// WSD: linear warm-up, the peak for most of the run, and from step `total_steps - decay_steps`, still at the
/// peak, to step `total_steps` down to `final_fraction`, by a straight line or as 1 - sqrt(x), which falls
/// fast first. A run may be prolonged at the peak and decayed later.
///
/// Source  Hu et al. 2024, "MiniCPM"; the root: Haegele et al. 2024, "Scaling Laws and Compute-Optimal
///         Training Beyond Fixed Training Durations"
struct warmup_stable_decay {
  enum class shape : std::uint8_t { linear, root };

  double peak = 1e-3;
  std::int64_t warmup_steps = 0;
  std::int64_t decay_steps = 0;
  std::int64_t total_steps = 1;
  double final_fraction = 0;
  shape decay = shape::root;

  double operator()(std::int64_t step) const {
    if (step < warmup_steps) return detail::warmed_up(peak, step, warmup_steps);
    const double behind = detail::way_behind(step, total_steps - decay_steps, total_steps);
    return peak * (1 - (1 - final_fraction) * (decay == shape::linear ? behind : std::sqrt(behind)));
  }
};

/// The same at every step.
struct constant_rate {
  double peak = 1e-3;
  constexpr double operator()(std::int64_t) const { return peak; }
};

}  // namespace napkin
