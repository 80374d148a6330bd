// Reductions by a monoid of the user's own: values against loops, order, no elements, gradients against
// central differences, and the cost of a tree.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <napkin/cpu/cost.hpp>
#include <napkin/cpu/lower.hpp>
#include <napkin/ops/elementwise.hpp>
#include <napkin/ops/pattern.hpp>
#include <napkin/passes/grad.hpp>
#include <napkin/tensor/create.hpp>

#include "support/compare.hpp"

namespace {

namespace nk = napkin;

struct times {
  static constexpr int identity = 1;
  constexpr auto operator()(auto a, auto b) const { return a * b; }
};
/// log(exp(a) + exp(b)), also of infinities less than any number.
struct log_add {
  static constexpr double identity = -std::numeric_limits<double>::infinity();
  constexpr auto operator()(auto a, auto b) const {
    const auto gap = nk::where(a == b, 0, -nk::abs(a - b));  // of infinities too
    return nk::maximum(a, b) + nk::log(1.0 + nk::exp(gap));
  }
};
/// Not commutative: the first that is not zero.
struct first_nonzero {
  static constexpr int identity = 0;
  constexpr auto operator()(auto a, auto b) const { return nk::where(a == 0, b, a); }
};

template <std::size_t Rows, std::size_t Columns>
using matrix = nk::tensor<nk::f64, nk::dim<"a", Rows>, nk::dim<"b", Columns>>;

template <std::size_t Rows, std::size_t Columns>
matrix<Rows, Columns> some() {
  matrix<Rows, Columns> x(nk::uninitialized);
  for (std::size_t i = 0; i < x.numel(); ++i)
    x.data()[i] = 0.25 + static_cast<double>((i * 37 + 11) % 101) / 64;
  return x;
}

/// The largest relative difference over rows, by element and by loop; NaN counts as infinite.
template <std::size_t Columns>
double worst_row_difference() {
  const auto x = some<3, Columns>();
  const nk::tensor products = nk::reduce<"a b -> a", times>(x);
  const nk::tensor sums = nk::reduce<"a b -> a", log_add>(x);
  double worst = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    double product = 1, sum = 0;
    for (std::size_t j = 0; j < Columns; ++j) {
      product *= x(i, j);
      sum += std::exp(x(i, j));
    }
    for (const double d : {products(i) / product - 1, sums(i) - std::log(sum)})
      worst = nk::testing::worst_of(worst, std::abs(d));
  }
  return worst;
}

}  // namespace

TEST_CASE("a monoid of the user's own reduces as loops do, whatever the number of elements",
          "[pattern][monoid]") {
  CHECK(worst_row_difference<1>() <= 1e-14);
  CHECK(worst_row_difference<2>() <= 1e-14);
  CHECK(worst_row_difference<3>() <= 1e-14);
  CHECK(worst_row_difference<7>() <= 1e-14);
  CHECK(worst_row_difference<8>() <= 1e-14);
  CHECK(worst_row_difference<13>() <= 1e-14);
  CHECK(worst_row_difference<64>() <= 1e-13);
}

TEST_CASE("along any axes of the pattern", "[pattern][monoid]") {
  const auto x = some<3, 7>();
  const auto close = [](const auto& got, const auto& want) {
    std::size_t wrong = 0;
    auto w = want.begin();
    for (const double g : got) wrong += !(std::abs(g - *w++) <= 1e-13) ? 1 : 0;
    return wrong == 0 && w == want.end();
  };
  CHECK(close(nk::eval(nk::reduce<"a b -> b", log_add>(x)), nk::eval(nk::logsumexp<"a">(x))));
  CHECK(close(nk::eval(nk::reduce<"a b -> ", log_add>(x)), nk::eval(nk::logsumexp(x))));
  CHECK(close(nk::eval(nk::reduce<"a b -> b 1 a", log_add>(x)), nk::eval(nk::rearrange<"a b -> b 1 a">(x))));
  CHECK(close(nk::eval(nk::reduce<"a (c d) -> d", log_add, nk::dim<"c", 7>>(x)),
              nk::eval(nk::reduce<"a (c d) -> d", "logsumexp", nk::dim<"c", 7>>(x))));
  const auto y = nk::eval(nk::rearrange<"a (b c) -> b a c", nk::dim<"b", 4>>(some<3, 12>()));
  CHECK(close(nk::eval(nk::reduce<"b a c -> a", times>(y)), nk::eval(nk::prod<"b", "c">(y))));
  CHECK(close(nk::eval(nk::reduce<"... c -> ...", times>(y)), nk::eval(nk::prod<"c">(y))));
}

