// Graphs in the compiler: traced, verified, differentiated, simplified and frozen as constants.
#include "napkin/graph/graph.hpp"

#include "napkin/graph/builder.hpp"
#include "napkin/graph/constants_first.hpp"
#include "napkin/passes/differentiate.hpp"
#include "napkin/passes/simplify.hpp"
#include "napkin/passes/verify.hpp"

namespace nk = napkin;
using nk::dtype;
using nk::op;

namespace {

// ---- every operation has a row, under its own name
constexpr bool names_are_distinct() {
  for (std::size_t i = 0; i < nk::op_count; ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (nk::primitives[i].name == nk::primitives[j].name) return false;
  return true;
}
static_assert(names_are_distinct());
static_assert(nk::facts_of(op::einsum).name == "einsum" && nk::facts_of(op::fma).flops == 2);
static_assert(nk::facts_of(op::tanh).transcendental == 1 && !nk::facts_of(op::less).differentiable);

// ---- nodes of one run of operands, one of them dead: what is left has room for its own
constexpr std::size_t pool_of_nodes_that_share_a_run() {
  nk::builder b;
  const int x = b.input(0, dtype::f32, {});
  b.output(b.unary(op::sin, b.unary(op::neg, x)));
  nk::graph g = b.take();
  g.nodes.push_back(g.nodes[1]);
  for (nk::node& n : g.nodes) n.first_operand = n.first_attribute = 0;
  g.pool.resize(1);
  g.pool[0] = 0;
  return nk::passes::verify(g.view()).none() ? nk::passes::without_dead_nodes(g.view()).pool.size() : 0;
}
static_assert(pool_of_nodes_that_share_a_run() > 1);

// ---- x * x + 3 x: its derivative is (3 + x) + x
struct square_plus {
  static constexpr nk::graph make() {
    nk::builder b;
    const int x = b.input(0, dtype::f32, {});
    b.output(b.add(b.mul(x, x), b.scale(x, 3)));
    const std::int32_t wanted[] = {x};
    return nk::passes::simplify(nk::passes::differentiate(b.view(), wanted).view());
  }
};
constexpr nk::graph_view derivative = nk::frozen<square_plus>::view();
static_assert(nk::passes::verify(derivative).none());
static_assert(derivative.output_count == 2 && derivative.shape_count == 1 && derivative.shapes[0].empty());

/// The value of a graph of scalar additions and multiplications.
constexpr double value_at(const nk::graph_view& g, double x, std::size_t output) {
  nk::buffer<double> values(g.size());
  for (int id = 0; id < static_cast<int>(g.size()); ++id) {
    const auto operand = [&](int k) { return values[static_cast<std::size_t>(g.operand(id, k))]; };
    double& y = values[static_cast<std::size_t>(id)];
    switch (g[id].kind) {
      case op::input:
        y = x;
        break;
      case op::constant:
        y = g[id].value;
        break;
      case op::add:
        y = nk::primitive<op::add>::apply(operand(0), operand(1));
        break;
      case op::mul:
        y = nk::primitive<op::mul>::apply(operand(0), operand(1));
        break;
      default:
        throw "an operation that this evaluator lacks";
    }
  }
  return values[static_cast<std::size_t>(g.outputs[output])];
}
static_assert(value_at(derivative, 2, 0) == 10 && value_at(derivative, 2, 1) == 7);

// ---- a layer of a network, and its gradient: two contractions backward for each forward
struct layer {
  static constexpr nk::graph make() {
    nk::builder b;
    const int x = b.input(0, dtype::f32, {8, 4}), w = b.input(1, dtype::f32, {4, 16});
    const std::int32_t xs[] = {x, w}, labels[] = {0, 1, 1, 2}, to[] = {0, 2}, axes[] = {0, 1};
    const int h = b.unary(op::tanh, b.einsum(xs, labels, to));
    b.output(b.reduce(op::sum, b.mul(h, h), axes));
    const std::int32_t wanted[] = {x, w};
    return nk::passes::simplify(nk::passes::differentiate(b.view(), wanted).view());
  }
};
constexpr nk::graph_view of_layer = nk::frozen<layer>::view();
constexpr std::size_t count(const nk::graph_view& g, op kind) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < g.size(); ++i) n += g.nodes[i].kind == kind;
  return n;
}
static_assert(nk::passes::verify(of_layer).none());
static_assert(count(of_layer, op::einsum) == 3 && count(of_layer, op::tanh) == 1);
static_assert(of_layer.shape_of(of_layer.outputs[1]) == nk::shape{8, 4});
static_assert(of_layer.shape_of(of_layer.outputs[2]) == nk::shape{4, 16});

