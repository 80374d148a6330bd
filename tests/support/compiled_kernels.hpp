// Kernels that were compiled beside the same ones interpreted, and beside the graph that they were made from.
#pragma once

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <vector>

#include "napkin/cpu/executor.hpp"
#include "napkin/cpu/interpret_kernel.hpp"
#include "napkin/cpu/lower.hpp"
#include "napkin/passes/interpret.hpp"
#include "support/random_graph.hpp"
#include "support/run_plan.hpp"

namespace napkin::testing {

/// What may differ: sums are ordered otherwise, and a fused graph is simplified, which may round less.
inline double tolerance_of_kernels(dtype type) {
  if (type == dtype::f64) return 1e-12;
  if (type == dtype::f32) return 2e-5;
  return is_floating(type) ? (size_of(type) == 2 ? 0.05 : 0.5) : 0;
}

using values = std::vector<std::vector<double>>;

/// exp(x - max x) along x's last axis; its sums, and these repeated along the axis.
struct exponentials {
  int each, sums, along;
};
constexpr exponentials exponentials_of(builder& b, int x) {
  const shape s = b.shape_of(x);
  const auto rank = static_cast<std::int32_t>(s.size());
  const std::int32_t last[] = {rank - 1};
  inplace_vector<std::int32_t, max_rank> axes;
  for (std::int32_t i = 0; i < rank; ++i) axes.push_back(i + 1 < rank ? i : -1);
  const auto repeated = [&](int of_rows) { return b.expand(of_rows, s, {axes.data(), axes.size()}); };
  const int each = b.unary(op::exp, b.sub(x, repeated(b.reduce(op::max, x, last))));
  const int sums = b.reduce(op::sum, each, last);
  return {each, sums, repeated(sums)};
}

/// A plan compiled, interpreted, and (unless it is undefined there) beside its graph: what it gives.
template <class plan>
std::vector<raw_bytes> check_plan(const graph& g, const values& inputs, bool has_reference) {
  const std::vector<raw_bytes> in = typed_inputs(g.view(), inputs);
  std::vector<const void*> from;
  for (const raw_bytes& b : in) from.push_back(b.data());
  std::vector<raw_bytes> compiled, interpreted;
  for (std::int32_t id : g.outputs)
    compiled.emplace_back(numel(g.view().shape_of(id)) * size_of(g.view()[id].type), std::byte{0xff});
  interpreted = compiled;
  const auto addresses = [](std::vector<raw_bytes>& of) {
    std::vector<void*> to;
    for (raw_bytes& b : of) to.push_back(b.data());
    return to;
  };
  const storage arena(plan::value.peak);
  if (plan::value.peak > 0) std::memset(arena.data(), 0xff, plan::value.peak);
  on_cpu::executor run(plan::view(), on_cpu::kernels_of<plan>.data(), static_cast<std::byte*>(arena.data()));
  const auto to = addresses(compiled), to_interpreted = addresses(interpreted);
  run.bind(from, to);
  run.run();
  on_cpu::run_plan_interpreted(plan::view(), from, to_interpreted);
  for (std::size_t k = 0; k < compiled.size(); ++k) {
    INFO("output " << k << " of " << plan::value.kernels.size() << " kernels");
    CHECK(first_difference(compiled[k], interpreted[k], g.view()[g.outputs[k]].type) == -1);
  }
  run.run();  // once more over what the first run left
  for (std::size_t k = 0; k < compiled.size(); ++k)
    CHECK(first_difference(compiled[k], interpreted[k], g.view()[g.outputs[k]].type) == -1);
  if (!has_reference) return compiled;
  values stored;
  for (std::size_t slot = 0; slot < in.size(); ++slot)
    for (int id = 0; id < static_cast<int>(g.nodes.size()); ++id)
      if (g.view()[id].kind == op::input && g.view().attribute(id, 0) == static_cast<std::int32_t>(slot)) {
        stored.push_back(to_doubles(in[slot], g.view()[id].type));
        break;
      }
  const values want = interpret(g.view(), stored, rounding::as_typed);
  for (std::size_t k = 0; k < want.size(); ++k) {
    const dtype type = g.view()[g.outputs[k]].type;
    const auto found = to_doubles(compiled[k], type);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const double x = found[i], y = want[k][i];
      if ((x != x && y != y) || x == y) continue;
      INFO("output " << k << " element " << i << ": " << x << ", not " << y);
      CHECK(std::abs(x - y) <= tolerance_of_kernels(type) * (1 + std::abs(y)));
    }
  }
  return compiled;
}

/// Whatever may lie across lanes does.
struct across_target : on_cpu::target {
  static constexpr std::size_t rows_at_once(const passes::kernel& k, std::size_t) {
    return on_cpu::can_lie_across_rows(k) ? on_cpu::lane_count : 1;
  }
};
template <class Plan>
constexpr std::size_t programs_across = [] {
  std::size_t n = 0;
  for (const planning::program_record& p : Plan::value.programs) n += p.across_rows;
  return n;
}();

/// Graph::make() as it is planned, and as it might be: the bits are the same.
template <class Graph>
void check_compiled(values inputs = {}, bool has_reference = true) {
  using plan = on_cpu::frozen_plan<Graph>;
  using across = planning::frozen_plan<across_target, Graph, planning::plan_options{}>;
  const graph g = Graph::make();
  if (inputs.empty()) inputs = random_inputs(g.view(), 7);
  const std::vector<raw_bytes> found = check_plan<plan>(g, inputs, has_reference);
  if constexpr (programs_across<across> != programs_across<plan>) {
    const std::vector<raw_bytes> other = check_plan<across>(g, inputs, false);
    for (std::size_t k = 0; k < found.size(); ++k) {
      INFO("output " << k << ", as planned and across rows");
      CHECK(first_difference(found[k], other[k], g.view()[g.outputs[k]].type) == -1);
    }
  }
}

}  // namespace napkin::testing
