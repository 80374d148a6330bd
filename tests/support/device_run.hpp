// What a graph gives on the CPU, for inputs that are made up, and what another executor gave, compared.
#pragma once

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "napkin/cpu/interpret_kernel.hpp"
#include "support/run_plan.hpp"

namespace napkin::testing {

template <class Make>
class device_case {
  using plan = on_cpu::frozen_plan<Make>;

 public:
  std::vector<raw_bytes> inputs, expected;  // by slot; in order

  device_case() {
    const graph_view g = plan::graph();
    for (int id = 0; id < static_cast<int>(g.size()); ++id) {
      if (g[id].kind != op::input) continue;
      const auto slot = static_cast<std::size_t>(g.attribute(id, 0));
      if (slot >= inputs.size()) inputs.resize(slot + 1);
      std::vector<double> values(numel(g.shape_of(id)));
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = is_integer(g[id].type)
                        ? static_cast<double>((i * 7 + slot) % 5)
                        : std::sin(0.37 * static_cast<double>(i + 1) + static_cast<double>(slot));
      inputs[slot] = to_bytes(values, g[id].type);
    }
    std::vector<const void*> from;
    for (const raw_bytes& x : inputs) from.push_back(x.data());
    expected = outputs();
    std::vector<void*> to;
    for (raw_bytes& o : expected) to.push_back(o.data());
    on_cpu::run_plan_interpreted(plan::view(), from, to, std::byte{0xff});
  }

  /// Room for the outputs, filled with what none of them should be.
  std::vector<raw_bytes> outputs() const {
    const graph_view g = plan::graph();
    std::vector<raw_bytes> out;
    for (const std::int32_t id : g.output_ids())
      out.emplace_back(numel(g.shape_of(id)) * size_of(g[id].type), std::byte{0x7f});
    return out;
  }

  void check(const std::vector<raw_bytes>& given, double tolerance) const {
    const graph_view g = plan::graph();
    REQUIRE(given.size() == expected.size());
    for (std::size_t o = 0; o < expected.size(); ++o) {
      const dtype type = g[g.outputs[o]].type;
      const std::vector<double> x = to_doubles(expected[o], type), y = to_doubles(given[o], type);
      REQUIRE(x.size() == y.size());
      double scale = 0, worst = 0;
      bool numbers = true;
      for (std::size_t i = 0; i < x.size(); ++i) {
        scale = std::fmax(scale, std::fabs(x[i]));
        worst = std::fmax(worst, std::fabs(x[i] - y[i]));
        numbers = numbers && std::isfinite(x[i]) && std::isfinite(y[i]);
      }
      INFO("output " << o << " of " << expected.size() << ", largest " << scale << ", off by " << worst);
      CHECK(numbers);
      CHECK(worst <= tolerance * std::fmax(scale, 1e-4));  // a key's bias has no gradient but rounding
    }
  }
};

}  // namespace napkin::testing
