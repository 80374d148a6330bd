// The pass that has a graph computed in a narrower dtype: which node is of which, the same function where
// nothing is rounded, small errors where it is.
#include "napkin/passes/precision.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "napkin/nn/transformer.hpp"
#include "napkin/ops/reflect.hpp"
#include "napkin/passes/differentiate.hpp"
#include "napkin/passes/interpret.hpp"
#include "napkin/passes/print.hpp"
#include "napkin/passes/simplify.hpp"
#include "napkin/passes/verify.hpp"
#include "support/compare.hpp"
#include "support/gpt_configs.hpp"
#include "support/random_graph.hpp"

namespace nk = napkin;

namespace {

constexpr nk::dtype bf16 = nk::dtype::bf16, f32 = nk::dtype::f32;
const std::int32_t product_labels[] = {0, 1, 1, 2}, product_result[] = {0, 2}, last[] = {1},
                   first_only[] = {0}, per_row[] = {0, -1};

/// The one node of this kind.
int find(const nk::graph& g, nk::op kind) {
  int found = -1;
  for (int id = 0; id < static_cast<int>(g.nodes.size()); ++id) {
    if (g.nodes[static_cast<std::size_t>(id)].kind != kind) continue;
    CHECK(found < 0);
    found = id;
  }
  REQUIRE(found >= 0);
  return found;
}
nk::dtype type_of(const nk::graph& g, nk::op kind) { return g.view()[find(g, kind)].type; }
int count(const nk::graph& g, nk::op kind) {
  int n = 0;
  for (const nk::node& x : g.nodes) n += x.kind == kind;
  return n;
}

/// x w, of inputs 0 [3, 4] and 1 [4, 5].
int product(nk::builder& b) {
  const std::int32_t xs[] = {b.input(0, f32, {3, 4}), b.input(1, f32, {4, 5})};
  return b.einsum(xs, product_labels, product_result);
}
/// The graph of a builder, with one output, narrowed and found legal.
nk::graph narrowed(nk::builder& b, int output, nk::dtype narrow = bf16) {
  b.output(output);
  nk::graph g = nk::passes::compute_narrow(b.view(), narrow);
  const nk::passes::flaw flaw = nk::passes::verify(g.view());
  INFO(nk::to_string(g.view()));
  CHECK(std::string(flaw.sentence) == "");
  CHECK(g.view()[g.outputs[0]].type == b.type_of(output));
  return g;
}
nk::builder simplifying() {
  nk::builder b;
  b.simplify = true;
  return b;
}

/// The same graph with one scalar output, the sum of everything in f32 that it gave.
nk::graph summed(const nk::graph& g) {
  nk::builder b = nk::passes::copy_of(g.view());
  int total = -1;
  for (std::int32_t out : g.outputs) {
    if (b.type_of(out) != f32) continue;
    nk::inplace_vector<std::int32_t, nk::max_rank> axes;
    for (std::size_t i = 0; i < b.shape_of(out).size(); ++i) axes.push_back(static_cast<std::int32_t>(i));
    const int sum = b.reduce(nk::op::sum, out, {axes.data(), axes.size()});
    total = total < 0 ? sum : b.add(total, sum);
  }
  b.output(total < 0 ? b.constant(0, f32, {}) : total);
  return b.result;
}

/// Where both are NaN they are the same function's.
double largest_difference(const std::vector<std::vector<double>>& a,
                          const std::vector<std::vector<double>>& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    REQUIRE(a[k].size() == b[k].size());
    for (std::size_t i = 0; i < a[k].size(); ++i) {
      if (std::isnan(a[k][i]) && std::isnan(b[k][i])) continue;
      worst = nk::testing::worst_of(worst, nk::testing::difference_of(a[k][i], b[k][i]));
    }
  }
  return worst;
}

using config = nk::testing::two_layers;

}  // namespace

TEST_CASE("compute_narrow: a contraction is narrow, and so is what follows it") {
  nk::builder b = simplifying();
  const int y = b.unary(nk::op::tanh, b.scale(product(b), 0.5));  // 0.5 is a number of bf16
  const nk::graph g = narrowed(b, y);
  CHECK(type_of(g, nk::op::einsum) == bf16);
  CHECK(type_of(g, nk::op::mul) == bf16);
  CHECK(type_of(g, nk::op::tanh) == bf16);
  CHECK(count(g, nk::op::cast) == 3);  // two operands and the output
}

TEST_CASE("compute_narrow: a number that the dtype has not is f32, and the result is rounded once") {
  nk::builder b = simplifying();
  const nk::graph g = narrowed(b, b.unary(nk::op::tanh, b.scale(product(b), 0.1)));
  CHECK(type_of(g, nk::op::mul) == f32);
  CHECK(type_of(g, nk::op::tanh) == bf16);
}

