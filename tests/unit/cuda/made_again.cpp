// What a step's plan on the GPU keeps of the forward pass for the backward pass: no insides of activations
// and norms, which the kernels that read them make again, in as many kernels as without. That the numbers
// are the same is tested by tests/law/make_again.cpp.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "napkin/cuda/cost.hpp"
#include "napkin/nn/dropout.hpp"
#include "napkin/nn/layers.hpp"
#include "napkin/nn/transformer.hpp"
#include "napkin/passes/verify.hpp"
#include "napkin/train/cuda_step.hpp"
#include "support/gpt_configs.hpp"
#include "support/planned.hpp"

namespace made_again_test {

namespace nk = napkin;
namespace on_cuda = napkin::on_cuda;

constexpr std::size_t rows_count = 8192, narrow_count = 256, wide_count = 2048;
struct rows : nk::dim<"rows", rows_count> {};
struct narrow : nk::dim<"narrow", narrow_count> {};
struct wide : nk::dim<"wide", wide_count> {};
constexpr std::size_t wide_elements = rows_count * wide_count;

/// A loss far enough behind that kernels of the forward pass take nothing of the backward pass.
constexpr auto loss_of(const auto& x, const auto& target) {
  const auto y = nk::log(nk::softmax<"narrow">(nk::tanh(x)) + 0.5);
  return nk::sum(target * y * nk::exp(y));
}
struct gelu_model {
  BOOST_HANA_DEFINE_STRUCT(gelu_model, (nk::param<narrow, wide>, up), (nk::param<wide>, bias),
                           (nk::param<wide, narrow>, down));
  constexpr auto loss(nk::input<nk::f32, rows, narrow> x, nk::input<nk::f32, rows, narrow> target) const {
    return loss_of(nk::dot<"wide">(nk::gelu(nk::dot<"narrow">(x, up) + bias), down), target);
  }
};
struct swiglu_model {
  BOOST_HANA_DEFINE_STRUCT(swiglu_model, (nk::param<narrow, wide>, gate), (nk::param<narrow, wide>, up),
                           (nk::param<wide, narrow>, down));
  constexpr auto loss(nk::input<nk::f32, rows, narrow> x, nk::input<nk::f32, rows, narrow> target) const {
    return loss_of(nk::dot<"wide">(nk::swiglu(nk::dot<"narrow">(x, gate), nk::dot<"narrow">(x, up)), down),
                   target);
  }
};
/// Its mask is a byte, and costs more arithmetic than that is worth.
struct dropout_model {
  BOOST_HANA_DEFINE_STRUCT(dropout_model, (nk::param<narrow, wide>, up), (nk::param<wide, narrow>, down));
  constexpr auto loss(nk::input<nk::f32, rows, narrow> x, nk::input<nk::f32, rows, narrow> target,
                      nk::input<nk::i64> noise) const {
    return loss_of(nk::dot<"wide">(nk::dropout(nk::dot<"narrow">(x, up), 0.5, noise), down), target);
  }
};

template <class Model, class T>
using gradients = nk::gradient_graph<Model, T, nk::step_parts<nk::cuda>::loss_rewrite>;

/// Bytes an element of what is kept of the forward pass at [rows, wide], from the narrowest on.
std::vector<std::size_t> wide_kept(const on_cuda::plan_view& p) {
  std::int32_t border = -1;
  for (std::size_t i = 0; i < p.count.instructions; ++i)
    if (p.instructions[i].first_output) border = std::max(border, p.instructions[i].time);
  std::vector<std::size_t> kept;
  for (std::size_t l = 0; l < p.count.lives; ++l)
    if (p.lives[l].first <= border && p.lives[l].last > border && p.lives[l].bytes >= wide_elements)
      kept.push_back(p.lives[l].bytes / wide_elements);
  std::sort(kept.begin(), kept.end());
  return kept;
}

/// A step's plan, and the same graph's with nothing made again.
struct comparison {
  std::vector<std::size_t> kept;
  nk::cost_sheet now, before;
  std::size_t activations, activations_before;
};
comparison compare(const nk::graph_view& gradients) {
  const nk::graph lowered = nk::testing::lowered_step(gradients),
                  as_it_was = nk::testing::lowered<on_cuda::target>(gradients, {}, true);
  const on_cuda::plan plan = nk::testing::planned<on_cuda::target>(lowered.view()),
                      before = nk::testing::planned<on_cuda::target>(as_it_was.view());
  CHECK(std::string(nk::passes::verify(lowered.view()).sentence) == "");
  const comparison c{wide_kept(view_of(plan)), nk::planning::cost_of(view_of(plan), lowered.view()),
                     nk::planning::cost_of(view_of(before), as_it_was.view()),
                     nk::planning::kept_after_first_output(view_of(plan)),
                     nk::planning::kept_after_first_output(view_of(before))};
  CHECK(c.now.launches == c.before.launches);
  CHECK(c.before.flops.recomputed == 0);
  CHECK(c.now.flops.total() == c.before.flops.total() + c.now.flops.recomputed);
  return c;
}
template <class Model, class T>
comparison compared() {
  return compare(nk::frozen<gradients<Model, T>>::view());
}

using bytes_an_element = std::vector<std::size_t>;

}  // namespace made_again_test

