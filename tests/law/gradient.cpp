// The gradient of every operation, from its row alone, against central differences in f64. One test for the
// whole table: a new primitive is checked by existing.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "napkin/passes/differentiate.hpp"
#include "napkin/passes/interpret.hpp"
#include "napkin/passes/print.hpp"
#include "napkin/passes/verify.hpp"
#include "support/compare.hpp"
#include "support/random_graph.hpp"

namespace nk = napkin;
using inputs = std::vector<std::vector<double>>;
using matrix = std::vector<std::vector<double>>;  // [output element][input element]

namespace {

// Central differences: f''' eps^2 / 6 is some 1e-12 of truncation and 2^-53 |f| / eps some 1e-9 of rounding,
// f being at most 100 or so: the absolute tolerance is well above both and well below a wrong derivative.
constexpr double eps = 1e-6, rtol = 1e-5, atol = 1e-7;
// No element comes this near another, nor an integer: no tie and no kink lies within eps.
constexpr double separation = 1e-3;

/// What the test reads of a row, as values: the rest is compiled once and not for each operation.
struct row_under_test {
  nk::op kind;
  double low, high;
  int (*example)(nk::builder&, int variant);
};

std::vector<row_under_test> rows_under_test() {
  std::vector<row_under_test> rows;
  for (std::size_t o = 0; o < nk::op_count; ++o)
    nk::with_primitive(static_cast<nk::op>(o), [&]<nk::op O>(nk::primitive<O> row) {
      if constexpr (nk::category_of(O) != nk::category::leaf)
        rows.push_back({O, row.low, row.high, &nk::primitive<O>::example});
    });
  return rows;
}

struct subject {
  nk::graph plain;     // the example, cast to f64
  nk::graph gradient;  // outputs: sum(example * weights), then the adjoint of each input
  std::size_t outputs = 0, weights_slot = 0;
  std::vector<std::size_t> slots, sizes;  // of the inputs, also of those that this variant does not use
};

subject subject_of(const row_under_test& row, int variant) {
  nk::builder b;
  const int y = b.cast(row.example(b, variant), nk::dtype::f64);
  const nk::shape of_y = b.shape_of(y);
  subject s;
  s.outputs = nk::numel(of_y);
  std::vector<std::int32_t> wanted, axes;
  for (int id = 0; id < b.size(); ++id) {
    if (b[id].kind != nk::op::input) continue;
    wanted.push_back(id);
    s.slots.push_back(static_cast<std::size_t>(b.attribute(id, 0)));
    s.sizes.push_back(nk::numel(b.shape_of(id)));
    s.weights_slot = std::max(s.weights_slot, s.slots.back() + 1);
  }
  s.plain = b.result;
  s.plain.outputs.push_back(y);
  for (std::size_t i = 0; i < of_y.size(); ++i) axes.push_back(static_cast<std::int32_t>(i));
  const int weights = b.input(static_cast<int>(s.weights_slot), nk::dtype::f64, of_y);
  b.output(b.reduce(nk::op::sum, b.mul(y, weights), axes));
  s.gradient = nk::passes::differentiate(b.view(), wanted);
  return s;
}

/// Every element of the inputs, apart from each other and from integers.
inputs draw(const subject& s, nk::testing::random_source& random, double low, double high) {
  inputs in(s.weights_slot + 1);
  std::vector<double> all;
  const auto too_near = [&](double x) {
    if (std::abs(x - std::round(x)) < separation) return true;
    for (double other : all)
      if (std::abs(x - other) < separation) return true;
    return false;
  };
  for (std::size_t k = 0; k < s.slots.size(); ++k)
    while (in[s.slots[k]].size() < s.sizes[k])
      if (const double x = random.uniform(low, high); !too_near(x)) {
        in[s.slots[k]].push_back(x);
        all.push_back(x);
      }
  return in;
}

matrix by_differentiate(const subject& s, inputs in) {
  matrix jacobian;
  for (std::size_t i = 0; i < s.outputs; ++i) {
    in[s.weights_slot].assign(s.outputs, 0);
    in[s.weights_slot][i] = 1;
    const auto out = nk::interpret(s.gradient.view(), in);
    jacobian.emplace_back();
    for (std::size_t k = 1; k < out.size(); ++k)
      jacobian.back().insert(jacobian.back().end(), out[k].begin(), out[k].end());
  }
  return jacobian;
}

matrix by_differences(const subject& s, inputs in) {
  matrix jacobian(s.outputs);
  for (std::size_t k = 0; k < s.slots.size(); ++k)
    for (double& x : in[s.slots[k]]) {
      const double centre = x, above = centre + eps, below = centre - eps;
      x = above;
      const auto high = nk::interpret(s.plain.view(), in)[0];
      x = below;
      const auto low = nk::interpret(s.plain.view(), in)[0];
      x = centre;
      for (std::size_t i = 0; i < s.outputs; ++i) jacobian[i].push_back((high[i] - low[i]) / (above - below));
    }
  return jacobian;
}

bool is_zero(const matrix& m) {
  for (const auto& row : m)
    for (double x : row)
      if (!(x == 0)) return false;
  return true;
}

/// Every output or every input takes part; a Jacobian that is mostly zeros shows little.
bool is_evidence(const matrix& m) {
  bool rows = true, columns = true;
  for (const auto& row : m) {
    bool live = false;
    for (double x : row) live = live || std::abs(x) > 1e-3;
    rows = rows && live;
  }
  for (std::size_t j = 0; j < m[0].size(); ++j) {
    bool live = false;
    for (const auto& row : m) live = live || std::abs(row[j]) > 1e-3;
    columns = columns && live;
  }
  return rows || columns;
}

/// The largest |analytic - numeric| / (atol + rtol |numeric|): above 1 is an error.
double largest_error(const matrix& analytic, const matrix& numeric) {
  double largest = 0;
  for (std::size_t i = 0; i < numeric.size(); ++i)
    for (std::size_t j = 0; j < numeric[i].size(); ++j) {
      const double error = std::abs(analytic[i][j] - numeric[i][j]) / (atol + rtol * std::abs(numeric[i][j]));
      largest = nk::testing::worst_of(largest, error);
    }
  return largest;
}

/// What is constant between steps: zero is the truth, not a lack of evidence.
constexpr bool is_flat(nk::op o) { return o == nk::op::sign || o == nk::op::floor; }

}  // namespace

