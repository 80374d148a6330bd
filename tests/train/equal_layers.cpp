// A step in 8-bit floats whose plan was made for a few of its equal layers trains as one that was planned
// whole: the same bits, of losses, of parameters, and of the scale that each tensor has.
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "napkin/nn/layers.hpp"
#include "napkin/optim/adamw.hpp"
#include "napkin/train/trainer.hpp"
#include "support/compare.hpp"
#include "support/trained_numbers.hpp"

namespace equal_layers_test {

namespace nk = napkin;
using nk::testing::same_bits;

struct batch : nk::dim<"batch", 64> {};
struct feature : nk::dim<"feature", 12> {};
struct embed : nk::dim<"embed", 32> {};
struct ffn : nk::dim<"ffn", 48> {};

struct layer {
  using norm_layer = nk::nn::layer_norm<embed>;
  using mlp_layer = nk::nn::mlp<embed, ffn>;
  BOOST_HANA_DEFINE_STRUCT(layer, (norm_layer, norm), (mlp_layer, mlp));
  constexpr auto operator()(const auto& x) const { return x + mlp(norm(x)); }
};
/// With products in 8 bits before its layers, and behind them.
struct model {
  using layers = std::array<layer, 6>;
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<feature, embed>, up), (layers, blocks),
                           (nk::param<embed>, down));

  constexpr auto loss(nk::input<nk::f32, batch, feature> x, nk::input<nk::f32, batch> y) const {
    auto h = nk::dot<"feature">(x, up);
    for (const layer& block : blocks) h = block(h);
    const auto error = nk::dot<"embed">(h, down) - y;
    return nk::mean(error * error);
  }
};

/// Of micro-batches, so that gradients are added to sums: inputs behind the scales.
using step = nk::train_step<model, nk::adamw, nk::compute_in<nk::f8>, nk::micro_batches<2>>;
static_assert(step::gradient_plan::layers > 0 && step::gradient_plan::layers < 6);

/// The same, each layer planned.
struct planned_whole : step {
  struct gradient_plan {
    using whole = nk::planning::whole_plan<nk::on_cpu::target, gradients, nk::planning::plan_options{}>;
    static constexpr auto value = whole::settled::value;
    static constexpr nk::on_cpu::plan_view viewed = value.view();
    static constexpr nk::graph_view graph() { return whole::graph(); }
    static constexpr const nk::on_cpu::plan_view& view() { return viewed; }
  };
};
static_assert(step::gradient_plan::view().peak == planned_whole::gradient_plan::view().peak);

// What a product multiplies, and its adjoint: two products a layer, one before, one behind.
static_assert(step::quantized_tensors == 3 * (2 * 6 + 2));
constexpr bool has_rows_of_whole() {
  const nk::graph_view g = nk::frozen<step::gradients>::view();
  const std::size_t first = 1 + step::gradients::parameters;
  bool all = g.output_count == first + step::quantized_tensors;
  for (std::size_t i = 0; all && i < step::quantized_tensors; ++i)
    all = step::quantized_rows[i] == nk::numel(g.shape_of(g.outputs[first + i]));
  return all;
}
static_assert(has_rows_of_whole());

struct outcome {
  std::vector<float> losses, scales, everything;
};
template <class Step>
outcome run(int steps) {
  nk::trainer<Step> t(nk::seed{3});
  std::vector<float> x(2 * batch::size * feature::size), y(2 * batch::size);
  outcome o;
  for (int k = 0; k < steps; ++k) {
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = std::sin(static_cast<float>(i) * (0.1f + 0.01f * static_cast<float>(k)));
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = x[i * feature::size] * x[i * feature::size + 1];
    const nk::step_result r = t.step(1e-2, x, y);
    CHECK(r.applied);
    o.losses.push_back(r.loss);
    o.scales.insert(o.scales.end(), t.scales().scale(0), t.scales().scale(0) + t.scales().size());
  }
  o.scales.insert(o.scales.end(), t.scales().remembered().begin(), t.scales().remembered().end());
  o.everything = nk::testing::everything_of(t);
  return o;
}

}  // namespace equal_layers_test

TEST_CASE("equal layers: a step in 8 bits that was planned for a few trains as one planned whole") {
  using namespace equal_layers_test;
  const outcome few = run<step>(20), all = run<planned_whole>(20);
  CHECK(same_bits(few.losses, all.losses));
  CHECK(same_bits(few.scales, all.scales));
  CHECK(same_bits(few.everything, all.everything));
  CHECK(few.losses.back() < few.losses.front());
}
