// Attention found in a graph and made one operation: the same values and the same gradients as of what it was
// made of, in every form that models write; and left alone where it is something else.
#include <catch2/catch.hpp>
#include <cmath>

#include "napkin/cost/flops.hpp"
#include "napkin/passes/differentiate.hpp"
#include "napkin/passes/find_attention.hpp"
#include "napkin/passes/interpret.hpp"
#include "napkin/passes/precision.hpp"
#include "napkin/passes/print.hpp"
#include "napkin/passes/verify.hpp"
#include "support/random_graph.hpp"

namespace nk = napkin;
using nk::builder;
using nk::dtype;
using nk::op;
using nk::shape;
using nk::passes::attention_choice;
using nk::passes::attention_fit;

namespace {

struct all_fit {
  constexpr attention_fit operator()(const nk::row::attention_form&, dtype) const {
    return attention_fit::fits;
  }
};

int count(const nk::graph& g, op kind) {
  int n = 0;
  for (const nk::node& x : g.nodes) n += x.kind == kind;
  return n;
}

/// An attention as models write it, over axes by number: of q (batch, query, head, group, hidden), of k and v
/// (batch, key, head, hidden); the output lies as q does.
struct written {
  std::size_t batch = 2, queries = 5, keys = 5, heads = 2, group = 3, hidden = 4, value = 4;
  bool causal = true, turned = false;  // turned: keys come first in the first product
  double scale = 0.4, hidden_score = -1e30;
  dtype type = dtype::f64;

  /// The output; `keep`: weights are an output too.
  int emit(builder& b, bool keep = false) const {
    constexpr std::int32_t n = 0, i = 1, h = 2, r = 3, d = 4, j = 5, w = 6;
    const int q = b.input(0, type, {batch, queries, heads, group, hidden}),
              k = b.input(1, type, {batch, keys, heads, hidden}),
              v = b.input(2, type, {batch, keys, heads, value});
    const std::int32_t inner[] = {n, i, h, r, d, n, j, h, d}, swapped[] = {n, j, h, d, n, i, h, r, d},
                       of_scores[] = {n, h, r, i, j}, outer[] = {n, h, r, i, j, n, j, h, w},
                       of_output[] = {n, i, h, r, w};
    const std::int32_t qk[] = {q, k}, kq[] = {k, q};
    int x = turned ? b.einsum(kq, swapped, of_scores) : b.einsum(qk, inner, of_scores);
    const shape s = b.shape_of(x);
    if (scale != 1) x = b.scale(x, scale);
    if (causal) {
      const int seen = b.binary(op::less_equal, b.iota(4, dtype::i32, s), b.iota(3, dtype::i32, s));
      x = b.select(seen, x, b.constant(hidden_score, type, s));
    }
    const std::int32_t last[] = {4}, along[] = {0, 1, 2, 3, -1};
    const int most = b.unary(op::stop_gradient, b.reduce(op::max, x, last));
    const int e = b.unary(op::exp, b.sub(x, b.expand(most, s, along)));
    const int p = b.div(e, b.expand(b.reduce(op::sum, e, last), s, along));
    if (keep) b.output(p);
    const std::int32_t pv[] = {p, v};
    return b.einsum(pv, outer, of_output);
  }
  /// With a loss of it that no symmetry makes small.
  nk::graph loss() const {
    builder b;
    b.simplify = true;
    const int y = emit(b);
    const shape s = b.shape_of(y);
    const std::int32_t all[] = {0, 1, 2, 3, 4};
    const int weights = b.input(3, type, s);
    b.output(b.reduce(op::sum, b.mul(b.unary(op::sin, y), weights), all));
    return b.take();
  }
};

std::vector<std::vector<double>> draw(const nk::graph_view& g, std::uint64_t seed) {
  nk::testing::random_source random(seed);
  std::vector<std::vector<double>> inputs(4);
  for (int id = 0; id < static_cast<int>(g.size()); ++id)
    if (g[id].kind == op::input)
      for (std::size_t n = nk::numel(g.shape_of(id)); n > 0; --n)
        inputs[static_cast<std::size_t>(g.attribute(id, 0))].push_back(random.uniform(-2, 2));
  return inputs;
}

double largest_difference(const std::vector<std::vector<double>>& x,
                          const std::vector<std::vector<double>>& y) {
  REQUIRE(x.size() == y.size());
  double largest = 0;
  for (std::size_t o = 0; o < x.size(); ++o) {
    REQUIRE(x[o].size() == y[o].size());
    for (std::size_t i = 0; i < x[o].size(); ++i) {
      const double off = std::fabs(x[o][i] - y[o][i]);
      if (!(off <= largest)) largest = off;
      if (off != off) return off;
    }
  }
  return largest;
}

std::vector<written> forms() {
  std::vector<written> all;
  all.push_back({});
  all.push_back({.causal = false});
  all.push_back({.group = 1, .turned = true});
  all.push_back({.batch = 1, .queries = 7, .keys = 4, .value = 3});              // rows that see all keys
  all.push_back({.queries = 3, .keys = 6, .causal = false, .scale = 1});         // nothing scales
  all.push_back({.queries = 1, .keys = 9, .heads = 1, .group = 2, .value = 1});  // one query
  all.push_back({.queries = 6, .keys = 6, .hidden = 1, .scale = -0.3});          // a scale below 0
  return all;
}

}  // namespace