TEST_CASE("values combine in the order in which they lie", "[pattern][monoid]") {
  matrix<2, 11> x(nk::uninitialized);
  for (double& e : x) e = 0;
  x(0, 10) = 5;
  x(0, 6) = 4;
  x(0, 9) = 3;
  x(1, 1) = 2;
  x(1, 8) = 9;
  const nk::tensor y = nk::reduce<"a b -> a", first_nonzero>(x);
  CHECK(y(0) == 4);
  CHECK(y(1) == 2);
  CHECK(*nk::eval(nk::reduce<"a b -> ", first_nonzero>(x)).begin() == 4);
}

TEST_CASE("of no elements the result is the identity, and integers stay integers", "[pattern][monoid]") {
  const nk::tensor<nk::f64, nk::dim<"a", 2>, nk::dim<"none", 0>> empty(nk::uninitialized);
  for (const double e : nk::eval(nk::reduce<"a none -> a", times>(empty))) CHECK(e == 1);
  for (const double e : nk::eval(nk::reduce<"a none -> a", log_add>(empty)))
    CHECK(e == -std::numeric_limits<double>::infinity());
  const nk::tensor nothing =
      nk::full<nk::f64, nk::dim<"a", 2>, nk::dim<"b", 5>>(-std::numeric_limits<double>::infinity());
  for (const double e : nk::eval(nk::reduce<"a b -> a", log_add>(nothing)))
    CHECK(e == -std::numeric_limits<double>::infinity());
  nk::tensor<nk::i32, nk::dim<"a", 5>> n(nk::uninitialized);
  for (std::size_t i = 0; i < 5; ++i) n.data()[i] = static_cast<nk::i32>(i) + 1;
  const nk::tensor product = nk::reduce<"a -> ", times>(n);
  static_assert(std::is_same_v<decltype(product)::element, nk::i32>);
  CHECK(*product.begin() == 120);
}

TEST_CASE("the gradient of a monoid is that of its operations", "[pattern][monoid]") {
  const auto x = some<3, 7>();
  const auto f = [](auto u) {
    return nk::sum(nk::reduce<"a b -> a", times>(u)) + nk::sum(nk::reduce<"a b -> b", log_add>(u * u));
  };
  const nk::tensor dx = nk::grad<0>(f)(x);
  const auto at = [&](const auto& y) { return *nk::eval(nk::fn(f)(y)).begin(); };
  constexpr double step = 1e-5;
  double worst = 0;
  for (std::size_t i = 0; i < x.numel(); ++i) {
    auto above = nk::eval(x * 1.0), below = nk::eval(x * 1.0);
    above.data()[i] += step;
    below.data()[i] -= step;
    worst = nk::testing::worst_of(worst, std::abs((at(above) - at(below)) / (2 * step) - dx.data()[i]));
  }
  CHECK(worst <= 1e-8);
}

TEST_CASE("n elements take n - 1 combinations", "[pattern][monoid]") {
  using product_of_13 = decltype(nk::reduce<"a b -> a", times>(some<3, 13>()));
  CHECK(nk::cost<product_of_13>.flops.elementwise == 3 * 12);
  using product_of_64 = decltype(nk::reduce<"a b -> a", times>(some<3, 64>()));
  CHECK(nk::cost<product_of_64>.flops.elementwise == 3 * 63);
}

TEST_CASE("logsumexp of infinities", "[pattern]") {
  constexpr double inf = std::numeric_limits<double>::infinity();
  matrix<4, 3> x(nk::uninitialized);
  const double rows[4][3] = {{-inf, -inf, -inf}, {-inf, 2, -inf}, {1, inf, -inf}, {1000, 1000, -1000}};
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 3; ++j) x(i, j) = rows[i][j];
  const nk::tensor y = nk::reduce<"a b -> a", "logsumexp">(x);
  CHECK(y(0) == -inf);
  CHECK(y(1) == 2);
  CHECK(y(2) == inf);
  CHECK(std::abs(y(3) - (1000 + std::log(2.0))) <= 1e-12);
  // the gradient is the softmax
  const auto z = some<4, 3>();
  const nk::tensor dz =
      nk::grad<0>([](auto u) { return nk::sum(nk::reduce<"a b -> a", "logsumexp">(u)); })(z);
  for (std::size_t i = 0; i < 4; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < 3; ++j) sum += std::exp(z(i, j));
    for (std::size_t j = 0; j < 3; ++j) CHECK(std::abs(dz(i, j) - std::exp(z(i, j)) / sum) <= 1e-14);
  }
}
