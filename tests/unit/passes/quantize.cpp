// The pass that has products multiply 8-bit floats: which products, what is rounded to which format, and the
// same numbers as the recipe done by hand.
#include "napkin/passes/quantize.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "napkin/nn/transformer.hpp"
#include "napkin/ops/reflect.hpp"
#include "napkin/passes/differentiate.hpp"
#include "napkin/passes/interpret.hpp"
#include "napkin/passes/print.hpp"
#include "napkin/passes/verify.hpp"
#include "support/gpt_configs.hpp"

namespace quantize_test {

namespace nk = napkin;

constexpr nk::dtype bf16 = nk::dtype::bf16, f32 = nk::dtype::f32;
const std::int32_t product_labels[] = {0, 1, 1, 2}, product_result[] = {0, 2}, last[] = {1},
                   first_only[] = {0};
constexpr int rows = 3, inner = 4, columns = 5;

/// The sum of target * (x w), of a parameter w [4, 5], data x [3, 4] and target [3, 5]: the adjoint of the
/// product is the target.
nk::graph linear() {
  nk::builder b;
  b.simplify = true;
  const int w = b.input(0, f32, {inner, columns}), x = b.input(1, f32, {rows, inner}),
            target = b.input(2, f32, {rows, columns});
  const std::int32_t xs[] = {x, w};
  const int y = b.mul(b.einsum(xs, product_labels, product_result), target);
  b.output(b.reduce(nk::op::sum, b.reduce(nk::op::sum, y, last), first_only));
  return nk::passes::mark_quantized(nk::passes::compute_narrow(b.view(), bf16), 1);
}
/// Its gradients of w and x; inputs 3 on are the scales of x, w and the product's adjoint, then their
/// reciprocals.
nk::graph quantized_linear() {
  const nk::graph loss = linear();
  const std::int32_t wanted[] = {0, 1};
  nk::graph g = nk::passes::quantize_products(nk::passes::differentiate(loss.view(), wanted).view(),
                                              loss.nodes.size(), bf16);
  INFO(nk::to_string(g.view()));
  REQUIRE(std::string(nk::passes::verify(g.view()).sentence) == "");
  REQUIRE(g.outputs.size() == 1 + 2 + 3);
  return g;
}
/// Numbers that bf16 has, of magnitudes up to `most`.
std::vector<double> numbers(std::size_t count, double most, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i)
    values.push_back(most * (static_cast<double>(random() % 255) - 127) / 128);
  return values;
}
template <class Format>
double rounded(double value, double scale) {
  const double limit = nk::finfo<Format>::max;
  return static_cast<double>(static_cast<Format>(std::clamp(value * scale, -limit, limit))) / scale;
}
double as_bf16(double value) { return static_cast<double>(static_cast<nk::bf16>(value)); }

int marked(const nk::graph& g) {
  return static_cast<int>(std::count_if(g.nodes.begin(), g.nodes.end(), [](const nk::node& n) {
    return n.composite == static_cast<std::uint16_t>(nk::composite::quantized_product);
  }));
}

using config = nk::testing::two_layers;
using gpt = nk::nn::gpt<config>;
constexpr std::size_t gpt_parameters = nk::parameter_table<gpt>.size();
nk::graph marked_gpt() {
  return nk::passes::mark_quantized(
      nk::passes::compute_narrow(nk::frozen<nk::model_graph<gpt>>::view(), bf16), gpt_parameters);
}
/// Its gradients by all parameters.
nk::graph quantized_gpt() {
  const nk::graph loss = marked_gpt();
  std::vector<std::int32_t> wanted(gpt_parameters);
  std::iota(wanted.begin(), wanted.end(), 0);
  const nk::graph both = nk::passes::differentiate(loss.view(), {wanted.data(), wanted.size()});
  return nk::passes::quantize_products(both.view(), loss.nodes.size(), bf16);
}

}  // namespace quantize_test

TEST_CASE("mark_quantized: a transformer's products with parameters, but for attention's and the logits'") {
  using namespace quantize_test;
  const nk::graph loss = marked_gpt();
  CHECK(marked(loss) == 2 * 6);  // queries, keys, values and what follows attention; up and down
  int products = 0;
  for (const nk::node& n : loss.nodes) products += n.kind == nk::op::einsum && n.arity == 2;
  CHECK(products == 2 * (6 + 2) + 1);
}

