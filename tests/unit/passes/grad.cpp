// nk::grad and nk::value_and_grad on tensors and numbers.
#include "napkin/passes/grad.hpp"

#include <cmath>
#include <cstdint>
#include <limits>

#include "catch.hpp"
#include "napkin/cpu/lower.hpp"
#include "napkin/ops/elementwise.hpp"
#include "napkin/ops/matmul.hpp"
#include "napkin/ops/movement.hpp"
#include "napkin/ops/reduce.hpp"

namespace nk = napkin;

namespace {
struct three : nk::dim<"n", 3> {};
struct two : nk::dim<"m", 2> {};

/// Half the squared error of a linear unit, as in Stanford CS336, lecture 2.
constexpr auto half_square = [](auto x, auto w) {
  const auto off = nk::sum(x * w) - 5;
  return off * off * 0.5;
};
}  // namespace

TEST_CASE("the derivative of x^2 + 3x at 2 is 7") {
  const double slope = nk::grad([](auto x) { return x * x + 3 * x; })(2.0);
  CHECK(slope == 7);
}

TEST_CASE("a gradient has its argument's axes, by position or by name") {
  const nk::tensor<nk::f64, three> x{1, 2, 3}, w{1, 1, 1};
  const auto check = [](const nk::tensor<nk::f64, three>& g) {
    CHECK(g(0) == 1);
    CHECK(g(1) == 2);
    CHECK(g(2) == 3);
  };
  check(nk::grad<1>(half_square)(x, w));
  check(nk::grad<"w">(nk::fn<"x", "w">(half_square))(x, w));
  const nk::tensor<nk::f64, three> of_x = nk::grad(half_square)(x, w);
  CHECK(of_x(0) == 1);
  CHECK(of_x(2) == 1);
}

TEST_CASE("value_and_grad gives both, of several arguments too") {
  const nk::tensor<nk::f64, three> x{1, 2, 3}, w{1, 1, 1};
  const auto [value, of_x, of_w] = nk::value_and_grad<0, 1>(half_square)(x, w);
  CHECK(static_cast<double>(value) == 0.5);
  CHECK(of_x(1) == 1);
  CHECK(of_w(1) == 2);
}

TEST_CASE("gradients of expressions and of arguments that are not used") {
  const nk::tensor<nk::f32, two, three> x([](auto i, auto j) { return static_cast<float>(3 * i + j); });
  const nk::tensor<nk::f32, three> unused;
  const auto [of_x, of_unused] =
      nk::grad<0, 1>([](auto a, auto) { return nk::sum(nk::exp(a) * 2.0f); })(x * 0.5f, unused);
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      CHECK(std::abs(of_x(i, j) - 2 * std::exp(0.5 * static_cast<double>(3 * i + j))) <= 1e-5);
  CHECK(of_unused(0) == 0);
  CHECK(of_unused(2) == 0);
}

TEST_CASE("fn traces: what is used twice is computed once") {
  const nk::tensor<nk::f64, three> x{0.5, 1, 2};
  const nk::tensor once = nk::fn([](auto v) {
    const auto e = nk::exp(v);
    return e / nk::sum(e);
  })(x);
  double total = 0;
  for (const double p : once) total += p;
  CHECK(std::abs(total - 1) <= 1e-15);
}

TEST_CASE("numbers beside tensors take the tensors' dtype, and have gradients too") {
  const nk::tensor<nk::f32, three> x{1, 2, 4};
  const auto [of_x, of_by] = nk::grad<0, 1>([](auto v, auto by) { return nk::sum(v * v * by); })(x, 0.5);
  static_assert(std::same_as<std::remove_cvref_t<decltype(of_by)>, nk::tensor<nk::f32>>);
  CHECK(of_x(2) == 4);
  CHECK(static_cast<float>(of_by) == 21);
}

