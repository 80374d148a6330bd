// Labels that a loss compares with the positions along an axis of classes: which inputs they are, from the
// graph, and that none lies outside of it, before a step is made of them. The kernels do not ask: such a label
// picks no class. Where a program may mean it so (it masks entropies by itself, or compares the labels elsewhere)
// nothing is refused.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "napkin/core/buffer.hpp"
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

/// What gives a node's elements as they are: casts look the same where the wider dtype has them all.
constexpr std::int32_t leaf_behind(const graph_view& g, std::int32_t id) {
  for (;; id = g.operand(id, 0)) {
    const op kind = g[id].kind;
    if (kind == op::expand || kind == op::reshape) continue;
    if (kind != op::cast) return id;
    const dtype from = g[g.operand(id, 0)].type, to = g[id].type;
    if (!is_integer(from) || !is_integer(to) || (from != to && size_of(to) <= size_of(from))) return id;
  }
}

/// Whether all that is made of a node stays within a cross_entropy until that is one number: then no mask of
/// the program's own has left out a label that means nothing.
constexpr bool is_averaged_within(const graph_view& g, std::int32_t id) {
  constexpr auto within = static_cast<std::uint16_t>(composite::cross_entropy);
  buffer<bool> made(g.size(), false);
  made[static_cast<std::size_t>(id)] = true;
  bool is_averaged = false;
  for (std::int32_t v = id + 1; v < static_cast<std::int32_t>(g.size()); ++v) {
    bool of_it = false;
    for (const std::int32_t x : g.operands(v))
      of_it = of_it || (made[static_cast<std::size_t>(x)] && !g.shape_of(x).empty());
    if (!of_it) continue;
    if (g[v].composite != within) return false;
    made[static_cast<std::size_t>(v)] = true;
    is_averaged = is_averaged || g.shape_of(v).empty();
  }
  for (const std::int32_t out : g.output_ids())
    if (made[static_cast<std::size_t>(out)] && !g.shape_of(out).empty()) return false;
  return is_averaged;
}

/// Of a loss's inputs behind its parameters. An input that a program compares with several numbers may be
/// anything.
template <std::size_t Inputs>
constexpr std::array<label_range, Inputs> find_label_ranges(const graph_view& g, std::size_t parameters) {
  std::array<label_range, Inputs> found{};
  std::array<bool, Inputs> several{};
  for (std::int32_t id = 0; id < static_cast<std::int32_t>(g.node_count); ++id) {
    if (g[id].kind != op::equal) continue;
    for (int k = 0; k < 2; ++k) {
      const std::int32_t input = leaf_behind(g, g.operand(id, k)),
                         with = leaf_behind(g, g.operand(id, 1 - k));
      if (g[input].kind != op::input || static_cast<std::size_t>(g.attribute(input, 0)) < parameters)
        continue;
      const auto i = static_cast<std::size_t>(g.attribute(input, 0)) - parameters;
      label_range& r = found[i];
      if (g[with].kind == op::constant) {
        const auto number = static_cast<std::int64_t>(g[with].value);
        several[i] = several[i] || (r.ignores && r.ignored != number);
        r.ignores = true, r.ignored = number;
      } else if (g[with].kind == op::iota && is_averaged_within(g, id)) {
        const std::uint64_t classes = g.shape_of(with)[static_cast<std::size_t>(g.attribute(with, 0))];
        if (r.classes == 0 || classes < r.classes) r.classes = classes;
      }
    }
  }
  for (std::size_t i = 0; i < Inputs; ++i)
    if (several[i]) found[i] = {};
  return found;
}
template <class Model>
inline constexpr auto label_ranges = find_label_ranges<model_graph<Model>::data_inputs>(
    frozen<model_graph<Model>>::view(), parameter_table<Model>.size());

/// Throws `input_error` where an element of data input i is no class and not ignored.
/// `before`: how many elements come before these.
void check_labels(std::size_t i, const label_range& r, dtype type, std::span<const std::byte> labels,
                  std::size_t before);

}  // namespace napkin::detail