TEST_CASE("mark_quantized: neither a product of data nor one of parameters") {
  using namespace quantize_test;
  nk::builder b;
  b.simplify = true;
  const int u = b.input(0, f32, {4, 4}), v = b.input(1, f32, {4, 4}), x = b.input(2, f32, {4, 4});
  const auto product = [&b](int p, int q) {
    const std::int32_t xs[] = {p, q};
    return b.einsum(xs, product_labels, product_result);
  };
  const int parameters = product(u, b.scale(v, 0.5)), data = product(x, b.unary(nk::op::exp, x));
  const int y = b.add(parameters, data);
  b.output(b.reduce(nk::op::sum, b.reduce(nk::op::sum, y, last), first_only));
  CHECK(marked(nk::passes::mark_quantized(b.take(), 2)) == 0);
}

TEST_CASE("quantize_products: values in e4m3, adjoints in e5m2, each scaled, and the result scaled back") {
  using namespace quantize_test;
  const nk::graph g = quantized_linear();
  const std::vector<double> w = numbers(inner * columns, 2, 1), x = numbers(rows * inner, 0.5, 2),
                            target = numbers(rows * columns, 0x1p-12, 3);
  const double scale_x = 512, scale_w = 128, scale_y = 0x1p24;
  // x is the first operand, so its scale is the first
  const std::vector<std::vector<double>> inputs{
      w, x, target, {scale_x}, {scale_w}, {scale_y}, {1 / scale_x}, {1 / scale_w}, {1 / scale_y}};
  const auto found = nk::interpret(g.view(), inputs, nk::rounding::as_typed);

  double loss = 0;
  std::vector<double> of_w(w.size()), of_x(x.size());
  for (int i = 0; i < rows; ++i)
    for (int k = 0; k < columns; ++k) {
      const auto at = static_cast<std::size_t>(i * columns + k);
      double product = 0;
      for (int j = 0; j < inner; ++j) {
        const auto at_x = static_cast<std::size_t>(i * inner + j),
                   at_w = static_cast<std::size_t>(j * columns + k);
        const double xq = rounded<nk::f8e4m3>(x[at_x], scale_x), wq = rounded<nk::f8e4m3>(w[at_w], scale_w),
                     dq = rounded<nk::f8e5m2>(target[at], scale_y);
        product += xq * wq;
        of_w[at_w] += xq * dq;
        of_x[at_x] += dq * wq;
      }
      loss += as_bf16(product) * target[at];
    }
  CHECK(std::abs(found[0][0] - loss) <= 1e-6 * std::abs(loss));
  REQUIRE(found[1].size() == of_w.size());
  REQUIRE(found[2].size() == of_x.size());
  for (std::size_t i = 0; i < of_w.size(); ++i) CHECK(found[1][i] == as_bf16(of_w[i]));
  for (std::size_t i = 0; i < of_x.size(); ++i) CHECK(found[2][i] == as_bf16(of_x[i]));

  const auto largest = [](const std::vector<double>& of) {
    double most = 0;
    for (const double v : of) most = std::max(most, std::abs(v));
    return most;
  };
  CHECK(found[3][0] == static_cast<float>(static_cast<float>(largest(x)) * static_cast<float>(1.0 / 448)));
  CHECK(found[4][0] == static_cast<float>(static_cast<float>(largest(w)) * static_cast<float>(1.0 / 448)));
  CHECK(found[5][0] ==
        static_cast<float>(static_cast<float>(largest(target)) * static_cast<float>(1.0 / 57344)));
}

TEST_CASE("quantize_products: what is too large for its format is the format's largest, with its sign") {
  using namespace quantize_test;
  const nk::graph g = quantized_linear();
  std::vector<double> w(inner * columns, 0.0), x(rows * inner, 0.0), target(rows * columns, 1.0);
  w[0] = 1;
  x[0] = -1000;  // scaled: far above 448
  const std::vector<std::vector<double>> inputs{w, x, target, {1}, {1}, {1}, {1}, {1}, {1}};
  const auto found = nk::interpret(g.view(), inputs, nk::rounding::as_typed);
  CHECK(found[0][0] == -448);
  CHECK(found[3][0] > 2);  // and the next run's scale is told
}

TEST_CASE("quantize_products: with every number already one of its format, nothing is another") {
  using namespace quantize_test;
  const nk::graph g = quantized_linear();
  std::vector<double> w, x, target;
  for (int i = 0; i < inner * columns; ++i) w.push_back((i % 7 - 3) * 0.25);
  for (int i = 0; i < rows * inner; ++i) x.push_back(i % 5 - 2);
  for (int i = 0; i < rows * columns; ++i) target.push_back(i % 3 - 1);
  const std::vector<std::vector<double>> inputs{w, x, target, {4}, {2}, {8}, {0.25}, {0.5}, {0.125}};
  const auto found = nk::interpret(g.view(), inputs, nk::rounding::as_typed);
  const nk::graph loss = linear();
  const std::int32_t wanted[] = {0, 1};
  const auto exact = nk::interpret(nk::passes::differentiate(loss.view(), wanted).view(), inputs);
  for (std::size_t k = 0; k < 3; ++k) CHECK(found[k] == exact[k]);
  CHECK(exact[0][0] != 0);
}