TEST_CASE("integers beyond 2^53 stay what they are in traced functions") {
  const nk::tensor<nk::i64, three> x{0, 9007199254740993, -9007199254740993};
  const nk::tensor sum = nk::fn([](auto y) { return y + 9007199254740993; })(x);
  CHECK(sum(0) == 9007199254740993);
  CHECK(sum(2) == 0);
  const nk::tensor difference = nk::fn([](auto y) { return y + -9007199254740993; })(x);
  CHECK(difference(0) == -9007199254740993);
  CHECK(difference(1) == 0);
  const nk::tensor equal = nk::fn([](auto y) { return y == 9007199254740993; })(x);
  CHECK(static_cast<bool>(equal(1)));
  CHECK(!static_cast<bool>(equal(2)));
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  const nk::tensor ends =
      nk::fn([](auto y) { return nk::where(y == 0, most - 1, nk::where(y < 0, least + 1, y)); })(x);
  CHECK(ends(0) == most - 1);
  CHECK(ends(2) == least + 1);
}

TEST_CASE("the gradient of a power is 0 where PyTorch's is") {
  constexpr auto power = [](auto x, auto e) { return nk::sum(nk::pow(x, e)); };
  const nk::tensor<nk::f32, three> x{0, 0, 2}, e{0, 2, 0};
  const auto [of_x, of_e] = nk::grad<0, 1>(power)(x, e);
  for (const float slope : of_x) CHECK(slope == 0);
  CHECK(of_e(0) == 0);
  CHECK(of_e(1) == 0);
  CHECK(std::abs(of_e(2) - std::log(2.0f)) <= 1e-6f);
  const nk::tensor<nk::f32, three> y{0, 3, 2}, f{-1, 2, -2};
  const auto [of_y, of_f] = nk::grad<0, 1>(power)(y, f);
  CHECK(of_y(0) == -std::numeric_limits<float>::infinity());
  CHECK(of_f(0) == -std::numeric_limits<float>::infinity());
  CHECK(of_y(1) == 6);
  CHECK(of_y(2) == -0.25f);
  // a number for an exponent
  const nk::tensor of_0 = nk::grad([](auto z) { return nk::sum(nk::pow(z, 0)); })(x);
  const nk::tensor of_1 = nk::grad([](auto z) { return nk::sum(nk::pow(z, 1)); })(x);
  const nk::tensor of_2 = nk::grad([](auto z) { return nk::sum(nk::pow(z, 2)); })(x);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(of_0(i) == 0);
    CHECK(of_1(i) == 1);
    CHECK(of_2(i) == 2 * x(i));
  }
}

TEST_CASE("the gradient of a view has the view's axes, and is exact through a broadcast and a contraction") {
  const nk::tensor<nk::f64, two, three> x{{1, 2, 3}, {4, 5, 6}};
  const nk::tensor<nk::f64, three> w{1, -1, 2};
  // the square of each row's product with w: 5 and 11
  constexpr auto squares = [](auto rows, auto v) {
    const auto y = nk::dot<"n">(rows, v);
    return nk::sum(y * y);
  };
  const auto [value, of_row, of_w] = nk::value_and_grad<0, 1>(squares)(nk::transpose<"m", "n">(x), w);
  CHECK(static_cast<double>(value) == 25 + 121);
  for (std::size_t j = 0; j < 3; ++j)
    for (std::size_t i = 0; i < 2; ++i) CHECK(of_row(j, i) == 2 * (i == 0 ? 5 : 11) * w(j));
  for (std::size_t j = 0; j < 3; ++j) CHECK(of_w(j) == 10 * x(0, j) + 22 * x(1, j));
}

namespace {
/// Of twelve axes, as many as there may be, and a zero.
template <nk::fixed_string... Name>
using twelve = nk::tensor<nk::f64, two, nk::dim<Name, 1>..., three>;
using wide = twelve<"a", "b", "c", "d", "e", "f", "g", "h", "i", "j">;
}  // namespace

TEST_CASE("a product's gradient is that of the other elements, of tensors of every rank") {
  const wide x([](auto m, auto... rest) {
    const std::size_t n[] = {rest...};
    return static_cast<double>(3 * m + n[10]);
  });
  const auto check = [](const auto& of, std::initializer_list<double> wanted) {
    std::size_t at = 0;
    for (const double w : wanted) CHECK(of.data()[at++] == w);
  };
  check(nk::grad([](auto t) { return nk::sum(nk::prod<"n">(t)); })(x), {2, 0, 0, 20, 15, 12});
  check(nk::grad([](auto t) { return nk::sum(nk::prod<"m">(t)); })(x), {3, 4, 5, 0, 1, 2});
}
