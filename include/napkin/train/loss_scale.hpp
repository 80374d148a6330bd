// The number that a step in f16 multiplies its loss with, and how it follows what overflows.
#pragma once

#include <cstdint>
#include <limits>

namespace napkin {

/// How the scale of a loss changes. The defaults are those of torch.amp.GradScaler.
///
/// Source  Micikevicius et al. 2018, section 3.2; torch.amp.GradScaler
struct loss_scaling {
  float initial = 65536;
  float growth = 2;      // after `interval` steps without overflow
  float backoff = 0.5f;  // after a step that overflowed
  std::int64_t interval = 2000;

  /// What is wrong with it, or null.
  constexpr const char* mistake() const;
};

/// The scale now. Powers of two change no bits of what they scale, but for what would have been too small.
struct loss_scale {
  float value = 1;
  std::int64_t good_steps = 0;  // since it last changed

  /// Bounds that keep both it and its reciprocal ordinary numbers.
  static constexpr float least = 0x1p-126f, most = 0x1p126f;

  /// After a step whose gradients were finite, or were not.
  constexpr void update(bool finite, const loss_scaling& by) {
    if (!finite) {
      value = value * by.backoff > least ? value * by.backoff : least;
      good_steps = 0;
    } else if (++good_steps >= by.interval) {
      value = value * by.growth < most ? value * by.growth : most;
      good_steps = 0;
    }
  }
  constexpr bool operator==(const loss_scale&) const = default;
};

constexpr const char* loss_scaling::mistake() const {
  return initial >= loss_scale::least && initial <= loss_scale::most && growth >= 1 &&
                 growth <= std::numeric_limits<float>::max() && backoff > 0 && backoff < 1 && interval >= 1
             ? nullptr
             : "initial lies in [2^-126, 2^126], growth is finite and 1 or more, backoff lies between 0 and "
               "1, "
               "interval is 1 step or more";
}

}  // namespace napkin
