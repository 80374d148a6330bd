// Learning rates over the steps of a run. A schedule is a function of the step, counted from 0.
#pragma once

#include <cmath>
#include <cstdint>

namespace napkin {

/// Linear warm-up to the peak, then half a cosine down to `final_fraction` of it at the last step.
///
/// Source  Loshchilov & Hutter, "SGDR", 2017; the form used by nanoGPT and llm.c
struct warmup_cosine {
  double peak = 1e-3;
  std::int64_t warmup_steps = 0;
  std::int64_t total_steps = 1;
  double final_fraction = 0.1;

  double operator()(std::int64_t step) const {
    if (step < warmup_steps) return peak * static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
    const double last = peak * final_fraction;
    if (step >= total_steps) return last;
    const double progress =
        static_cast<double>(step - warmup_steps) / static_cast<double>(total_steps - warmup_steps);
    return last + 0.5 * (peak - last) * (1 + std::cos(3.14159265358979323846 * progress));
  }
};

/// The same at every step.
struct constant_rate {
  double peak = 1e-3;
  double operator()(std::int64_t) const { return peak; }
};

}  // namespace napkin
