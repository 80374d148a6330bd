// nanoGPT's smallest model at its own sizes (the ladder's T1), by kernels that nvcc compiled and on the CPU, by the
// same data.
#pragma once

#include <gpt_config.hpp>
#include <vector>

#include "napkin/nn/transformer.hpp"
#include "napkin/optim/adamw.hpp"
#include "napkin/train/trainer.hpp"

namespace napkin::testing::nanogpt {

using config = benched::gpt_config<4, 128, 4, 64, 12, 65>;
template <class T, class Backend = cpu>
using step = train_step<nn::gpt<config>, adamw, compute_in<T>, Backend>;

inline constexpr seed first{5};

struct losses_and_norms {
  std::vector<float> losses;
  std::vector<double> norms;
  bool operator==(const losses_and_norms&) const = default;
};

template <class Trainer>
losses_and_norms run(Trainer& t, std::size_t steps) {
  constexpr std::size_t tokens = config::batch::size * config::seq::size;
  const auto letters = [](std::size_t n, std::size_t shift) {
    std::vector<u16> of(tokens);
    for (std::size_t i = 0; i < tokens; ++i)
      of[i] = static_cast<u16>(((i + shift) * (i + shift) + 7 * n) % config::vocab::size);
    return of;
  };
  losses_and_norms out;
  for (std::size_t n = 0; n < steps; ++n) {
    const step_result r = t.step(1e-3, letters(n, 0), letters(n, 1));
    out.losses.push_back(r.loss);
    out.norms.push_back(r.norm);
  }
  return out;
}

// What nvcc compiles, in nanogpt.cu.
losses_and_norms train_in_f32(std::size_t steps, launch_order order);
losses_and_norms train_in_bf16(std::size_t steps, launch_order order);
/// By kernels that take in each product that they may; how many there are.
losses_and_norms train_in_bf16_with_products_taken(std::size_t steps, launch_order order, std::size_t& taken);

}  // namespace napkin::testing::nanogpt
