// Compiled kernels have the bits of interpreted ones, and the values of the graph that they were made from.
#include "napkin/cpu/kernel.hpp"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "napkin/cpu/executor.hpp"
#include "napkin/cpu/interpret_kernel.hpp"
#include "napkin/cpu/lower.hpp"
#include "napkin/ops/elementwise.hpp"
#include "napkin/ops/pattern.hpp"
#include "napkin/passes/differentiate.hpp"
#include "napkin/passes/interpret.hpp"
#include "napkin/tensor/create.hpp"
#include "support/compiled_kernels.hpp"
#include "support/random_graph.hpp"
#include "support/run_plan.hpp"

namespace nk = napkin;
using nk::testing::raw_bytes;

namespace {

using nk::op;
using nk::testing::check_compiled;
using nk::testing::values;

constexpr int number(nk::builder& b, int like, double x) {
  return b.constant_like(x, b.type_of(like), b[like].shape_id);
}

/// gelu(x * y + z), y along the last axis.
template <nk::dtype T, std::size_t Rows, std::size_t N>
struct gelu {
  static constexpr nk::graph make() {
    nk::builder b;
    const std::int32_t along[] = {-1, 0};
    const nk::shape s{Rows, N};
    const int y = b.expand(b.input(1, T, {N}), s, along);
    const int x = b.add(b.mul(b.input(0, T, s), y), b.input(2, T, s));
    const int inner = b.scale(b.add(x, b.scale(b.mul(b.mul(x, x), x), 0.044715)), 0.7978845608028654);
    b.output(b.mul(b.scale(x, 0.5), b.add(b.unary(op::tanh, inner), b.ones_like(x))));
    return b.result;
  }
};

/// Every elementwise operation on floating point.
template <nk::dtype T>
struct every_formula {
  static constexpr nk::graph make() {
    nk::builder b;
    const nk::shape s{3, 21};
    const int x = b.input(0, T, s), y = b.input(1, T, s),
              positive = b.add(b.unary(op::abs, x), number(b, x, 0.25));
    for (const op o : {op::neg, op::abs, op::sign, op::exp, op::sin, op::cos, op::tanh, op::erf, op::floor})
      b.output(b.unary(o, x));
    for (const op o : {op::log, op::sqrt, op::rsqrt}) b.output(b.unary(o, positive));
    for (const op o : {op::sub, op::div, op::maximum, op::minimum, op::equal, op::less, op::less_equal})
      b.output(b.binary(o, x, y));
    b.output(b.binary(op::pow, positive, y));
    b.output(b.fma(x, y, positive));
    b.output(b.select(b.binary(op::less, x, y), y, positive));
    return b.result;
  }
};

/// A float as every integer type.
template <nk::dtype T>
struct as_integers {
  static constexpr nk::graph make() {
    nk::builder b;
    const int x = b.input(0, T, {5, 27});
    for (const nk::dtype type : nk::all_dtypes)
      if (nk::is_integer(type)) b.output(b.cast(x, type));
    return b.result;
  }
};

/// Of rows and of columns.
template <nk::dtype T>
struct long_sums {
  static constexpr nk::graph make() {
    nk::builder b;
    const std::int32_t rows[] = {1}, columns[] = {0};
    const int x = b.input(0, T, {600, 600});
    for (const nk::ids axes : {nk::ids{rows}, nk::ids{columns}})
      for (const op o : {op::sum, op::any, op::all}) b.output(b.reduce(o, x, axes));
    return b.result;
  }
};

template <nk::dtype T, std::size_t Rows, std::size_t N>
struct softmax {
  static constexpr nk::graph make() {
    nk::builder b;
    const auto e = nk::testing::exponentials_of(b, b.input(0, T, {Rows, N}));
    b.output(b.div(e.each, e.along));
    return b.result;
  }
};

/// Over the two last axes of three; and the gradients of a weighted sum of it.
template <nk::dtype T, std::size_t Rows>
struct layer_norm {
  static constexpr nk::graph forward() {
    nk::builder b;
    const nk::shape s{Rows, 2, 19};
    const std::int32_t last[] = {1, 2}, all[] = {0, 1, 2}, along[] = {0, -1, -1}, down[] = {-1, 0, 1};
    const int x = b.input(0, T, s), w = b.input(1, T, {2, 19}), v = b.input(2, T, {2, 19});
    const int mean = b.scale(b.reduce(op::sum, x, last), 1.0 / 38);
    const int d = b.sub(x, b.expand(mean, s, along));
    const int variance = b.scale(b.reduce(op::sum, b.mul(d, d), last), 1.0 / 38);
    const int r = b.unary(op::rsqrt, b.add(variance, number(b, variance, 1e-5)));
    const int y = b.add(b.mul(b.mul(d, b.expand(r, s, along)), b.expand(w, s, down)), b.expand(v, s, down));
    b.output(b.reduce(op::sum, b.mul(y, b.input(3, T, s)), all));
    b.output(y);
    return b.result;
  }
  static constexpr nk::graph make() {
    const nk::graph g = forward();
    const std::int32_t wanted[] = {0, 1, 2};
    return nk::passes::differentiate(g.view(), wanted);
  }
};

template <nk::dtype T, std::size_t Rows, std::size_t N>
struct columns {
  static constexpr nk::graph make() {
    nk::builder b;
    const std::int32_t first[] = {0};
    const int x = b.input(0, T, {Rows, N});
    b.output(b.reduce(op::sum, b.mul(x, x), first));
    b.output(b.reduce(op::max, x, first));
    b.output(b.reduce(op::min, x, first));
    return b.result;
  }
};

/// Transposed, read backwards, every other element; a reduction over the middle axis.
struct views {
  static constexpr nk::graph make() {
    nk::builder b;
    const int x = b.input(0, nk::dtype::f32, {5, 18, 7});
    const std::int32_t swapped[] = {2, 0, 1}, start[] = {6, 0, 17}, step[] = {-1, 2, -1}, middle[] = {1};
    const int y = b.slice(b.permute(x, swapped), {7, 3, 18}, {start, 3}, {step, 3});
    b.output(b.add(y, b.unary(op::exp, y)));
    b.output(b.reduce(op::sum, x, middle));
    return b.result;
  }
};

/// Sums, of squares too, along rows of two axes that do not lie behind one another.
template <nk::dtype T, std::size_t Segments, std::size_t Length>
struct long_rows {
  static constexpr nk::graph make() {
    nk::builder b;
    const std::int32_t start[] = {0, 0, 1}, step[] = {1, 1, 1}, row[] = {1, 2};
    const int x =
        b.slice(b.input(0, T, {2, Segments, Length + 2}), {2, Segments, Length}, {start, 3}, {step, 3});
    b.output(b.reduce(op::sum, x, row));
    b.output(b.reduce(op::sum, b.mul(x, x), row));
    b.output(b.reduce(op::max, x, row));
    return b.result;
  }
};

/// As many operations in a row: an interpreter that keeps a value of each takes shorter stretches.
template <std::size_t Steps, std::size_t N>
struct many_steps {
  static constexpr nk::graph make() {
    nk::builder b;
    const nk::shape s{3, N};
    const int y = b.input(1, nk::dtype::f32, s);
    int x = b.input(0, nk::dtype::f32, s);
    for (std::size_t i = 0; i < Steps; ++i)
      x = i % 2 == 0 ? b.add(b.mul(x, y), y) : b.binary(op::maximum, x, y);
    const std::int32_t row[] = {1};
    b.output(b.reduce(op::sum, x, row));
    b.output(x);
    return b.result;
  }
};

/// Scores kept where key <= query, from coordinates; how many are.
struct causal {
  static constexpr nk::graph make() {
    nk::builder b;
    const nk::shape s{2, 17, 17};
    const std::int32_t last[] = {2};
    const int x = b.input(0, nk::dtype::f32, s);
    const int seen = b.binary(op::less_equal, b.iota(2, nk::dtype::i32, s), b.iota(1, nk::dtype::i32, s));
    b.output(b.reduce(op::sum, b.select(seen, x, number(b, x, 0)), last));
    b.output(b.reduce(op::sum, b.cast(seen, nk::dtype::i64), last));
    b.output(b.reduce(op::all, b.binary(op::logical_or, seen, b.unary(op::logical_not, seen)), last));
    b.output(b.binary(op::logical_and, seen, b.binary(op::less, number(b, x, 0), x)));
    return b.result;
  }
};

template <nk::dtype T>
struct integers {
  static constexpr nk::graph make() {
    nk::builder b;
    const std::int32_t last[] = {1}, first[] = {0};
    const int x = b.input(0, T, {4, 35}), y = b.input(1, T, {4, 35});
    b.output(b.add(b.div(x, y), b.binary(op::maximum, b.mul(x, y), y)));
    b.output(b.reduce(op::max, x, last));
    b.output(b.reduce(op::min, b.sub(x, y), first));
    b.output(b.cast(x, nk::dtype::f32));
    return b.result;
  }
};

struct scalars {
  static constexpr nk::graph make() {
    nk::builder b;
    const int x = b.input(0, nk::dtype::f32, {}), y = b.input(1, nk::dtype::f64, {});
    b.output(b.add(b.unary(op::exp, x), b.cast(y, nk::dtype::f32)));
    b.output(b.cast(b.cast(y, nk::dtype::bf16), nk::dtype::f16));
    return b.result;
  }
};

struct row : nk::dim<"row", 6> {};
struct column : nk::dim<"column", 33> {};

/// A lazy expression: its graph, and what evaluating it gives.
template <class E, class F>
void check_expression(const E& e, F expected) {
  check_compiled<nk::expression_graph<E>>();
  const auto t = nk::eval(e);
  for (std::size_t i = 0; i < 6; ++i)
    for (std::size_t j = 0; j < 33; ++j) CHECK(t(i, j) == Approx(expected(i, j)).margin(1e-6));
}

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST_CASE("a chain of elementwise operations, at sizes around the lanes") {
  check_compiled<gelu<nk::dtype::f32, 3, 0>>();
  check_compiled<gelu<nk::dtype::f32, 3, 1>>();
  check_compiled<gelu<nk::dtype::f32, 3, 15>>();
  check_compiled<gelu<nk::dtype::f32, 3, 16>>();
  check_compiled<gelu<nk::dtype::f32, 3, 17>>();
  check_compiled<gelu<nk::dtype::f32, 40, 700>>();  // several blocks
  check_compiled<gelu<nk::dtype::f64, 2, 33>>();
  check_compiled<gelu<nk::dtype::bf16, 2, 33>>();
}

TEST_CASE("every elementwise formula") {
  check_compiled<every_formula<nk::dtype::f32>>();
  check_compiled<every_formula<nk::dtype::f64>>();
  check_compiled<every_formula<nk::dtype::f16>>();
}

TEST_CASE("special values") {
  values inputs(2, std::vector<double>(63));
  const double special[] = {not_a_number, infinite, -infinite, 0.0, -0.0, 1.5, -2.5};
  for (std::size_t i = 0; i < 63; ++i) {
    inputs[0][i] = special[i % 7];
    inputs[1][i] = special[i / 7 % 7];
  }
  check_compiled<every_formula<nk::dtype::f32>>(inputs);
  inputs.resize(1);
  inputs[0].resize(40 * 17, -infinite);
  check_compiled<columns<nk::dtype::f32, 40, 17>>(inputs);
}

TEST_CASE("floats that no integer is near") {
  values inputs(1, {not_a_number, infinite, -infinite, 1e30, -1e30, -0.9});
  for (const int bits : {7, 8, 15, 16, 31, 32, 63, 64})
    for (const double beside : {-1.5, -0.5, 0.0, 0.5, 1.5})
      for (const double sign : {1.0, -1.0}) inputs[0].push_back(sign * (std::ldexp(1.0, bits) + beside));
  while (inputs[0].size() < 5 * 27) inputs[0].push_back(inputs[0][inputs[0].size() % 86]);
  check_compiled<as_integers<nk::dtype::f32>>(inputs);
  check_compiled<as_integers<nk::dtype::f64>>(inputs);
  check_compiled<as_integers<nk::dtype::bf16>>(inputs);
}

TEST_CASE("reductions along rows") {
  check_compiled<softmax<nk::dtype::f32, 5, 1>>();
  check_compiled<softmax<nk::dtype::f32, 5, 33>>();
  check_compiled<softmax<nk::dtype::f32, 0, 33>>();
  check_compiled<softmax<nk::dtype::f32, 90, 256>>();
  check_compiled<softmax<nk::dtype::f64, 3, 16>>();
  check_compiled<softmax<nk::dtype::bf16, 3, 40>>();
}

TEST_CASE("kernels of many steps") {
  check_compiled<many_steps<40, 300>>();
  check_compiled<many_steps<100, 300>>();
}

TEST_CASE("sums along rows that are folded: one segment, segments that are parts of a fold or several") {
  check_compiled<long_rows<nk::dtype::f32, 1, 1024>>();
  check_compiled<long_rows<nk::dtype::f32, 1, 1025>>();
  check_compiled<long_rows<nk::dtype::f32, 1, 5000>>();
  check_compiled<long_rows<nk::dtype::f32, 70, 33>>();
  check_compiled<long_rows<nk::dtype::f32, 6, 512>>();
  check_compiled<long_rows<nk::dtype::f32, 3, 1024>>();
  check_compiled<long_rows<nk::dtype::f32, 5, 1500>>();
  check_compiled<long_rows<nk::dtype::f64, 4, 1100>>();
  check_compiled<long_rows<nk::dtype::bf16, 2, 2100>>();
}

namespace {
struct many : nk::dim<"many", 3'000'001> {};
double sum_of(const nk::tensor<nk::f32, many>& x) {
  const nk::tensor<nk::f32> s = nk::reduce<"many ->", "sum">(x);
  return static_cast<double>(s());
}
}  // namespace

TEST_CASE("a sum of millions is as exact as a short one's") {
  nk::tensor x = nk::full<nk::f32, many>(0.1f);
  const double expected = static_cast<double>(0.1f) * static_cast<double>(many::size);
  CHECK(std::abs(sum_of(x) - expected) <= 2e-6 * expected);
  const nk::tensor<nk::f32> mean = nk::reduce<"many ->", "mean">(x);
  CHECK(std::abs(static_cast<double>(mean()) - static_cast<double>(0.1f)) <= 2e-6 * 0.1);
  x(5) = 1e30f;                                 // what a fold loses is kept beside it
  x(2'000'005) = -1e30f;                        // in the same lane
  CHECK(std::abs(sum_of(x) - expected) <= 20);  // what two folds of a lane had beside these

  const float endless = std::numeric_limits<float>::infinity();
  x(7) = endless;
  CHECK(sum_of(x) == static_cast<double>(endless));
  x(2'500'000) = -endless;
  CHECK(std::isnan(sum_of(x)));
  x(7) = 1, x(2'500'000) = std::numeric_limits<float>::quiet_NaN();
  CHECK(std::isnan(sum_of(x)));
  x = nk::full<nk::f32, many>(3e38f);
  CHECK(sum_of(x) == static_cast<double>(endless));
}

TEST_CASE("a layer norm and its gradients, rows of two axes") {
  check_compiled<layer_norm<nk::dtype::f32, 5>>();
  check_compiled<layer_norm<nk::dtype::f64, 500>>();
}

TEST_CASE("sums of 16- and 8-bit floats are rounded once; any and all ask for what is not 0") {
  const values ones{std::vector<double>(600 * 600, 1)}, halves{std::vector<double>(600 * 600, 0.5)};
  check_compiled<long_sums<nk::dtype::bf16>>(ones);
  check_compiled<long_sums<nk::dtype::f16>>(ones);
  check_compiled<long_sums<nk::dtype::f8e5m2>>(ones);
  check_compiled<long_sums<nk::dtype::f32>>(halves);
}

TEST_CASE("reductions down columns") {
  check_compiled<columns<nk::dtype::f32, 40, 33>>();
  check_compiled<columns<nk::dtype::f32, 0, 3>>();
  check_compiled<columns<nk::dtype::f32, 900, 96>>();  // several blocks
  check_compiled<columns<nk::dtype::i64, 40, 33>>();
}

TEST_CASE("strided, reversed and transposed memory") { check_compiled<views>(); }

TEST_CASE("masks from coordinates") { check_compiled<causal>(); }

namespace {
// Constant expressions, which overflow is not.
template <op Kind, nk::dtype T, class... X>
constexpr auto of(X... x) {
  return nk::planning::evaluate<Kind, T>(static_cast<nk::planning::register_type<T>>(x)...);
}
using i32_limits = std::numeric_limits<nk::i32>;
using i64_limits = std::numeric_limits<nk::i64>;
static_assert(of<op::add, nk::dtype::i32>(i32_limits::max(), 1) == i32_limits::min());
static_assert(of<op::sub, nk::dtype::i64>(i64_limits::min(), 1) == i64_limits::max());
static_assert(of<op::mul, nk::dtype::i32>(1 << 20, 1 << 12) == 0);
static_assert(of<op::mul, nk::dtype::u16>(65535, 65535) == 1);
static_assert(of<op::mul, nk::dtype::i8>(-128, -128) == 0 && of<op::mul, nk::dtype::i8>(100, 3) == 44);
static_assert(of<op::neg, nk::dtype::i32>(i32_limits::min()) == i32_limits::min());
static_assert(of<op::abs, nk::dtype::i64>(i64_limits::min()) == i64_limits::min());
static_assert(of<op::abs, nk::dtype::i8>(-128) == -128 && of<op::abs, nk::dtype::u32>(7) == 7);
static_assert(std::bit_cast<std::uint64_t>(of<op::abs, nk::dtype::f64>(-0.0)) == 0);
static_assert(std::bit_cast<std::uint32_t>(of<op::abs, nk::dtype::f16>(-0.0)) == 0);
static_assert(of<op::div, nk::dtype::i32>(i32_limits::min(), -1) == i32_limits::min());
static_assert(of<op::sum, nk::dtype::i64>(i64_limits::max(), 2) == i64_limits::min() + 1);
static_assert(of<op::product, nk::dtype::i64>(i64_limits::max(), 2) == -2);
}  // namespace

TEST_CASE("integers, division by zero included") {
  values inputs(2, std::vector<double>(140));
  for (std::size_t i = 0; i < 140; ++i) {
    inputs[0][i] = static_cast<double>(i) - 20;
    inputs[1][i] = static_cast<double>(i % 5) - 2;
  }
  check_compiled<integers<nk::dtype::i32>>(inputs, false);
  check_compiled<integers<nk::dtype::i8>>(inputs, false);
  for (double& x : inputs[1]) x += 3;
  for (double& x : inputs[0]) x += 40;
  check_compiled<integers<nk::dtype::i64>>(inputs);
  check_compiled<integers<nk::dtype::u8>>(inputs);
  check_compiled<integers<nk::dtype::i32>>(inputs);
}

namespace {
template <nk::dtype T>
struct magnitudes {
  static constexpr nk::graph make() {
    nk::builder b;
    b.output(b.unary(op::abs, b.input(0, T, {3, 21})));
    return b.result;
  }
};
}  // namespace

TEST_CASE("magnitudes of zeros are of one sign, in lanes too") {
  values inputs(1, std::vector<double>(63));
  for (std::size_t i = 0; i < 63; ++i) inputs[0][i] = i % 3 == 0 ? -0.0 : i % 3 == 1 ? -1.5 : 0;
  check_compiled<magnitudes<nk::dtype::f64>>(inputs);
  check_compiled<magnitudes<nk::dtype::f32>>(inputs);
  check_compiled<magnitudes<nk::dtype::f16>>(inputs);
  const nk::tensor<nk::f32, row, column> zeros = nk::full<nk::f32, row, column>(-0.0f);
  const nk::tensor magnitude = nk::abs(zeros);
  for (const float x : magnitude) REQUIRE(!std::signbit(x));
}

TEST_CASE("values without axes") { check_compiled<scalars>(); }

TEST_CASE("lazy expressions") {
  const nk::tensor<nk::f32, row, column> x(
      [](auto i, auto j) { return static_cast<float>(i * 33 + j) / 99; });
  const nk::tensor<nk::f32, column> y([](auto j) { return static_cast<float>(j) / 7; });
  check_expression(nk::relu(x * y - 2.0f),
                   [&](auto i, auto j) { return std::max(x(i, j) * y(j) - 2.0f, 0.0f); });
  check_expression(nk::exp(x - nk::max<"column">(x)),
                   [&](auto i, auto j) { return std::exp(x(i, j) - x(i, 32)); });
}
