// What conventions of counting share: FLOPs forward and backward, and which nodes are attention's.
#pragma once

#include <cstdint>

#include "napkin/cost/sheet.hpp"
#include "napkin/ops/composite.hpp"

namespace napkin::conventions {

struct counts {
  std::uint64_t forward = 0, backward = 0;
  constexpr std::uint64_t total() const { return detail::counted_sum(forward, backward); }
  /// The same, done n times.
  constexpr counts times(std::uint64_t n) const {
    return {detail::counted_product(forward, n), detail::counted_product(backward, n)};
  }
  constexpr bool operator==(const counts&) const = default;
};

namespace detail {

using napkin::detail::counted_product;
using napkin::detail::counted_rest;
using napkin::detail::counted_sum;

constexpr bool in_attention(const graph_view& g, int id) {
  return g.nodes[id].composite == static_cast<std::uint16_t>(composite::attention);
}

/// By node of a forward graph: how many einsums of attention lie on the way to it, itself included, within
/// attention. 1 of its scores, 2 of what they weigh; of an attention fed by another directly, 3 and 4.
constexpr buffer<std::int32_t> einsums_of_attention(const graph_view& g) {
  buffer<std::int32_t> depth(g.size(), 0);
  for (int id = 0; id < static_cast<int>(g.node_count); ++id) {
    if (!in_attention(g, id)) continue;
    std::int32_t& here = depth[static_cast<std::size_t>(id)];
    for (const std::int32_t x : g.operands(id))
      if (depth[static_cast<std::size_t>(x)] > here) here = depth[static_cast<std::size_t>(x)];
    if (g.nodes[id].kind == op::einsum) ++here;
  }
  return depth;
}

}  // namespace detail
}  // namespace napkin::conventions
