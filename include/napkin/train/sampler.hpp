// Batches of training data: windows of the token sequence at random places, repeatable from two integers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "napkin/core/error.hpp"
#include "napkin/core/philox.hpp"
#include "napkin/train/token_file.hpp"

namespace napkin {

/// All that a sampler remembers, and all that a checkpoint keeps of it.
struct sampler_state {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;  // batches handed out
  bool operator==(const sampler_state&) const = default;
};

/// Random windows of `source`, which must outlive the sampler. Each start is equally likely and drawn with
/// replacement by a counter (see core/philox.hpp), so batch n is the same however one comes to it.
class batch_sampler {
 public:
  /// Batches of `batch` windows of `time` tokens. `input_error` if the source has not one window and the
  /// target after it.
  batch_sampler(const token_source& source, std::size_t batch, std::size_t time, sampler_state state)
      : source_(&source), batch_(batch), time_(time), state_(state) {
    if (batch == 0 || time == 0) throw error("a batch needs at least one window of at least one token");
    source.require_window(time);
  }

  const sampler_state& state() const { return state_; }

  /// Where window `row` of batch `step` begins in the source: at most its size - time - 1.
  std::uint64_t start(std::uint64_t step, std::size_t row) const {
    // Not `integer` of core/random.hpp, whose bound has 32 bits: a corpus may have more tokens. The remainder
    // favours no start by more than one part in 2^64 / size.
    return uniform_bits64(stream_of(state_.seed, "batch"), step * batch_ + row) % (source_->size() - time_);
  }

  /// Fill the next batch: tokens and targets are (batch, time), targets[b, t] the token after tokens[b, t].
  /// A window may span the border of two files, never the end of the last.
  void next(std::span<std::uint16_t> tokens, std::span<std::uint16_t> targets) {
    if (tokens.size() != batch_ * time_ || targets.size() != batch_ * time_)
      throw error("a batch has " + std::to_string(batch_ * time_) + " tokens; the room given has " +
                  std::to_string(tokens.size()) + " and " + std::to_string(targets.size()));
    for (std::size_t row = 0; row < batch_; ++row) {
      const std::uint64_t first = start(state_.step, row);
      source_->copy(first, time_, tokens.data() + row * time_);
      source_->copy(first + 1, time_, targets.data() + row * time_);
    }
    ++state_.step;
  }

 private:
  const token_source* source_;
  std::size_t batch_;
  std::size_t time_;
  sampler_state state_;
};

}  // namespace napkin
