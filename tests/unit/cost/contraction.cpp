// contraction_of: the order that is shown is the one that is lowered, with its FLOPs, shapes and text.
#include <catch2/catch.hpp>
#include <napkin/cost/contraction.hpp>
#include <napkin/cpu/cost.hpp>
#include <napkin/cpu/lower.hpp>
#include <napkin/ops/elementwise.hpp>
#include <napkin/passes/grad.hpp>
#include <napkin/tensor/create.hpp>
#include <string>

#include "support/compare.hpp"

namespace {

namespace nk = napkin;

template <nk::fixed_string Name, std::size_t Size>
using axis = nk::dim<Name, Size>;
template <class... Ds>
using array = nk::tensor<nk::f64, Ds...>;

using rows = array<axis<"a", 10>, axis<"b", 100>>;
using middle = array<axis<"b", 100>, axis<"c", 50>, axis<"e", 3>>;
using columns = array<axis<"c", 50>, axis<"d", 2>>;
using chain = decltype(nk::einsum<"a b, b c e, c d -> a d">(std::declval<rows>(), std::declval<middle>(),
                                                            std::declval<columns>()));

// An outer product saves FLOPs here, and is larger than anything read or written.
using left = array<axis<"i", 512>>;
using right = array<axis<"j", 512>>;
using both = array<axis<"i", 512>, axis<"k", 3>, axis<"j", 512>>;
constexpr auto by_time = [](const auto&... x) { return nk::einsum<"i, j, i k j, k -> ">(x...); };
constexpr auto by_flops = [](const auto&... x) { return nk::einsum_least_flops<"i, j, i k j, k -> ">(x...); };
using three = array<axis<"k", 3>>;
using timed = decltype(by_time(left(nk::uninitialized), right(nk::uninitialized), both(nk::uninitialized),
                               three(nk::uninitialized)));
using counted = decltype(by_flops(left(nk::uninitialized), right(nk::uninitialized), both(nk::uninitialized),
                                  three(nk::uninitialized)));

template <class E>
constexpr std::uint64_t least_flops_of() {
  const nk::graph g = nk::expression_graph<E>::make();
  return nk::passes::contraction_flops(g.view(), g.outputs[0], true);
}

}  // namespace

TEST_CASE("the steps of an einsum are a constant", "[cost][contraction]") {
  constexpr auto shown = nk::contraction_of<chain>;
  static_assert(shown.operands == 3 && shown.steps.size() == 3);
  static_assert(shown.steps[0].sums_alone() && shown.steps[0].left == 1);
  static_assert(shown.steps[0].flops == 100 * 50 * 3);
  static_assert(shown.steps[1].left == 1 && shown.steps[1].right == 2);
  static_assert(shown.steps[1].result.labels[0] == "b" && shown.steps[1].result.labels[1] == "d");
  static_assert(shown.steps[1].result.sizes == nk::shape{100, 2} && shown.steps[1].flops == 2 * 100 * 50 * 2);
  static_assert(shown.steps[2].left == 0 && shown.steps[2].right == 3 && shown.steps[2].flops == 4000);
  static_assert(shown.flops == 15000 + 20000 + 4000);
  static_assert(shown.direct_flops == 3ull * 10 * 100 * 50 * 3 * 2);
  static_assert(shown.largest_intermediate == 100 * 50);
  CHECK(nk::to_string(shown) ==
        "\"a b, b c e, c d -> a d\", least_time: 3 steps, 39,000 FLOPs (directly 900,000)\n"
        "  0   (1) b c e -> (1) b c         [100, 50]  15,000 FLOPs\n"
        "  1   (1) b c, (2) c d -> (3) b d  [100, 2]   20,000 FLOPs\n"
        "  2   (0) a b, (3) b d -> (4) a d  [10, 2]     4,000 FLOPs\n");
}

TEST_CASE("an einsum is found within an expression, and one of two operands has one step",
          "[cost][contraction]") {
  using scaled = decltype(nk::relu(std::declval<chain>() * 2.0));
  static_assert(nk::contraction_of<scaled>.flops == nk::contraction_of<chain>.flops);
  using matmul =
      decltype(nk::einsum<"... b, b c e -> ... c e">(std::declval<rows>(), std::declval<middle>()));
  constexpr auto shown = nk::contraction_of<matmul>;
  static_assert(shown.steps.size() == 1 && shown.flops == shown.direct_flops);
  static_assert(shown.steps[0].result.labels[0] == "a" && shown.largest_intermediate == 0);
  using trace = decltype(nk::einsum<"i i -> ">(std::declval<array<axis<"i", 4>, axis<"i'", 4>>>()));
  CHECK(nk::contraction_of<trace>.steps.size() == 1);
  CHECK(nk::contraction_of<trace>.flops == 4);
}

