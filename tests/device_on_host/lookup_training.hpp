// The small model's training: the same steps for whoever asks for them, on the CPU and on a device that is the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lookup.hpp"
#include "napkin/train/cuda_trainer.hpp"
#include "support/host_kernels.hpp"

namespace lookup_test {

using step = nk::train_step<lookup, nk::adamw>;
using cuda_step = nk::train_step<lookup, nk::adamw, nk::cuda>;
using trainer = nk::trainer<step, nk::cuda>;

inline double rate_of(std::int64_t step_made) { return 0.02 / static_cast<double>(1 + step_made / 4); }

/// Losses.
template <class Trainer>
std::vector<float> train(Trainer& t, std::size_t steps) {
  std::vector<float> losses;
  for (std::size_t n = 0; n < steps; ++n) {
    const data d = data_of(static_cast<std::size_t>(t.steps()));
    losses.push_back(t.step(rate_of(t.steps()), d.tokens, d.wanted).loss);
  }
  return losses;
}

}  // namespace lookup_test
