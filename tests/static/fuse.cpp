// What is one kernel: how many things a plan of common expressions launches.
#include "napkin/cpu/plan.hpp"
#include "napkin/nn/activation.hpp"
#include "napkin/nn/loss.hpp"
#include "napkin/nn/norm.hpp"
#include "napkin/nn/softmax.hpp"
#include "napkin/passes/differentiate.hpp"

namespace nk = napkin;

namespace {

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 32> {};
struct embed : nk::dim<"embed", 48> {};
struct vocab : nk::dim<"vocab", 100> {};

template <class... Ds>
using f32s = nk::traced<nk::f32, Ds...>;

template <class... Ds>
constexpr f32s<Ds...> input(nk::builder& b, int slot) {
  return {&b, b.input(slot, nk::dtype::f32, {Ds::size...})};
}
constexpr void output(nk::builder& b, const auto&... xs) { (b.output(xs.id), ...); }

/// Launches of a graph, and of its gradient with respect to the first `wanted` inputs, without its value.
constexpr std::size_t launches(const nk::graph& g) {
  return nk::on_cpu::make_plan(nk::on_cpu::lower_graph(g.view()).view()).instructions.size();
}
constexpr std::size_t backward_launches(const nk::graph& g, int wanted) {
  std::int32_t inputs[4]{};
  for (int id = 0; id < static_cast<int>(g.nodes.size()); ++id)
    if (g.view()[id].kind == nk::op::input && g.view().attribute(id, 0) < wanted)
      inputs[g.view().attribute(id, 0)] = id;
  const nk::graph both = nk::passes::differentiate(g.view(), {inputs, static_cast<std::size_t>(wanted)});
  nk::graph gradients = both;
  gradients.outputs.clear();
  for (std::size_t i = g.outputs.size(); i < both.outputs.size(); ++i)
    gradients.outputs.push_back(both.outputs[i]);
  return launches(gradients);
}

/// What `trace(builder)` traces.
constexpr nk::graph traced_by(auto trace) {
  nk::builder b;
  trace(b);
  return b.result;
}

constexpr auto gelu_chain = [](nk::builder& b) {
  const auto x = input<batch, seq, embed>(b, 0);
  output(b, nk::gelu(x * input<embed>(b, 1) + input<embed>(b, 2)));
};
static_assert(launches(traced_by(gelu_chain)) == 1);

constexpr auto softmax = [](nk::builder& b) {
  output(b, nk::softmax<"embed">(input<batch, seq, embed>(b, 0)));
};
static_assert(launches(traced_by(softmax)) == 1);

constexpr auto layer_norm = [](nk::builder& b) {
  output(b, nk::layer_norm<"embed">(input<batch, seq, embed>(b, 0), input<embed>(b, 1), input<embed>(b, 2)));
};
static_assert(launches(traced_by(layer_norm)) == 1);

/// The gradients of x, of the gain and of the bias, statistics computed anew: one walk over the rows.
constexpr auto weighted_layer_norm = [](nk::builder& b) {
  const auto x = input<batch, seq, embed>(b, 0);
  const auto y = nk::layer_norm<"embed">(x, input<embed>(b, 1), input<embed>(b, 2));
  output(b, nk::sum(y * input<batch, seq, embed>(b, 3)));
};
static_assert(backward_launches(traced_by(weighted_layer_norm), 3) == 1);

constexpr auto weighted_softmax = [](nk::builder& b) {
  const auto y = nk::softmax<"embed">(input<batch, seq, embed>(b, 0));
  output(b, nk::sum(y * input<batch, seq, embed>(b, 1)));
};
static_assert(backward_launches(traced_by(weighted_softmax), 1) == 1);

constexpr auto residual_and_norm = [](nk::builder& b) {
  const auto sum = input<batch, seq, embed>(b, 0) + input<batch, seq, embed>(b, 1);
  output(b, sum, nk::layer_norm<"embed">(sum, input<embed>(b, 2), input<embed>(b, 3)));
};
static_assert(launches(traced_by(residual_and_norm)) == 1);

/// One over the logits, one for the mean over positions.
constexpr auto cross_entropy = [](nk::builder& b) {
  const nk::traced<nk::u16, batch, seq> targets(&b, b.input(1, nk::dtype::u16, {batch::size, seq::size}));
  output(b, nk::cross_entropy<"vocab">(input<batch, seq, vocab>(b, 0), targets));
};
static_assert(launches(traced_by(cross_entropy)) == 2);
/// With its gradient too: the logits' is made where the losses are, as the mean's factor is a constant.
constexpr nk::graph with_gradient(const nk::graph& g) {
  std::int32_t first_input = 0;
  while (g.view()[first_input].kind != nk::op::input || g.view().attribute(first_input, 0) != 0)
    ++first_input;
  return nk::passes::differentiate(g.view(), {&first_input, 1});
}
static_assert(launches(with_gradient(traced_by(cross_entropy))) == 2);
static_assert(backward_launches(traced_by(cross_entropy), 1) == 1);

/// Not fused, each operation is a launch: what the numbers above are against.
constexpr std::size_t unfused(const nk::graph& g) {
  const nk::on_cpu::plan_options options{.fuse = {.fuse = false}};
  return nk::on_cpu::make_plan(nk::on_cpu::lower_graph(g.view(), options).view(), options)
      .instructions.size();
}
static_assert(unfused(traced_by(softmax)) == 5);
static_assert(unfused(traced_by(layer_norm)) == 11);

}  // namespace