TEST_CASE("compute_narrow: statistics are f32, and what they act on is rounded once") {
  nk::builder b = simplifying();
  const int x = product(b);
  const int most = b.reduce(nk::op::max, x, last);
  const int shifted = b.sub(x, b.expand(most, {3, 5}, per_row));
  const int weights = b.unary(nk::op::exp, shifted);
  const int total = b.reduce(nk::op::sum, weights, last);
  const nk::graph g = narrowed(b, b.div(weights, b.expand(b.unary(nk::op::sqrt, total), {3, 5}, per_row)));
  CHECK(type_of(g, nk::op::max) == f32);
  CHECK(type_of(g, nk::op::sub) == f32);
  CHECK(type_of(g, nk::op::exp) == bf16);
  CHECK(type_of(g, nk::op::sum) == f32);
  CHECK(type_of(g, nk::op::sqrt) == f32);
  CHECK(type_of(g, nk::op::div) == f32);
}

TEST_CASE("compute_narrow: nothing is rounded within a composite, and what it gives where it is taken") {
  nk::builder b = simplifying();
  const int x = product(b);
  b.composite = static_cast<std::uint16_t>(nk::composite::gelu);
  const int inner = b.unary(nk::op::tanh, b.mul(x, x));
  b.composite = 0;
  const nk::graph g = narrowed(b, b.unary(nk::op::exp, b.unary(nk::op::neg, inner)));
  CHECK(type_of(g, nk::op::mul) == f32);
  CHECK(type_of(g, nk::op::tanh) == f32);
  CHECK(type_of(g, nk::op::exp) == bf16);
}

TEST_CASE("compute_narrow: a cross entropy is f32") {
  nk::builder b = simplifying();
  const int x = product(b);
  b.composite = static_cast<std::uint16_t>(nk::composite::cross_entropy);
  const nk::graph g = narrowed(b, b.reduce(nk::op::sum, b.unary(nk::op::exp, x), last));
  CHECK(type_of(g, nk::op::exp) == f32);
}

TEST_CASE("keep_narrow: what the backward pass reads of the forward one has been rounded") {
  nk::builder b = simplifying();
  const int x = product(b);
  b.composite = static_cast<std::uint16_t>(nk::composite::gelu);
  const int y = b.unary(nk::op::exp, x);
  b.composite = 0;
  const nk::graph loss =
      narrowed(b, b.reduce(nk::op::sum, b.reduce(nk::op::sum, b.mul(y, y), last), first_only));
  const std::int32_t wanted[] = {0, 1};
  const nk::graph both = nk::passes::differentiate(loss.view(), wanted);
  const nk::graph g = nk::passes::keep_narrow(both.view(), loss.nodes.size(), bf16);
  CHECK(std::string(nk::passes::verify(g.view()).sentence) == "");
  const int exp = find(g, nk::op::exp);
  CHECK(g.view()[exp].type == f32);
  bool passed = false;  // the forward pass's last node
  int rounded = 0;
  for (int id = 0; id < static_cast<int>(g.nodes.size()); ++id) {
    for (std::int32_t operand : g.view().operands(id)) {
      CHECK((operand != exp || !passed || g.view()[id].kind == nk::op::cast));
      rounded += operand == exp && g.view()[id].type == bf16;
    }
    passed = passed || id == g.outputs[0];
  }
  CHECK(passed);
  CHECK(rounded == 1);
}

TEST_CASE("compute_narrow: a product that only a sum reads is not rounded") {
  nk::builder b = simplifying();
  const int x = product(b);
  const nk::graph g = narrowed(b, b.reduce(nk::op::sum, b.mul(x, x), last));
  CHECK(type_of(g, nk::op::mul) == f32);
  CHECK(type_of(g, nk::op::sum) == f32);
}

TEST_CASE("compute_narrow: arithmetic on parameters alone, and an einsum of one operand, are f32") {
  nk::builder b = simplifying();
  const int bias = b.unary(nk::op::exp, b.input(2, f32, {5, 3}));
  const std::int32_t transpose[] = {0, 1}, transposed[] = {1, 0};
  const int turned = b.einsum({&bias, 1}, transpose, transposed);
  const nk::graph g = narrowed(b, b.add(product(b), turned));
  CHECK(type_of(g, nk::op::exp) == f32);
  CHECK(type_of(g, nk::op::add) == f32);  // rounded after, for the output
  int wide = 0;
  for (const nk::node& n : g.nodes) wide += n.kind == nk::op::einsum && n.type == f32;
  CHECK(wide == 1);
}

