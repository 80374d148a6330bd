// Batches made on another thread while a step runs: those that batch_sampler makes, bit for bit, in the same
// order, and with the same two integers to go on from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "napkin/core/box.hpp"
#include "napkin/train/sampler.hpp"

namespace napkin {

/// Tokens and the token after each, both (batch, time).
struct token_batch {
  std::span<const std::uint16_t> tokens, targets;
};

class batch_prefetcher {
 public:
  /// Batches of `batch` windows of `time` tokens from `state` on, `ahead` of them made before they are asked
  /// for. The thread has `source` to itself, and calls its file system. The batches lie in memory that is
  /// allocated here.
  ///
  /// Errors  as batch_sampler; `error` where `ahead` is 0; `system_error` where no thread is to be had
  batch_prefetcher(token_source source, std::size_t batch, std::size_t time, sampler_state state,
                   std::size_t ahead = 2);
  /// Waits for the batch that is being made.
  ~batch_prefetcher();
  batch_prefetcher(const batch_prefetcher&) = delete;
  batch_prefetcher& operator=(const batch_prefetcher&) = delete;

  /// The next batch, valid until the next call. What making it threw is thrown here, at its turn, and again
  /// at every later call.
  token_batch next();

  /// Of the batches handed out, not of those made: what a checkpoint keeps.
  sampler_state state() const;

 private:
  struct implementation;
  box<implementation> made_;
};

}  // namespace napkin
