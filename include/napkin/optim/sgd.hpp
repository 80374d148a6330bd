// Gradient descent: plain, with momentum, and with Nesterov's.
#pragma once

#include <cstdint>
#include <tuple>

#include "napkin/optim/optimizer.hpp"

namespace napkin {

/// p - rate * (g + decay * p)
///
/// State   none
/// Cost    5 elementwise FLOPs for each parameter
/// Source  torch.optim.SGD, whose weight decay is part of the gradient
struct sgd {
  static constexpr const char* name = "sgd";
  static constexpr std::size_t states = 0;
  static constexpr std::array<const char*, 0> state_names{};

  struct options {
    double weight_decay = 0;

    constexpr const char* mistake() const {
      return detail::is_amount(weight_decay) ? nullptr : "weight_decay is not negative";
    }
  };

  static constexpr std::size_t scalars = 3;
  static constexpr std::size_t of_group[] = {1, 2};
  template <class T>
  static void fill(const options& o, double learning_rate, double decay, std::int64_t, double clip, T* to) {
    const double values[scalars] = {clip, decay * o.weight_decay, learning_rate};
    detail::hand_over(values, to);
  }

  template <class V, class S>
  static constexpr auto update(const V& p, const V& g, const S& clip, const S& decay, const S& rate) {
    return std::tuple(p - (g * clip + p * decay) * rate);
  }
};

/// What momentum and nesterov share: the velocity v, which begins as the first gradient.
///
/// Source  torch.optim.SGD, with dampening
struct momentum_numbers {
  static constexpr std::size_t states = 1;
  static constexpr const char* state_names[states] = {"velocity"};

  struct options {
    double momentum = 0.9;
    double dampening = 0;  // of every gradient but the first
    double weight_decay = 0;

    constexpr const char* mistake() const {
      return detail::is_amount(momentum) && detail::is_amount(dampening) && detail::is_amount(weight_decay)
                 ? nullptr
                 : "momentum, dampening and weight_decay are not negative";
    }
  };

  static constexpr std::size_t scalars = 5;
  static constexpr std::size_t of_group[] = {1, 4};
  template <class T>
  static void fill(const options& o, double learning_rate, double decay, std::int64_t step, double clip,
                   T* to) {
    const double values[scalars] = {clip, decay * o.weight_decay, o.momentum, step == 1 ? 1 : 1 - o.dampening,
                                    learning_rate};
    detail::hand_over(values, to);
  }
};

/// A step along v = momentum * v + g.
///
/// State   the velocity
/// Cost    7 elementwise FLOPs for each parameter
/// Source  Polyak 1964, as Sutskever et al. 2013 have it but for the rate, which here multiplies the velocity
struct momentum : momentum_numbers {
  static constexpr const char* name = "momentum";

  template <class V, class S>
  static constexpr auto update(const V& p, const V& g, const V& v, const S& clip, const S& decay,
                               const S& keep, const S& take, const S& rate) {
    const auto next_v = v * keep + (g * clip + p * decay) * take;
    return std::tuple(p - next_v * rate, next_v);
  }
};

/// A step along g + momentum * v, v being the next velocity: as if the gradient were read one step ahead.
///
/// State   the velocity
/// Cost    9 elementwise FLOPs for each parameter
/// Source  Nesterov 1983, in the form of Bengio et al. 2012
struct nesterov : momentum_numbers {
  static constexpr const char* name = "nesterov";

  template <class V, class S>
  static constexpr auto update(const V& p, const V& g, const V& v, const S& clip, const S& decay,
                               const S& keep, const S& take, const S& rate) {
    const auto slope = g * clip + p * decay;
    const auto next_v = v * keep + slope * take;
    return std::tuple(p - (slope + next_v * keep) * rate, next_v);
  }
};

}  // namespace napkin
