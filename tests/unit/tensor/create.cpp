#include "napkin/tensor/create.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "napkin/core/error.hpp"
#include "napkin/cpu/lower.hpp"
#include "napkin/ops/elementwise.hpp"

namespace nk = napkin;

namespace {

struct a : nk::dim<"a", 2> {};
struct b : nk::dim<"b", 3> {};
struct many : nk::dim<"many", 20'000> {};
struct rows : nk::dim<"rows", nk::up_to<5>> {};

template <class X>
std::vector<typename X::element> values(const X& x) {
  return {x.begin(), x.end()};
}

struct moments {
  double mean, variance;
};
moments moments_of(const auto& x) {
  double sum = 0, squares = 0;
  for (const auto value : x) {
    sum += static_cast<double>(value);
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  const double mean = sum / static_cast<double>(x.numel());
  return {mean, squares / static_cast<double>(x.numel()) - mean * mean};
}

}  // namespace

TEST_CASE("constants and ranges") {
  using floats = std::vector<float>;
  REQUIRE(values(nk::zeros<nk::f32, b>()) == floats{0, 0, 0});
  REQUIRE(values(nk::ones<nk::f32, b>()) == floats{1, 1, 1});
  REQUIRE(values(nk::full<nk::f32, b>(2.5)) == floats{2.5, 2.5, 2.5});
  REQUIRE(static_cast<float>(nk::full<nk::bf16, a, b>(2.5)(1, 2)) == 2.5f);
  REQUIRE(nk::ones<nk::b8, b>()(0));
  REQUIRE(values(nk::arange<nk::i32, a, b>()) == std::vector<int>{0, 1, 2, 3, 4, 5});
  REQUIRE(values(nk::arange<nk::f32, b>(1.f, 0.5f)) == floats{1, 1.5, 2});
  REQUIRE(static_cast<float>(nk::arange<nk::f16, b>(1.f, 2.f)(2)) == 5);
  const std::vector<float> given{1, 2, 3};
  REQUIRE(values(nk::from_values<nk::f32, b>(given)) == given);
  REQUIRE(nk::empty<nk::f32, a, b>().numel() == 6);
}

TEST_CASE("random tensors are a function of the seed") {
  const auto x = nk::randn<nk::f32, a, b>(nk::seed{1});
  REQUIRE(values(x) == values(nk::randn<nk::f32, a, b>(nk::seed{1})));
  REQUIRE(values(x) != values(nk::randn<nk::f32, a, b>(nk::seed{2})));
  REQUIRE(values(nk::rand<nk::f64, many>(nk::seed{1})) != values(nk::randn<nk::f64, many>(nk::seed{1})));
  REQUIRE(x(1, 2) == nk::normal<float>(nk::stream_of(1, "randn"), 5));
}

TEST_CASE("random tensors have the moments of their distributions") {
  // 20,000 draws: the mean of normals is within 5 standard errors, 5 / sqrt(20000) = 0.036, of 0.
  const auto check = [](const auto& x, double mean, double variance) {
    const moments m = moments_of(x);
    REQUIRE(std::abs(m.mean - mean) <= 0.036);
    REQUIRE(std::abs(m.variance - variance) <= 0.05);
  };
  check(nk::randn<nk::f32, many>(nk::seed{3}), 0, 1);
  check(nk::randn<nk::f64, many>(nk::seed{3}), 0, 1);
  check(nk::randn<nk::bf16, many>(nk::seed{3}), 0, 1);
  check(nk::rand<nk::f32, many>(nk::seed{3}), 0.5, 1. / 12);
  check(nk::randint<nk::u16, many>(nk::seed{3}, 2), 0.5, 0.25);
  for (const float value : nk::rand<nk::f32, many>(nk::seed{4})) REQUIRE((value >= 0 && value < 1));
  for (const int value : nk::randint<nk::i32, many>(nk::seed{4}, 7)) REQUIRE((value >= 0 && value < 7));
}

TEST_CASE("an element of a run-time size does not depend on the size") {
  const auto full = nk::randn<nk::f32, a, rows>(nk::seed{5});
  const auto part = nk::randn<nk::f32, a, rows>(nk::seed{5}, nk::sized{2});
  REQUIRE(full.numel() == 10);
  REQUIRE(part.numel() == 4);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) REQUIRE(part(i, j) == full(i, j));
  REQUIRE(nk::zeros<nk::f32, rows>(nk::sized{3}).numel() == 3);
}