TEST_CASE("quantize_products: of every product's two operands one scale each, shared where they are") {
  using namespace quantize_test;
  constexpr std::size_t parameters = gpt_parameters;
  const nk::graph g = quantized_gpt();
  CHECK(std::string(nk::passes::verify(g.view()).sentence) == "");
  // a layer: 6 weights; what queries, keys and values share, and three more; 6 adjoints
  CHECK(g.outputs.size() == 1 + parameters + 2 * (6 + 4 + 6));
  int e4m3 = 0, e5m2 = 0, inputs = 0;
  for (const nk::node& n : g.nodes) {
    e4m3 += n.kind == nk::op::cast && n.type == nk::dtype::f8e4m3;
    e5m2 += n.kind == nk::op::cast && n.type == nk::dtype::f8e5m2;
    inputs += n.kind == nk::op::input;
  }
  CHECK(e4m3 == 2 * (6 + 4));
  CHECK(e5m2 == 2 * 6);
  CHECK(static_cast<std::size_t>(inputs) == parameters + 2 + 2 * 2 * (6 + 4 + 6));
}

TEST_CASE("quantize_products: what is largest is told by rows of 256 elements or more") {
  using namespace quantize_test;
  nk::builder b;
  b.simplify = true;
  const int w = b.input(0, f32, {300, 2}), x = b.input(1, f32, {2, 3, 300});
  const std::int32_t xs[] = {x, w}, labels[] = {0, 1, 2, 2, 3}, result[] = {0, 1, 3}, all[] = {0, 1, 2};
  b.output(b.reduce(nk::op::sum, b.einsum(xs, labels, result), all));
  const nk::graph loss = nk::passes::mark_quantized(nk::passes::compute_narrow(b.view(), bf16), 1);
  const std::int32_t wanted[] = {0};
  const nk::graph g = nk::passes::quantize_products(nk::passes::differentiate(loss.view(), wanted).view(),
                                                    loss.nodes.size(), bf16);
  REQUIRE(std::string(nk::passes::verify(g.view()).sentence) == "");
  REQUIRE(g.outputs.size() == 1 + 1 + 3);
  CHECK(g.view().shape_of(g.outputs[2]) == nk::shape{2, 3});  // x
  CHECK(g.view().shape_of(g.outputs[3]) == nk::shape{});      // w: rows of 2, then all 600
  CHECK(g.view().shape_of(g.outputs[4]) == nk::shape{});      // the adjoint, of 12
  std::vector<double> of_x(1800, 0.0);
  for (int i = 0; i < 6; ++i) of_x[static_cast<std::size_t>(300 * i + 7 * i)] = -(1 << i);
  const std::vector<std::vector<double>> inputs{
      std::vector<double>(600, 1.0), of_x, {1}, {1}, {1}, {1}, {1}, {1}};
  const auto found = nk::interpret(g.view(), inputs, nk::rounding::as_typed);
  REQUIRE(found[2].size() == 6);
  for (std::size_t i = 0; i < 6; ++i)
    CHECK(found[2][i] == static_cast<float>(static_cast<float>(1 << i) * static_cast<float>(1.0 / 448)));
}

TEST_CASE("quantize_products: of equal layers, values and adjoints alike lie by layers") {
  using namespace quantize_test;
  constexpr std::size_t parameters = gpt_parameters;
  const nk::graph g = quantized_gpt();
  const auto shape_of = [&](std::size_t tensor) {
    return g.view().shape_of(g.outputs[1 + parameters + tensor]);
  };
  const auto origin_of = [&](std::size_t tensor) {
    return g.view()[g.outputs[1 + parameters + tensor]].origin;
  };
  constexpr std::size_t values = 6 + 4, adjoints = 6;
  for (std::size_t i = 0; i < values; ++i) CHECK(shape_of(i) == shape_of(i + values));
  for (std::size_t i = 2 * values; i < 2 * values + adjoints; ++i)
    CHECK(shape_of(i) == shape_of(i + adjoints));
  for (std::size_t i = 0; i < values; ++i) CHECK(origin_of(i) < origin_of(i + values));
  for (std::size_t i = 2 * values; i < 2 * values + adjoints; ++i)
    CHECK(origin_of(i) < origin_of(i + adjoints));
}