TEST_CASE("every primitive's gradient is its finite difference") {
  const std::vector<row_under_test> rows = rows_under_test();
  std::string report;
  for (const row_under_test& row : rows) {
    const nk::primitive_facts& facts = nk::facts_of(row.kind);
    INFO(facts.name);
    nk::testing::random_source random(1000 + static_cast<std::uint64_t>(row.kind));
    double largest = 0;
    int evidence = 0;
    REQUIRE(facts.examples > 0);
    for (int variant = 0; variant < facts.examples; ++variant) {
      const subject s = subject_of(row, variant);
      INFO("variant " << variant << "\n" << nk::to_string(s.gradient.view()));
      REQUIRE(nk::passes::verify(s.plain.view()).sentence == "");
      REQUIRE(nk::passes::verify(s.gradient.view()).sentence == "");
      bool occurs = false;
      for (const nk::node& n : s.plain.nodes) occurs = occurs || n.kind == row.kind;
      REQUIRE(occurs);
      for (int sample = 0; sample < 4; ++sample) {
        const inputs in = draw(s, random, row.low, row.high);
        const matrix analytic = by_differentiate(s, in), numeric = by_differences(s, in);
        REQUIRE(analytic.size() == numeric.size());
        REQUIRE(analytic[0].size() == numeric[0].size());
        if (!facts.differentiable) {
          CHECK(is_zero(analytic));
          continue;
        }
        largest = nk::testing::worst_of(largest, largest_error(analytic, numeric));
        evidence += is_evidence(numeric);
      }
    }
    report += std::string(facts.name) + ": largest error " + std::to_string(largest) + " of the tolerance, " +
              std::to_string(evidence) + " samples of evidence\n";
    CHECK(largest <= 1.0);
    CHECK((evidence > 0) == (facts.differentiable && !is_flat(row.kind)));
  }
  INFO(report);
  CHECK(rows.size() == nk::op_count - 3);  // input, constant and iota have no operand
  CHECK(rows.size() >= 40);
}

