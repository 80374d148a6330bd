// The interpreter against values worked out by hand, and how it rounds.
#include "napkin/passes/interpret.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "napkin/core/error.hpp"
#include "napkin/graph/builder.hpp"
#include "napkin/passes/verify.hpp"

namespace nk = napkin;
using nk::dtype;
using nk::op;
using values = std::vector<double>;

namespace {

struct trial : nk::builder {
  int x = input(0, dtype::f64, {2, 3});
  std::vector<values> in{{1, 2, 3, 4, 5, 6}};

  values of(int id, nk::rounding mode = nk::rounding::as_typed) {
    result.outputs.clear();
    output(id);
    REQUIRE(nk::passes::verify(view()).sentence == "");
    return nk::interpret(view(), in, mode)[0];
  }
};

}  // namespace

TEST_CASE("interpret: movement") {
  trial t;
  const std::int32_t swap[] = {1, 0}, around[] = {-1, 1, 0}, start[] = {1, 2}, back[] = {-1, -2},
                     one[] = {0, 1}, two[] = {1, 2};
  CHECK(t.of(t.permute(t.x, swap)) == values{1, 4, 2, 5, 3, 6});
  CHECK(t.of(t.expand(t.x, {2, 3, 2}, around)) == values{1, 4, 2, 5, 3, 6, 1, 4, 2, 5, 3, 6});
  CHECK(t.of(t.reshape(t.x, {3, 2})) == values{1, 2, 3, 4, 5, 6});
  CHECK(t.of(t.slice(t.x, {2, 2}, start, back)) == values{6, 4, 3, 1});
  CHECK(t.of(t.pad(t.slice(t.x, {2, 2}, start, back), {2, 4}, one, std::vector<std::int32_t>{1, 2})) ==
        values{0, 6, 0, 4, 0, 3, 0, 1});
  const std::int32_t both[] = {0, 0}, xs[] = {t.x, t.slice(t.x, {2, 1}, one, two)};
  CHECK(t.of(t.diagonal(t.slice(t.x, {2, 2}, one, std::vector<std::int32_t>{1, 1}), {2}, both)).size() == 2);
  CHECK(t.of(t.concat(xs, 1)) == values{1, 2, 3, 2, 4, 5, 6, 5});
  CHECK(t.of(t.window(t.x, 1, 2, 2, 0, 1, 1)) == values{1, 2, 2, 3, 4, 5, 5, 6});
  CHECK(t.of(t.window(t.x, 1, 1, 2, 2, 1, -2)) == values{3, 1, 6, 4});
}

TEST_CASE("interpret: reductions and contractions") {
  trial t;
  const std::int32_t first[] = {0}, last[] = {1}, both[] = {0, 1};
  CHECK(t.of(t.reduce(op::sum, t.x, first)) == values{5, 7, 9});
  CHECK(t.of(t.reduce(op::product, t.x, last)) == values{6, 120});
  CHECK(t.of(t.reduce(op::max, t.x, both)) == values{6});
  CHECK(t.of(t.reduce(op::min, t.unary(op::neg, t.x), last)) == values{-3, -6});
  const int many = t.binary(op::less, t.constant(2, dtype::f64, {2, 3}), t.x);
  CHECK(t.of(t.reduce(op::any, many, last)) == values{1, 1});
  CHECK(t.of(t.reduce(op::all, many, last)) == values{0, 1});
  const std::int32_t xs[] = {t.x, t.x}, gram[] = {0, 2, 1, 2}, to[] = {1, 0}, summed[] = {0, 1, 2, 3};
  CHECK(t.of(t.einsum(xs, gram, to)) == values{14, 32, 32, 77});
  CHECK(t.of(t.einsum(xs, summed, {})) == values{441});
}

TEST_CASE("interpret: the maximum of nothing is the least value of the dtype") {
  trial t;
  const std::int32_t axis = 0;
  CHECK(t.of(t.reduce(op::max, t.constant(0, dtype::i8, {0}), {&axis, 1})) == values{-128});
  CHECK(t.of(t.reduce(op::max, t.constant(0, dtype::f32, {0}), {&axis, 1})) ==
        values{-std::numeric_limits<double>::infinity()});
}

