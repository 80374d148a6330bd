// Costs in the compiler: hand-worked FLOP counts as constants, of graphs, of lazy expressions and of a whole
// GPT-2; and the counts of others' conventions.
#include "napkin/cost/cost.hpp"

#include <utility>

#include "napkin/cost/conventions.hpp"
#include "napkin/cost/rules_of_thumb.hpp"
#include "napkin/cpu/cost.hpp"
#include "napkin/ops/einsum.hpp"
#include "napkin/ops/elementwise.hpp"
#include "napkin/ops/pattern.hpp"
#include "napkin/passes/differentiate.hpp"

namespace nk = napkin;
using nk::dtype;
using nk::f32;
using nk::op;

namespace {

// ---- the rules, one operation each
/// Of f(b), which gives the result's node.
template <class F>
constexpr nk::flop_counts flops_when(F&& f) {
  nk::builder b;
  b.output(f(b));
  return nk::flops_of(b.view());
}
constexpr std::int32_t last_axis[] = {1}, both_axes[] = {0, 1};

static_assert(flops_when([](nk::builder& b) { return b.input(0, dtype::f32, {3, 4}); }) == nk::flop_counts{});
static_assert(flops_when([](nk::builder& b) {
                const int x = b.input(0, dtype::f32, {3, 4});
                return b.fma(x, b.mul(x, x), x);
              }) == nk::flop_counts{0, 3 * 12, 0, 0, 0});
static_assert(flops_when([](nk::builder& b) {
                return b.unary(op::exp, b.cast(b.input(0, dtype::f32, {3, 4}), dtype::f64));
              }) == nk::flop_counts{0, 0, 0, 12, 0});
static_assert(flops_when([](nk::builder& b) {
                return b.reduce(op::sum, b.input(0, dtype::f32, {3, 4}), last_axis);
              }) == nk::flop_counts{0, 0, 3 * (4 - 1), 0, 0});
static_assert(flops_when([](nk::builder& b) {  // a mean: one more for each result
                return nk::detail::emit_reduction(b, nk::detail::reduction::mean,
                                                  b.input(0, dtype::f32, {3, 4}), last_axis);
              }) == nk::flop_counts{0, 0, 3 * 4, 0, 0});
static_assert(flops_when([](nk::builder& b) {  // divided by another number: no mean
                const int sum = b.reduce(op::sum, b.input(0, dtype::f32, {3, 4}), last_axis);
                return b.div(sum, b.constant(5, dtype::f32, {3}));
              }) == nk::flop_counts{0, 3, 3 * 3, 0, 0});
static_assert(flops_when([](nk::builder& b) {  // nothing to reduce
                return b.reduce(op::sum, b.input(0, dtype::f32, {3, 0}), last_axis);
              }) == nk::flop_counts{});
static_assert(flops_when([](nk::builder& b) {  // 1 for each value, none for the zeros
                return b.scatter_add(b.input(0, dtype::f32, {5, 4}), b.input(1, dtype::i32, {5}), {9, 4}, 0);
              }) == nk::flop_counts{0, 0, 20, 0, 0});
static_assert(flops_when([](nk::builder& b) {
                return b.gather(b.input(0, dtype::f32, {9, 4}), b.input(1, dtype::i32, {5}), 0);
              }) == nk::flop_counts{});

/// Two operands, labels of the first, of the second and of the result.
template <std::size_t A, std::size_t B, std::size_t C>
constexpr int einsum(nk::builder& b, int x, int y, const std::int32_t (&a)[A], const std::int32_t (&with)[B],
                     const std::int32_t (&to)[C]) {
  const std::int32_t xs[] = {x, y};
  std::int32_t labels[A + B];
  for (std::size_t i = 0; i < A; ++i) labels[i] = a[i];
  for (std::size_t i = 0; i < B; ++i) labels[A + i] = with[i];
  return b.einsum(xs, labels, to);
}
/// x (m, k) by w (k, n).
constexpr int matmul(nk::builder& b, int x, int w) { return einsum(b, x, w, {0, 1}, {1, 2}, {0, 2}); }

static_assert(flops_when([](nk::builder& b) {
                return matmul(b, b.input(0, dtype::f32, {16, 32}), b.input(1, dtype::f32, {32, 2}));
              }) == nk::flop_counts{2048, 0, 0, 0, 0});
static_assert(flops_when([](nk::builder& b) {  // an outer product sums nothing
                return einsum(b, b.input(0, dtype::f32, {3}), b.input(1, dtype::f32, {4}), {0}, {1}, {0, 1});
              }) == nk::flop_counts{0, 12, 0, 0, 0});
static_assert(flops_when([](nk::builder& b) {  // a trace is a reduction of its diagonal
                const std::int32_t x = b.input(0, dtype::f32, {4, 4}), labels[] = {0, 0};
                return b.einsum({&x, 1}, labels, {});
              }) == nk::flop_counts{0, 0, 3, 0, 0});

// ---- what is not needed is not counted, and what is used twice is counted once
constexpr nk::flop_counts of_shared() {
  nk::builder b;
  const int x = b.input(0, dtype::f32, {8}), y = b.mul(x, x);
  b.unary(op::exp, y);
  b.output(b.add(y, y));
  return nk::flops_of(b.view());
}
static_assert(of_shared() == nk::flop_counts{0, 16, 0, 0, 0});

// ---- counts that do not fit are no constants
template <std::size_t N>
struct square_product {
  static constexpr std::uint64_t flops() {
    nk::builder b;
    b.output(matmul(b, b.input(0, dtype::f32, {N, N}), b.input(1, dtype::f32, {N, N})));
    return nk::flops_of(b.view()).matmul;
  }
};
template <class Product>
concept CanBeCounted = requires {
  typename std::integral_constant<std::uint64_t, Product::flops()>;
};
static_assert(CanBeCounted<square_product<2'000'000>> && !CanBeCounted<square_product<3'000'000>>);

// ---- worked examples: tensors of (16, 32), (32, 2) and the like
struct batch : nk::dim<"batch", 2> {};
struct seq : nk::dim<"seq", 3> {};
struct key : nk::dim<"key", 3> {};
struct hidden : nk::dim<"hidden", 4> {};
using x_type = nk::tensor<f32, batch, seq, hidden>;
using y_type = nk::tensor<f32, batch, key, hidden>;
using scores = decltype(nk::einsum<"batch seq hidden, batch key hidden -> batch seq key">(
    std::declval<x_type>(), std::declval<y_type>()));
static_assert(nk::cost<scores>.flops == nk::flop_counts{2 * 2 * 3 * 3 * 4, 0, 0, 0, 0});
static_assert(nk::cost<scores>.bytes == nk::byte_counts{4 * (24 + 24), 4 * 18});
static_assert(nk::cost<scores, nk::cpu>.launches == 1 && nk::plan_of<scores, nk::cpu>.launches == 1);
static_assert(nk::plan_of<scores, nk::cpu>.instructions[0].kind == nk::passes::unit_kind::contraction);
static_assert(nk::cost<x_type> == nk::cost_sheet{});
static_assert(nk::conventions::torch<scores>.forward == 144 && nk::conventions::exact<scores>.forward == 144);

using merged = nk::dim<"model", 8>;
using by_head =
    decltype(nk::rearrange<"batch seq (heads inner) -> batch seq heads inner", nk::dim<"heads", 2>>(
        nk::tensor<f32, batch, seq, merged>{}));
using w_type = nk::tensor<f32, nk::dim<"inner", 4>, nk::dim<"to", 4>>;
using joined = decltype(nk::rearrange<"batch seq heads to -> batch seq (heads to)">(
    nk::einsum<"batch seq heads inner, inner to -> batch seq heads to">(std::declval<by_head>(),
                                                                        std::declval<w_type>())));
static_assert(nk::cost<joined>.flops.matmul == 2 * 2 * 3 * 2 * 4 * 4 &&
              nk::cost<joined>.flops.total() == 384);

using batched = decltype(nk::einsum<"a b m k, k n -> a b m n">(
    nk::tensor<f32, nk::dim<"a", 4>, nk::dim<"b", 8>, nk::dim<"m", 16>, nk::dim<"k", 32>>{},
    nk::tensor<f32, nk::dim<"k", 32>, nk::dim<"n", 2>>{}));
static_assert(nk::cost<batched>.flops.matmul == 65'536);

using product = decltype(nk::einsum<"points in, in out -> points out">(
    nk::tensor<f32, nk::dim<"points", 16'384>, nk::dim<"in", 32'768>>{},
    nk::tensor<f32, nk::dim<"in", 32'768>, nk::dim<"out", 8'192>>{}));
static_assert(nk::cost<product>.flops.matmul == 8'796'093'022'208);

// ---- a product of three: ordered, then counted
using chain =
    decltype(nk::einsum<"i j, j k, k l -> i l">(nk::tensor<f32, nk::dim<"i", 2>, nk::dim<"j", 50>>{},
                                                nk::tensor<f32, nk::dim<"j", 50>, nk::dim<"k", 40>>{},
                                                nk::tensor<f32, nk::dim<"k", 40>, nk::dim<"l", 30>>{}));
static_assert(nk::cost<chain>.flops.matmul == 2 * 2 * 50 * 40 + 2 * 2 * 40 * 30);
static_assert(nk::conventions::torch<chain>.forward == nk::cost<chain>.flops.matmul);

// ---- bytes: a kernel's distinct inputs once, its outputs once
using row = nk::tensor<f32, hidden>;
using shifted = decltype(nk::exp(std::declval<x_type>() + std::declval<row>()) *
                         std::declval<x_type>());  // lazy leaves are two tensors
static_assert(nk::cost<shifted>.bytes == nk::byte_counts{4 * (24 + 4 + 24), 4 * 24});
static_assert(nk::cost<shifted>.flops == nk::flop_counts{0, 48, 0, 24, 0});
static_assert(nk::plan_of<shifted, nk::cpu>.launches == 1 && nk::plan_of<shifted, nk::cpu>.peak == 0);
static_assert(nk::plan_of<shifted, nk::cpu>.memory.inputs == 208 &&
              nk::plan_of<shifted>.memory.outputs == 96);
static_assert(nk::plan_of<shifted>.bytes == nk::cost<shifted>.bytes);
static_assert(nk::plan_of<shifted>.instructions[0].flops == nk::cost<shifted>.flops);

// ---- two linear layers, h = x w1 w2, the loss their sum of squares
struct layers {
  std::size_t points, in, out;
  struct graphs {
    nk::graph forward, differentiated;
    nk::buffer<std::int32_t> wanted;
  };
  constexpr graphs make(bool also_input) const {
    nk::builder b;
    const int x = b.input(0, dtype::f32, {points, in}), w1 = b.input(1, dtype::f32, {in, in}),
              w2 = b.input(2, dtype::f32, {in, out});
    const int h = matmul(b, matmul(b, x, w1), w2);
    b.output(b.reduce(op::sum, b.mul(h, h), both_axes));
    nk::buffer<std::int32_t> wanted;
    wanted.push_back(w1);
    wanted.push_back(w2);
    if (also_input) wanted.push_back(x);
    nk::graph both = nk::passes::differentiate(b.view(), wanted);
    return {b.result, static_cast<nk::graph&&>(both), static_cast<nk::buffer<std::int32_t>&&>(wanted)};
  }
  constexpr nk::conventions::counts exact(bool also_input = false) const {
    const graphs g = make(also_input);
    return nk::conventions::exact_of(g.forward.view(), g.differentiated.view());
  }
  constexpr nk::conventions::counts torch(bool also_input = false) const {
    const graphs g = make(also_input);
    return nk::conventions::torch_of(g.forward.view(), g.wanted);
  }
  constexpr nk::conventions::counts rule() const {
    return nk::conventions::rule_6nd_of(in * in + in * out, points);
  }
};
constexpr layers small{1'024, 256, 64}, large{16'384, 32'768, 8'192};
static_assert(small.exact() == nk::conventions::counts{167'772'160, 201'326'592});
static_assert(large.exact() == nk::conventions::counts{43'980'465'111'040, 52'776'558'133'248});
static_assert(small.torch() == small.exact());  // neither counts the gradient that nobody wants
static_assert(small.exact(true) == nk::conventions::counts{167'772'160, 335'544'320});
static_assert(small.torch(true) == small.exact(true));
static_assert(small.rule() == nk::conventions::counts{167'772'160, 335'544'320});
static_assert(large.rule() == nk::conventions::counts{43'980'465'111'040, 87'960'930'222'080});

// ---- two hidden layers and a head of one output, D = 4, B = 2
constexpr nk::conventions::counts of_cruncher() {
  nk::builder b;
  const int x = b.input(0, dtype::f32, {2, 4}), w1 = b.input(1, dtype::f32, {4, 4}),
            w2 = b.input(2, dtype::f32, {4, 4}), head = b.input(3, dtype::f32, {4, 1});
  const int y = matmul(b, matmul(b, matmul(b, x, w1), w2), head);
  const std::int32_t wanted[] = {w1, w2, head};
  b.output(b.reduce(op::sum, b.mul(y, y), both_axes));
  const nk::graph both = nk::passes::differentiate(b.view(), wanted);
  return nk::conventions::exact_of(b.view(), both.view());
}
static_assert(of_cruncher() == nk::conventions::counts{144, 144 + 80});

// ---- GPT-2: 12 layers, two matrices in the feed-forward layer, the embedding used again as the head
struct gpt2 {
  std::size_t vocabulary, time, layers, model, heads, ffn;
  bool gated;  // SwiGLU: a third matrix

  constexpr std::uint64_t forward() const {
    nk::builder b;
    const nk::shape square{model, model}, up{model, ffn}, split{time, heads, model / heads};
    const int table = b.input(1, dtype::f32, {vocabulary, model});
    int x = b.gather(table, b.input(0, dtype::i32, {time}), 0), slot = 2;
    const auto linear = [&](int to, const nk::shape& s) {
      return matmul(b, to, b.input(slot++, dtype::f32, s));
    };
    for (std::size_t layer = 0; layer < layers; ++layer) {
      const int q = b.reshape(linear(x, square), split), k = b.reshape(linear(x, square), split),
                v = b.reshape(linear(x, square), split);
      const int score = b.unary(op::exp, einsum(b, q, k, {0, 1, 2}, {3, 1, 2}, {1, 0, 3}));
      const int mixed = einsum(b, score, v, {0, 1, 2}, {2, 0, 3}, {1, 0, 3});
      x = b.add(x, linear(b.reshape(mixed, {time, model}), square));
      int h = b.unary(op::tanh, linear(x, up));
      if (gated) h = b.mul(h, linear(x, up));
      x = b.add(x, linear(h, {ffn, model}));
    }
    b.output(einsum(b, x, table, {0, 1}, {2, 1}, {0, 2}));
    return nk::conventions::torch_of(b.view()).forward;
  }
};
static_assert(gpt2{50'257, 1'024, 12, 768, 12, 3'072, false}.forward() == 291'648'307'200);
static_assert(gpt2{50'257, 1'024, 12, 768, 12, 3'072, true}.forward() == 349'630'365'696);
static_assert(gpt2{50'257, 1'024, 48, 1'600, 25, 6'400, true}.forward() == 4'513'336'524'800);
static_assert(gpt2{50'257, 16'384, 48, 1'600, 25, 6'400, true}.forward() == 149'522'795'724'800);

// ---- attention: PyTorch computes the scores again in its backward pass, and counts squares
struct attention {
  std::size_t time, heads, width;
  bool causal, stamped;

  constexpr layers::graphs make() const {
    nk::builder b;
    const nk::shape each{time, heads, width}, square{heads, time, time};
    const int q = b.input(0, dtype::f32, each), k = b.input(1, dtype::f32, each),
              v = b.input(2, dtype::f32, each);
    if (stamped) b.composite = static_cast<std::uint16_t>(nk::composite::attention);
    int score = einsum(b, q, k, {0, 1, 2}, {3, 1, 2}, {1, 0, 3});
    if (causal) {
      const std::int32_t query[] = {-1, 0, -1}, key[] = {-1, -1, 0};
      const int at = b.iota(0, dtype::i32, {time});
      const int later = b.binary(op::less, b.expand(at, square, query), b.expand(at, square, key));
      score = b.select(later, b.constant(-1e9, dtype::f32, square), score);
    }
    const int mixed = einsum(b, b.unary(op::exp, score), v, {0, 1, 2}, {2, 0, 3}, {1, 0, 3});
    b.composite = 0;
    const std::int32_t all[] = {0, 1, 2};
    nk::buffer<std::int32_t> wanted;
    for (const int x : {q, k, v}) wanted.push_back(x);
    b.output(b.reduce(op::sum, b.mul(mixed, mixed), all));
    nk::graph both = nk::passes::differentiate(b.view(), wanted);
    return {b.result, static_cast<nk::graph&&>(both), static_cast<nk::buffer<std::int32_t>&&>(wanted)};
  }
  constexpr nk::conventions::counts torch() const {
    const layers::graphs g = make();
    return nk::conventions::torch_of(g.forward.view(), g.wanted);
  }
  constexpr nk::conventions::counts exact() const {
    const layers::graphs g = make();
    return nk::conventions::exact_of(g.forward.view(), g.differentiated.view());
  }
};
constexpr std::uint64_t one_product = 2 * 2 * 10 * 10 * 8, one_triangle = 2 * 2 * 55 * 8;
static_assert(attention{10, 2, 8, true, true}.torch() ==
              nk::conventions::counts{2 * one_product, 5 * one_product});
static_assert(attention{10, 2, 8, true, false}.torch() ==
              nk::conventions::counts{2 * one_product, 4 * one_product});
static_assert(attention{10, 2, 8, true, true}.exact() ==
              nk::conventions::counts{2 * one_triangle, 4 * one_triangle});
static_assert(attention{10, 2, 8, false, true}.exact() ==
              nk::conventions::counts{2 * one_product, 4 * one_product});
static_assert(attention{10, 2, 8, true, false}.exact() ==
              nk::conventions::counts{2 * one_product, 4 * one_product});

// ---- on a napkin
namespace rules = nk::rules_of_thumb;
static_assert(rules::training_flops(70e9, 15e12) == 6.3e24);
static_assert(
    rules::training_days(
        {.parameters = 70e9, .tokens = 15e12, .device = nk::h100_sxm, .devices = 1024, .mfu = 0.5}) < 144);
static_assert(rules::largest_model(nk::h100_sxm, 8, rules::adamw_f32) == 40e9);

/// 143.92659381842682 days where the sheet's sparse 1,979 TFLOP/s is halved.
constexpr double by_the_sheet() {
  constexpr nk::device on =
      nk::h100_sxm.with(nk::arithmetic::bf16, nk::sparse_flops{1'979'000'000'000'000}.dense());
  return rules::training_days(
      {.parameters = 70e9, .tokens = 15e12, .device = on, .devices = 1024, .mfu = 0.5});
}
static_assert(by_the_sheet() / 143.92659381842682 - 1 < 1e-12 &&
              1 - by_the_sheet() / 143.92659381842682 < 1e-12);

/// Devices are template arguments; a rate of sparse matrices is no dense one.
template <nk::device On>
struct runs_on {};
static_assert(!std::is_same_v<runs_on<nk::h200>, runs_on<nk::h100_sxm>>);
static_assert(!std::is_convertible_v<nk::sparse_flops, nk::dense_flops>);

}  // namespace