using namespace made_again_test;

TEST_CASE("made again: of a GELU in 8 bits its argument is kept, and what the next product multiplies") {
  const comparison x = compared<gelu_model, nk::f8>();
  CHECK(x.kept == bytes_an_element{1, 2});
  CHECK(x.activations + 4 * 2 * wide_elements == x.activations_before);
  CHECK(x.now.bytes.total() + 8 * 2 * wide_elements <= x.before.bytes.total());
  CHECK(x.now.flops.recomputed > 0);
}

TEST_CASE(
    "made again: a GELU that products do in their calls stays theirs, and its insides count as they are") {
  const comparison x = compared<gelu_model, nk::bf16>();
  CHECK(x.kept == bytes_an_element{2, 2});
  CHECK(x.activations == x.activations_before);
  CHECK(x.now.bytes == x.before.bytes);
  CHECK(x.now.flops.recomputed > 0);  // by the gradient's product, as it always did
  CHECK(x.now.flops.matmul == x.before.flops.matmul);
}

TEST_CASE("made again: of a SwiGLU gate and values are kept, which are one tensor, and their product") {
  const comparison eight = compared<swiglu_model, nk::f8>();
  CHECK(eight.kept == bytes_an_element{1, 4});
  CHECK(eight.now.bytes.total() < eight.before.bytes.total());
  const comparison sixteen = compared<swiglu_model, nk::bf16>();
  CHECK(sixteen.kept == bytes_an_element{2, 4});
  CHECK(sixteen.now.bytes.total() < sixteen.before.bytes.total());
  const comparison wide = compared<swiglu_model, nk::f32>();
  CHECK(wide.kept == bytes_an_element{4, 8});
  CHECK(wide.now.bytes.total() < wide.before.bytes.total());
}

TEST_CASE("made again: a mask of dropout is kept, since a byte is less than its arithmetic") {
  const comparison x = compared<dropout_model, nk::bf16>();
  CHECK(x.kept == bytes_an_element{1, 2});
  CHECK(x.now.flops.recomputed == 0);
}

TEST_CASE("made again: layers take as many kernels, keep less and move less") {
  using gpt = nk::nn::gpt<nk::testing::two_layers>;
  const comparison eight = compared<gpt, nk::f8>();
  CHECK(eight.activations < eight.activations_before);
  CHECK(eight.now.bytes.total() < eight.before.bytes.total());
  const comparison sixteen = compared<gpt, nk::bf16>();  // the norms
  CHECK(sixteen.activations < sixteen.activations_before);
  CHECK(sixteen.now.bytes.total() < sixteen.before.bytes.total());
}

TEST_CASE("made again: the CPU's plans keep an exponential, and make again what is arithmetic on it") {
  using of = nk::gradient_graph<swiglu_model, nk::f32>;
  const nk::graph_view g = nk::on_cpu::frozen_plan<of>::graph();
  std::size_t copies = 0, exponentials = 0;
  for (std::size_t id = 0; id < g.size(); ++id)
    if (g.nodes[id].when != nk::computed::once) {
      ++copies;
      exponentials += nk::facts_of(g.nodes[id].kind).transcendental;
    }
  CHECK(copies >= 3);  // 1 + exp(-x), the sigmoid and the gate
  CHECK(exponentials == 0);
}
