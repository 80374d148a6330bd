// The scales of tensors that are rounded to 8-bit floats: each follows from the largest magnitudes that its
// tensor had in the steps before, so that no tensor is read twice, once to be measured and once to be
// rounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "napkin/core/delayed_scale.hpp"
#include "napkin/passes/plan_memory.hpp"

namespace napkin {

/// How scales are chosen.
///
/// Source  NVIDIA Transformer Engine, DelayedScaling, with the most of the history
struct delayed_scaling {
  int margin = 0;  // powers of two that are left free above the largest magnitude of the history

  /// What is wrong with it, or null.
  constexpr const char* mistake() const {
    return margin >= -most_scale_power && margin <= most_scale_power ? nullptr : "margin lies in [-63, 63]";
  }
};

/// The scales of a step's tensors and what they follow from, in memory that the caller gives. A power of two
/// each, so that it changes no bit but by rounding to 8; 1 while nothing is known.
class delayed_scales {
 public:
  /// Steps that are remembered.
  static constexpr std::size_t history = scale_memory::steps;

  /// What lasts from a step to the next, of so many tensors; then, for `rows`, of each tensor of how many a
  /// run says what it saw, what a run gives.
  static constexpr std::size_t lasting_bytes(std::size_t tensors) {
    const auto numbers = [](std::size_t n) { return passes::aligned(n * sizeof(float)); };
    return 2 * numbers(tensors) + numbers(scale_memory::apart * tensors) + numbers(history * tensors);
  }
  static constexpr std::size_t used_bytes(std::span<const std::size_t> rows) {
    std::size_t sum = 0;
    for (const std::size_t n : rows) sum += passes::aligned(n * sizeof(float));
    return sum;
  }
  static constexpr std::size_t bytes(std::span<const std::size_t> rows) {
    return lasting_bytes(rows.size()) + used_bytes(rows);
  }
  /// At `lasting_bytes(tensors)` bytes of any machine.
  static scale_memory lay_out(std::byte* at, std::size_t tensors);

  delayed_scales() = default;
  /// At `bytes(rows)` bytes, all of them 0. `rows` outlives this.
  delayed_scales(std::byte* at, std::span<const std::size_t> rows);
  /// At `lasting_bytes(tensors)` bytes, all of them 0: of a run elsewhere, which is told of no rows here.
  delayed_scales(std::byte* at, std::size_t tensors);

  float* scale(std::size_t tensor) const { return at_.scales + tensor; }
  float* reciprocal(std::size_t tensor) const { return at_.reciprocal(tensor); }
  /// Where a run says what it saw: the largest magnitude of each row, as a part of the format's largest
  /// number.
  float* used(std::size_t tensor) const;

  /// Set the scales by the history. Before a run.
  void set(const delayed_scaling& by);
  /// Before the first run of a step.
  void forget_runs();
  /// After each.
  void add_run();
  /// Whether all that the step's runs saw was finite. NaN is not.
  bool finite() const;
  /// The step, the n-th from 0, counts: the history has what its runs saw in the place of the oldest.
  void keep(std::int64_t n);

  /// Of each step that is remembered what its runs saw, in no order that a reader should rely on: 0 where
  /// there was no step yet.
  std::span<const float> remembered() const { return {at_.history, history * size()}; }
  /// Such a history; of another length, as after a run that had no scales, nothing is known.
  void remember(std::span<const float> all);

  std::size_t size() const { return at_.tensors; }

 private:
  scale_memory at_;
  std::span<const std::size_t> rows_;
  float* used_ = nullptr;
};

}  // namespace napkin
