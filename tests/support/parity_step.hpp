// The whole training step of a reference model, step by step against PyTorch's on the same weights and
// batches.
#pragma once

#include <algorithm>
#include <cstdio>

#include "catch.hpp"
#include "napkin/optim/adamw.hpp"
#include "napkin/train/trainer.hpp"
#include "support/parity_file.hpp"
#include "support/parity_models.hpp"

namespace napkin::testing {

inline std::vector<double> elements_of(const named_memory& m) { return {m.data, m.data + m.count}; }

/// exempt(name): its gradient is zero but for rounding, which Adam magnifies: compared as a whole only.
template <class Model, class Exempt>
void check_training_step(const std::string& file, const Exempt& exempt) {
  using step = train_step<Model, adamw>;
  const parity_file reference(file);
  trainer<step> trained(
      seed{0},
      {.optimizer = {.beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8, .weight_decay = 0.1}, .clip_norm = 1.0});
  std::vector<std::vector<double>> initial;
  for (std::size_t i = 0; i < trained.parameters; ++i) {
    const named_memory p = trained.value(i);
    initial.push_back(reference["initial." + std::string(p.name)]);
    REQUIRE(initial[i].size() == p.count);
    for (std::size_t k = 0; k < p.count; ++k) p.data[k] = static_cast<float>(initial[i][k]);
  }
  const std::vector<double> losses = reference["losses"], rates = reference["learning_rates"],
                            norms = reference["gradient_norms"], tokens = reference["batch.tokens"],
                            targets = reference["batch.targets"];
  const std::size_t batch = tokens.size() / losses.size();
  double worst_loss = 0, worst_gradient = 0;
  for (std::size_t s = 0; s < losses.size(); ++s) {
    std::vector<u16> x(batch), y(batch);
    for (std::size_t k = 0; k < batch; ++k) {
      x[k] = static_cast<u16>(tokens[s * batch + k]);
      y[k] = static_cast<u16>(targets[s * batch + k]);
    }
    const step_result r = trained.step(rates[s], x, y);
    REQUIRE(r.applied);
    const double off = std::abs(static_cast<double>(r.loss) - losses[s]) / losses[s];
    worst_loss = std::max(worst_loss, off);
    INFO("step " << s << ": loss " << r.loss << ", PyTorch's " << losses[s]);
    CHECK(off <= 1e-5);
    CHECK(std::abs(r.norm - norms[s]) <= 1e-4 * norms[s]);
    if (s > 0) continue;
    for (std::size_t i = 0; i < trained.parameters; ++i) {  // as they were before clipping
      const named_memory g = trained.gradient(i);
      INFO("gradient of " << g.name);
      const std::vector<double> ours = elements_of(g), theirs = reference["gradient." + std::string(g.name)];
      if (exempt(g.name)) {
        for (const double v : ours) CHECK(std::abs(v) <= 1e-7);
        continue;
      }
      const double difference = relative_difference(ours, theirs);
      worst_gradient = std::max(worst_gradient, difference);
      CHECK(difference <= 1e-4);
    }
  }
  std::vector<double> all_ours, all_theirs;
  double worst_movement = 0;
  for (std::size_t i = 0; i < trained.parameters; ++i) {
    const named_memory p = trained.value(i);
    const std::vector<double> final = reference["final." + std::string(p.name)];
    std::vector<double> ours = elements_of(p), theirs = final;
    for (std::size_t k = 0; k < p.count; ++k) {
      ours[k] -= initial[i][k];
      theirs[k] -= initial[i][k];
    }
    INFO("movement of " << p.name);
    if (!exempt(p.name)) {
      const double difference = relative_difference(ours, theirs);
      worst_movement = std::max(worst_movement, difference);
      CHECK(difference <= 1e-3);
    }
    all_ours.insert(all_ours.end(), ours.begin(), ours.end());
    all_theirs.insert(all_theirs.end(), theirs.begin(), theirs.end());
  }
  const double movement = relative_difference(all_ours, all_theirs);
  CHECK(movement <= 1e-3);
  std::printf(
      "%s: loss within %.1e relative over %zu steps, gradients %.1e by norm, movement %.1e (worst one "
      "%.1e)\n",
      file.c_str(), worst_loss, losses.size(), worst_gradient, movement, worst_movement);
}

}  // namespace napkin::testing