TEST_CASE("attention as one operation has the values and gradients of what it was made of") {
  std::uint64_t seed = 1;
  for (const written& form : forms()) {
    const nk::graph plain = form.loss();
    attention_choice choice;
    const nk::graph fused = nk::passes::find_attention(plain.view(), all_fit{}, &choice);
    INFO(nk::to_string(fused.view()));
    REQUIRE(nk::passes::verify(fused.view()).sentence == "");
    CHECK(choice == attention_choice{1, 0, attention_fit::fits});
    CHECK(count(fused, op::attention) == 1);
    CHECK(count(fused, op::einsum) + count(fused, op::exp) + count(fused, op::select) == 0);
    const std::int32_t wanted[] = {0, 1, 2};
    const nk::graph with = nk::passes::differentiate(fused.view(), wanted),
                    without = nk::passes::differentiate(plain.view(), wanted);
    REQUIRE(nk::passes::verify(with.view()).sentence == "");
    CHECK(count(with, op::attention_backward) == 3);
    CHECK(count(with, op::attention) == 2);
    const std::vector<std::vector<double>> in = draw(plain.view(), seed++);
    CHECK(largest_difference(nk::interpret(with.view(), in, nk::rounding::none),
                             nk::interpret(without.view(), in, nk::rounding::none)) < 1e-12);
  }
}

TEST_CASE("scores beyond what exp bears are no attention's end") {
  written form;
  form.scale = 600;
  const nk::graph plain = form.loss(), fused = nk::passes::find_attention(plain.view(), all_fit{});
  REQUIRE(count(fused, op::attention) == 1);
  const std::vector<std::vector<double>> in = draw(plain.view(), 77);
  const auto x = nk::interpret(fused.view(), in, nk::rounding::none),
             y = nk::interpret(plain.view(), in, nk::rounding::none);
  CHECK(std::fabs(y[0][0]) < 1e3);
  CHECK(largest_difference(x, y) < 1e-9);
}

TEST_CASE("attention is found in narrow dtypes, between casts") {
  written form;
  form.type = dtype::f32;
  const nk::graph plain = form.loss();
  for (const dtype narrow : {dtype::bf16, dtype::f16}) {
    const nk::graph loss = nk::passes::compute_narrow(plain.view(), narrow);
    const nk::graph fused = nk::passes::find_attention(loss.view(), all_fit{});
    INFO(nk::to_string(loss.view()));
    REQUIRE(nk::passes::verify(fused.view()).sentence == "");
    REQUIRE(count(fused, op::attention) == 1);
    CHECK(count(fused, op::einsum) == 0);
    for (const nk::node& n : fused.nodes)
      if (n.kind == op::attention) CHECK(n.type == narrow);
    const std::int32_t wanted[] = {0, 1, 2};
    const nk::graph with = nk::passes::keep_narrow(nk::passes::differentiate(fused.view(), wanted).view(),
                                                   fused.nodes.size(), narrow),
                    without = nk::passes::differentiate(plain.view(), wanted);
    REQUIRE(nk::passes::verify(with.view()).sentence == "");
    const std::vector<std::vector<double>> in = draw(plain.view(), 9);
    CHECK(largest_difference(nk::interpret(with.view(), in, nk::rounding::as_typed),
                             nk::interpret(without.view(), in, nk::rounding::none)) < 0.25);
  }
}

TEST_CASE("what is not attention alone stays as it is") {
  const auto left = [](const nk::graph& g) {
    const nk::graph same = nk::passes::find_attention(g.view(), all_fit{});
    return count(same, op::attention) == 0 && nk::to_string(same.view()) == nk::to_string(g.view());
  };
  {  // weights are a result
    builder b;
    const int y = written{}.emit(b, true);
    b.output(y);
    CHECK(left(b.take()));
  }
  {  // hidden scores are not hidden: a mask that adds little
    builder b;
    b.output(written{.hidden_score = -5}.emit(b));
    CHECK(left(b.take()));
  }
  {  // the same, hidden
    builder b;
    b.output(written{}.emit(b));
    CHECK(!left(b.take()));
  }
  {  // a backend that has no kernel says so
    const nk::graph plain = written{}.loss();
    attention_choice choice;
    const nk::graph same = nk::passes::find_attention(
        plain.view(),
        [](const nk::row::attention_form& f, dtype) {
          return f.size[nk::row::attention_form::hidden] > 2 ? attention_fit::too_wide : attention_fit::fits;
        },
        &choice);
    CHECK(choice == attention_choice{0, 1, attention_fit::too_wide});
    CHECK(nk::to_string(same.view()) == nk::to_string(plain.view()));
  }
}

TEST_CASE("an attention's flops are those of visible pairs") {
  builder b;
  const written form{.queries = 7, .keys = 5, .value = 3};
  b.output(form.emit(b));
  const nk::graph g = b.take(), fused = nk::passes::find_attention(g.view(), all_fit{});
  std::uint64_t pairs = 0, rows = form.batch * form.heads * form.group;
  for (std::size_t i = 0; i < form.queries; ++i) pairs += rows * (i < form.keys ? i + 1 : form.keys);
  const nk::flop_counts f = nk::flops_of(fused.view());
  CHECK(f.matmul == 2 * pairs * (form.hidden + form.value));
  CHECK(f.transcendental == pairs);
  CHECK(f.reduce == 2 * (pairs - rows * form.queries));
}