TEST_CASE("compute_narrow: rows are gathered in f32, and their gradients added in f32") {
  nk::builder b = simplifying();
  const int table = b.input(0, f32, {6, 4}), index = b.input(1, nk::dtype::u16, {3});
  const std::int32_t xs[] = {b.gather(table, index, 0), b.input(2, f32, {4, 5})};
  const int y = b.einsum(xs, product_labels, product_result);
  const nk::graph g = narrowed(b, b.reduce(nk::op::sum, b.reduce(nk::op::sum, y, last), first_only));
  CHECK(type_of(g, nk::op::gather) == f32);
  const std::int32_t wanted[] = {0};
  const nk::graph with = nk::passes::differentiate(g.view(), wanted);
  CHECK(with.view()[with.outputs[1]].type == f32);
  CHECK(type_of(with, nk::op::scatter_add) == f32);
}

TEST_CASE("compute_narrow: integers, truths, other floats and the user's casts stay") {
  nk::builder b = simplifying();
  const int x = product(b);
  const int positive = b.binary(nk::op::less, b.zeros_like(x), x);
  const int kept = b.cast(b.cast(x, nk::dtype::i32), f32);
  const nk::graph g = narrowed(b, b.select(positive, kept, b.zeros_like(kept)));
  CHECK(type_of(g, nk::op::less) == nk::dtype::b8);
  CHECK(type_of(g, nk::op::select) == f32);
}

TEST_CASE("compute_narrow: a chain of contractions has no casts between") {
  nk::builder b = simplifying();
  const std::int32_t xs[] = {product(b), b.input(2, f32, {5, 2})};
  const nk::graph g = narrowed(b, b.einsum(xs, product_labels, product_result));
  CHECK(count(g, nk::op::cast) == 4);  // three inputs, and the output
}

TEST_CASE("simplify: a cast that widens, undone, is gone; one that rounds stays") {
  nk::builder b;
  const int x = b.input(0, bf16, {3}), y = b.input(1, f32, {3});
  b.output(b.cast(b.cast(x, f32), bf16));
  b.output(b.cast(b.cast(x, f32), nk::dtype::f64));
  b.output(b.cast(b.cast(y, bf16), f32));
  const nk::graph g = nk::passes::simplify(b.view());
  CHECK(g.view()[g.outputs[0]].kind == nk::op::input);
  CHECK(g.view()[g.view().operand(g.outputs[1], 0)].kind == nk::op::input);
  const int rounded = g.view().operand(g.outputs[2], 0);
  CHECK(g.view()[rounded].kind == nk::op::cast);
  CHECK(g.view()[rounded].type == bf16);
}

TEST_CASE("compute_narrow: the same function, and the same gradients, where nothing is rounded") {
  int narrow_nodes = 0;
  for (const nk::dtype narrow : {bf16, nk::dtype::f16})
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
      const nk::graph traced = nk::passes::simplify(
          summed(nk::testing::random_graph(seed, {.type = f32, .operations = 50})).view());
      const nk::graph g = nk::passes::compute_narrow(traced.view(), narrow);
      INFO("seed " << seed << "\n" << nk::to_string(traced.view()) << "\n" << nk::to_string(g.view()));
      REQUIRE(std::string(nk::passes::verify(g.view()).sentence) == "");
      const auto gradient_of = [narrow](const nk::graph& f, bool narrows) {
        std::vector<std::int32_t> wanted;
        for (int id = 0; id < static_cast<int>(f.nodes.size()); ++id)
          if (f.view()[id].kind == nk::op::input) wanted.push_back(id);
        nk::graph both = nk::passes::differentiate(f.view(), {wanted.data(), wanted.size()});
        return narrows ? nk::passes::keep_narrow(both.view(), f.nodes.size(), narrow) : both;
      };
      const nk::graph a = gradient_of(traced, false), b = gradient_of(g, true);
      REQUIRE(std::string(nk::passes::verify(b.view()).sentence) == "");
      for (std::int32_t out : b.outputs) CHECK(b.view()[out].type == f32);
      const auto inputs = nk::testing::random_inputs(traced.view(), seed);
      // in f64 throughout; where the order of sums differs so do last bits
      const auto values = nk::interpret(a.view(), inputs), narrow_values = nk::interpret(b.view(), inputs);
      double scale = 1;
      for (const auto& of : values)
        for (const double v : of)
          if (std::isfinite(v) && std::abs(v) > scale) scale = std::abs(v);
      REQUIRE(largest_difference(values, narrow_values) <= 1e-9 * scale);
      for (const nk::node& n : g.nodes) narrow_nodes += n.type == narrow;
    }
  CHECK(narrow_nodes > 1000);
}

