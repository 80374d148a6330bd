// AdamW alone, in f64, fed the gradients that PyTorch's was fed.
#include "napkin/optim/optimizer.hpp"

#include <algorithm>
#include <cstdio>
#include <map>

#include "catch.hpp"
#include "napkin/cpu/executor.hpp"
#include "napkin/optim/adamw.hpp"
#include "napkin/optim/clip.hpp"
#include "napkin/tensor/storage.hpp"
#include "support/parity_file.hpp"

using namespace napkin;

namespace {

constexpr std::size_t length = flat_length(180);  // the largest of the problem's tensors, padded

struct flat_tensor {
  std::string name;
  bool decays;
  std::vector<double> p = std::vector<double>(length), g = p, m = p, v = p;
  std::size_t count = 0;
};

/// 50 steps; check(step, tensor) after each.
template <class Check>
void run(const testing::parity_file& reference, double clip_norm, const Check& check) {
  using plan = on_cpu::frozen_plan<optimizer_graph<adamw, f64, group_lengths<length>>>;
  const std::vector<double> rates = reference["learning_rates"];
  std::vector<flat_tensor> tensors;
  for (const char* name : {"matrix", "table", "bias"}) {
    tensors.push_back({name, std::string(name) != "bias"});
    const std::vector<double> initial = reference["initial." + tensors.back().name];
    tensors.back().count = initial.size();
    std::copy(initial.begin(), initial.end(), tensors.back().p.begin());
  }
  const storage arena(plan::value.peak);
  double scalars[adamw::scalars];
  for (std::size_t step = 0; step < rates.size(); ++step) {
    double squares = 0;
    for (flat_tensor& t : tensors) {
      const std::vector<double> g = reference["gradient." + t.name];
      for (std::size_t i = 0; i < t.count; ++i) {
        t.g[i] = g[step * t.count + i];
        squares += t.g[i] * t.g[i];
      }
    }
    const double clip = clip_factor(std::sqrt(squares), clip_norm);
    for (flat_tensor& t : tensors) {
      adamw::fill({.beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8, .weight_decay = 0.1}, rates[step],
                  t.decays ? 1 : 0, static_cast<std::int64_t>(step) + 1, clip, scalars);
      const void* const in[] = {t.p.data(), t.g.data(), t.m.data(), t.v.data(), scalars, scalars};
      void* const out[] = {t.p.data(), t.m.data(), t.v.data()};
      on_cpu::executor update(plan::view(), on_cpu::kernels_of<plan>.data(),
                              static_cast<std::byte*>(arena.data()));
      update.bind(in, out);
      update.run();
      check(step + 1, t);
    }
  }
}

}  // namespace

TEST_CASE("AdamW in f64 is PyTorch's within 1e-12") {
  const testing::parity_file reference("optimizer");
  for (const bool clipped : {false, true}) {
    double worst = 0;
    int compared = 0;
    run(reference, clipped ? 1.0 : 0.0, [&](std::size_t step, const flat_tensor& t) {
      const std::string key =
          std::string(clipped ? "clipped" : "plain") + ".after_" + std::to_string(step) + "." + t.name;
      if (!reference.has(key)) return;
      const std::vector<double> theirs = reference[key];
      const double difference = testing::relative_difference(
          {t.p.begin(), t.p.begin() + static_cast<std::ptrdiff_t>(t.count)}, theirs);
      INFO(key);
      CHECK(difference <= 1e-12);
      worst = std::max(worst, difference);
      ++compared;
    });
    CHECK(compared == 9);
    std::printf("AdamW, %s: %.1e relative\n", clipped ? "clipped" : "plain", worst);
  }
}
