// The loss on text that was not trained on: the same windows at every measurement.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "napkin/train/token_file.hpp"

namespace napkin {

/// Windows at equal distances over the whole of a text, read once.
class validation_set {
 public:
  /// `batches` batches of `batch` windows of `time` tokens, fewer where the text has fewer windows that do
  /// not overlap, but one batch at least. `input_error` if the text has not one window and the token after
  /// it.
  validation_set(const token_source& text, std::size_t batches, std::size_t batch, std::size_t time)
      : tokens_in_batch_(batch * time) {
    text.require_window(time);
    const std::uint64_t room = text.size() - time - 1;
    const auto distinct = static_cast<std::size_t>((room / time + 1) / batch);
    if (batches > distinct) batches = distinct;
    batches_ = batches == 0 ? 1 : batches;
    const std::size_t windows = batches_ * batch;
    tokens_.resize(windows * time);
    targets_.resize(windows * time);
    for (std::size_t w = 0; w < windows; ++w) {
      const std::uint64_t start =
          windows == 1 ? 0 : room / (windows - 1) * w + room % (windows - 1) * w / (windows - 1);
      text.copy(start, time, tokens_.data() + w * time);
      text.copy(start + 1, time, targets_.data() + w * time);
    }
  }

  std::size_t batches() const { return batches_; }
  std::size_t size() const { return tokens_.size(); }  // tokens that are predicted
  std::span<const std::uint16_t> tokens(std::size_t b) const { return part(tokens_, b); }
  std::span<const std::uint16_t> targets(std::size_t b) const { return part(targets_, b); }

  /// Every token that is predicted, for what else is to be known of them.
  std::span<const std::uint16_t> all_targets() const { return targets_; }

  /// The mean loss of a trainer over all of them, in nats per token.
  template <class Trainer>
  double loss(Trainer& t) const {
    double sum = 0;
    for (std::size_t b = 0; b < batches_; ++b) sum += static_cast<double>(t.evaluate(tokens(b), targets(b)));
    return sum / static_cast<double>(batches_);
  }

 private:
  std::span<const std::uint16_t> part(const std::vector<std::uint16_t>& all, std::size_t b) const {
    return std::span(all).subspan(b * tokens_in_batch_, tokens_in_batch_);
  }

  std::size_t tokens_in_batch_;
  std::size_t batches_ = 0;
  std::vector<std::uint16_t> tokens_;
  std::vector<std::uint16_t> targets_;
};

}  // namespace napkin
