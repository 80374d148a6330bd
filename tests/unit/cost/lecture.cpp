// The rows of CS336's lecture 2 that are proven by running them; each test case is named after its row
// (docs/accounting.md). The constants among the rows are tests/static/lecture.hpp.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>
#include <vector>

#include "napkin/napkin.hpp"
#include "napkin/optim/adagrad.hpp"

namespace nk = napkin;

namespace {

struct row : nk::dim<"row", 2> {};
struct column : nk::dim<"column", 3> {};
using two_by_three = nk::tensor<nk::f32, row, column>;
const std::vector<float> one_to_six{1, 2, 3, 4, 5, 6};

template <class X>
std::vector<double> list(const X& x) {
  std::vector<double> all;
  for (const auto& element : x) all.push_back(static_cast<double>(element));
  return all;
}
using numbers = std::vector<double>;

}  // namespace

TEST_CASE("T1: tensors from a list, zeros, ones, normal, empty, truncated normal", "[lecture]") {
  const two_by_three x = nk::from_values<nk::f32, row, column>(one_to_six);
  CHECK(list(x) == numbers{1, 2, 3, 4, 5, 6});
  using four = nk::dim<"row", 4>;
  using eight = nk::dim<"column", 8>;
  CHECK(list(nk::zeros<nk::f32, four, eight>()) == numbers(32, 0.0));
  CHECK(list(nk::ones<nk::f32, four, eight>()) == numbers(32, 1.0));
  CHECK(list(nk::randn<nk::f32, four, eight>(nk::seed{1})) !=
        list(nk::randn<nk::f32, four, eight>(nk::seed{2})));
  auto empty = nk::empty<nk::f32, four, eight>();
  REQUIRE(empty.numel() == 32);
  nk::init::truncated_normal(1, 2).fill(1, "values", empty.data(), empty.numel());
  for (const double value : list(empty)) CHECK(std::abs(value) <= 2);
  CHECK(std::set<double>(empty.begin(), empty.end()).size() > 16);
}

TEST_CASE("T7: two matrices of 32 by 32 take 8,192 bytes of an arena, no more", "[lecture]") {
  using left = nk::tensor<nk::f32, nk::dim<"i", 32>, nk::dim<"k", 32>>;
  using right = nk::tensor<nk::f32, nk::dim<"k", 32>, nk::dim<"j", 32>>;
  constexpr auto f = [](auto x, auto y) { return nk::matmul(nk::exp(x), nk::exp(y)); };
  constexpr auto plan =
      nk::plan_of<decltype(nk::fn(f)(std::declval<const left&>(), std::declval<const right&>())), nk::cpu>;
  CHECK(plan.launches == 3);
  CHECK(plan.peak == 8192 + plan.workspace);
  CHECK(plan.memory.arena_lower_bound == plan.peak);
}

TEST_CASE("V2: views share what they see", "[lecture]") {
  two_by_three x = nk::from_values<nk::f32, row, column>(one_to_six);
  const auto first_row = nk::index<"row", 0>(x);
  const auto second_column = nk::index<"column", 1>(x);
  const auto y = nk::transpose<"row", "column">(x);
  const auto z = nk::view_as<nk::dim<"row", 3>, nk::dim<"column", 2>>(x);
  CHECK(list(first_row) == numbers{1, 2, 3});
  CHECK(list(second_column) == numbers{2, 5});
  CHECK(list(z) == numbers{1, 2, 3, 4, 5, 6});
  CHECK(y(1, 0) == 2);
  x(0, 0) = 100;
  CHECK(y(0, 0) == 100);
  CHECK(first_row(0) == 100);
  CHECK(z(0, 0) == 100);
  CHECK(z.data() == x.data());
}

TEST_CASE("V3: what is transposed is copied before it is seen in another shape", "[lecture]") {
  const two_by_three x = nk::from_values<nk::f32, row, column>(one_to_six);
  const auto copied = nk::contiguous(nk::transpose<"row", "column">(x));
  const auto y = nk::view_as<nk::dim<"row", 2>, nk::dim<"column", 3>>(copied);
  CHECK(list(y) == numbers{1, 4, 2, 5, 3, 6});
  CHECK(y.data() == copied.data());
  CHECK(static_cast<const void*>(copied.data()) != static_cast<const void*>(x.data()));
}

