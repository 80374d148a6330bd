// Drawing a token from a model's logits: temperature, top-k and top-p. Not where the logits come from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "napkin/core/philox.hpp"

namespace napkin {

struct sampling_options {
  double temperature = 1;  // logits are divided by it; 0: the likeliest token, always
  std::size_t top_k = 0;   // only the k likeliest are drawn; 0: all
  double top_p = 1;        // of those, the fewest likeliest whose probabilities add up to p; 1: all
};

/// Draws tokens; keeps its working memory between draws.
class token_sampler {
 public:
  /// `input_error` for a temperature that is negative or no number, and a top_p that is not above 0 and up
  /// to 1.
  explicit token_sampler(sampling_options options);

  /// A token by its probability under softmax(logits / temperature), among the top k, and of these the top p
  /// by their probabilities among each other; of equal logits the first counts as the likelier. The draw is
  /// element `i` of the stream. `error` where no logit is finite or one is NaN: the model has diverged.
  ///
  /// Source  top-k: Fan, Lewis, Dauphin, "Hierarchical neural story generation", 2018; top-p: Holtzman et
  ///         al., "The curious case of neural text degeneration", 2020
  std::size_t operator()(std::span<const float> logits, random_stream stream, std::uint64_t i);

 private:
  sampling_options options_;
  std::vector<std::size_t> order_;
  std::vector<double> weights_;
};

}  // namespace napkin
