// Windows as the compiler sees them: axes, what a convolution costs, and that no copy of its windows is made.
#include "napkin/cpu/cost.hpp"
#include "napkin/cpu/lower.hpp"
#include "napkin/nn/convolution.hpp"
#include "napkin/nn/pooling.hpp"
#include "napkin/ops/function.hpp"
#include "napkin/passes/differentiate.hpp"
#include "napkin/tensor/create.hpp"

namespace nk = napkin;

namespace {

struct batch : nk::dim<"batch", 8> {};
struct height : nk::dim<"height", 28> {};
struct width : nk::dim<"width", 30> {};
struct down : nk::dim<"down", 3> {};
struct across : nk::dim<"across", 5> {};
struct in : nk::dim<"in", 16> {};
struct out : nk::dim<"out", 32> {};
template <std::size_t N>
using h = nk::dim<"height", N>;

using image = nk::tensor<nk::f32, batch, height, width, in>;
template <class X, class... Ds>
inline constexpr bool has_axes = nk::same_axes<nk::axes_of<X>, nk::axes<Ds...>>;

// ---- positions: (size + before + after - ((taps - 1) * dilation + 1)) / step + 1
template <std::size_t Step = 1, std::size_t Before = 0, std::size_t After = Before, std::size_t Dilation = 1>
using seen =
    decltype(nk::window<"height", down, Step, Before, After, Dilation>(std::declval<const image&>()));
static_assert(has_axes<seen<>, batch, h<26>, down, width, in>);
static_assert(has_axes<seen<1, 1>, batch, height, down, width, in>);
static_assert(has_axes<seen<2>, batch, h<13>, down, width, in>);
static_assert(has_axes<seen<1, 2, 0>, batch, height, down, width, in>);
static_assert(has_axes<seen<3, 0, 0, 4>, batch, h<7>, down, width, in>);

// ---- a convolution is one contraction that reads image and weight once
using weight = nk::tensor<nk::f32, down, across, in, out>;
constexpr auto convolve = [](const auto& x, const auto& w) {
  return nk::dot<"down", "across", "in">(nk::window<"width", across>(nk::window<"height", down>(x)), w);
};
using convolved = decltype(convolve(std::declval<const image&>(), std::declval<const weight&>()));
static_assert(has_axes<convolved, batch, h<26>, nk::dim<"width", 26>, out>);
static_assert(nk::cost<convolved>.flops.matmul == 2ull * 8 * 26 * 26 * 32 * 3 * 5 * 16);
static_assert(nk::plan_of<convolved, nk::cpu>.launches == 1);
static_assert(nk::cost<convolved>.bytes.read == 4 * (8 * 28 * 30 * 16 + 3 * 5 * 16 * 32));
static_assert(nk::cost<convolved>.bytes.written == 4 * 8 * 26 * 26 * 32);
static_assert(nk::plan_of<convolved, nk::cpu>.peak == 0);

// Padding is one copy of the image for each padded axis.
constexpr auto convolve_padded = [](const auto& x, const auto& w) {
  return nk::dot<"down", "across", "in">(nk::window<"width", across>(nk::window<"height", down, 1, 1>(x)), w);
};
using padded = decltype(convolve_padded(std::declval<const image&>(), std::declval<const weight&>()));
static_assert(nk::plan_of<padded, nk::cpu>.launches == 2);
static_assert(nk::plan_of<padded, nk::cpu>.peak == 4 * 8 * 30 * 30 * 16);

// ---- backward: both gradients are contractions over windows, of which no tensor is made either
struct image_gradient {
  static constexpr nk::graph make() {
    nk::builder b;
    const nk::traced<nk::f32, batch, height, width, in> x(&b, b.input(0, nk::dtype::f32, {8, 28, 30, 16}));
    const nk::traced<nk::f32, down, across, in, out> w(&b, b.input(1, nk::dtype::f32, {3, 5, 16, 32}));
    const auto y = convolve(x, w);
    b.output(nk::sum(y * y).id);
    const std::int32_t wanted[] = {x.id, w.id};
    return nk::passes::differentiate(b.view(), wanted);
  }
};
using backward = nk::on_cpu::frozen_plan<image_gradient>;
constexpr std::size_t largest_tensor() {
  std::size_t n = 0;
  const nk::graph_view g = backward::graph();
  for (int id = 0; id < static_cast<int>(g.size()); ++id)
    if (!nk::passes::is_view(g[id].kind) && nk::numel(g.shape_of(id)) > n) n = nk::numel(g.shape_of(id));
  return n;
}
// the adjoint of the result, padded by two and four on each side
static_assert(largest_tensor() == 8 * 30 * 34 * 32);
// three contractions: 2 * batch * positions * out * in * taps FLOPs, positions being all of the image's in
// its own
constexpr std::uint64_t products(std::uint64_t positions) { return 2 * 8 * positions * 32 * 16 * 3 * 5; }
static_assert(nk::on_cpu::cost_of(backward::view(), backward::graph()).flops.matmul ==
              2 * products(26 * 26) + products(28 * 30));

// ---- pooling: what does not fill a window is left out
using pooled = decltype(nk::max_pool<4, "height", "width">(std::declval<const image&>()));
static_assert(has_axes<pooled, batch, h<7>, nk::dim<"width", 7>, in>);
static_assert(nk::plan_of<pooled, nk::cpu>.launches == 1);
static_assert(nk::cost<pooled>.flops.reduce == 8 * 7 * 7 * 16 * 15);

// ---- the layer
using layer = nk::nn::conv<in, out, nk::nn::along<height, down>, nk::nn::along<width, across, 2>>;
using result = decltype(layer{}(nk::traced<nk::f32, batch, height, width, in>{}));
static_assert(nk::parameter_table<layer>[0].sizes == nk::shape{3, 5, 16, 32});
static_assert(nk::parameter_table<layer>[0].initial == nk::init::fan_in(3 * 5 * 16));
static_assert(nk::parameter_table<layer>[1].initial == nk::init::zeros());

}  // namespace
