// The conventions as constants: gradients asked by their types, PyTorch's formulas, the rule of 6 N D with
// its term for attention, opt_einsum's costs.
#include "napkin/cost/conventions.hpp"
#include "napkin/cost/gradient.hpp"
#include "napkin/cost/opt_einsum.hpp"
#include "napkin/cost/torch.hpp"
#include "napkin/cpu/cost.hpp"
#include "napkin/nn/attention.hpp"
#include "napkin/ops/einsum.hpp"
#include "napkin/ops/elementwise.hpp"
#include "napkin/ops/matmul.hpp"
#include "napkin/ops/reduce.hpp"
#include "napkin/ops/window.hpp"

namespace nk = napkin;
using nk::conventions::counts;
using nk::conventions::torch_attention;
using nk::conventions::torch_convolution;

namespace {

// ---- a gradient has costs as an expression has
struct points : nk::dim<"points", 6> {};
struct in : nk::dim<"in", 5> {};
struct inner : nk::dim<"inner", 4> {};
struct out : nk::dim<"out", 3> {};
using x_type = nk::tensor<nk::f32, points, in>;
using w1_type = nk::tensor<nk::f32, in, inner>;
using w2_type = nk::tensor<nk::f32, inner, out>;
constexpr auto loss = [](auto x, auto w1, auto w2) {
  const auto h = nk::matmul(nk::matmul(x, w1), w2);
  return nk::sum(h * h);
};
using of_weights = nk::gradient_of<decltype(nk::grad<1, 2>(loss)), x_type, w1_type, w2_type>;
using of_all = nk::gradient_of<decltype(nk::grad<0, 1, 2>(loss)), x_type, w1_type, w2_type>;
using by_name = nk::gradient_of<decltype(nk::value_and_grad<"w1", "w2">(nk::fn<"x", "w1", "w2">(loss))),
                                x_type, w1_type, w2_type>;
constexpr std::uint64_t first = 2 * 6 * 5 * 4, second = 2 * 6 * 4 * 3;
static_assert(nk::conventions::exact<of_weights> == counts{first + second, first + 2 * second});
static_assert(nk::conventions::torch<of_weights> == nk::conventions::exact<of_weights>);
static_assert(nk::conventions::exact<of_all> == counts{first + second, 2 * (first + second)});
static_assert(nk::conventions::torch<by_name> == nk::conventions::torch<of_weights>);
static_assert(nk::cost<of_weights>.flops.matmul == 2 * first + 3 * second);
static_assert(nk::plan_of<of_weights>.launches == nk::cost<of_weights>.launches);

// A product's gradient is a product in PyTorch also where it sums nothing.
constexpr auto inner_product = [](auto x, auto y) { return nk::einsum<"i, i -> ">(x, y); };
using vector = nk::tensor<nk::f32, nk::dim<"i", 64>>;
using dots = nk::gradient_of<decltype(nk::grad<0, 1>(inner_product)), vector, vector>;
using dots_with_value = nk::gradient_of<decltype(nk::value_and_grad<0, 1>(inner_product)), vector, vector>;
static_assert(nk::conventions::torch<dots> == counts{128, 256});
static_assert(nk::conventions::torch<dots_with_value> == counts{128, 256});
static_assert(nk::conventions::exact<dots_with_value> == counts{128, 0});
static_assert(nk::conventions::exact<dots> == counts{0, 0});  // the gradients are the vectors

// What a gradient does not need of its function is not computed, nor counted.
constexpr auto total = [](auto x, auto w) { return nk::sum(nk::matmul(x, w)); };
using of_total = nk::gradient_of<decltype(nk::grad<0, 1>(total)), x_type, w1_type>;
using with_total = nk::gradient_of<decltype(nk::value_and_grad<0, 1>(total)), x_type, w1_type>;
static_assert(nk::cost<of_total>.flops.matmul == 2 * first && nk::cost<with_total>.flops.matmul == 3 * first);
static_assert(nk::conventions::exact<of_total> == counts{0, 2 * first});
static_assert(nk::conventions::exact<with_total> == counts{first, 2 * first});
static_assert(nk::cost<of_total>.launches + 1 == nk::cost<with_total>.launches);

// Of three operands in pairs: two products forward, and for each the gradients that are needed.
constexpr auto chain = [](auto a, auto b, auto c) {
  return nk::sum(nk::einsum<"i j, j k, k l -> i l">(a, b, c));
};
using a_type = nk::tensor<nk::f32, nk::dim<"i", 2>, nk::dim<"j", 50>>;
using b_type = nk::tensor<nk::f32, nk::dim<"j", 50>, nk::dim<"k", 40>>;
using c_type = nk::tensor<nk::f32, nk::dim<"k", 40>, nk::dim<"l", 30>>;
using of_first = nk::gradient_of<decltype(nk::grad<0>(chain)), a_type, b_type, c_type>;
static_assert(nk::conventions::torch<of_first> ==
              counts{2 * 2 * 50 * 40 + 2 * 2 * 40 * 30, 2 * 2 * 50 * 40 + 2 * 2 * 40 * 30});

// ---- attention: 4 and 10 b h s s d, from the graph and by the formula
struct batch : nk::dim<"batch", 3> {};
struct seq : nk::dim<"seq", 10> {};
struct heads : nk::dim<"heads", 2> {};
struct hidden : nk::dim<"hidden", 8> {};
using each = nk::tensor<nk::f32, batch, heads, seq, hidden>;
constexpr auto attend = [](auto q, auto k, auto v) {
  return nk::sum(nk::causal_attention<"seq", "hidden">(q, k, v));
};
using attention = nk::gradient_of<decltype(nk::grad<0, 1, 2>(attend)), each, each, each>;
constexpr std::uint64_t square = 3 * 2 * 10 * 10 * 8, triangle = 3 * 2 * (10 * 11 / 2) * 8;
static_assert(nk::conventions::torch<attention> == counts{4 * square, 10 * square});
using with_attention = nk::gradient_of<decltype(nk::value_and_grad<0, 1, 2>(attend)), each, each, each>;
static_assert(nk::conventions::exact<with_attention> == counts{4 * triangle, 8 * triangle});
static_assert(nk::conventions::exact<attention> == counts{2 * triangle, 8 * triangle});  // weights alone
static_assert(torch_attention({3, 2, 10, 8}, {3, 2, 10, 8}, {3, 2, 10, 8}) ==
              nk::conventions::torch<attention>);
static_assert(torch_attention({1, 4, 5, 8}, {1, 2, 7, 8}, {1, 2, 7, 6}) ==
              counts{2 * 4 * 5 * 7 * (8 + 6), 2 * 4 * 5 * 7 * (3 * 8 + 2 * 6)});

// ---- convolutions, as PyTorch's tests have them
static_assert(torch_convolution({2, 3, 6, 6}, {6, 3, 4, 4}, {.padding = {1, 1}}).forward ==
              (2 * 5 * 5) * (4 * 4) * 6 * 2 * 3);
static_assert(torch_convolution({2, 3, 6}, {6, 3, 4}, {.padding = {1}}).forward == (2 * 5) * 4 * 6 * 2 * 3);
static_assert(torch_convolution({1, 3, 4, 4}, {3, 7, 2, 2}, {.transposed = true}) == counts{2688, 2 * 2688});
static_assert(torch_convolution({1, 2, 4, 4}, {4, 2, 2, 2}, {}, true, false) == counts{576, 576});
static_assert(torch_convolution({1, 2, 4, 4}, {4, 2, 2, 2}, {}, false, false) == counts{576, 0});
using nk::conventions::shape_of_convolution;
static_assert(shape_of_convolution({2, 8, 32, 20}, {16, 4, 3, 5},
                                   {.stride = {2, 3}, .padding = {1, 0}, .dilation = {2, 1}, .groups = 2}) ==
              nk::shape{2, 16, 15, 6});
static_assert(shape_of_convolution(
                  {2, 8, 15}, {8, 3, 4},
                  {.stride = {2}, .padding = {1}, .output_padding = {1}, .groups = 2, .transposed = true}) ==
              nk::shape{2, 6, 31});

template <std::size_t Channels, std::size_t Window>
concept CanBeConvolved = requires {
  typename std::integral_constant<std::uint64_t, torch_convolution({1, 3, 8}, {4, Channels, Window}).forward>;
};
static_assert(CanBeConvolved<3, 8> && !CanBeConvolved<2, 8> && !CanBeConvolved<3, 9> &&
              !CanBeConvolved<3, 0>);

// and the library's own, products of windows, count as much
struct height : nk::dim<"height", 9> {};
struct across : nk::dim<"across", 7> {};
struct image_channel : nk::dim<"channel", 4> {};
struct feature : nk::dim<"feature", 5> {};
struct tap_h : nk::dim<"tap_h", 3> {};
struct tap_w : nk::dim<"tap_w", 2> {};
using image = nk::tensor<nk::f32, batch, height, across, image_channel>;
using kernel = nk::tensor<nk::f32, tap_h, tap_w, image_channel, feature>;
constexpr auto convolve = [](auto x, auto w) {
  const auto windows = nk::window<"across", tap_w, 1, 0, 0>(nk::window<"height", tap_h, 2, 1, 1>(x));
  return nk::sum(nk::dot<"tap_h", "tap_w", "channel">(windows, w));
};
using convolution = nk::gradient_of<decltype(nk::grad<0, 1>(convolve)), image, kernel>;
static_assert(nk::conventions::torch<convolution> ==
              torch_convolution({3, 4, 9, 7}, {5, 4, 3, 2}, {.stride = {2, 1}, .padding = {1, 0}}));

// ---- 6 N D, with 12 L H Q T for each token
constexpr std::uint64_t layers = 2, width = heads::size * hidden::size, tokens = batch::size * seq::size;
constexpr auto two_attentions = [](auto q, auto k, auto v) {
  const auto once = nk::causal_attention<"seq", "hidden">(q, k, v);
  return nk::sum(nk::causal_attention<"seq", "hidden">(once, k, v));
};
using deep = nk::gradient_of<decltype(nk::grad<0>(two_attentions)), each, each, each>;
constexpr counts palm = nk::conventions::rule_6nd_with_attention_of(
    1'000, tokens, nk::conventions::attention_flops_of(deep::forward_graph()));
static_assert(palm.total() == (6 * 1'000 + 12 * layers * width * seq::size) * tokens);
static_assert(3 * palm.forward == palm.total());

// ---- opt_einsum's
constexpr nk::conventions::opt_einsum_counts of_one() {
  const nk::graph g = nk::expression_graph<decltype(nk::einsum<"i j -> i">(std::declval<a_type>()))>::make();
  int id = 0;
  while (g.nodes[static_cast<std::size_t>(id)].kind != nk::op::einsum) ++id;
  return nk::conventions::opt_einsum_of(g.view(), id);
}
static_assert(of_one() == nk::conventions::opt_einsum_counts{100, 200});

}  // namespace