TEST_CASE("E1: operations on elements", "[lecture]") {
  using three = nk::dim<"x", 3>;
  const std::vector<float> squares{1, 4, 9};
  const auto x = nk::from_values<nk::f32, three>(squares);
  CHECK(list(nk::eval(nk::pow(x, 2.0f))) == numbers{1, 16, 81});
  CHECK(list(nk::eval(nk::sqrt(x))) == numbers{1, 2, 3});
  const auto r = list(nk::eval(nk::rsqrt(x)));
  for (std::size_t i = 0; i < 3; ++i) CHECK(std::abs(r[i] - 1.0 / static_cast<double>(i + 1)) <= 1e-7);
  CHECK(list(nk::eval(x + x)) == numbers{2, 8, 18});
  CHECK(list(nk::eval(x * 2.0f)) == numbers{2, 8, 18});
  CHECK(list(nk::eval(x / 0.5f)) == numbers{2, 8, 18});
  struct i : nk::dim<"i", 3> {};
  struct j : nk::dim<"j", 3> {};
  const auto ones = nk::ones<nk::f32, i, j>();
  const auto upper = nk::eval(
      nk::where(nk::broadcast_to<i, j>(nk::positions<i>(ones)) <= nk::positions<j>(ones), ones, 0.0f));
  CHECK(list(upper) == numbers{1, 1, 1, 0, 1, 1, 0, 0, 1});
}

TEST_CASE("I1, I2, I3, I4: einsum, reduce and rearrange of ones", "[lecture]") {
  using batch = nk::dim<"batch", 2>;
  const auto x = nk::ones<nk::f32, batch, nk::dim<"seq1", 3>, nk::dim<"hidden", 4>>();
  const auto y = nk::ones<nk::f32, batch, nk::dim<"seq2", 3>, nk::dim<"hidden", 4>>();
  CHECK(list(nk::eval(nk::einsum<"batch seq1 hidden, batch seq2 hidden -> batch seq1 seq2">(x, y))) ==
        numbers(18, 4.0));
  CHECK(list(nk::eval(nk::einsum<"... seq1 hidden, ... seq2 hidden -> ... seq1 seq2">(x, y))) ==
        numbers(18, 4.0));
  CHECK(list(nk::eval(nk::einsum<"batch seq hidden, batch key hidden -> batch seq key">(
            nk::ones<nk::f32, batch, nk::dim<"seq", 2>, nk::dim<"hidden", 3>>(),
            nk::ones<nk::f32, batch, nk::dim<"key", 2>, nk::dim<"hidden", 3>>()))) == numbers(8, 3.0));
  // Erratum: the lecture's "old way" of I3 is a mean, its new one a sum.
  CHECK(list(nk::eval(nk::reduce<"... hidden -> ...", "sum">(x))) == numbers(6, 4.0));
  CHECK(list(nk::eval(nk::reduce<"... hidden -> ...", "mean">(x))) == numbers(6, 1.0));
  const auto whole = nk::ones<nk::f32, batch, nk::dim<"seq", 3>, nk::dim<"total", 8>>();
  const auto w = nk::ones<nk::f32, nk::dim<"hidden1", 4>, nk::dim<"hidden2", 4>>();
  const auto split = nk::rearrange<"... (heads hidden1) -> ... heads hidden1", nk::dim<"heads", 2>>(whole);
  const auto joined = nk::rearrange<"... heads hidden2 -> ... (heads hidden2)">(
      nk::einsum<"... hidden1, hidden1 hidden2 -> ... hidden2">(split, w));
  CHECK(list(nk::eval(joined)) == numbers(48, 4.0));
}

TEST_CASE("G1: the gradient of half a square", "[lecture]") {
  using three = nk::dim<"x", 3>;
  const std::vector<float> counting{1, 2, 3};
  const auto x = nk::from_values<nk::f32, three>(counting);
  const auto w = nk::ones<nk::f32, three>();
  constexpr auto loss = [](auto a, auto b) {
    const auto error = nk::dot<"x">(a, b) - 5.0f;
    return 0.5f * error * error;
  };
  // Nothing but w has a gradient: no other is built.
  const auto [value, gradient] = nk::value_and_grad<1>(loss)(x, w);
  CHECK(*value.begin() == 0.5f);
  CHECK(list(gradient) == numbers{1, 2, 3});
}