TEST_CASE("x * x + 3 x at 2 has derivative 7") {
  nk::builder b;
  const int x = b.input(0, nk::dtype::f32, {});
  b.output(b.add(b.mul(x, x), b.scale(x, 3)));
  const std::int32_t wanted[] = {x};
  const nk::graph g = nk::passes::differentiate(b.view(), wanted);
  CHECK(nk::interpret(g.view(), inputs{{2}}, nk::rounding::as_typed) == inputs{{10}, {7}});
}

TEST_CASE("the second derivative of tanh is -2 tanh (1 - tanh^2)") {
  nk::builder b;
  const int x = b.input(0, nk::dtype::f64, {});
  b.output(b.unary(nk::op::tanh, x));
  const std::int32_t wanted[] = {x};
  nk::graph once = nk::passes::differentiate(b.view(), wanted);
  const std::int32_t slope = once.outputs[1];
  once.outputs.clear();
  once.outputs.push_back(slope);
  const nk::graph twice = nk::passes::differentiate(once.view(), wanted);
  REQUIRE(nk::passes::verify(twice.view()).sentence == "");
  for (double at : {-1.5, -0.3, 0.0, 0.7, 2.0}) {
    const double t = std::tanh(at);
    const auto out = nk::interpret(twice.view(), inputs{{at}});
    CHECK(std::abs(out[0][0] - (1 - t * t)) <= 1e-15);
    CHECK(std::abs(out[1][0] - -2 * t * (1 - t * t)) <= 1e-15);
  }
}

TEST_CASE("what the output does not depend on has a gradient of zeros") {
  nk::builder b;
  const int x = b.input(0, nk::dtype::f64, {2}), y = b.input(1, nk::dtype::f64, {2});
  const std::int32_t axis = 0;
  b.output(b.reduce(nk::op::sum, b.mul(b.unary(nk::op::stop_gradient, x), y), {&axis, 1}));
  const std::int32_t wanted[] = {x, y};
  const auto out = nk::interpret(nk::passes::differentiate(b.view(), wanted).view(), inputs{{2, 3}, {5, 7}});
  CHECK(out == inputs{{31}, {0, 0}, {2, 3}});
}

TEST_CASE("ties are as many as there are, in 16 and 8 bits too") {
  for (const auto& [type, length] : {std::pair{nk::dtype::bf16, 300u}, {nk::dtype::f8e4m3, 500u}}) {
    nk::builder b;
    const std::int32_t axis = 0, wanted = b.input(0, type, {length});
    b.output(b.reduce(nk::op::max, wanted, {&axis, 1}));
    const auto out = nk::interpret(nk::passes::differentiate(b.view(), {&wanted, 1}).view(),
                                   inputs{std::vector<double>(length, 1.0)}, nk::rounding::as_typed);
    for (const double share : out[1]) CHECK(std::abs(share * length - 1) <= 0.03);
  }
}

TEST_CASE("ties share: maximum halves, max divides by their number") {
  nk::builder b;
  const int x = b.input(0, nk::dtype::f64, {4}), y = b.input(1, nk::dtype::f64, {4});
  const std::int32_t axis = 0, wanted[] = {x, y};
  const int larger = b.reduce(nk::op::sum, b.binary(nk::op::maximum, x, y), {&axis, 1});
  b.output(b.add(larger, b.reduce(nk::op::max, x, {&axis, 1})));
  const auto out =
      nk::interpret(nk::passes::differentiate(b.view(), wanted).view(), inputs{{1, 3, 3, 2}, {1, 4, 2, 2}});
  CHECK(out == inputs{{1 + 4 + 3 + 2 + 3}, {0.5, 0.5, 1.5, 0.5}, {0.5, 1, 0, 0.5}});
}
