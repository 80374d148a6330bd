// A trainer's steps on one batch after another; on a GPU the next batch goes over while it computes.
#pragma once

#include <optional>
#include <span>
#include <utility>

#include "napkin/core/error.hpp"
#include "napkin/train/prefetch.hpp"
#include "napkin/train/trainer.hpp"

namespace napkin {

/// Steps of a model of tokens on a prefetcher's batches, in their order. Trainer and batches outlive this,
/// and nobody else asks for batches.
///
/// On a GPU a step is launched, then the next batch is staged, and the step waited for: batches are asked for
/// one step earlier. What asking for one throws, or finding it to be no batch of the model's, is thrown at
/// that batch's turn all the same.
template <class Trainer>
class batch_steps {
 public:
  batch_steps(Trainer& trainer, batch_prefetcher& batches)
      : trainer_(&trainer), batches_(&batches), used_(batches.state()) {}

  /// One step; timed as step_timed where `kernels` has places for its times. What the host does `meanwhile`
  /// it does while a GPU computes. Errors as trainer.step and batches.next.
  template <class Meanwhile>
  step_result step(double learning_rate, std::span<double> kernels, const Meanwhile& meanwhile) {
    if constexpr (requires { trainer_->wait(); }) {
      if (const auto refused = std::exchange(refused_, std::nullopt))
        stage(*refused);
      else if (!staged_)
        stage(batches_->next());
      trainer_->launch(learning_rate, kernels);
      used_ = batches_->state();
      staged_ = false;
      stage_ahead();
      try {
        meanwhile();
      } catch (...) {  // the step is made all the same
        trainer_->wait();
        throw;
      }
      return trainer_->wait();
    } else {
      const token_batch b = batches_->next();
      used_ = batches_->state();
      meanwhile();
      if (!kernels.empty()) return trainer_->step_timed(kernels, learning_rate, b.tokens, b.targets);
      return trainer_->step(learning_rate, b.tokens, b.targets);
    }
  }

  /// Of the batches that steps were made on: what a checkpoint keeps.
  sampler_state state() const { return used_; }

 private:
  void stage(const token_batch& b) {
    trainer_->stage(b.tokens, b.targets);
    staged_ = true;
  }
  void stage_ahead() {
    token_batch next;
    try {
      next = batches_->next();
    } catch (const error&) {  // which the prefetcher throws again, at the batch's turn
      return;
    }
    try {
      stage(next);
    } catch (const input_error&) {
      refused_ = next;
    }
  }

  Trainer* trainer_;
  batch_prefetcher* batches_;
  sampler_state used_;
  bool staged_ = false;
  std::optional<token_batch> refused_;  // the next, which the trainer did not take
};

}  // namespace napkin
