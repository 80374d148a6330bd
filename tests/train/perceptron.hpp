// A network of two layers and a batch for it, to train in few bits.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "napkin/ops/elementwise.hpp"
#include "napkin/ops/matmul.hpp"
#include "napkin/ops/reflect.hpp"

namespace few_bits {

namespace nk = napkin;

struct batch : nk::dim<"batch", 8> {};
struct feature : nk::dim<"feature", 12> {};
struct hidden : nk::dim<"hidden", 16> {};

/// The mean square of an error, over 10^Zeros: so are its gradients.
template <int Zeros>
struct perceptron {
  BOOST_HANA_DEFINE_STRUCT(perceptron, (nk::param<feature, hidden>, up), (nk::param<hidden>, down));
  constexpr auto loss(nk::input<nk::f32, batch, feature> x, nk::input<nk::f32, batch> y) const {
    double share = 1;
    for (int i = 0; i < Zeros; ++i) share /= 10;
    const auto error = nk::dot<"hidden">(nk::tanh(nk::dot<"feature">(x, up)), down) - y;
    return nk::mean(error * error) * share;
  }
};

inline std::vector<float> inputs(float scale = 1) {
  std::vector<float> x;
  for (std::size_t i = 0; i < batch::size * feature::size; ++i)
    x.push_back(scale * (static_cast<float>((7 * i) % 11) / 11 - 0.5f));
  return x;
}
inline const std::vector<float> targets(batch::size, 1.0f);

/// Relative, of their norms.
inline double error_of(const std::vector<float>& found, const std::vector<float>& exact) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    difference += std::pow(double{found[i]} - exact[i], 2);
    norm += std::pow(double{exact[i]}, 2);
  }
  return std::sqrt(difference / norm);
}

}  // namespace few_bits
