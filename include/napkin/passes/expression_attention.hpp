// The graphs of lazy expressions, and of gradients outside a training step, with each attention that a backend
// does as one operation.
#pragma once

#include "napkin/ops/expression_graph.hpp"
#include "napkin/passes/find_attention.hpp"

namespace napkin::passes {

/// An expression's graph; Fits as find_attention has it.
template <class E, class Fits>
struct expression_with_attention {
  static constexpr graph make() { return found(expression_graph<E>::make()); }
  static constexpr graph make_simplified() { return found(expression_graph<E>::make_simplified()); }
  /// Of operands of the given sizes (graph/run_time_sizes.hpp).
  static constexpr graph make_at(const std::size_t* sizes) {
    return found(napkin::detail::make_at(napkin::detail::replay_of<E>::value, sizes));
  }

 private:
  static constexpr graph found(graph&& g) { return find_attention(static_cast<graph&&>(g), Fits{}, ids{}); }
};

/// What a gradient_graph (passes/grad.hpp) is `rewritten` by.
template <class Fits>
struct attention_before_gradient {
  static constexpr graph make(const graph_view& g, ids wanted) { return find_attention(g, Fits{}, wanted); }
};

}  // namespace napkin::passes
