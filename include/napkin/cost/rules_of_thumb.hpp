// The formulas that are worked on a napkin: doubles, for planning. Where a graph is at hand, its exact count
// (cost.hpp, conventions.hpp) is what to use.
#pragma once

#include "napkin/core/error.hpp"
#include "napkin/cost/device.hpp"

namespace napkin {

namespace rules_of_thumb {

struct training_run {
  double parameters = 0;
  double tokens = 0;  // seen in training
  napkin::device device;
  double devices = 1;
  double mfu = 0.5;  // model FLOPs utilisation: what part of the peak in bf16 is reached, above 0 and up to 1
};

/// FLOPs of training: 6 for each parameter and token.
/// Source  Kaplan et al., "Scaling Laws for Neural Language Models", 2020, section 2.1.
constexpr double training_flops(double parameters, double tokens) { return 6 * parameters * tokens; }

/// Days of 24 hours, at the device's dense peak in bf16. Errors  input_error: no peak, no devices, or an MFU
/// that no run reaches.
constexpr double training_days(const training_run& run) {
  const auto peak = static_cast<double>(run.device.bf16.per_second);
  if (!(run.mfu > 0 && run.mfu <= 1)) throw input_error("training_days: mfu lies above 0 and up to 1");
  if (!(run.devices > 0 && peak > 0))
    throw input_error("training_days: devices with a peak in bf16 are needed");
  const double per_day = run.devices * peak * run.mfu * 86400;
  return training_flops(run.parameters, run.tokens) / per_day;
}

/// Bytes for each parameter that AdamW trains in f32: the parameter, its gradient and two moments.
inline constexpr double adamw_bytes_per_parameter = 4 + 4 + (4 + 4);

/// The most parameters that AdamW trains in f32 on so many devices, activations left out.
constexpr double largest_adamw_model(const device& on, double devices) {
  return devices * static_cast<double>(on.memory) / adamw_bytes_per_parameter;
}

}  // namespace rules_of_thumb
}  // namespace napkin
