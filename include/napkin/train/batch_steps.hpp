// A trainer's steps on one batch after another; on a GPU the next batch goes over while it computes.
#pragma once

#include <optional>
#include <span>

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
///
/// Of a batch that is none of the model's (`input_error`) no step is made: the next call takes the one behind
/// it. Whatever else is thrown, a batch of which no step was made is the next call's.
template <class Trainer>
class batch_steps {
 public:
  batch_steps(Trainer& trainer, batch_prefetcher& batches)
      : trainer_(&trainer), batches_(&batches), used_(batches.state()) {}

  /// One step; timed as step_timed where `kernels` has places for its times. What the host does `meanwhile`
  /// it does while a GPU computes, and before the step on the CPU. Errors as trainer.step and batches.next;
  /// where `meanwhile` throws, a GPU's step is made all the same, the CPU's is not.
  template <class Meanwhile>
  step_result step(double learning_rate, std::span<double> kernels, const Meanwhile& meanwhile) {
    if constexpr (requires { trainer_->wait(); }) {
      if (!staged_) {
        take_batch();
        use_batch([this] { stage(); });
      }
      trainer_->launch(learning_rate, kernels);
      staged_ = false;
      const sampler_state used = batches_->state();
      const auto wait = [&] {
        const step_result r = trainer_->wait();
        used_ = used;
        return r;
      };
      try {
        stage_ahead();
        meanwhile();
      } catch (...) {  // the step is made all the same
        wait();
        throw;
      }
      return wait();
    } else {
      take_batch();
      meanwhile();
      step_result r;
      use_batch([&] {
        r = kernels.empty() ? trainer_->step(learning_rate, batch_->tokens, batch_->targets)
                            : trainer_->step_timed(kernels, learning_rate, batch_->tokens, batch_->targets);
        batch_.reset();
      });
      used_ = batches_->state();
      return r;
    }
  }

  /// Of the batches that steps were made on: what a checkpoint keeps.
  sampler_state state() const { return used_; }

 private:
  void take_batch() {
    if (!batch_) batch_ = batches_->next();
  }
  /// `use` forgets the batch once it is used; one that is none of the model's is forgotten here.
  template <class Use>
  void use_batch(const Use& use) {
    try {
      use();
    } catch (const input_error&) {
      batch_.reset();
      throw;
    }
  }
  void stage() {
    trainer_->stage(batch_->tokens, batch_->targets);
    batch_.reset();
    staged_ = true;
  }
  void stage_ahead() {
    try {
      batch_ = batches_->next();
    } catch (const error&) {  // which the prefetcher throws again, at the batch's turn
      return;
    }
    try {
      stage();
    } catch (const input_error&) {  // likewise the trainer
    }
  }

  Trainer* trainer_;
  batch_prefetcher* batches_;
  sampler_state used_;
  std::optional<token_batch> batch_;  // handed out and not used yet
  bool staged_ = false;
};

}  // namespace napkin
