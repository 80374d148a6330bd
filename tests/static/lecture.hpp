// The worked examples of Stanford CS336, lecture 2 ("PyTorch, resource accounting"), as constants: each row
// that docs/accounting.md says is proven here. What the lecture prints stands on the right; what stands on
// the left is computed from types, devices and the library's rules.
#pragma once

#include <napkin/napkin.hpp>
#include <napkin/optim/adagrad.hpp>
#include <napkin/optim/sgd.hpp>

#include "support/cruncher.hpp"

namespace lecture {

namespace nk = napkin;
namespace rules = nk::rules_of_thumb;
using nk::conventions::counts;

constexpr bool is_close(double a, double b) { return a / b - 1 < 1e-12 && 1 - a / b < 1e-12; }

using nk::bytes_of, nk::elements_of;

/// A value of a type, for operations asked about and never run.
template <class X>
const X& some();

// ---- napkin math

namespace n1 {  // 70 G parameters on 15 T tokens
static_assert(rules::training_flops(70e9, 15e12) == 6.3e24);
}
namespace n2 {  // on 1,024 H100s at half of their dense peak, which the lecture takes as 1,979 TFLOP/s / 2
constexpr rules::training_run run{
    .parameters = 70e9,
    .tokens = 15e12,
    .device = nk::h100_sxm.with(nk::arithmetic::bf16, nk::sparse_flops{1'979'000'000'000'000}.dense()),
    .devices = 1024,
    .mfu = 0.5};
static_assert(is_close(rules::flops_in(1, run), 4.37723136e22));
static_assert(is_close(rules::training_days(run), 143.92659381842682));
}  // namespace n2
namespace n3 {  // AdamW in f32; and in 16 bits with a copy in f32, which takes as much
constexpr std::uint64_t bytes = sizeof(nk::f32) * (2 + nk::adamw::states);
static_assert(bytes == 16 && rules::adamw_f32.total() == bytes);
static_assert(2 * sizeof(nk::bf16) + sizeof(nk::f32) * (1 + nk::adamw::states) == 16);
static_assert(rules::adamw_mixed.total() == 16);
static_assert(rules::largest_model(nk::h100_sxm, 8, rules::adamw_f32) == 40e9);
}  // namespace n3
namespace n4 {  // Erratum: "8 H100s for 2 weeks" prints what 7 days give; 14 days are twice that.
constexpr rules::training_run run{.device = n2::run.device, .devices = 8, .mfu = 1};
static_assert(is_close(rules::flops_in(7, run), 4.7875968e21));
static_assert(is_close(rules::flops_in(14, run), 9.5751936e21));
}  // namespace n4

// ---- tensors and memory

namespace t2 {
using x = nk::tensor<nk::f32, nk::dim<"row", 4>, nk::dim<"column", 8>>;
static_assert(elements_of<x> == 32 && sizeof(x::element) == 4 && bytes_of<x> == 128);
}  // namespace t2
namespace t3 {  // a matrix of GPT-3's feed-forward layer. Erratum: the comment's "2.3 GB" are GiB.
using x = nk::tensor<nk::f32, nk::dim<"ffn", 4 * 12'288>, nk::dim<"embed", 12'288>>;
static_assert(bytes_of<x> == 2'415'919'104 && bytes_of<x> == 2304ull << 20);
}  // namespace t3
namespace t4 {  // 1e-8 vanishes in f16, not in bf16
using x = nk::tensor<nk::f16, nk::dim<"row", 4>, nk::dim<"column", 8>>;
static_assert(bytes_of<x> == 64);
static_assert(static_cast<double>(nk::f16(1e-8)) == 0);
static_assert(static_cast<double>(nk::bf16(1e-8)) == 1.0011717677116394e-08);
}  // namespace t4
namespace t5 {
/// What is printed to so many digits.
constexpr bool prints(double x, double printed, double unit) {
  return x - printed < unit && printed - x < unit;
}
static_assert(prints(nk::finfo<nk::f32>::max, 3.40282e38, 1e33));
static_assert(prints(nk::finfo<nk::f32>::epsilon, 1.19209e-07, 1e-12));
static_assert(prints(nk::finfo<nk::f32>::min_normal, 1.17549e-38, 1e-43));
static_assert(nk::finfo<nk::f16>::max == 65504 && nk::finfo<nk::f16>::epsilon == 1.0 / 1024);
static_assert(prints(nk::finfo<nk::f16>::min_normal, 6.10352e-05, 1e-10));
static_assert(prints(nk::finfo<nk::bf16>::max, 3.38953e38, 1e33));
static_assert(nk::finfo<nk::bf16>::epsilon == 1.0 / 128);
static_assert(nk::finfo<nk::bf16>::min_normal == nk::finfo<nk::f32>::min_normal);
}  // namespace t5
namespace t6 {
static_assert(nk::finfo<nk::f8e4m3>::max == 448 && nk::finfo<nk::f8e5m2>::max == 57'344);
}
namespace t7 {  // two matrices on a device
using x = nk::tensor<nk::f32, nk::dim<"row", 32>, nk::dim<"column", 32>>;
static_assert(2 * bytes_of<x> == 8192);
}  // namespace t7

// ---- storage and views

struct row : nk::dim<"row", 4> {};
struct column : nk::dim<"column", 4> {};
namespace v1 {
constexpr auto strides = nk::row_major<row, column>::values;
static_assert(strides[0] == 4 && strides[1] == 1 && 1 * strides[0] + 2 * strides[1] == 6);
}  // namespace v1
struct two : nk::dim<"row", 2> {};
struct three : nk::dim<"column", 3> {};
using two_by_three = nk::tensor<nk::f32, two, three>;
namespace v2 {  // views cost nothing
template <class V>
inline constexpr bool is_free = nk::is_view<V>&& nk::cost<V> == nk::cost_sheet{};
static_assert(is_free<decltype(nk::index<"row", 0>(some<two_by_three>()))>);
static_assert(is_free<decltype(nk::index<"column", 1>(some<two_by_three>()))>);
static_assert(is_free<decltype(nk::view_as<nk::dim<"row", 3>, nk::dim<"column", 2>>(some<two_by_three>()))>);
static_assert(is_free<decltype(nk::transpose<"row", "column">(some<two_by_three>()))>);
}  // namespace v2
namespace v3 {  // transposed, then seen as another shape: no view, so it says that it copies, and 24 bytes
using flat = decltype(nk::rearrange<"row column -> (column row)">(some<two_by_three>()));
static_assert(!nk::is_view<flat>);
static_assert(nk::cost<flat>.bytes == nk::byte_counts{24, 24} && nk::cost<flat>.flops == nk::flop_counts{});
}  // namespace v3

// ---- matrix products and einops

namespace m1 {
using x = nk::tensor<nk::f32, nk::dim<"m", 16>, nk::dim<"k", 32>>;
using w = nk::tensor<nk::f32, nk::dim<"k", 32>, nk::dim<"n", 2>>;
using y = decltype(nk::matmul(some<x>(), some<w>()));
static_assert(nk::shape_of<y> == std::array<std::size_t, 2>{16, 2});
static_assert(nk::cost<y>.flops.matmul == 2'048 && nk::cost<y>.flops.total() == 2'048);
using many = nk::tensor<nk::f32, nk::dim<"batch", 4>, nk::dim<"seq", 8>, nk::dim<"m", 16>, nk::dim<"k", 32>>;
static_assert(nk::cost<decltype(nk::dot<"k">(some<many>(), some<w>()))>.flops.matmul == 65'536);
}  // namespace m1
namespace i1 {  // the axes' names are part of the type, and checked
struct batch : nk::dim<"batch", 2> {};
struct seq : nk::dim<"seq", 2> {};
struct hidden : nk::dim<"hidden", 3> {};
using x = nk::tensor<nk::f32, batch, seq, hidden>;
using y = decltype(nk::einsum<"batch seq hidden, batch key hidden -> batch seq key">(
    some<x>(), some<nk::tensor<nk::f32, batch, nk::dim<"key", 2>, hidden>>()));
static_assert(nk::shape_of<y> == std::array<std::size_t, 3>{2, 2, 2});
using documented = nk::tensor<nk::f32, batch, seq, nk::dim<"heads", 1>, hidden>;
static_assert(nk::names_of<documented>[2] == "heads");
}  // namespace i1
namespace i2 {
using x = nk::tensor<nk::f32, nk::dim<"batch", 2>, nk::dim<"seq1", 3>, nk::dim<"hidden", 4>>;
using y = nk::tensor<nk::f32, nk::dim<"batch", 2>, nk::dim<"seq2", 3>, nk::dim<"hidden", 4>>;
using z =
    decltype(nk::einsum<"batch seq1 hidden, batch seq2 hidden -> batch seq1 seq2">(some<x>(), some<y>()));
using dots = decltype(nk::einsum<"... seq1 hidden, ... seq2 hidden -> ... seq1 seq2">(some<x>(), some<y>()));
static_assert(nk::shape_of<z> == std::array<std::size_t, 3>{2, 3, 3});
static_assert(nk::cost<z>.flops.matmul == 144 && nk::cost<dots>.flops == nk::cost<z>.flops);
}  // namespace i2
namespace i4 {
using x = nk::tensor<nk::f32, nk::dim<"batch", 2>, nk::dim<"seq", 3>, nk::dim<"total_hidden", 8>>;
using w = nk::tensor<nk::f32, nk::dim<"hidden1", 4>, nk::dim<"hidden2", 4>>;
using split =
    decltype(nk::rearrange<"... (heads hidden1) -> ... heads hidden1", nk::dim<"heads", 2>>(some<x>()));
using y = decltype(nk::einsum<"... hidden1, hidden1 hidden2 -> ... hidden2">(some<split>(), some<w>()));
using joined = decltype(nk::rearrange<"... heads hidden2 -> ... (heads hidden2)">(some<y>()));
static_assert(v2::is_free<split>);
static_assert(nk::cost<joined>.flops.matmul == 384 && nk::cost<joined>.flops.total() == 384);
static_assert(nk::cost<joined>.bytes == nk::cost<y>.bytes);  // joining moves nothing either
static_assert(nk::shape_of<joined> == nk::shape_of<x>);
}  // namespace i4

// ---- FLOPs and gradients

template <std::size_t B, std::size_t D, std::size_t K>
struct linear {
  using x = nk::tensor<nk::f32, nk::dim<"points", B>, nk::dim<"in", D>>;
  using w = nk::tensor<nk::f32, nk::dim<"in", D>, nk::dim<"out", K>>;
  using y = decltype(nk::matmul(some<x>(), some<w>()));

  using w1 = nk::tensor<nk::f32, nk::dim<"in", D>, nk::dim<"inner", D>>;
  using w2 = nk::tensor<nk::f32, nk::dim<"inner", D>, nk::dim<"out", K>>;
  struct loss {  // h2 = x w1 w2, its mean square
    constexpr auto operator()(auto input, auto first, auto second) const {
      const auto h2 = nk::matmul(nk::matmul(input, first), second);
      return nk::mean(h2 * h2);
    }
  };
  using step = nk::gradient_of<decltype(nk::grad<1, 2>(loss{})), x, w1, w2>;
  using with_input = nk::gradient_of<decltype(nk::grad<0, 1, 2>(loss{})), x, w1, w2>;
  static constexpr counts rule = nk::conventions::rule_6nd_of(elements_of<w1> + elements_of<w2>, B);
};
using small = linear<1'024, 256, 64>;
using large = linear<16'384, 32'768, 8'192>;
namespace f1 {
static_assert(nk::cost<small::y>.flops.matmul == 33'554'432);
static_assert(nk::cost<large::y>.flops.matmul == 8'796'093'022'208);
}  // namespace f1
namespace g2 {
static_assert(nk::conventions::exact<small::step>.forward == 167'772'160);
static_assert(nk::conventions::exact<large::step>.forward == 43'980'465'111'040);
static_assert(small::rule.backward == 335'544'320 && large::rule.backward == 87'960'930'222'080);
static_assert(nk::conventions::exact<small::with_input> == small::rule);  // when x has a gradient too
}  // namespace g2
namespace g3 {  // Erratum: "don't need x.grad", which the rule counts: 36% more than is done.
static_assert(nk::conventions::exact<small::step>.backward == 201'326'592);
static_assert(nk::conventions::exact<large::step>.backward == 52'776'558'133'248);
static_assert(small::rule.total() == 503'316'480);
static_assert(nk::conventions::exact<small::step>.total() == 369'098'752);
static_assert(nk::cost<small::step>.flops.matmul == nk::conventions::exact<small::step>.total());
static_assert(100 * small::rule.total() / nk::conventions::exact<small::step>.total() == 136);
}  // namespace g3
namespace g4 {
constexpr std::uint64_t points = 1'024, parameters = elements_of<small::w1> + elements_of<small::w2>;
static_assert(small::rule == counts{2 * points * parameters, 4 * points* parameters});
static_assert(small::rule.total() == 6 * points * parameters);
}  // namespace g4

// ---- the Cruncher and its optimizers

namespace c1 {
using model = cruncher<8, 64, 2>;
static_assert(nk::count_parameters<model> == 8'256);
static_assert(nk::parameter_table<model>[0].count == 4'096 && nk::parameter_table<model>[2].count == 64);
static_assert(nk::shape_of<prediction_of<model>> == std::array<std::size_t, 1>{8});
}  // namespace c1
using tiny = cruncher<2, 4, 2>;
template <class Optimizer>
inline constexpr std::uint64_t bytes_to_train = sizeof(nk::f32) *
                                                ((2 + Optimizer::states) * nk::count_parameters<tiny> +
                                                 tiny::hidden_values);
namespace c2 {
static_assert(nk::count_parameters<tiny> == 36 && tiny::hidden_values == 16);
static_assert(bytes_to_train<nk::adagrad> == 496);
static_assert(nk::conventions::rule_6nd_of(nk::count_parameters<tiny>, tiny::batch::size).total() == 432);
}  // namespace c2
namespace c3 {
using step = nk::train_step<tiny, nk::sgd>;
static_assert(nk::conventions::exact<step> == counts{144, 144 + 80});
static_assert(nk::conventions::exact<step>.total() == 368);
static_assert(nk::conventions::torch<step> == nk::conventions::exact<step>);
static_assert(step::tokens == tiny::batch::size);  // points: what they are made of is a parameter's axis
static_assert(nk::conventions::rule_6nd<step>.total() == 432);
}  // namespace c3
namespace c4 {
static_assert(bytes_to_train<nk::sgd> == 352);
static_assert(bytes_to_train<nk::momentum> == 496 && bytes_to_train<nk::rmsprop> == 496);
static_assert(bytes_to_train<nk::adam> == 640 && bytes_to_train<nk::adamw> == 640);
}  // namespace c4
namespace k1 {
static_assert(nk::count_parameters<cruncher<4, 64, 3>> == 12'352);
}
namespace x1 {  // forward in bf16 or f8; parameters and gradients in f32
constexpr std::uint64_t n = nk::count_parameters<c1::model>;
using parameters = nk::tensor<nk::f32, nk::dim<"parameter", n>>;
template <class T>
inline constexpr nk::byte_counts cast_to = nk::cost<decltype(nk::cast<T>(some<parameters>()))>.bytes;
static_assert(cast_to<nk::bf16> == nk::byte_counts{4 * n, 2 * n});
static_assert(cast_to<nk::f8e4m3> == nk::byte_counts{4 * n, n});
}  // namespace x1

}  // namespace lecture
