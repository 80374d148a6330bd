// The compiler's own passes, called one by one at run time. What happens to a training step inside constant
// evaluation happens here in a debugger: set a breakpoint in any pass. Every stage is printed and is
// interpreted on the same numbers, and every stage must give the same results.
#include <cmath>
#include <cstdio>
#include <napkin/cost/plan_line.hpp>
#include <napkin/cpu/plan.hpp>
#include <napkin/graph/builder.hpp>
#include <napkin/passes/contract.hpp>
#include <napkin/passes/differentiate.hpp>
#include <napkin/passes/interpret.hpp>
#include <napkin/passes/legalize.hpp>
#include <napkin/passes/print.hpp>
#include <napkin/passes/verify.hpp>
#include <vector>

namespace nk = napkin;

using values = std::vector<std::vector<double>>;  // of each input, or of each output

namespace {

/// mean((x w - y)^2): what a user would write as expressions over names, in the terms of the graph.
nk::graph mean_squared_error() {
  nk::builder b;
  const auto x = b.input(0, nk::dtype::f64, {4, 3});  // [sample, feature]
  const auto w = b.input(1, nk::dtype::f64, {3});     // [feature]
  const auto y = b.input(2, nk::dtype::f64, {4});     // [sample]

  const std::int32_t operands[] = {x, w}, labels[] = {0, 1, 1}, result[] = {0};  // "ab,b->a"
  const auto error = b.sub(b.einsum(operands, labels, result), y);
  const std::int32_t all[] = {0};
  const auto sum = b.reduce(nk::op::sum, b.mul(error, error), all);
  b.output(b.div(sum, b.constant(4, nk::dtype::f64, {})));
  return b.result;
}

/// Print a stage, check that it is a legal graph, and run it in plain loops.
values look_at(const char* stage, const nk::graph& g, const values& inputs) {
  if (!nk::passes::verify(g.view()).none()) throw nk::error(std::string(stage) + ": not a legal graph");
  values outputs = nk::interpret(g.view(), inputs);
  std::printf("---- %s: %zu nodes\n%s\n", stage, g.nodes.size(), nk::to_string(g.view()).c_str());
  return outputs;
}

bool close(const values& a, const values& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t k = 0; k < a[i].size(); ++k)
      if (!(std::abs(a[i][k] - b[i][k]) <= 1e-12)) return false;
  return true;
}

}  // namespace

int main() {
  const values inputs = {{1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1}, {1, 2, 3}, {1, 2, 5, 4}};

  const nk::graph traced = mean_squared_error();
  const values loss = look_at("traced", traced, inputs);

  // Reverse mode, source to source: the loss, and its gradient by w, which is node 1.
  const std::int32_t w = 1;
  const nk::graph differentiated = nk::passes::differentiate(traced.view(), {&w, 1});
  const values expected = look_at("differentiated", differentiated, inputs);

  const nk::graph simple = nk::passes::simplify(differentiated.view());
  const values after_simplify = look_at("simplified", simple, inputs);
  const nk::graph pairwise = nk::passes::contract(simple.view());
  const values after_contract = look_at("contracted", pairwise, inputs);
  const nk::graph legal = nk::passes::legalize(pairwise.view());
  const values after_legalize = look_at("legalized", legal, inputs);

  // What is computed together, and the order; then every buffer's place in one arena.
  const nk::passes::fusion fused = nk::passes::fuse(legal.view());
  const auto order = nk::passes::schedule(legal.view(), fused);
  std::printf("---- fused: %zu units\n", order.size());
  for (const std::int32_t u : order) {
    const nk::passes::unit& unit = fused.units[static_cast<std::size_t>(u)];
    std::printf("%s:", std::string(nk::name_of(unit.kind)).c_str());
    for (const std::int32_t id : unit.members) std::printf(" %%%d", id);
    std::printf("\n");
  }
  const nk::on_cpu::plan plan = nk::on_cpu::make_plan(legal.view());
  std::printf("---- planned: %zu instructions, %zu bytes of arena\n", plan.instructions.size(), plan.peak);

  std::printf("loss %g, gradient %g %g %g\n", expected[0][0], expected[1][0], expected[1][1], expected[1][2]);
  // The errors are 0, 0, -2 and 2, so the loss is 8/4; its gradient 2/4 x^T error is (1, 1, 0).
  const bool right = close(expected, {{2}, {1, 1, 0}}) && loss[0] == expected[0] &&
                     close(after_simplify, expected) && close(after_contract, expected) &&
                     close(after_legalize, expected);
  return right ? 0 : 1;
}
