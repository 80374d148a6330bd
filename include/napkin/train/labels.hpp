// Labels that a loss compares with the positions along an axis of classes: which inputs they are, from the
// graph, and that none lies outside of it, before a step is made of them. The kernels do not ask: such a label
// picks no class.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "napkin/core/dtype.hpp"
#include "napkin/graph/graph.hpp"
#include "napkin/ops/composite.hpp"
#include "napkin/ops/reflect.hpp"

namespace napkin::detail {

/// What the elements of an input may be; classes 0: anything.
struct label_range {
  std::uint64_t classes = 0;
  bool ignores = false;
  std::int64_t ignored = 0;
};

/// What gives a node's elements as they are.
constexpr std::int32_t leaf_behind(const graph_view& g, std::int32_t id) {
  while (g[id].kind == op::cast || g[id].kind == op::expand || g[id].kind == op::reshape)
    id = g.operand(id, 0);
  return id;
}

/// Of a loss's inputs behind its parameters.
template <std::size_t Inputs>
constexpr std::array<label_range, Inputs> find_label_ranges(const graph_view& g, std::size_t parameters) {
  std::array<label_range, Inputs> found{};
  for (std::int32_t id = 0; id < static_cast<std::int32_t>(g.size()); ++id) {
    const node& n = g[id];
    if (n.kind != op::equal || n.composite != static_cast<std::uint16_t>(composite::cross_entropy)) continue;
    for (int k = 0; k < 2; ++k) {
      const std::int32_t input = leaf_behind(g, g.operand(id, k)),
                         with = leaf_behind(g, g.operand(id, 1 - k));
      if (g[input].kind != op::input || static_cast<std::size_t>(g.attribute(input, 0)) < parameters)
        continue;
      label_range& r = found[static_cast<std::size_t>(g.attribute(input, 0)) - parameters];
      if (g[with].kind == op::iota) {
        const std::uint64_t classes = g.shape_of(with)[static_cast<std::size_t>(g.attribute(with, 0))];
        if (r.classes == 0 || classes < r.classes) r.classes = classes;
      } else if (g[with].kind == op::constant) {
        r.ignores = true;
        r.ignored = static_cast<std::int64_t>(g[with].value);
      }
    }
  }
  return found;
}
template <class Model>
inline constexpr auto label_ranges = find_label_ranges<model_graph<Model>::data_inputs>(
    frozen<model_graph<Model>>::view(), parameter_table<Model>.size());

/// Throws `input_error` where an element of data input i is no class and not ignored.
void check_labels(std::size_t i, const label_range& r, dtype type, std::span<const std::byte> labels);

}  // namespace napkin::detail