TEST_CASE("interpret: by index") {
  trial t;
  const int index = t.cast(t.input(1, dtype::f64, {2, 2}), dtype::i32);
  t.in.push_back({2, 0, 0, 2});
  CHECK(t.of(t.gather(t.x, index, 1)) == values{3, 1, 1, 3, 6, 4, 4, 6});
  CHECK(t.of(t.scatter_add(t.gather(t.x, index, 1), index, {2, 3}, 1)) == values{2, 0, 6, 8, 0, 12});
  t.in[1][3] = 3;
  CHECK_THROWS_AS(t.of(t.gather(t.x, index, 1)), nk::input_error);
  t.in[1][3] = -1;
  CHECK_THROWS_AS(t.of(t.gather(t.x, index, 1)), nk::input_error);
}

TEST_CASE("interpret: rounding to the dtype, or not at all") {
  trial t;
  t.in = {{0.1, 1.0 / 3, 1e-3, 257, 3, 1e10}};
  const auto third = [&](dtype type) { return t.div(t.cast(t.x, type), t.constant(3, type, {2, 3})); };
  const values in_f32 = t.of(third(dtype::f32)), in_bf16 = t.of(third(dtype::bf16));
  for (std::size_t i = 0; i < 6; ++i) {
    const auto x = static_cast<float>(t.in[0][i]);
    CHECK(in_f32[i] == static_cast<double>(x / 3.0f));
    const auto narrow = static_cast<float>(static_cast<nk::bf16>(t.in[0][i]));
    CHECK(in_bf16[i] == static_cast<double>(static_cast<nk::bf16>(narrow / 3.0f)));
  }
  for (dtype type : {dtype::f64, dtype::f32, dtype::bf16, dtype::f8e4m3}) {
    const values exact = t.of(third(type), nk::rounding::none);
    for (std::size_t i = 0; i < 6; ++i) CHECK(exact[i] == t.in[0][i] / 3);
  }
  // A sum is rounded once: 1e10 absorbs none of the small ones in f64, the last place of f32 is 1024.
  const std::int32_t axes[] = {0, 1};
  CHECK(t.of(t.reduce(op::sum, t.cast(t.x, dtype::f32), axes)) == values{1e10});
  CHECK(t.of(t.reduce(op::sum, t.x, axes), nk::rounding::none)[0] > 1e10 + 260);
}

TEST_CASE("interpret: integers and truth values are exact in both modes") {
  for (nk::rounding mode : {nk::rounding::as_typed, nk::rounding::none}) {
    trial t;
    t.in = {{-2.7, 2.7, 200, 0, 7, -7}};
    const int bytes = t.cast(t.x, dtype::i8);
    CHECK(t.of(bytes, mode) == values{-2, 2, 127, 0, 7, -7});
    CHECK(t.of(t.add(bytes, t.constant(125, dtype::i8, {2, 3})), mode) ==
          values{123, 127, -4, 125, -124, 118});
    CHECK(t.of(t.div(bytes, t.constant(2, dtype::i8, {2, 3})), mode) == values{-1, 1, 63, 0, 3, -3});
    CHECK(t.of(t.cast(t.cast(t.x, dtype::i32), dtype::i8), mode) == values{-2, 2, -56, 0, 7, -7});
    CHECK(t.of(t.cast(t.x, dtype::b8), mode) == values{1, 1, 1, 0, 1, 1});
    CHECK(t.of(t.iota(1, dtype::u8, {2, 300}), mode)[299] == 43);
    // beyond 2^53 too: 2147483647^2 is 1, and 1 + 1
    const int large = t.constant(2147483647, dtype::i32, {2, 3});
    const std::int32_t rows[] = {0}, both[] = {0, 1, 0, 1}, none[] = {1}, squares[] = {large, large};
    CHECK(t.of(t.mul(large, large), mode) == values(6, 1.0));
    CHECK(t.of(t.reduce(op::product, large, rows), mode) == values(3, 1.0));
    CHECK(t.of(t.einsum(squares, both, none), mode) == values(3, 2.0));
    CHECK_THROWS_AS(t.of(t.div(bytes, t.zeros_like(bytes)), mode), nk::input_error);
  }
}

TEST_CASE("interpret: inputs that are missing or of another size are refused") {
  trial t;
  t.in = {{1, 2}};
  CHECK_THROWS_WITH(t.of(t.x), "interpret: node 0: input slot 0 has 2 elements, not 6");
  t.in = {};
  CHECK_THROWS_WITH(t.of(t.x), "interpret: node 0: input slot 0 was not given");
}
