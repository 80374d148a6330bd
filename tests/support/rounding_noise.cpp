#include "support/rounding_noise.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "napkin/graph/builder.hpp"
#include "napkin/passes/interpret.hpp"
#include "support/random_graph.hpp"

namespace napkin::testing {

namespace {

double unit_roundoff(dtype t) {
  switch (t) {
    case dtype::f64:
      return 0x1p-53;
    case dtype::f32:
      return 0x1p-24;
    case dtype::f16:
      return 0x1p-11;
    case dtype::bf16:
      return 0x1p-8;
    default:
      return is_floating(t) ? 0x1p-3 : 0;
  }
}

/// Of one operation: of what is stored, and of a sum's terms as they are added up, which go astray as the
/// square root of their number (Higham and Mary 2019).
double unit_of(const graph_view& g, std::int32_t id) {
  const node& x = g[id];
  const double stored = unit_roundoff(x.type);
  if (!is_reduction(x.kind) && x.kind != op::einsum && x.kind != op::scatter_add) return stored;
  std::size_t terms = 1;
  for (const std::int32_t operand : g.operands(id)) terms = std::max(terms, numel(g.shape_of(operand)));
  return stored + unit_roundoff(accumulator_of(x.type)) * std::sqrt(static_cast<double>(terms));
}

/// The graph with every float that is not a constant multiplied by an input of its own, behind the graph's.
struct nudged {
  graph made;
  std::vector<std::int32_t> of;  // by added input: whose
};
nudged nudge(const graph_view& g) {
  nudged n;
  builder b;
  std::vector<std::int32_t> as;
  std::int32_t slot = g.next_slot();
  for (std::int32_t id = 0; id < static_cast<std::int32_t>(g.size()); ++id) {
    const node& x = g[id];
    std::vector<std::int32_t> operands;
    for (const std::int32_t operand : g.operands(id))
      operands.push_back(as[static_cast<std::size_t>(operand)]);
    std::int32_t made = b.emit({x.kind,
                                x.type,
                                b.result.intern(g.shape_of(id)),
                                {operands.data(), operands.size()},
                                g.attributes(id),
                                x.value});
    const category c = category_of(x.kind);
    if (unit_roundoff(x.type) > 0 && c != category::movement &&
        (c != category::leaf || x.kind == op::input)) {
      made = b.mul(made, b.input(slot++, x.type, g.shape_of(id)));
      n.of.push_back(id);
    }
    as.push_back(made);
  }
  for (const std::int32_t out : g.output_ids()) b.output(as[static_cast<std::size_t>(out)]);
  n.made = b.take();
  return n;
}

}  // namespace

std::vector<std::vector<double>> rounding_noise(const graph_view& g,
                                                const std::vector<std::vector<double>>& inputs,
                                                std::uint64_t seed) {
  constexpr int trials = 3;
  std::vector<std::int32_t> ids(g.output_ids().begin(), g.output_ids().end());
  for (std::int32_t id = 0; id < static_cast<std::int32_t>(g.size()); ++id) ids.push_back(id);
  graph_view every = g;
  every.outputs = ids.data(), every.output_count = ids.size();
  auto exact = interpret(every, inputs, rounding::none);
  double largest_number = 0;
  for (const auto& value : exact)
    for (const double x : value)
      if (std::isfinite(x)) largest_number = std::fmax(largest_number, std::fabs(x));
  exact.resize(g.output_ids().size());

  const nudged n = nudge(g);
  double largest_unit = 0;
  for (const std::int32_t id : n.of) largest_unit = std::fmax(largest_unit, unit_roundoff(g[id].type));
  // Small, so that what comes of it is in proportion; the doubles' own roundings then count as nudges do.
  const double scale = 0x1p-50 / largest_unit;

  random_source random(seed);
  std::vector<std::vector<double>> noise, squares;
  for (const auto& out : exact) noise.emplace_back(out.size()), squares.emplace_back(out.size());
  for (int t = 0; t < trials && largest_unit > 0; ++t) {
    std::vector<std::vector<double>> with = inputs;
    for (const std::int32_t id : n.of) {
      with.emplace_back(numel(g.shape_of(id)));
      const double most = scale * unit_of(g, id);
      for (double& x : with.back()) x = 1 + most * (t == 0 ? 1 : random.uniform(-1, 1));
    }
    const auto found = interpret(n.made.view(), with, rounding::none);
    for (std::size_t o = 0; o < exact.size(); ++o)
      for (std::size_t i = 0; i < exact[o].size(); ++i) {
        const double change = std::fabs(found[o][i] - exact[o][i]) / scale;
        noise[o][i] = std::fmax(noise[o][i], change);
        squares[o][i] += change * change;
      }
  }
  for (std::size_t o = 0; o < exact.size(); ++o) {
    double sum = 0, largest = 0;
    for (std::size_t i = 0; i < exact[o].size(); ++i) {
      if (std::isfinite(squares[o][i])) sum += squares[o][i];
      if (std::isfinite(exact[o][i])) largest = std::fmax(largest, std::fabs(exact[o][i]));
    }
    const double mean = exact[o].empty() ? 0 : std::sqrt(sum / static_cast<double>(trials * exact[o].size()));
    for (std::size_t i = 0; i < noise[o].size(); ++i) {
      double& x = noise[o][i];
      x += mean;
      const double change = std::fmax(x, x * scale), size = std::fmax(std::fabs(exact[o][i]), 1e-5 * largest);
      const bool steady = change == 0 || change <= 0.1 * size;
      x = steady ? x + largest_number * largest_unit : std::numeric_limits<double>::infinity();
    }
  }
  return noise;
}

}  // namespace napkin::testing
