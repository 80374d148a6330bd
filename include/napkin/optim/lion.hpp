// Lion: steps of one size, in the direction of a sign.
#pragma once

#include <cstdint>
#include <tuple>

#include "napkin/ops/elementwise.hpp"
#include "napkin/optim/optimizer.hpp"

namespace napkin {

/// p - rate * (sign(beta1 * m + (1 - beta1) * g) + decay * p); then m = beta2 * m + (1 - beta2) * g.
///
/// State   the moment m
/// Cost    11 elementwise FLOPs for each parameter
/// Source  Chen et al. 2023, "Symbolic Discovery of Optimization Algorithms", algorithm 2: rates are 3 to 10
///         times smaller than AdamW's, weight decay as many times larger
struct lion {
  static constexpr const char* name = "lion";
  static constexpr std::size_t states = 1;
  static constexpr const char* state_names[states] = {"moment"};

  struct options {
    double beta1 = 0.9, beta2 = 0.99;
    double weight_decay = 0.1;  // of the parameters that decay

    constexpr const char* mistake() const {
      return detail::is_below_one(beta1) && detail::is_below_one(beta2) && detail::is_amount(weight_decay)
                 ? nullptr
                 : "beta1 and beta2 lie in [0, 1), weight_decay is not negative";
    }
  };

  static constexpr std::size_t scalars = 7;
  static constexpr std::size_t of_group[] = {1, 6};
  template <class T>
  static void fill(const options& o, double learning_rate, double decay, std::int64_t, double clip, T* to) {
    const double values[scalars] = {
        clip,         1 - learning_rate * decay * o.weight_decay, o.beta1, 1 - o.beta1, o.beta2, 1 - o.beta2,
        learning_rate};
    detail::hand_over(values, to);
  }

  template <class V, class S>
  static constexpr auto update(const V& p, const V& g, const V& m, const S& clip, const S& keep,
                               const S& beta1, const S& rest1, const S& beta2, const S& rest2,
                               const S& rate) {
    const auto clipped = g * clip;
    const auto direction = sign(m * beta1 + clipped * rest1);
    return std::tuple(p * keep - direction * rate, m * beta2 + clipped * rest2);
  }
};

}  // namespace napkin
