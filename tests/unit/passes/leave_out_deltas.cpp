// Which attentions lack deltas, what goes with these, and that the others' numbers are the same.
#include "napkin/passes/leave_out_deltas.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "napkin/cuda/plan.hpp"
#include "napkin/passes/differentiate.hpp"
#include "napkin/passes/interpret.hpp"
#include "napkin/passes/verify.hpp"
#include "support/compare.hpp"

namespace nk = napkin;

namespace {

using nk::op;
using numbers = std::vector<double>;

struct always {
  static constexpr bool sums_deltas(const nk::row::attention_form&, nk::dtype) { return true; }
};
struct never {
  static constexpr bool sums_deltas(const nk::row::attention_form&, nk::dtype) { return false; }
};

/// The gradients of an example's output, squared and summed, for these of q, k and v.
nk::graph gradients(int variant, const std::vector<int>& wanted) {
  nk::builder b;
  b.simplify = true;
  const int y = nk::primitive<op::attention>::example(b, variant);
  std::vector<std::int32_t> axes, of;
  for (std::size_t a = 0; a < b.shape_of(y).size(); ++a) axes.push_back(static_cast<std::int32_t>(a));
  for (const int k : wanted) of.push_back(b.operand(y, k));
  b.output(b.reduce(op::sum, b.mul(y, y), axes));
  return nk::passes::simplify(nk::passes::differentiate(b.view(), of).view());
}
int count(const nk::graph& g, op kind) {
  int n = 0;
  for (const nk::node& x : g.nodes) n += x.kind == kind;
  return n;
}
int with_deltas(const nk::graph& g) {
  int n = 0;
  for (const nk::node& x : g.nodes)
    n += x.kind == op::attention_backward && nk::row::attention_form::has_deltas(x);
  return n;
}
template <class Target>
nk::graph without_deltas(const nk::graph& g) {
  nk::graph made = nk::passes::leave_out_deltas<Target>(nk::graph(g));
  CHECK(nk::passes::verify(made.view()).sentence == "");
  return made;
}
std::vector<numbers> values_of(const nk::graph& g) {
  std::vector<numbers> inputs;
  for (const nk::node& n : g.nodes)
    if (n.kind == op::input) {
      inputs.emplace_back(numel(g.shapes[static_cast<std::size_t>(n.shape_id)]));
      for (std::size_t i = 0; i < inputs.back().size(); ++i)
        inputs.back()[i] = std::sin(static_cast<double>(3 * i + 7 * inputs.size()));
    }
  return nk::interpret(g.view(), inputs);
}

}  // namespace

TEST_CASE("where a kernel makes deltas they are not computed before", "[passes]") {
  for (int variant = 0; variant < 4; ++variant) {
    const nk::graph before = gradients(variant, {0, 1, 2}), after = without_deltas<always>(before);
    CHECK(with_deltas(before) == 3);
    CHECK(with_deltas(after) == 0);
    CHECK(count(after, op::attention_backward) == 3);
    CHECK(count(after, op::sum) == count(before, op::sum) - 1);
    const std::vector<numbers> x = values_of(before), y = values_of(after);
    REQUIRE(x.size() == y.size());
    for (std::size_t k = 0; k < x.size(); ++k) CHECK(nk::testing::largest_difference(x[k], y[k]) <= 1e-12);
  }
}

TEST_CASE("deltas stay where no kernel makes them", "[passes]") {
  const auto same = [](const nk::graph& before, const nk::graph& after) {
    CHECK(with_deltas(after) == with_deltas(before));
    CHECK(after.nodes.size() == before.nodes.size());
  };
  const nk::graph all = gradients(1, {0, 1, 2});
  same(all, without_deltas<never>(all));
  for (const int variant : {4, 5}) {  // masks
    const nk::graph masked = gradients(variant, {0, 1, 2});
    CHECK(with_deltas(masked) == 3);
    same(masked, without_deltas<always>(masked));
  }
  // a kernel of their own would give those of queries, or those of keys and values, in more blocks
  for (const std::vector<int>& wanted : {std::vector{0}, std::vector{1, 2}, std::vector{1}, std::vector{2}})
    same(gradients(1, wanted), without_deltas<always>(gradients(1, wanted)));
  for (const std::vector<int>& wanted : {std::vector{0, 1}, std::vector{0, 2}})
    CHECK(with_deltas(without_deltas<always>(gradients(1, wanted))) == 0);
}

TEST_CASE("deltas that something else reads are computed for it", "[passes]") {
  nk::graph g = gradients(1, {0, 1, 2});
  std::int32_t delta = -1;
  for (int id = 0; id < static_cast<int>(g.nodes.size()); ++id)
    if (g.view()[id].kind == op::attention_backward) delta = g.view().operand(id, 5);
  REQUIRE(delta >= 0);
  g.outputs.push_back(delta);
  const nk::graph after = without_deltas<always>(g);
  CHECK(with_deltas(after) == 0);
  CHECK(after.nodes.size() == g.nodes.size());
}

TEST_CASE("a GPU makes deltas of as few keys and queries as are a block's", "[cuda]") {
  const auto makes = [](std::size_t queries, std::size_t keys, std::size_t group, std::size_t width,
                        nk::dtype type = nk::dtype::bf16, double scale = 0.5) {
    using form = nk::row::attention_form;
    nk::builder b;
    const std::int32_t xs[] = {b.input(0, type, {3, queries, group, width}),
                               b.input(1, type, {3, keys, width}), b.input(2, type, {3, keys, width})};
    constexpr std::int32_t head = form::first_outer, q = form::query, k = form::key, d = form::hidden,
                           w = form::value;
    const std::int32_t labels[] = {head, q,    head + 1, d,        head, k, d, head, k,
                                   w,    head, q,        head + 1, w,    1, 0, 0,    0};
    const int y =
        b.emit({op::attention, type, b.result.intern({3, queries, group, width}), xs, labels, scale});
    b.output(y);
    REQUIRE(nk::passes::verify(b.view()).sentence == "");
    return nk::on_cuda::target::sums_deltas(form(b.view(), y), type);
  };
  CHECK(makes(64, 64, 1, 32));
  CHECK(!makes(64, 65, 1, 32));
  CHECK(makes(256, 64, 1, 64));
  CHECK(!makes(257, 64, 1, 64));
  CHECK(makes(128, 40, 2, 64));
  CHECK(!makes(129, 40, 2, 64));
  CHECK(makes(20, 20, 1, 128));
  CHECK(!makes(20, 20, 1, 129));  // what general kernels do
  CHECK(!makes(20, 20, 1, 64, nk::dtype::f64));
  CHECK(!makes(20, 20, 1, 64, nk::dtype::f32, -1));
}
