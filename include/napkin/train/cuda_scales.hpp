// Of a training step in 8-bit floats on a GPU: where its scales lie in the trainer's memory there, and the kernels
// beside its plans that follow them (cuda/scales.hpp). Of other steps nothing is there, and nothing is done.
#pragma once

#include <array>
#include <cstddef>
#include <source_location>
#include <span>

#include "napkin/cuda/scales.hpp"
#include "napkin/cuda/stream.hpp"
#include "napkin/train/cuda_step.hpp"

namespace napkin::detail {

template <class Step>
class scales_on_device {
  static constexpr cuda_step_layout layout = lay_out_on_device<Step>();
  static constexpr std::size_t tensors = Step::quantized_tensors;

 public:
  /// Of the trainer's one allocation.
  explicit scales_on_device(std::byte* memory) : memory_(memory) {}

  scale_memory all() const { return delayed_scales::lay_out(memory_ + layout.scales, tensors); }
  /// Where a run says the largest magnitude of each row of a tensor.
  float* used(std::size_t tensor) const {
    const std::span rows(Step::quantized_rows);
    return reinterpret_cast<float*>(memory_ + layout.used + delayed_scales::used_bytes(rows.first(tensor)));
  }

  /// Before a step's first run.
  void set(const on_cuda::stream& on, std::source_location where) const {
    if constexpr (tensors > 0) {
      on_cuda::set_scales(all(), settings(), on.handle());
      on.check_launch("the kernel that sets scales of 8-bit floats", where);
    }
  }
  /// Behind each run.
  void add_seen(const on_cuda::stream& on, std::source_location where) const {
    if constexpr (tensors > 0) {
      std::array<on_cuda::seen_rows, tensors> seen;
      for (std::size_t i = 0; i < tensors; ++i) seen[i] = {used(i), Step::quantized_rows[i]};
      on_cuda::add_seen(all(), seen, on.handle());
      on.check_launch("the kernel that finds the largest of what is rounded to 8 bits", where);
    }
  }
  /// Behind the norm's plan, which says whether the step is applied.
  void keep_seen(const on_cuda::stream& on, std::source_location where) const {
    if constexpr (tensors > 0) {
      const auto* const applied = reinterpret_cast<const b8*>(memory_ + layout.report + layout.applied);
      on_cuda::keep_seen(all(), settings(), applied, on.handle());
      on.check_launch("the kernel that keeps the largest of what is rounded to 8 bits", where);
    }
  }

 private:
  std::byte* memory_;

  const on_cuda::scale_settings* settings() const {
    return reinterpret_cast<const on_cuda::scale_settings*>(memory_ + layout.numbers + layout.scale);
  }
};

}  // namespace napkin::detail
