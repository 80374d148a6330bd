// AdamW: Adam with decoupled weight decay.
#pragma once

#include <cmath>
#include <cstdint>
#include <tuple>

#include "napkin/ops/elementwise.hpp"

namespace napkin {

/// State   two tensors of the parameters' shape: the first and second moment of the gradient
/// Cost    15 elementwise FLOPs and a square root for each parameter
/// Source  Loshchilov & Hutter, "Decoupled Weight Decay Regularization", 2019, algorithm 2; the order of
///         operations is torch.optim.AdamW's, which it equals within rounding
struct adamw {
  static constexpr const char* name = "adamw";
  static constexpr std::size_t states = 2;
  static constexpr const char* state_names[states] = {"first_moment", "second_moment"};

  struct options {
    double beta1 = 0.9, beta2 = 0.95;
    double epsilon = 1e-8;
    double weight_decay = 0.1;  // of the parameters that decay
  };

  /// What one step needs as numbers, in the order of update's last operands. step counts from 1; clip is
  /// what gradients are multiplied with first.
  static constexpr std::size_t scalars = 9;
  template <class T>
  static void fill(const options& o, double learning_rate, bool decays, std::int64_t step, double clip,
                   T* to) {
    const auto t = static_cast<double>(step);
    const double correction1 = 1 - std::pow(o.beta1, t), correction2 = 1 - std::pow(o.beta2, t);
    const double values[scalars] = {clip,
                                    1 - learning_rate * (decays ? o.weight_decay : 0),
                                    o.beta1,
                                    1 - o.beta1,
                                    o.beta2,
                                    1 - o.beta2,
                                    1 / std::sqrt(correction2),
                                    o.epsilon,
                                    learning_rate / correction1};
    for (std::size_t i = 0; i < scalars; ++i) to[i] = static_cast<T>(values[i]);
  }

  /// The next value and states of parameters p with gradient g.
  template <class V, class S>
  static constexpr auto update(const V& p, const V& g, const V& m, const V& v, const S& clip, const S& keep,
                               const S& beta1, const S& rest1, const S& beta2, const S& rest2,
                               const S& correction, const S& epsilon, const S& step_size) {
    const auto clipped = g * clip;
    const auto next_m = m * beta1 + clipped * rest1;
    const auto next_v = v * beta2 + clipped * clipped * rest2;
    const auto next_p = p * keep - next_m / (sqrt(next_v) * correction + epsilon) * step_size;
    return std::tuple(next_p, next_m, next_v);
  }
};

}  // namespace napkin