TEST_CASE("either objective can be asked for, and what is shown is what is lowered", "[cost][contraction]") {
  static_assert(nk::contraction_of<counted>.order == nk::objective::least_flops);
  static_assert(nk::contraction_of<counted>.flops == least_flops_of<counted>());
  static_assert(nk::contraction_of<counted>.flops <= nk::contraction_of<timed>.flops);
  // matmul counts what sums, elementwise what does not
  constexpr auto lowered = [](const nk::flop_counts& f) { return f.matmul + f.elementwise; };
  CHECK(lowered(nk::cost<counted>.flops) == nk::contraction_of<counted>.flops);
  CHECK(lowered(nk::cost<timed>.flops) == nk::contraction_of<timed>.flops);
  INFO(nk::to_string(nk::contraction_of<counted>) << nk::to_string(nk::contraction_of<timed>));
  CHECK(nk::contraction_of<timed>.largest_intermediate <= nk::contraction_of<counted>.largest_intermediate);
}

TEST_CASE("least_flops gives the same values and gradients", "[cost][contraction]") {
  const auto x = nk::randn<nk::f64, axis<"a", 3>, axis<"b", 4>>(nk::seed{1});
  const auto y = nk::randn<nk::f64, axis<"b", 4>, axis<"c", 5>>(nk::seed{2});
  const auto z = nk::randn<nk::f64, axis<"c", 5>, axis<"d", 2>>(nk::seed{3});
  using nk::testing::largest_difference;
  CHECK(largest_difference(nk::eval(nk::einsum<"a b, b c, c d -> a d">(x, y, z)),
                           nk::eval(nk::einsum_least_flops<"a b, b c, c d -> a d">(x, y, z))) <= 1e-13);
  const auto f = [](auto u, auto v, auto w) { return nk::sum(nk::einsum<"a b, b c, c d -> a d">(u, v, w)); };
  const auto g = [](auto u, auto v, auto w) {
    return nk::sum(nk::einsum_least_flops<"a b, b c, c d -> a d">(u, v, w));
  };
  CHECK(largest_difference(nk::grad<1>(f)(x, y, z), nk::grad<1>(g)(x, y, z)) <= 1e-13);
}

TEST_CASE("an einsum takes 32 operands", "[pattern][contraction]") {
  nk::tensor<nk::f64, axis<"a", 2>> x(nk::uninitialized);
  x(0) = 2;
  x(1) = 3;
  const nk::tensor y = nk::einsum<
      "a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a -> ">(
      x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x);
  CHECK(*y.begin() == 4294967296.0 + 1853020188851841.0);
}

TEST_CASE("an einsum takes 52 labels", "[pattern][contraction]") {
  const nk::tensor<nk::f64, axis<"a", 2>, axis<"b", 1>, axis<"c", 1>, axis<"d", 1>, axis<"e", 1>,
                   axis<"f", 1>, axis<"g", 1>, axis<"h", 1>, axis<"i", 1>, axis<"j", 1>, axis<"k", 1>,
                   axis<"l", 1>>
      x0([](auto i, auto...) { return static_cast<double>(i + 2); });
  const nk::tensor<nk::f64, axis<"m", 2>, axis<"n", 1>, axis<"o", 1>, axis<"p", 1>, axis<"q", 1>,
                   axis<"r", 1>, axis<"s", 1>, axis<"t", 1>, axis<"u", 1>, axis<"v", 1>, axis<"w", 1>,
                   axis<"x", 1>>
      x1([](auto i, auto...) { return static_cast<double>(i + 2); });
  const nk::tensor<nk::f64, axis<"y", 2>, axis<"z", 1>, axis<"A", 1>, axis<"B", 1>, axis<"C", 1>,
                   axis<"D", 1>, axis<"E", 1>, axis<"F", 1>, axis<"G", 1>, axis<"H", 1>, axis<"I", 1>,
                   axis<"J", 1>>
      x2([](auto i, auto...) { return static_cast<double>(i + 2); });
  const nk::tensor<nk::f64, axis<"K", 2>, axis<"L", 1>, axis<"M", 1>, axis<"N", 1>, axis<"O", 1>,
                   axis<"P", 1>, axis<"Q", 1>, axis<"R", 1>, axis<"S", 1>, axis<"T", 1>, axis<"U", 1>,
                   axis<"V", 1>>
      x3([](auto i, auto...) { return static_cast<double>(i + 2); });
  const nk::tensor<nk::f64, axis<"W", 2>, axis<"X", 1>, axis<"Y", 1>, axis<"Z", 1>> x4(
      [](auto i, auto...) { return static_cast<double>(i + 2); });
  const nk::tensor y = nk::einsum<
      "a b c d e f g h i j k l, m n o p q r s t u v w x, y z A B C D E F G H I J, K L M N O P Q R S T U V, W "
      "X Y Z -> ">(x0, x1, x2, x3, x4);
  CHECK(*y.begin() == 5.0 * 5 * 5 * 5 * 5);
}
