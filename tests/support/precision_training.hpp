// A small GPT trained in few bits: on the CPU, and on a GPU, by the same data.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "napkin/nn/transformer.hpp"
#include "napkin/optim/adamw.hpp"
#include "napkin/optim/schedule.hpp"
#include "napkin/train/trainer.hpp"
#include "support/compare.hpp"

namespace napkin::testing::precision {

struct config {
  struct batch : dim<"batch", 6> {};
  struct seq : dim<"seq", 40> {};
  struct vocab : dim<"vocab", 128> {};
  struct embed : dim<"embed", 24> {};
  struct ffn : dim<"ffn", 40> {};
  struct heads : dim<"heads", 2> {};
  struct hidden : dim<"hidden", 12> {};
  static constexpr std::size_t layers = 2;
};
/// The same with widths as a GPU's products of 8-bit floats want them, and more layers than are planned.
struct by_sixteens : config {
  struct embed : dim<"embed", 32> {};
  struct ffn : dim<"ffn", 48> {};
  struct hidden : dim<"hidden", 16> {};
  static constexpr std::size_t layers = 4;
};
template <class T, class Backend = cpu, class Config = config>
using step = train_step<nn::gpt<Config>, adamw, compute_in<T>, Backend>;

/// Words drawn with equal chances, so that no model ever learns it by heart.
class text {
 public:
  text() {
    constexpr std::array words{"batch ",  "axis ",  "a ",   "tensor ", "of ",   "shape ", "graph ", "nodes ",
                               "kernel ", "reads ", "the ", "loss ",   "cost ", "is ",    "plan ",  "sum "};
    for (int i = 0; i < 20'000; ++i) letters_ += words[next() % words.size()];
  }
  void fill(std::vector<std::uint16_t>& tokens, std::vector<std::uint16_t>& targets) {
    tokens.clear();
    targets.clear();
    for (std::size_t row = 0; row < config::batch::size; ++row) {
      const std::size_t at = next() % (letters_.size() - config::seq::size - 1);
      for (std::size_t i = 0; i < config::seq::size; ++i) {
        tokens.push_back(static_cast<std::uint16_t>(letters_[at + i]));
        targets.push_back(static_cast<std::uint16_t>(letters_[at + i + 1]));
      }
    }
  }

 private:
  std::string letters_;
  std::uint64_t state_ = 7;
  std::size_t next() {  // Knuth's generator
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::size_t>(state_ >> 33);
  }
};

/// The loss of each of a trainer's next steps.
template <class Trainer>
std::vector<float> losses_of(Trainer& trainer, int steps) {
  text all;
  std::vector<std::uint16_t> tokens, targets;
  std::vector<float> losses;
  const warmup_cosine rate{.peak = 5e-4, .warmup_steps = 25, .total_steps = 500};
  for (int k = 0; k < steps; ++k) {
    all.fill(tokens, targets);
    losses.push_back(trainer.step(rate(k), tokens, targets).loss);
  }
  return losses;
}

/// How far apart two curves are, at the worst step: of the first's loss.
inline double largest_share(const std::vector<float>& exact, const std::vector<float>& losses) {
  double worst = exact.size() == losses.size() ? 0 : std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < exact.size() && k < losses.size(); ++k)
    worst = worst_of(worst, static_cast<double>(std::abs(losses[k] - exact[k]) / exact[k]));
  return worst;
}

/// So many losses on the CPU, from parameters of which every other one is larger by `perturbed` of it, and
/// the others smaller. Compiled in tests/support/trained: f32, bf16 and f8, and, by sixteens, f32 and f8.
template <class T, class Config = config>
std::vector<float> losses_on_cpu(int steps, double perturbed = 0);

// What nvcc compiles, in tests/gpu/precision.cu: so many losses on the GPU.
std::vector<float> losses_in_bf16_on_gpu(int steps, launch_order order);
/// As if the clock had preferred products within the kernels that read them; how many there are.
std::vector<float> losses_in_bf16_with_products_taken_on_gpu(int steps, launch_order order,
                                                             std::size_t& taken);
std::vector<float> losses_in_f16_on_gpu(int steps, launch_order order);
std::vector<float> losses_in_f8_on_gpu(int steps, launch_order order);  // by_sixteens

}  // namespace napkin::testing::precision
