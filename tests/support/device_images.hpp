// A small network of images, with a convolution, a pooling and dropout, trained on the CPU and on a GPU by
// the same data.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "napkin/nn/convolution.hpp"
#include "napkin/nn/dropout.hpp"
#include "napkin/nn/loss.hpp"
#include "napkin/nn/pooling.hpp"
#include "napkin/optim/sgd.hpp"
#include "napkin/train/trainer.hpp"
#include "support/trained_numbers.hpp"

namespace napkin::testing::images {

struct batch : dim<"batch", 6> {};
struct height : dim<"height", 6> {};
struct width : dim<"width", 6> {};
struct gray : dim<"gray", 1> {};
struct down : dim<"down", 3> {};
struct across : dim<"across", 3> {};
struct edges : dim<"edges", 4> {};
struct digit : dim<"digit", 5> {};

struct model {
  using layer = nn::conv<gray, edges, nn::along<height, down>, nn::along<width, across>>;
  using head_layer = param<dim<"height", height::size / 2>, dim<"width", width::size / 2>, edges, digit>;
  BOOST_HANA_DEFINE_STRUCT(model, (layer, first), (head_layer, head), (param<digit>, bias));

  constexpr model() {
    head.initial = init::fan_in(height::size * width::size);
    bias.initial = init::zeros();
  }
  constexpr auto loss(input<f32, batch, height, width, gray> x, input<u8, batch> y, input<i64> noise) const {
    const auto a = max_pool<2, "height", "width">(relu(first(x)));  // [batch, 3, 3, edges]
    const auto scores =
        dot<"height", "width", "edges">(dropout(a, 0.3, noise), head) + bias;  // [batch, digit]
    return cross_entropy<"digit">(scores, y);
  }
};
using step = train_step<model, sgd>;

struct training {
  std::vector<float> losses, norms;
  std::vector<float> values;  // parameters, at the end
};

/// The step's number is the dropout's noise, as in examples/08_digits.cpp.
template <class Trainer>
training train(Trainer& t, int steps) {
  training out;
  std::vector<float> x(batch::size * height::size * width::size);
  std::vector<u8> y(batch::size);
  for (std::int64_t n = 0; n < steps; ++n) {
    for (std::size_t b = 0; b < y.size(); ++b)
      y[b] = static_cast<u8>((b + static_cast<std::size_t>(n)) % digit::size);
    for (std::size_t i = 0; i < x.size(); ++i)  // each digit's own waves
      x[i] = std::sin(0.3f * static_cast<float>((i % 36) * (1u + y[i / 36])) + 0.05f * static_cast<float>(n));
    const step_result r = t.step(0.1, x, y, std::array{n});
    out.losses.push_back(r.loss);
    out.norms.push_back(static_cast<float>(r.norm));
  }
  out.values = values_of(t);
  return out;
}

training train_on_cpu(int steps);                      // compiled in tests/support/trained
training train_on_gpu(int steps, launch_order order);  // by nvcc, in tests/gpu/training.cu

}  // namespace napkin::testing::images
