// Where the times of a step's kernels and library calls go: plan after plan, in the order that they run in.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "napkin/train/step.hpp"

namespace napkin::detail {

template <class Step>
struct timed_kernels {
  static constexpr std::size_t find_zeros() {
    if constexpr (Step::adds_gradients)
      return Step::zero_plan::value.counts.instructions;
    else
      return 0;
  }
  static constexpr std::size_t zeros = 0, gradient = find_zeros();
  static constexpr std::size_t norm = gradient + Step::gradient_plan::value.counts.instructions;

  /// Where each update's begin; behind them, how many there are in all.
  template <std::size_t... Run>
  static constexpr auto find_updates(std::index_sequence<Run...>) {
    std::array<std::size_t, sizeof...(Run) + 1> begins{
        norm + Step::norm_plan::value.counts.instructions,
        Step::template update_plan<Run>::value.counts.instructions...};
    for (std::size_t i = 1; i < begins.size(); ++i) begins[i] += begins[i - 1];
    return begins;
  }
  static constexpr auto updates = find_updates(std::make_index_sequence<Step::update_runs>{});
  static constexpr std::size_t count = updates[Step::update_runs];
};

/// `error` where there is not a place for each of `kernels`.
void require_places(std::span<double> to, std::size_t kernels);

/// Says where times go, for as long as a step runs; nowhere, if there is no place.
class timed_scope {
 public:
  timed_scope(std::span<double>& place, std::span<double> to) : place_(place) {
    for (double& seconds : to) seconds = 0;
    place_ = to;
  }
  ~timed_scope() { place_ = {}; }
  timed_scope(const timed_scope&) = delete;
  timed_scope& operator=(const timed_scope&) = delete;

 private:
  std::span<double>& place_;
};

}  // namespace napkin::detail
