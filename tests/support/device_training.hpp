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
using gpt_step_in_two = train_step<nn::gpt<device_config>, adamw, micro_batches<2>>;

/// So many more tokens than a layer's widths that products of one operand are made one in 16 bits.
struct narrow_config : device_config {
  struct batch : dim<"batch", 4> {};
  struct seq : dim<"seq", 16> {};
  struct embed : dim<"embed", 16> {};
  struct ffn : dim<"ffn", 16> {};
  struct heads : dim<"heads", 1> {};
  struct kv_heads : dim<"kv_heads", 1> {};
  struct group : dim<"group", 2> {};
  struct hidden : dim<"hidden", 16> {};
};

struct training {
  std::vector<float> losses, norms;
  std::vector<float> values;  // parameters, at the end
};

/// As many as step number `step` takes, of one micro-batch.
inline std::vector<u16> tokens_of(std::size_t count, std::size_t step, std::size_t shift) {
  std::vector<u16> t(count);
  for (std::size_t i = 0; i < t.size(); ++i)
    t[i] = static_cast<u16>(((i + shift) * (i + shift) + 7 * step) % device_config::vocab::size);
  return t;
}

/// Those of all micro-batches, one behind the other.
template <class Step>
std::vector<u16> tokens_of_step(std::size_t n, std::size_t shift) {
  std::vector<u16> all;
  for (std::size_t m = 0; m < Step::micro_batches; ++m) {
    const std::vector<u16> one =
        tokens_of(Step::tokens / Step::micro_batches, n * Step::micro_batches + m, shift);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

template <class Step, class... Backend>
training train_small(trainer<Step, Backend...>& t, std::size_t steps) {
  training out;
  for (std::size_t n = 0; n < steps; ++n) {
    const step_result r = t.step(3e-3, tokens_of_step<Step>(n, 0), tokens_of_step<Step>(n, 1));
    out.losses.push_back(r.loss);
    out.norms.push_back(static_cast<float>(r.norm));
  }
  out.values = values_of(t);
  return out;
}

// What is compiled in tests/support/trained.
training train_llama_on_cpu(std::size_t steps);
training train_gpt_on_cpu(std::size_t steps);
training train_gpt_in_two_on_cpu(std::size_t steps);

// What nvcc compiles, in tests/gpu/training.cu.
training train_llama_on_gpu(std::size_t steps, launch_order order);
training train_gpt_in_two_on_gpu(std::size_t steps, launch_order order);
/// Empty where all is well, else what is not.
std::string check_tensors_on_gpu();

}  // namespace napkin::testing
