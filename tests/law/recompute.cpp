// What a backward pass makes again is what it would have kept: every choice, and choices drawn at random,
// give the same loss and gradients, bit for bit; and copies stay copies.
#include "napkin/passes/recompute.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <vector>

#include "napkin/cpu/cost.hpp"
#include "napkin/nn/convolution.hpp"
#include "napkin/nn/dropout.hpp"
#include "napkin/nn/loss.hpp"
#include "napkin/nn/pooling.hpp"
#include "napkin/nn/transformer.hpp"
#include "napkin/ops/reflect.hpp"
#include "napkin/passes/differentiate.hpp"
#include "napkin/passes/precision.hpp"
#include "napkin/passes/recompute_choice.hpp"
#include "napkin/passes/verify.hpp"
#include "support/counted_nodes.hpp"
#include "support/planned.hpp"
#include "support/random_graph.hpp"
#include "support/run_plan.hpp"

namespace nk = napkin;
using nk::testing::raw_bytes;

namespace {

struct batch : nk::dim<"batch", 3> {};

template <std::size_t Layers>
struct config {
  using batch = ::batch;
  using seq = nk::dim<"seq", 6>;
  using vocab = nk::dim<"vocab", 11>;
  using embed = nk::dim<"embed", 8>;
  using ffn = nk::dim<"ffn", 12>;
  using heads = nk::dim<"heads", 2>;
  using kv_heads = nk::dim<"kv_heads", 1>;
  using group = nk::dim<"group", 2>;
  using hidden = nk::dim<"hidden", 4>;
  static constexpr std::size_t layers = Layers;
};

struct feature : nk::dim<"feature", 7> {};
struct unit : nk::dim<"unit", 5> {};

/// Noise, which a copy must draw as its original did.
struct noisy {
  BOOST_HANA_DEFINE_STRUCT(noisy, (nk::param<feature, unit>, first), (nk::param<unit, feature>, second),
                           (nk::param<feature, unit>, third));
  constexpr auto loss(nk::input<nk::f32, batch, feature> x, nk::input<nk::i64> noise) const {
    const auto a = nk::dropout(nk::gelu(nk::dot<"feature">(x, first)), 0.4, noise);
    const auto b = nk::dropout(nk::tanh(nk::dot<"unit">(a, second)), 0.4, noise);
    const auto c = nk::exp(nk::dot<"feature">(b, third));
    return nk::mean(c * c);
  }
};

/// Two residual layers, few enough operations to try every way.
struct residual {
  using rows = nk::dim<"rows", 64>;
  using narrow = nk::dim<"narrow", 48>;
  using wide = nk::dim<"wide", 96>;
  BOOST_HANA_DEFINE_STRUCT(residual, (nk::param<narrow, wide>, up), (nk::param<wide, narrow>, down),
                           (nk::param<narrow, wide>, again_up), (nk::param<wide, narrow>, again_down));
  constexpr auto loss(nk::input<nk::f32, rows, narrow> x) const {
    const auto u = x + nk::dot<"wide">(nk::exp(nk::dot<"narrow">(x, up)), down);
    const auto v = u + nk::dot<"wide">(nk::exp(nk::dot<"narrow">(u, again_up)), again_down);
    return nk::mean(v * v);
  }
};

struct height : nk::dim<"height", 6> {};
struct width : nk::dim<"width", 6> {};
struct gray : nk::dim<"gray", 1> {};
struct edges : nk::dim<"edges", 4> {};
struct shapes : nk::dim<"shapes", 3> {};

struct convolutional {
  template <class In, class Out>
  using layer = nk::nn::conv<In, Out, nk::nn::along<height, nk::dim<"down", 3>>,
                             nk::nn::along<width, nk::dim<"across", 3>>>;
  using first_layer = layer<gray, edges>;
  using second_layer = layer<edges, shapes>;
  BOOST_HANA_DEFINE_STRUCT(convolutional, (first_layer, first), (second_layer, second));
  constexpr auto loss(nk::input<nk::f32, batch, height, width, gray> x) const {
    const auto h = nk::cast<nk::bf16>(nk::relu(first(x)));
    const auto y = nk::relu(second(nk::cast<nk::f32>(h)));
    return nk::mean(y * y);
  }
};

struct lowered_step {
  nk::graph lowered;
  nk::passes::step_halves halves;
  nk::buffer<nk::passes::recompute_choice> choices;