// ---- only what is wanted is kept
struct layer_of_weights {
  static constexpr nk::graph make() {
    const nk::graph both = layer::make();
    nk::graph one = both;
    one.outputs.clear();
    one.outputs.push_back(both.outputs[0]);
    one.outputs.push_back(both.outputs[2]);
    return nk::passes::simplify(one.view());
  }
};
static_assert(count(nk::frozen<layer_of_weights>::view(), op::einsum) == 2);

// ---- equal work is one node
struct twice {
  static constexpr nk::graph make() {
    nk::builder b;
    b.simplify = true;
    const int x = b.input(0, dtype::f64, {2, 3});
    const std::int32_t swap[] = {1, 0};
    b.output(b.add(b.unary(op::exp, x), b.unary(op::exp, b.permute(b.permute(x, swap), swap))));
    return b.result;
  }
};
static_assert(count(nk::frozen<twice>::view(), op::exp) == 1);

// ---- 0 and 1 are numbers of every float, others may not be; so what a bf16 sum hands on is no tensor of ones
constexpr bool folds(double value, dtype from, dtype to) {
  nk::builder b;
  b.simplify = true;
  const int x = b.cast(b.constant(value, from, {3}), to);
  return b[x].kind == op::constant && b[x].type == to && b[x].value == value;
}
static_assert(folds(1, dtype::bf16, dtype::f32) && folds(0, dtype::f64, dtype::f16));
static_assert(!folds(0.1, dtype::f32, dtype::bf16) && !folds(1, dtype::i32, dtype::f32) &&
              !folds(1, dtype::f32, dtype::i32));

// ---- a broken graph is seen in the compiler too
constexpr std::string_view flaw_of_mixed_dtypes() {
  nk::builder b;
  b.output(b.add(b.input(0, dtype::f32, {2}), b.input(1, dtype::f64, {2})));
  return nk::passes::verify(b.view()).sentence;
}
static_assert(flaw_of_mixed_dtypes() == "an elementwise operation mixes dtypes without a cast");

// ---- what depends on no input stands behind the inputs, whenever it was met
struct late_constants {
  static constexpr nk::graph make() {
    nk::builder b;
    const int x = b.input(0, dtype::f32, {4});
    const int y = b.unary(op::exp, x);
    const int place = b.iota(0, dtype::f32, {4});
    const int late = b.input(1, dtype::f32, {4});
    b.output(b.mul(b.sub(y, late), b.unary(op::cos, place)));
    return nk::constants_first(b.take());
  }
};
constexpr nk::graph_view ordered = nk::frozen<late_constants>::view();
constexpr bool in_order() {
  const op expected[] = {op::input, op::input, op::iota, op::cos, op::exp, op::sub, op::mul};
  for (int id = 0; id < 7; ++id)
    if (ordered[id].kind != expected[id]) return false;
  return ordered.size() == 7 && ordered.attribute(0, 0) == 0 && ordered.attribute(1, 0) == 1;
}
static_assert(nk::passes::verify(ordered).none() && in_order());
static_assert(ordered.operand(5, 0) == 4 && ordered.operand(5, 1) == 1 && ordered.operand(6, 1) == 3 &&
              ordered.operand(3, 0) == 2 && ordered.operand(4, 0) == 0 && ordered.outputs[0] == 6);

}  // namespace
