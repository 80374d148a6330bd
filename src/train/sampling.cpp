// Softmax over the likeliest tokens, and one draw from it.
#include "napkin/train/sampling.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "napkin/core/error.hpp"
#include "napkin/core/math.hpp"
#include "napkin/core/random.hpp"

namespace napkin {

token_sampler::token_sampler(sampling_options options) : options_(options) {
  if (!(options.temperature >= 0) || std::isinf(options.temperature))
    throw input_error("a temperature is a number of 0 or more, not " + std::to_string(options.temperature));
  if (!(options.top_p > 0 && options.top_p <= 1))
    throw input_error("top-p is a number above 0 and up to 1, not " + std::to_string(options.top_p));
}

std::size_t token_sampler::operator()(std::span<const float> logits, random_stream stream, std::uint64_t i) {
  bool finite = false;
  for (const float x : logits) {
    if (!(x < std::numeric_limits<float>::infinity()))
      throw error("a logit is " + std::to_string(x) + ": the model has diverged");
    finite = finite || std::isfinite(x);  // -inf excludes a token
  }
  if (!finite) throw error("no logit is finite: the model has diverged");

  std::size_t k = options_.temperature == 0 ? 1
                  : options_.top_k == 0     ? logits.size()
                                            : std::min(options_.top_k, logits.size());
  order_.resize(logits.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  const auto end = order_.begin() + static_cast<std::ptrdiff_t>(k);
  std::partial_sort(order_.begin(), end, order_.end(), [&](std::size_t a, std::size_t b) {
    return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
  });
  if (k == 1) return order_[0];

  const double largest = static_cast<double>(logits[order_[0]]);
  weights_.resize(k);
  double sum = 0;
  for (std::size_t j = 0; j < k; ++j)
    sum += weights_[j] = math::exp((static_cast<double>(logits[order_[j]]) - largest) / options_.temperature);
  if (options_.top_p < 1) {
    double kept = 0;
    std::size_t fewest = 0;
    while (fewest < k && kept < options_.top_p * sum) kept += weights_[fewest++];
    k = fewest;
    sum = kept;
  }
  double left = uniform<double>(stream, i) * sum;
  for (std::size_t j = 0; j < k; ++j) {
    left -= weights_[j];
    if (left < 0) return order_[j];
  }
  return order_[0];  // the sum was rounded up past the last
}

}  // namespace napkin
