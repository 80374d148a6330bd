// Rates that shrink with the squares of the gradients seen: AdaGrad of all, RMSProp of the recent ones.
#pragma once

#include <cstdint>
#include <tuple>

#include "napkin/ops/elementwise.hpp"
#include "napkin/optim/optimizer.hpp"

namespace napkin {

/// p - rate / (1 + (step - 1) * rate_decay) * g / (sqrt(sum of g^2) + epsilon)
///
/// State   the sum of squares
/// Cost    8 elementwise FLOPs and a square root for each parameter
/// Source  Duchi, Hazan & Singer 2011; torch.optim.Adagrad, the sum beginning at 0
struct adagrad {
  static constexpr const char* name = "adagrad";
  static constexpr std::size_t states = 1;
  static constexpr const char* state_names[states] = {"sum_of_squares"};

  struct options {
    double rate_decay = 0;
    double epsilon = 1e-10;
    double weight_decay = 0;

    constexpr const char* mistake() const {
      return detail::is_amount(rate_decay) && detail::is_amount_above_zero(epsilon) &&
                     detail::is_amount(weight_decay)
                 ? nullptr
                 : "epsilon is above 0 in f32, rate_decay and weight_decay are not negative";
    }
  };

  static constexpr std::size_t scalars = 4;
  static constexpr std::size_t of_group[] = {1, 3};
  template <class T>
  static void fill(const options& o, double learning_rate, double decay, std::int64_t step, double clip,
                   T* to) {
    const double values[scalars] = {clip, decay * o.weight_decay, o.epsilon,
                                    learning_rate / (1 + static_cast<double>(step - 1) * o.rate_decay)};
    detail::hand_over(values, to);
  }

  template <class V, class S>
  static constexpr auto update(const V& p, const V& g, const V& squares, const S& clip, const S& decay,
                               const S& epsilon, const S& rate) {
    const auto slope = g * clip + p * decay;
    const auto next_squares = squares + slope * slope;
    return std::tuple(p - slope / (sqrt(next_squares) + epsilon) * rate, next_squares);
  }
};

/// p - rate * g / (sqrt(mean of g^2) + epsilon), the mean an exponential one.
///
/// State   the mean of squares
/// Cost    10 elementwise FLOPs and a square root for each parameter
/// Source  Tieleman & Hinton 2012, lecture 6.5; torch.optim.RMSprop without momentum, not centred
struct rmsprop {
  static constexpr const char* name = "rmsprop";
  static constexpr std::size_t states = 1;
  static constexpr const char* state_names[states] = {"mean_of_squares"};

  struct options {
    double alpha = 0.99;
    double epsilon = 1e-8;
    double weight_decay = 0;

    constexpr const char* mistake() const {
      return detail::is_amount(alpha) && alpha <= 1 && detail::is_amount_above_zero(epsilon) &&
                     detail::is_amount(weight_decay)
                 ? nullptr
                 : "alpha lies in [0, 1], epsilon is above 0 in f32, weight_decay is not negative";
    }
  };

  static constexpr std::size_t scalars = 6;
  static constexpr std::size_t of_group[] = {1, 5};
  template <class T>
  static void fill(const options& o, double learning_rate, double decay, std::int64_t, double clip, T* to) {
    const double values[scalars] = {clip,      decay * o.weight_decay, o.alpha, 1 - o.alpha,
                                    o.epsilon, learning_rate};
    detail::hand_over(values, to);
  }

  template <class V, class S>
  static constexpr auto update(const V& p, const V& g, const V& squares, const S& clip, const S& decay,
                               const S& alpha, const S& rest, const S& epsilon, const S& rate) {
    const auto slope = g * clip + p * decay;
    const auto next_squares = squares * alpha + slope * slope * rest;
    return std::tuple(p - slope / (sqrt(next_squares) + epsilon) * rate, next_squares);
  }
};

}  // namespace napkin