TEST_CASE("a number that an integer type does not hold is no element of it") {
  CHECK(values(nk::full<nk::u8, a>(255)) == std::vector<nk::u8>{255, 255});
  CHECK_THROWS_WITH((nk::full<nk::u8, a>(256)), Catch::StartsWith("256 is no u8"));
  CHECK_THROWS_WITH((nk::full<nk::u8, a>(-1)), Catch::StartsWith("-1 is no u8"));
  CHECK_THROWS_WITH((nk::full<nk::i32, a>(4294967295u)), Catch::StartsWith("4294967295 is no i32"));
  CHECK_THROWS_AS((nk::full<nk::i64, a>(~std::uint64_t{0})), nk::error);
  CHECK_THROWS_AS((nk::full<nk::u32, a>(-1)), nk::error);
  CHECK(values(nk::full<nk::i8, a>(-128.9)) == std::vector<nk::i8>{-128, -128});
  CHECK(values(nk::full<nk::u8, a>(255.9)) == std::vector<nk::u8>{255, 255});
  CHECK(values(nk::full<nk::u8, a>(-0.5)) == std::vector<nk::u8>{0, 0});
  for (const double x : {-129.0, 128.0, 1e300, std::nan("")})
    CHECK_THROWS_AS((nk::full<nk::i8, a>(x)), nk::error);
  CHECK_THROWS_AS((nk::full<nk::i64, a>(0x1p63)), nk::error);
  CHECK_THROWS_AS((nk::full<nk::i8, a>(nk::f16(1000.0f))), nk::error);
  CHECK(values(nk::full<nk::i8, a>(nk::bf16(100.0f)))[0] == 100);
  CHECK(values(nk::full<nk::i64, a>(-0x1p63)) ==
        std::vector<nk::i64>(2, std::numeric_limits<nk::i64>::min()));
  CHECK_THROWS_AS((nk::arange<nk::u8, many>()), nk::error);
  CHECK(static_cast<float>(values(nk::full<nk::bf16, a>(1e300))[0]) ==
        std::numeric_limits<float>::infinity());
}

TEST_CASE("randint draws what its integers hold, of every bound that it takes") {
  const auto refuses = []<class T>(std::type_identity<T>, std::int64_t bound) {
    CHECK_THROWS_AS((nk::randint<T, a>(nk::seed{1}, bound)), nk::error);
  };
  for (const std::int64_t bound : {std::int64_t{0}, std::int64_t{-5}, std::int64_t{1} << 40}) {
    refuses(std::type_identity<nk::i64>{}, bound);
    refuses(std::type_identity<nk::u8>{}, bound);
  }
  refuses(std::type_identity<nk::i64>{}, 0x1'0000'0000);
  refuses(std::type_identity<nk::i32>{}, 0x8000'0001);
  refuses(std::type_identity<nk::u8>{}, 257);
  CHECK_THROWS_WITH((nk::randint<nk::i8, a>(nk::seed{1}, 200)),
                    "randint: a bound of 200, where integers of i8 take one from 1 to 128");
  CHECK(values(nk::randint<nk::i8, a>(nk::seed{1}, 1)) == std::vector<nk::i8>{0, 0});
  int largest = 0;
  for (const int value : nk::randint<nk::u8, many>(nk::seed{1}, 256)) largest = std::max(largest, value);
  CHECK(largest == 255);
  for (const nk::i32 value : nk::randint<nk::i32, many>(nk::seed{1}, 0x8000'0000)) REQUIRE(value >= 0);
  nk::u32 most = 0;
  for (const nk::u32 value : nk::randint<nk::u32, many>(nk::seed{1}, 0xffff'ffff))
    most = std::max(most, value);
  CHECK(most > 0xfff0'0000);
}

TEST_CASE("no tensor of integers is made of or filled with what they do not hold") {
  const int large = 300;
  CHECK_THROWS_WITH(nk::tensor<nk::u8>(large), Catch::StartsWith("300 is no u8"));
  CHECK_THROWS_AS(nk::tensor<nk::u8>(-1), nk::error);
  CHECK_THROWS_AS(nk::tensor<nk::i32>(1e10), nk::error);
  const nk::tensor<nk::i32> cut = 2.7;
  CHECK(cut() == 2);
  const nk::tensor<nk::bf16> small = 1.5f;
  CHECK(static_cast<float>(small()) == 1.5f);
  nk::tensor<nk::u8, a> x = nk::full<nk::u8, a>(7);
  CHECK_THROWS_WITH(nk::fill(x, large), Catch::StartsWith("300 is no u8"));
  CHECK(values(x) == std::vector<nk::u8>{7, 7});
  nk::fill(x, 255.0);
  CHECK(values(x) == std::vector<nk::u8>{255, 255});
  CHECK_THROWS_WITH((nk::tensor<nk::u8, b>([](std::size_t i) { return 200 * i; })),
                    Catch::StartsWith("400 is no u8"));
  CHECK_THROWS_AS((nk::tensor<nk::i32, b>([](std::size_t) { return 1e10; })), nk::error);
  const nk::tensor<nk::i32, b> whole([](std::size_t i) { return static_cast<double>(i) * 1.5; });
  CHECK(values(whole) == std::vector<nk::i32>{0, 1, 3});
}

TEST_CASE("a number beside integers is one of theirs") {
  const nk::tensor x = nk::full<nk::u8, a>(100);
  CHECK(values(nk::eval(x + 100))[0] == 200);
  CHECK_THROWS_AS(x + 300, nk::error);
  CHECK_THROWS_AS(x < 300, nk::error);
  CHECK_THROWS_AS(-1 < x, nk::error);
  CHECK_THROWS_AS(x == 356, nk::error);
  CHECK_THROWS_AS(nk::maximum(x, -1), nk::error);
  CHECK_THROWS_AS(nk::where(x < 5, x, 256), nk::error);
}