  lowered_step(const nk::graph_view& loss, std::size_t parameters) {
    std::vector<std::int32_t> wanted(parameters);
    std::iota(wanted.begin(), wanted.end(), 0);
    lowered = nk::testing::lowered(nk::passes::differentiate(loss, wanted).view(), {}, true);
    halves = nk::passes::halves_of(lowered.view(), nk::passes::fuse(lowered.view()));
    choices = nk::passes::recompute_choices(lowered.view(), halves, parameters, 0, 64);
  }
};

/// The number of choices that make something again.
template <class Model>
std::size_t check_model() {
  const lowered_step step(nk::model_graph<Model>::make().view(), nk::parameter_table<Model>.size());
  const nk::graph_view g = step.lowered.view();
  auto values = nk::testing::random_inputs(g, 7);
  for (int id = 0; id < static_cast<int>(g.size()); ++id)
    if (g[id].kind == nk::op::input && nk::is_integer(g[id].type))
      for (double& token : values[static_cast<std::size_t>(g.attribute(id, 0))])
        token = static_cast<double>(static_cast<int>(token < 0 ? -token : token) % 11);
  const auto inputs = nk::testing::typed_inputs(g, values);
  const auto poison = std::byte{0xff};
  const std::vector<raw_bytes> expected = nk::testing::run_lowered(g, {}, inputs, poison);

  std::size_t with_copies = 0;
  const auto check = [&](const nk::buffer<bool>& again) {
    const nk::graph made = nk::passes::recompute(g, step.halves, again);
    REQUIRE(nk::passes::verify(made.view()).sentence == "");
    const std::size_t copies = nk::testing::copies_in(made.view());
    with_copies += copies > 0;
    CHECK(nk::testing::copies_in(nk::passes::simplify(made.view()).view()) == copies);
    const std::vector<raw_bytes> found = nk::testing::run_lowered(made.view(), {}, inputs, poison);
    REQUIRE(found.size() == expected.size());
    std::size_t different = 0;
    for (std::size_t k = 0; k < found.size(); ++k)
      different += nk::testing::first_difference(expected[k], found[k], g[g.outputs[k]].type) >= 0;
    CHECK(different == 0);
  };
  for (std::size_t k = 0; k < step.choices.size(); ++k) {
    INFO("choice " << k);
    check(step.choices[k].again);
  }
  const std::size_t chosen = with_copies;
  nk::testing::random_source random(5);
  for (int drawn = 0; drawn < 10; ++drawn) {
    INFO("drawn " << drawn);
    nk::buffer<bool> again(g.size(), false);
    for (std::size_t id = 0; id < g.size(); ++id)
      again[id] = !step.halves.after[id] && random.chance(0.1 * (drawn + 1));
    check(again);
  }
  return chosen;
}

}  // namespace

TEST_CASE("recompute: every choice gives the same loss and gradients, bit for bit") {
  CHECK(check_model<noisy>() >= 3);
  CHECK(check_model<convolutional>() >= 2);
  CHECK(check_model<nk::nn::gpt<config<3>>>() >= 8);
  CHECK(check_model<nk::nn::llama<config<3>>>() >= 8);
}

TEST_CASE("recompute: equal layers are found where casts stand between products and parameters") {
  using model = nk::nn::gpt<config<4>>;
  const nk::graph loss = nk::model_graph<model>::make();
  const nk::graph narrow = nk::passes::compute_narrow(loss.view(), nk::dtype::bf16);
  const std::size_t parameters = nk::parameter_table<model>.size();
  const nk::passes::repetition wide = nk::passes::find_repetition(loss.view(), parameters);
  const nk::passes::repetition found = nk::passes::find_repetition(narrow.view(), parameters);
  CHECK(wide.count >= 3);
  CHECK(found.count == wide.count);
  CHECK(found.parameters == wide.parameters);
  CHECK(found.nodes > wide.nodes);  // with the casts
}

namespace {

struct outcome {
  double peak = 0, time = 0;  // bytes; nominal FLOPs
};
outcome outcome_of(const lowered_step& step, const nk::buffer<bool>& again) {
  const nk::graph made = nk::passes::recompute(step.lowered.view(), step.halves, again);
  const nk::on_cpu::plan p = nk::testing::planned<nk::on_cpu::target>(made.view());
  outcome o{static_cast<double>(p.peak)};
  for (const nk::plan_line& line : nk::planning::lines_of(nk::on_cpu::view_of(p), made.view()))
    o.time += std::max(static_cast<double>(line.flops.total() + line.flops.transcendental),
                       static_cast<double>(nk::passes::flops_per_byte * line.bytes.total()));
  return o;
}

}  // namespace

TEST_CASE("recompute: the cheapest choice that fits is near the best of all ways") {
  const lowered_step step(nk::model_graph<residual>::make().view(), 4);
  const nk::graph_view g = step.lowered.view();
  std::vector<std::size_t> values;
  for (std::size_t id = 0; id < g.size(); ++id)
    if (!step.halves.after[id] && g.nodes[id].arity > 0 && !nk::passes::is_view(g.nodes[id].kind))
      values.push_back(id);
  REQUIRE(values.size() <= 14);
  std::vector<outcome> all, listed;
  for (std::size_t way = 0; way < std::size_t{1} << values.size(); ++way) {
    nk::buffer<bool> again(g.size(), false);
    for (std::size_t i = 0; i < values.size(); ++i) again[values[i]] = (way >> i & 1) != 0;
    all.push_back(outcome_of(step, again));
  }
  for (const nk::passes::recompute_choice& c : step.choices) listed.push_back(outcome_of(step, c.again));
  double least = all[0].peak;
  for (const outcome& o : all) least = std::min(least, o.peak);
  REQUIRE(least < all[0].peak);
  constexpr int budgets = 50;
  for (int i = 0; i <= budgets; ++i) {
    const double budget = least + (all[0].peak - least) * i / budgets;
    double best = 1e300;
    for (const outcome& o : all)
      if (o.peak <= budget) best = std::min(best, o.time);
    const auto first =
        std::find_if(listed.begin(), listed.end(), [&](const outcome& o) { return o.peak <= budget; });
    CAPTURE(budget, best);
    REQUIRE(best < 1e300);
    REQUIRE(first != listed.end());  // as little as any way takes
    CHECK(first->time - best <= 0.01 * all[0].time);
  }
}
