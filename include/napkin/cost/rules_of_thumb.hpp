// The formulas that are worked on a napkin: doubles, for planning. Where a graph is at hand, its exact count
// (cost.hpp, conventions.hpp, step::memory) is what to use.
#pragma once

#include "napkin/core/error.hpp"
#include "napkin/cost/devices.hpp"

namespace napkin {

namespace rules_of_thumb {

// ---- compute

struct training_run {
  double parameters = 0;
  double tokens = 0;  // seen in training
  napkin::device device{"none"};
  double devices = 1;
  double mfu = 0.5;  // model FLOPs utilisation: what part of the dense peak is reached, above 0 and up to 1
  napkin::arithmetic arithmetic = napkin::arithmetic::bf16;
};

/// FLOPs of training: 6 for each parameter and token, of which 2 are forward.
/// Source  Kaplan et al., "Scaling Laws for Neural Language Models", 2020, section 2.1.
constexpr double training_flops(double parameters, double tokens) { return 6 * parameters * tokens; }

/// FLOPs that the run's devices do in so many days of 24 hours.
///
/// Errors  input_error: no peak, no devices, or an MFU that no run reaches
constexpr double flops_in(double days, const training_run& on) {
  const auto peak = static_cast<double>(on.device.peak(on.arithmetic).per_second);
  if (!(on.mfu > 0 && on.mfu <= 1)) throw input_error("flops_in: mfu lies above 0 and up to 1");
  if (!(on.devices > 0 && peak > 0))
    throw input_error("flops_in: devices with a known peak in that arithmetic are needed");
  return on.devices * peak * on.mfu * 86400 * days;
}
/// Days of 24 hours. Errors  as flops_in
constexpr double training_days(const training_run& run) {
  return training_flops(run.parameters, run.tokens) / flops_in(1, run);
}

/// FLOPs of training for each token, of L layers, H heads, Q wide, over T positions; N parameters.
/// Source  PaLM: Chowdhery et al. 2022, appendix B. llm.c (train_gpt2.cu, gpt2_estimate_mfu) counts half of
///         the attention, since it is causal.
constexpr double palm_flops(double n, double l, double h, double q, double t) {
  return 6 * n + 12 * l * h * q * t;
}
constexpr double llm_c_flops(double n, double l, double h, double q, double t) {
  return 6 * n + 6 * l * h * q * t;
}

// ---- memory that does not depend on the batch

/// Bytes for each parameter in training.
struct bytes_per_parameter {
  double parameter = 4, master = 0, gradient = 4, state = 0;
  constexpr double total() const { return parameter + master + gradient + state; }
};
inline constexpr bytes_per_parameter sgd_f32{4, 0, 4, 0};
inline constexpr bytes_per_parameter momentum_f32{4, 0, 4, 4};
inline constexpr bytes_per_parameter adagrad_f32{4, 0, 4, 4};
inline constexpr bytes_per_parameter rmsprop_f32{4, 0, 4, 4};
inline constexpr bytes_per_parameter adamw_f32{4, 0, 4, 4 + 4};
/// Parameters and gradients in 16 bits, a copy in f32. Source  ZeRO (K = 12).
inline constexpr bytes_per_parameter adamw_mixed{2, 4, 2, 4 + 4};
/// The same with gradients in f32. Source  Megatron-LM, theoretical_memory_usage.py
inline constexpr bytes_per_parameter adamw_megatron{2, 4, 4, 4 + 4};
/// Megatron's distributed optimizer, of dp copies of the model: what is not needed everywhere is shared out.
constexpr double distributed_optimizer_bytes(double dp) { return 6 + 12 / dp; }

/// The most parameters that so many devices train, activations left out.
constexpr double largest_model(const device& on, double devices, const bytes_per_parameter& each) {
  return devices * static_cast<double>(on.memory) / each.total();
}

/// Bytes on each of n devices: stage 1 shares out the optimizer's state, 2 gradients too, 3 parameters too; 0
/// nothing.
/// Source  Rajbhandari et al., "ZeRO", 2020, section 3; 2 + 2 + 12 bytes, mixed precision
constexpr double zero_bytes(int stage, double parameters, double n) {
  if (stage < 0 || stage > 3 || !(n >= 1))
    throw input_error("zero_bytes: stages are 0 to 3, devices at least 1");
  const double state = 12 / (stage >= 1 ? n : 1), gradient = 2 / (stage >= 2 ? n : 1),
               parameter = 2 / (stage >= 3 ? n : 1);
  return parameters * (state + gradient + parameter);
}

// ---- activations

struct transformer {
  double layers = 0, sequence = 0, batch = 0, hidden = 0, heads = 0;
  double ffn = 0;              // width of the feed-forward layer
  double tensor_parallel = 1;  // devices that share a layer
};
enum class recomputation { none, selective, full };

/// Bytes kept for the backward pass: sbh(34 + 5as/h) a layer; among t devices sbh(10 + 24/t + 5as/(ht)), with
/// sequence parallelism all of it over t. Selective recomputation drops the scores, full keeps each layer's
/// input. Valid of 16-bit activations, 1-byte dropout masks, a GeLU layer of 4h and scores that are written
/// down: not of SwiGLU, grouped queries or fused attention.
/// Source  Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models", 2022, table 2
constexpr double activation_bytes(const transformer& x, recomputation again = recomputation::none,
                                  bool sequence_parallel = false) {
  const double sbh = x.sequence * x.batch * x.hidden, t = x.tensor_parallel;
  if (again == recomputation::full) return 2 * sbh * x.layers;
  const double scores = again == recomputation::none ? 5 * x.heads * x.sequence / x.hidden : 0;
  const double layer = sequence_parallel ? (34 + scores) / t : 10 + 24 / t + scores / t;
  return sbh * layer * x.layers;
}
/// The same of p bytes an activation. Source  EleutherAI cookbook, calc_transformer_mem.py
constexpr double activation_bytes_eleuther(const transformer& x, double p) {
  return x.sequence * x.batch * x.hidden * x.layers *
         ((16 * p + 2) + (2 * p + 1) * x.heads * x.sequence / x.hidden);
}
/// Without scores, of any width of the feed-forward layer. Source  Megatron-LM, theoretical_memory_usage.py
constexpr double activation_bytes_megatron(const transformer& x) {
  return x.sequence * x.batch * x.hidden * x.layers * (18 + 4 * x.ffn / x.hidden);
}
/// FLOPs of a step's products forward and backward, nothing of them done again, of a vocabulary of v and g
/// groups of queries; GeLU in the feed-forward layer.
/// Source  Narayanan et al., "Efficient Large-Scale Language Model Training", 2021, appendix; Megatron-LM
constexpr double step_flops_megatron(const transformer& x, double v, double g) {
  const double h = x.hidden;
  return 12 * x.batch * x.sequence * x.layers * h * h *
         (1 + g / x.heads + x.sequence / h + x.ffn / h + v / (2 * x.layers * h));
}

}  // namespace rules_of_thumb
}  // namespace napkin
