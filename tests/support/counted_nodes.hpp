// How many nodes of a graph are of a kind that a pass is about.
#pragma once

#include <cstddef>

#include "napkin/graph/graph.hpp"

namespace napkin::testing {

inline std::size_t products_in(const graph_view& g) {
  std::size_t n = 0;
  for (std::size_t id = 0; id < g.size(); ++id) n += g.nodes[id].kind == op::einsum;
  return n;
}
/// What is made again, or later.
inline std::size_t copies_in(const graph_view& g) {
  std::size_t n = 0;
  for (std::size_t id = 0; id < g.size(); ++id) n += g.nodes[id].when != computed::once;
  return n;
}

}  // namespace napkin::testing
