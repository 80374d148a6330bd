// simplify keeps values, bit for bit, on random graphs over every operation and on their gradients.
#include "napkin/passes/simplify.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>

#include "napkin/passes/differentiate.hpp"
#include "napkin/passes/interpret.hpp"
#include "napkin/passes/print.hpp"
#include "napkin/passes/verify.hpp"
#include "support/random_graph.hpp"

namespace nk = napkin;

namespace {

/// Equal as numbers, or both NaN: what a fold may change is the sign of a zero and nothing else.
std::string first_difference(const std::vector<std::vector<double>>& a,
                             const std::vector<std::vector<double>>& b) {
  if (a.size() != b.size()) return "another number of outputs";
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a[k].size() != b[k].size()) return "output " + std::to_string(k) + " has another size";
    for (std::size_t i = 0; i < a[k].size(); ++i) {
      const bool both_nan = a[k][i] != a[k][i] && b[k][i] != b[k][i];
      if (!(a[k][i] == b[k][i]) && !both_nan)
        return "output " + std::to_string(k) + " element " + std::to_string(i);
    }
  }
  return {};
}

/// Of the given graph and its simplification. Empty where all is well.
std::string broken_by_simplify(const nk::graph& g, std::uint64_t seed) {
  if (const auto flaw = nk::passes::verify(g.view()); !flaw.none())
    return "before: node " + std::to_string(flaw.node) + ": " + std::string(flaw.sentence);
  const nk::graph simple = nk::passes::simplify(g.view());
  if (const auto flaw = nk::passes::verify(simple.view()); !flaw.none())
    return "after: node " + std::to_string(flaw.node) + ": " + std::string(flaw.sentence);
  if (simple.nodes.size() > g.nodes.size()) return "simplify added nodes";
  const auto inputs = nk::testing::random_inputs(g.view(), seed);
  return first_difference(nk::interpret(g.view(), inputs, nk::rounding::as_typed),
                          nk::interpret(simple.view(), inputs, nk::rounding::as_typed));
}

/// The same graph with one scalar output, the sum of everything floating that it gave.
nk::graph summed(const nk::graph& g) {
  nk::builder b = nk::passes::copy_of(g.view());
  int total = -1;
  for (std::int32_t out : g.outputs) {
    if (!nk::is_floating(b.type_of(out))) continue;
    nk::inplace_vector<std::int32_t, nk::max_rank> axes;
    for (std::size_t i = 0; i < b.shape_of(out).size(); ++i) axes.push_back(static_cast<std::int32_t>(i));
    const int sum = b.reduce(nk::op::sum, out, {axes.data(), axes.size()});
    total = total < 0 ? sum : b.add(total, sum);
  }
  b.output(total < 0 ? b.constant(0, nk::dtype::f64, {}) : total);
  return b.result;
}

}  // namespace

TEST_CASE("simplify keeps the values of coordinates of every dtype as every other") {
  for (const nk::detail::dtype_row& from : nk::detail::dtype_table)
    for (const nk::detail::dtype_row& to : nk::detail::dtype_table) {
      const bool counts =
          from.kind == nk::detail::dtype_kind::floating || from.kind == nk::detail::dtype_kind::integer;
      if (!counts || to.kind == nk::detail::dtype_kind::complex) continue;
      INFO(from.name << " as " << to.name);
      nk::builder b;
      b.output(b.cast(b.iota(0, from.type, {70000}), to.type));
      REQUIRE(broken_by_simplify(b.result, 1) == "");
    }
}

TEST_CASE("simplify keeps the values of random graphs") {
  std::array<int, nk::op_count> seen{};
  int removed = 0, not_finite = 0, values = 0;
  for (const nk::dtype type : {nk::dtype::f64, nk::dtype::f32, nk::dtype::bf16})
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
      const nk::graph g = nk::testing::random_graph(seed, {.type = type, .operations = 60});
      INFO("seed " << seed << ", " << nk::name_of(type) << "\n" << nk::to_string(g.view()));
      REQUIRE(broken_by_simplify(g, seed) == "");
      for (const nk::node& n : g.nodes) ++seen[static_cast<std::size_t>(n.kind)];
      removed += static_cast<int>(g.nodes.size() - nk::passes::simplify(g.view()).nodes.size());
      for (const auto& out : nk::interpret(g.view(), nk::testing::random_inputs(g.view(), seed)))
        for (double x : out) ++values, not_finite += !(x - x == 0);
    }
  // The evidence is worth something: every operation occurs, much is simplified, values are numbers.
  for (std::size_t o = 0; o < nk::op_count; ++o) {
    INFO(nk::facts_of(static_cast<nk::op>(o)).name);
    CHECK(seen[o] >= 50);
  }
  CHECK(removed > 450 * 5);
  CHECK(not_finite * 100 < values);
}

TEST_CASE("simplify keeps the values of gradients of random graphs") {
  int live = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const nk::graph g = summed(nk::testing::random_graph(seed));
    const std::int32_t inputs[] = {0, 1, 2};
    const nk::graph both = nk::passes::differentiate(g.view(), inputs);
    INFO("seed " << seed << "\n" << nk::to_string(both.view()));
    REQUIRE(broken_by_simplify(both, seed) == "");
    const auto out = nk::interpret(both.view(), nk::testing::random_inputs(g.view(), seed));
    for (std::size_t k = 1; k < out.size(); ++k) live += out[k][0] != 0;
  }
  CHECK(live > 150);  // of 300
}

TEST_CASE("simplify leaves one of two equal nodes and none that is dead") {
  nk::builder b;
  const int x = b.input(0, nk::dtype::f32, {2});
  const int twice = b.add(b.unary(nk::op::exp, x), b.unary(nk::op::exp, x));
  b.unary(nk::op::sin, x);
  b.output(b.mul(twice, b.ones_like(x)));
  CHECK(nk::to_string(nk::passes::simplify(b.view()).view()) ==
        "%0 f32[2] = input slot=0\n"
        "%1 f32[2] = exp(%0)\n"
        "%2 f32[2] = add(%1, %1)\n"
        "return %2\n");
}

TEST_CASE("what two constants come to is what a kernel would compute") {
  int folded = 0;
  const double values[] = {0, 1, -7, 3, 0.1, 1.0 / 3, 16777217, 1e-17, 2.5e17, 1e30, 1e-40, 1e200};
  for (const nk::dtype type : {nk::dtype::f64, nk::dtype::f32, nk::dtype::bf16, nk::dtype::i32})
    for (const nk::op o : {nk::op::add, nk::op::sub, nk::op::mul, nk::op::div})
      for (const double x : values)
        for (const double y : values) {
          if (type == nk::dtype::i32 &&
              (x != std::trunc(x) || y != std::trunc(y) || x > 1e9 || y > 1e9 || y == 0))
            continue;
          nk::builder b;
          b.output(b.binary(o, b.constant(x, type, {}), b.constant(y, type, {})));
          INFO(nk::to_string(b.view()));
          REQUIRE(broken_by_simplify(b.result, 1) == "");
          folded += nk::passes::simplify(b.view()).nodes.size() == 1;
        }
  CHECK(folded > 500);
}
