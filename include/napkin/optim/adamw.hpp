// Adam, and AdamW, which decays weights apart from the gradient.
#pragma once

#include <cmath>
#include <cstdint>
#include <tuple>

#include "napkin/ops/elementwise.hpp"
#include "napkin/optim/optimizer.hpp"

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

    constexpr const char* mistake() const {
      return detail::is_below_one(beta1) && detail::is_below_one(beta2) &&
                     detail::is_amount_above_zero(epsilon) && detail::is_amount(weight_decay)
                 ? nullptr
                 : "beta1 and beta2 lie in [0, 1), epsilon is above 0 in f32, weight_decay is not negative";
    }
  };

  static constexpr std::size_t scalars = 9;
  static constexpr std::size_t of_group[] = {1, 8};
  template <class T>
  static void fill(const options& o, double learning_rate, double decay, std::int64_t step, double clip,
                   T* to) {
    const auto t = static_cast<double>(step);
    const double correction1 = 1 - std::pow(o.beta1, t), correction2 = 1 - std::pow(o.beta2, t);
    const double values[scalars] = {clip,
                                    1 - learning_rate * decay * o.weight_decay,
                                    o.beta1,
                                    1 - o.beta1,
                                    o.beta2,
                                    1 - o.beta2,
                                    1 / std::sqrt(correction2),
                                    o.epsilon,
                                    learning_rate / correction1};
    detail::hand_over(values, to);
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

/// With weight decay as part of the gradient, as for plain gradient descent: scaled by the second moment too.
///
/// State   as adamw's
/// Cost    16 elementwise FLOPs and a square root for each parameter
/// Source  Kingma & Ba 2015, algorithm 1; torch.optim.Adam
struct adam {
  static constexpr const char* name = "adam";
  static constexpr std::size_t states = 2;
  static constexpr const char* state_names[states] = {"first_moment", "second_moment"};

  struct options {
    double beta1 = 0.9, beta2 = 0.999;
    double epsilon = 1e-8;
    double weight_decay = 0;

    constexpr const char* mistake() const {
      return adamw::options{beta1, beta2, epsilon, weight_decay}.mistake();
    }
  };

  static constexpr std::size_t scalars = 9;
  static constexpr std::size_t of_group[] = {1, 8};
  template <class T>
  static void fill(const options& o, double learning_rate, double decay, std::int64_t step, double clip,
                   T* to) {
    adamw::fill({.beta1 = o.beta1, .beta2 = o.beta2, .epsilon = o.epsilon, .weight_decay = 0}, learning_rate,
                0, step, clip, to);
    to[1] = static_cast<T>(decay * o.weight_decay);
  }

  template <class V, class S>
  static constexpr auto update(const V& p, const V& g, const V& m, const V& v, const S& clip, const S& decay,
                               const S& beta1, const S& rest1, const S& beta2, const S& rest2,
                               const S& correction, const S& epsilon, const S& step_size) {
    const auto slope = g * clip + p * decay;
    const auto next_m = m * beta1 + slope * rest1;
    const auto next_v = v * beta2 + slope * slope * rest2;
    return std::tuple(p - next_m / (sqrt(next_v) * correction + epsilon) * step_size, next_m, next_v);
  }
};

}  // namespace napkin