TEST_CASE("P1: a product of 16,384 terms varies by 128, and by 1 with weights scaled", "[lecture]") {
  using in = nk::dim<"in", 16'384>;
  using out = nk::dim<"out", 32>;
  const auto x = nk::randn<nk::f32, in>(nk::seed{1});
  const auto w = nk::randn<nk::f32, in, out>(nk::seed{2});
  const auto deviation = [](const numbers& y) {
    double squares = 0;
    for (const double v : y) squares += v * v;
    return std::sqrt(squares / static_cast<double>(y.size()));
  };
  const double plain = deviation(list(nk::eval(nk::dot<"in">(x, w))));
  const double scaled = deviation(list(nk::eval(nk::dot<"in">(x, w * (1 / 128.0f)))));
  // 32 of them: the deviation of their deviation is an eighth
  CHECK(std::abs(plain / 128 - 1) <= 0.5);
  CHECK(std::abs(scaled - 1) <= 0.5);
  CHECK(std::abs(scaled * 128 / plain - 1) <= 1e-4);
}

TEST_CASE("P2: truncation at three deviations, and at 384, which is none", "[lecture]") {
  constexpr std::size_t n = 1 << 18;
  const auto statistics = [](const nk::init& i) {
    std::vector<float> v(n);
    i.fill(7, "weight", v.data(), n);
    double squares = 0, largest = 0;
    for (const float x : v) {
      squares += static_cast<double>(x) * static_cast<double>(x);
      largest = std::max(largest, std::abs(static_cast<double>(x)));
    }
    return std::pair(std::sqrt(squares / n), largest);
  };
  // Erratum: the lecture cuts at +-3 what has a deviation of 1/128, 384 deviations away.
  const auto [as_lecture, far] = statistics(nk::init::truncated_normal(1.0 / 128, 384));
  CHECK(std::abs(as_lecture * 128 - 1) <= 0.01);
  CHECK(far * 128 > 3.5);
  const auto [cut, near] = statistics(nk::init::truncated_normal(1.0 / 128, 3));
  CHECK(near * 128 <= 3);
  CHECK(near * 128 > 2.9);
  CHECK(std::abs(cut * 128 - 0.9866) <= 0.01);
}

TEST_CASE("O1: AdaGrad's first step moves each weight by the rate", "[lecture]") {
  using three = nk::dim<"x", 3>;
  const std::vector<float> weights{-0.12529f, 0.5f, 2.0f}, slopes{0.7f, -3.0f, 0.02f};
  const auto p = nk::from_values<nk::f32, three>(weights), g = nk::from_values<nk::f32, three>(slopes);
  const auto g2 = nk::zeros<nk::f32, three>();
  float numbers_of[nk::adagrad::scalars];
  nk::adagrad::fill({.epsilon = 1e-5}, 0.01, 1, 1, 1, numbers_of);
  const auto number = [&](std::size_t i) {
    return nk::tensor<nk::f32>(std::span<const float>(numbers_of + i, 1));
  };
  const auto [next, squares] = nk::adagrad::update(p, g, g2, number(0), number(1), number(2), number(3));
  const auto moved = list(nk::eval(next)), sum = list(nk::eval(squares));
  for (std::size_t i = 0; i < 3; ++i) {
    const double by = moved[i] - static_cast<double>(weights[i]);
    CHECK(std::abs(std::abs(by) - 0.01) <= 1e-5);
    CHECK((by < 0) == (slopes[i] > 0));
    CHECK(std::abs(sum[i] - static_cast<double>(slopes[i]) * static_cast<double>(slopes[i])) <= 1e-6);
  }
  CHECK(std::abs(moved[0] - -0.13529) <= 1e-5);
}

TEST_CASE("R1: each use of randomness has a stream of its own, named", "[lecture]") {
  const nk::random_stream parameters = nk::stream_of(1, "w"), other = nk::stream_of(1, "head"),
                          batches = nk::stream_of(1, "batch"), again = nk::stream_of(1, "w"),
                          reseeded = nk::stream_of(2, "w");
  const auto drawn = [](nk::random_stream s) {
    numbers all;
    for (std::uint64_t i = 0; i < 8; ++i) all.push_back(static_cast<double>(nk::normal<float>(s, i)));
    return all;
  };
  CHECK(drawn(parameters) == drawn(again));
  CHECK(drawn(parameters) != drawn(other));
  CHECK(drawn(parameters) != drawn(batches));
  CHECK(drawn(parameters) != drawn(reseeded));
  // Any element alone, in any order: nothing is remembered between draws.
  CHECK(static_cast<double>(nk::normal<float>(parameters, 5)) == drawn(parameters)[5]);
}
