// Where the largest and the smallest stand, by plain loops; what is made of other operations: clamp, ceil, the cross
// entropy of two classes.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "napkin/napkin.hpp"

namespace nk = napkin;

namespace {

struct a : nk::dim<"a", 3> {};
struct b : nk::dim<"b", 5> {};
struct c : nk::dim<"c", 37> {};
struct one : nk::dim<"one", 1> {};

template <class X>
std::vector<typename X::element> values(const X& x) {
  return {x.begin(), x.end()};
}

/// Numbers of which many are equal.
template <class T>
nk::tensor<T, a, b, c> example(int distinct) {
  return nk::tensor<T, a, b, c>([=](auto i, auto j, auto k) {
    return static_cast<T>(static_cast<float>((i * 31 + j * 17 + k * 7) % static_cast<std::size_t>(distinct)));
  });
}
template <class T, class Before>
nk::i32 place(const std::vector<T>& of, Before before) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < of.size(); ++i)
    if (before(of[i], of[best])) best = i;
  return static_cast<nk::i32>(best);
}

}  // namespace

TEMPLATE_TEST_CASE("argmax and argmin are the first place of the largest and the smallest", "", nk::f64,
                   nk::f32, nk::bf16, nk::i64, nk::i8, nk::u8, nk::u16) {
  using T = TestType;
  const auto more = [](T x, T y) { return static_cast<double>(x) > static_cast<double>(y); };
  const auto less = [](T x, T y) { return static_cast<double>(x) < static_cast<double>(y); };
  for (const int distinct : {1, 4, 100}) {
    const nk::tensor x = example<T>(distinct);
    const nk::tensor<nk::i32, a, b> largest = nk::argmax<"c">(x), smallest = nk::argmin<"c">(x);
    const nk::tensor<nk::i32, b> of_two = nk::argmax<"a", "c">(x),
                                 by_pattern = nk::reduce<"a b c -> b", "argmax">(x);
    for (std::size_t j = 0; j < b::size; ++j) {
      std::vector<T> both;
      for (std::size_t i = 0; i < a::size; ++i) {
        std::vector<T> row;
        for (std::size_t k = 0; k < c::size; ++k) row.push_back(x(i, j, k)), both.push_back(x(i, j, k));
        CHECK(largest(i, j) == place(row, more));
        CHECK(smallest(i, j) == place(row, less));
      }
      CHECK(of_two(j) == place(both, more));
      CHECK(by_pattern(j) == place(both, more));
    }
    const nk::tensor<nk::i32> of_all = nk::argmin(x);
    CHECK(of_all() == place(values(x), less));
  }
}

TEST_CASE("argmax and argmin: NaN, infinities, axes of one element and none") {
  const float nan = std::numeric_limits<float>::quiet_NaN(), endless = std::numeric_limits<float>::infinity();
  nk::tensor<nk::f32, b> x{1, nan, 7, nan, -endless};
  CHECK(nk::eval(nk::argmax(x))() == 1);
  CHECK(nk::eval(nk::argmin(x))() == 1);
  x = nk::tensor<nk::f32, b>{-endless, -endless, 0, endless, endless};
  CHECK(nk::eval(nk::argmax(x))() == 3);
  CHECK(nk::eval(nk::argmin(x))() == 0);
  const nk::tensor<nk::f32, one> single{5};
  CHECK(nk::eval(nk::argmax<"one">(single))() == 0);
  const nk::tensor<nk::f32> scalar = nk::full<nk::f32>(3);
  CHECK(nk::eval(nk::argmax(scalar))() == 0);
  static_assert(std::is_same_v<decltype(nk::argmax<"b">(x))::element, nk::i32>);
}

TEST_CASE("clamp and ceil") {
  const nk::tensor<nk::f32, b> x{-2.5f, -0.5f, 0, 0.25f, 9};
  CHECK(values(nk::eval(nk::clamp(x, -1, 2))) == std::vector<float>{-1, -0.5f, 0, 0.25f, 2});
  CHECK(values(nk::eval(nk::ceil(x))) == std::vector<float>{-2, 0, 0, 1, 9});
  const nk::tensor<nk::f32, b> high{0, 0, 0, 0, 1};
  CHECK(values(nk::eval(nk::clamp(x, -1, high))) == std::vector<float>{-1, -0.5f, 0, 0, 1});
  const nk::tensor<nk::u8, b> n{0, 1, 2, 3, 255};
  CHECK(values(nk::eval(nk::clamp(n, 1, 3))) == std::vector<nk::u8>{1, 1, 2, 3, 3});
  const auto slope = nk::grad<0>([](auto v) { return nk::sum(nk::clamp(v, -1, 2)); });
  CHECK(values(nk::eval(slope(x))) == std::vector<float>{0, 1, 1, 1, 0});
}

TEST_CASE("the cross entropy of two classes is finite, and its gradient what the formula says") {
  const nk::tensor<nk::f64, b> z{-800, -3, 0, 2, 700}, y{1, 0, 0.5, 0.25, 1};
  double expected = 0;
  for (std::size_t i = 0; i < b::size; ++i) {
    const double with_sign = std::fabs(z(i));
    expected += (z(i) > 0 ? z(i) : 0) - z(i) * y(i) + std::log1p(std::exp(-with_sign));
  }
  CHECK(std::fabs(nk::eval(nk::binary_cross_entropy(z, y))() - expected / 5) <= 1e-12 * expected);
  const auto slope =
      nk::grad<0>([](auto logits, auto targets) { return nk::binary_cross_entropy(logits, targets); });
  const nk::tensor<nk::f64, b> found = slope(z, y);
  for (std::size_t i = 0; i < b::size; ++i) {
    const double right = (1 / (1 + std::exp(-z(i))) - y(i)) / 5;
    CHECK(std::fabs(found(i) - right) <= 1e-15);
  }
}
