// Windows as the compiler sees them: axes, what a convolution costs, and that no copy of its windows is made.
#include "napkin/cpu/cost.hpp"
#include "napkin/cpu/lower.hpp"
#include "napkin/nn/convolution.hpp"
#include "napkin/nn/pooling.hpp"
#include "napkin/ops/function.hpp"
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
