#include "support/op_case.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "napkin/passes/interpret.hpp"
#include "support/op_graphs.hpp"
#include "support/planned.hpp"
#include "support/tolerance.hpp"

namespace napkin::testing {

namespace {

/// Sums of floats: their terms may be added in another order than the CPU's, and each addition's error is a
/// share of the terms' magnitudes, not of what is left of them. Beside the tolerance of the result that of
/// the accumulator counts, relative to the sum of magnitudes; of an einsum, whose result over its first
/// operands is stored, that of the dtype.
bool adds_up(op o, dtype t) {
  return is_floating(t) && (o == op::sum || o == op::product || o == op::einsum || o == op::scatter_add);
}
/// CUDA's own functions of f32, within 2 ulp (plan/device_scalar.hpp): not the CPU's bits.
bool is_the_devices_own(op o, dtype t) {
  return is_floating(t) && t != dtype::f64 &&
         (o == op::exp || o == op::log || o == op::tanh || o == op::erf || o == op::rsqrt);
}
/// Of two zeros the device may take the other.
bool leaves_zeros_sign(op o) { return o == op::max || o == op::min || o == op::maximum || o == op::minimum; }

}  // namespace

op_case::op_case(graph&& made) : g_(static_cast<graph&&>(made)) {
  const graph_view g = g_.view();
  std::vector<std::vector<double>> rounded, magnitudes;
  for (int id = 0; id < static_cast<int>(g.size()); ++id) {
    if (g[id].kind != op::input) continue;
    const auto slot = static_cast<std::size_t>(g.attribute(id, 0));
    if (slot >= inputs.size()) inputs.resize(slot + 1), rounded.resize(slot + 1);
    std::vector<double> values(numel(g.shape_of(id)));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = op_input(g[id].type, static_cast<int>(slot), i);
    inputs[slot] = to_bytes(values, g[id].type);
    rounded[slot] = to_doubles(inputs[slot], g[id].type);
  }
  magnitudes = rounded;
  for (auto& of : magnitudes)
    for (double& x : of) x = std::fabs(x);
  exact_ = interpret(g, rounded);
  magnitudes_ = interpret(g, magnitudes);
  for (int id = 0; id < static_cast<int>(g.size()); ++id)
    if (g[id].kind == op::scatter_add && !detail::adds_on_the_cpu(g[id].type)) return;
  on_cpu_ = run_lowered(lowered(g).view(), {}, inputs, std::byte{0xff});
}

std::vector<raw_bytes> op_case::outputs() const {
  std::vector<raw_bytes> out;
  for (const std::int32_t id : g_.view().output_ids())
    out.emplace_back(numel(g_.view().shape_of(id)) * size_of(g_.view()[id].type), std::byte{0x7f});
  return out;
}

void op_case::check(const std::vector<raw_bytes>& given) const {
  const graph_view g = g_.view();
  REQUIRE(given.size() == g.output_count);
  for (std::size_t o = 0; o < given.size(); ++o) {
    const node& n = g[g.outputs[o]];
    INFO(facts_of(n.kind).name << " of " << name_of(operand_type(g.outputs[o])) << ", output " << o << " of "
                               << given.size());
    CHECK(far_from_exact(given[o], o) == "");
    if (!on_cpu_.empty() && !is_the_devices_own(n.kind, n.type) && !adds_up(n.kind, n.type))
      CHECK(first_unequal(given[o], o) == "");
  }
}

dtype op_case::operand_type(int id) const {
  return g_.view()[id].arity > 0 ? g_.view()[g_.view().operand(id, g_.view()[id].arity - 1)].type
                                 : g_.view()[id].type;
}

std::string op_case::far_from_exact(const raw_bytes& given, std::size_t output) const {
  const node& n = g_.view()[g_.outputs[output]];
  const std::vector<double> expected = rounded_to(n.type, exact_[output]);
  const tolerance by = tolerance_of(n.type),
                  of_terms = tolerance_of(n.kind == op::einsum ? n.type : accumulator_of(n.type));
  return first_far(to_doubles(given, n.type), expected, [&](std::size_t i) {
    const double terms = adds_up(n.kind, n.type) ? of_terms.relative * magnitudes_[output][i] : 0;
    return by.absolute + by.relative * std::fabs(expected[i]) + terms;
  });
}

std::string op_case::first_unequal(const raw_bytes& given, std::size_t output) const {
  const node& n = g_.view()[g_.outputs[output]];
  const std::vector<double> found = to_doubles(given, n.type), expected = to_doubles(on_cpu_[output], n.type);
  if (leaves_zeros_sign(n.kind)) {
    for (std::size_t i = 0; i < found.size(); ++i)
      if (!(found[i] == expected[i] || (std::isnan(found[i]) && std::isnan(expected[i]))))
        return difference_at(i, found[i], expected[i]);
    return "";
  }
  const std::ptrdiff_t i = first_difference(given, on_cpu_[output], n.type);
  if (i < 0) return "";
  return "on the CPU " + difference_at(static_cast<std::size_t>(i), found.at(static_cast<std::size_t>(i)),
                                       expected.at(static_cast<std::size_t>(i)));
}

}  // namespace napkin::testing
