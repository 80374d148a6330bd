// Small models trained on the CPU and on a GPU, by the same data: what the two runs have in common.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "napkin/nn/transformer.hpp"
#include "napkin/optim/adamw.hpp"
#include "napkin/train/trainer.hpp"
#include "support/device_graphs.hpp"
#include "support/trained_numbers.hpp"

namespace napkin::testing {

using llama_step = train_step<nn::llama<device_config>, adamw>;
using gpt_step = train_step<nn::gpt<device_config>, adamw>;

struct training {
  std::vector<float> losses, norms;
  std::vector<float> values;  // parameters, at the end
};

inline std::vector<u16> tokens_of(std::size_t step, std::size_t shift) {
  std::vector<u16> t(device_config::batch::size * device_config::seq::size);
  for (std::size_t i = 0; i < t.size(); ++i)
    t[i] = static_cast<u16>(((i + shift) * (i + shift) + 7 * step) % device_config::vocab::size);
  return t;
}

template <class Trainer>
training train_small(Trainer& t, std::size_t steps) {
  training out;
  for (std::size_t n = 0; n < steps; ++n) {
    const step_result r = t.step(3e-3, tokens_of(n, 0), tokens_of(n, 1));
    out.losses.push_back(r.loss);
    out.norms.push_back(static_cast<float>(r.norm));
  }
  out.values = values_of(t);
  return out;
}

// What nvcc compiles, in tests/gpu/training.cu.
training train_llama_on_gpu(std::size_t steps);
training train_gpt_on_gpu(std::size_t steps);
/// Empty where all is well, else what is not.
std::string check_tensors_on_gpu();

}  // namespace napkin::testing
