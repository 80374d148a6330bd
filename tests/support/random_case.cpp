#include "support/random_case.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "napkin/passes/differentiate.hpp"
#include "napkin/passes/interpret.hpp"
#include "support/random_graph.hpp"
#include "support/rounding_noise.hpp"
#include "support/tolerance.hpp"

namespace napkin::testing {
namespace {

/// How many times what two sound ways may differ by (rounding_noise.hpp) they do differ by at most. Of all
/// graphs of tests/device_on_host the worst is 8 in f32 and f64, 0.4 in 16 bits; a wrong operand is some 10^6
/// in f32.
double most_noise(dtype of) { return is_small_float(of) ? 1.5 : 32; }

}  // namespace

random_case::random_case(graph&& made, std::uint64_t seed) : g(std::move(made)) {
  inputs = typed_inputs(g.view(), random_inputs(g.view(), seed));
  std::vector<std::vector<double>> values(inputs.size());  // as the inputs hold them
  for (const node& n : g.nodes) {
    if (n.kind != op::input) continue;
    const auto slot = static_cast<std::size_t>(g.pool[static_cast<std::size_t>(n.first_attribute)]);
    values[slot] = to_doubles(inputs[slot], n.type);
    if (is_small_float(n.type)) narrowest_ = n.type;
  }
  expected_ = interpret(g.view(), values, rounding::as_typed);
  noise_ = rounding_noise(g.view(), values, seed);
}

std::vector<raw_bytes> random_case::outputs() const {
  std::vector<raw_bytes> room;
  for (std::size_t o = 0; o < expected_.size(); ++o)
    room.emplace_back(expected_[o].size() * size_of(g.view()[g.outputs[o]].type), std::byte{0x7f});
  return room;
}

std::string random_case::fault_of(const std::vector<raw_bytes>& given) {
  std::string fault;
  for (std::size_t o = 0; o < given.size(); ++o) {
    const std::vector<double> found = to_doubles(given[o], g.view()[g.outputs[o]].type);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const double x = found[i], y = expected_[o][i];
      const bool overflows = narrowest_ == dtype::f16 && !std::isfinite(y);  // on the way, perhaps
      const bool steady = noise_[o][i] < std::numeric_limits<double>::infinity() && !overflows;
      ++(steady ? judged : unsteady);
      const bool near = x == y || (std::isnan(x) && std::isnan(y)) ||
                        std::fabs(x - y) <= most_noise(narrowest_) * noise_[o][i];
      if (steady && !near && fault.empty())
        fault = "output " + std::to_string(o) + ' ' + difference_at(i, x, y);
    }
  }
  return fault;
}

graph gradients_of(const graph& g, std::uint64_t seed) {
  const auto values = interpret(g.view(), random_inputs(g.view(), seed), rounding::none);
  builder b;
  b.result = g;
  std::int32_t loss = b.constant(0, dtype::f64, {});
  for (std::size_t o = 0; o < values.size(); ++o) {
    const std::int32_t out = g.outputs[o];
    const bool small =
        std::all_of(values[o].begin(), values[o].end(), [](double x) { return std::fabs(x) < 1000; });
    if (!is_floating(g.nodes[out].type) || !small) continue;
    std::vector<std::int32_t> axes;
    for (std::size_t i = 0; i < b.shape_of(out).size(); ++i) axes.push_back(static_cast<std::int32_t>(i));
    std::int32_t x = b.unary(op::sin, out);
    if (!axes.empty()) x = b.reduce(op::sum, x, {axes.data(), axes.size()});
    loss = b.add(loss, b.cast(x, dtype::f64));
  }
  b.result.outputs.clear();
  b.output(loss);
  const std::int32_t inputs[] = {0, 1, 2};
  return passes::differentiate(b.view(), inputs);
}

}  // namespace napkin::testing