// The maximum is one of the elements, and its gradient goes to that one: rounded alone it would be none of them, and
// 0 / 0 their gradient.
TEST_CASE("an extremum over an axis of what is rounded is one of its elements in the backward pass too") {
  enum class made { by_number, by_composite, by_cast, by_product };
  for (const nk::op extremum : {nk::op::max, nk::op::min})
    for (const made how : {made::by_number, made::by_composite, made::by_cast, made::by_product})
      for (const nk::dtype narrow : {bf16, nk::dtype::f16}) {
        nk::builder b = simplifying();
        int x = product(b);
        if (how == made::by_number) x = b.unary(nk::op::tanh, b.scale(x, 1.7));
        if (how == made::by_cast) x = b.scale(b.cast(b.cast(x, narrow), f32), 1.7);
        if (how == made::by_composite) {
          b.composite = static_cast<std::uint16_t>(nk::composite::gelu);
          x = b.mul(x, b.unary(nk::op::tanh, x));
          b.composite = 0;
        }
        b.output(b.reduce(nk::op::sum, b.reduce(extremum, x, last), first_only));
        const std::int32_t wanted[] = {0, 1};
        const nk::graph loss = nk::passes::compute_narrow(b.view(), narrow);
        const nk::graph both = nk::passes::differentiate(loss.view(), wanted);
        const nk::graph g = nk::passes::keep_narrow(both.view(), loss.nodes.size(), narrow);
        const auto inputs = nk::testing::random_inputs(b.view(), 5);
        const auto exact = nk::interpret(nk::passes::differentiate(b.view(), wanted).view(), inputs);
        const auto found = nk::interpret(g.view(), inputs, nk::rounding::as_typed);
        INFO(nk::to_string(g.view()));
        for (std::size_t k = 0; k < exact.size(); ++k)
          for (std::size_t i = 0; i < exact[k].size(); ++i)
            CHECK(std::abs(found[k][i] - exact[k][i]) <= 0.05 * (1 + std::abs(exact[k][i])));
      }
}

TEST_CASE("compute_narrow: every gradient of a transformer is near f32's") {
  using model = nk::nn::gpt<config>;
  const nk::graph loss = nk::passes::simplify(nk::frozen<nk::model_graph<model>>::view());
  constexpr std::size_t parameters = nk::parameter_table<model>.size();
  std::vector<std::vector<double>> inputs;
  for (const nk::parameter_info& p : nk::parameter_table<model>) {
    std::vector<float> values(p.count);
    nk::initialise(p, 3, values.data());
    inputs.emplace_back(values.begin(), values.end());
  }
  for (int k = 0; k < 2; ++k) {
    std::vector<double> tokens;
    for (int i = 0; i < 16; ++i) tokens.push_back((7 * i + 3 * k) % 16);
    inputs.push_back(tokens);
  }
  std::vector<std::int32_t> wanted;
  for (std::size_t i = 0; i < parameters; ++i) wanted.push_back(static_cast<std::int32_t>(i));
  const auto gradients_of = [&](const nk::graph_view& g, nk::dtype narrow) {
    nk::graph both = nk::passes::differentiate(g, {wanted.data(), wanted.size()});
    if (narrow != f32) both = nk::passes::keep_narrow(both.view(), g.size(), narrow);
    return nk::interpret(both.view(), inputs, nk::rounding::as_typed);
  };
  const auto exact = gradients_of(loss.view(), f32);
  double all = 0;
  for (std::size_t i = 1; i < exact.size(); ++i)
    for (const double v : exact[i]) all += v * v;
  for (const nk::dtype narrow : {bf16, nk::dtype::f16}) {
    const auto found = gradients_of(nk::passes::compute_narrow(loss.view(), narrow).view(), narrow);
    const double bar = narrow == bf16 ? 0.03 : 0.004;  // four roundings of 8 and of 11 bits
    CHECK(std::abs(found[0][0] - exact[0][0]) <= 0.1 * bar * exact[0][0]);
    for (std::size_t i = 0; i < parameters; ++i) {
      double norm = 0, error = 0;
      for (std::size_t j = 0; j < exact[1 + i].size(); ++j) {
        norm += exact[1 + i][j] * exact[1 + i][j];
        error += (found[1 + i][j] - exact[1 + i][j]) * (found[1 + i][j] - exact[1 + i][j]);
      }
      INFO(nk::parameter_table<model>[i].name << ": " << std::sqrt(error) << " of " << std::sqrt(norm));
      // a bias of keys has no gradient: only errors
      CHECK(std::sqrt(error) <= bar * (std::sqrt(norm) + 0.01 * std::sqrt(all)));
      CHECK(error > 0);
    }
  }
}
