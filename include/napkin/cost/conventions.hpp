// FLOPs as others count them, and exactly, so that numbers can be compared: each a function of the graph.
//
// torch     PyTorch's FlopCounterMode: 2mnk of each matrix product that the model as written runs, whether
//           or not a pass removes it; all else is 0. Causal attention is the full square. Backward: a product
//           for each operand that needs a gradient, and once more the scores of composite attention, which
//           PyTorch's fused kernels compute again (2.5x forward in all)
// exact     the matrix products that are executed, of live gradients only; causal attention as a triangle,
//           T(T+1)/2, where every attention of the graph is causal over one T, else the square executed
// rule_6nd  the rule of thumb: 2 FLOPs for each parameter and token forward, 4 backward; with_attention adds
//           12 L H Q T for each token (L layers of H heads, Q wide, over T positions), a third of it forward
#pragma once

#include <cstdint>

#include "napkin/cost/cost.hpp"
#include "napkin/cost/counts.hpp"
#include "napkin/cost/torch.hpp"
#include "napkin/graph/coordinate.hpp"
#include "napkin/passes/contract.hpp"

namespace napkin {

namespace rule {
/// type<X>
template <class... Facts>
struct type_has_no_parameters {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "rule_6nd is asked of a train_step<...>, which says how many parameters and tokens it has; of numbers, "
      "rule_6nd_of(parameters, tokens)");
};
}  // namespace rule

/// What is executed of a graph as it was traced or differentiated, before it is lowered to a backend.
constexpr graph executed_graph(const graph_view& g, passes::objective order = passes::objective::least_time) {
  return passes::contract(passes::simplify(g).view(), order);
}
constexpr flop_counts executed_flops(const graph_view& g,
                                     passes::objective order = passes::objective::least_time) {
  return flops_of(executed_graph(g, order).view());
}

namespace conventions {

namespace detail {

/// The T of a mask that compares positions along two axes of T elements; 0 of any other node.
constexpr std::uint64_t length_of_mask(const graph_view& g, int id) {
  if (g[id].kind != op::less && g[id].kind != op::less_equal) return 0;
  const int a = coordinate_axis(g, g.operand(id, 0)), b = coordinate_axis(g, g.operand(id, 1));
  if (a < 0 || b < 0 || a == b) return 0;
  const shape& s = g.shape_of(id);
  const std::size_t length = s[static_cast<std::size_t>(a)];
  return s[static_cast<std::size_t>(b)] == length ? length : 0;
}

/// The T of a forward graph's attentions, if all are causal over the same; else 0.
constexpr std::uint64_t causal_length(const graph_view& g) {
  const buffer<std::int32_t> depth = einsums_of_attention(g);
  buffer<std::uint64_t> masked(g.size(), 0);
  std::uint64_t length = 0;
  bool any = false;
  for (int id = 0; id < static_cast<int>(g.node_count); ++id) {
    if (!in_attention(g, id)) continue;
    std::uint64_t& here = masked[static_cast<std::size_t>(id)];
    here = length_of_mask(g, id);
    for (const std::int32_t x : g.operands(id))
      if (here == 0) here = masked[static_cast<std::size_t>(x)];
    if (g[id].kind != op::einsum || depth[static_cast<std::size_t>(id)] % 2 != 0) continue;
    if (here == 0 || (any && here != length)) return 0;
    length = here;
    any = true;
  }
  return length;
}

constexpr int labels_of_size(const graph_view& g, int id, std::uint64_t size) {
  bool seen[max_labels]{};
  int at = 0, found = 0;
  for (const std::int32_t x : g.operands(id))
    for (const std::size_t s : g.shape_of(x)) {
      bool& known = seen[g.attribute(id, at++)];
      found += s == size && !known;
      known = true;
    }
  return found;
}

/// Of a pairwise graph; attention over queries and keys, T of each, as a triangle if T is not 0.
constexpr std::uint64_t exact_flops(const graph_view& g, std::uint64_t length) {
  std::uint64_t sum = 0;
  for (int id = 0; id < static_cast<int>(g.node_count); ++id) {
    if (g[id].kind != op::einsum) continue;
    std::uint64_t flops = flops_of_node(g, id).matmul;
    if (length != 0 && in_attention(g, id) && labels_of_size(g, id, length) >= 2)
      flops = flops / length / length * (length * (length + 1) / 2);
    sum = counted_sum(sum, flops);
  }
  return sum;
}

/// Of what is executed forward, and of that with the backward pass; `length` as exact_flops has it.
constexpr counts exact_parts(const graph_view& forward, const graph_view& both, std::uint64_t length) {
  const std::uint64_t flops = exact_flops(forward, length);
  return {flops, counted_rest(exact_flops(both, length), flops)};
}

}  // namespace detail

constexpr counts exact_of(const graph_view& forward) {
  const graph executed = executed_graph(forward);
  return {detail::exact_flops(executed.view(), detail::causal_length(executed.view())), 0};
}

constexpr counts exact_of(const graph_view& forward, const graph_view& differentiated) {
  const graph own = executed_graph(forward), both = executed_graph(differentiated);
  return detail::exact_parts(own.view(), both.view(), detail::causal_length(own.view()));
}
/// needed: what of `forward` is live in `differentiated`.
constexpr counts exact_of(const graph_view& forward, const graph_view& needed,
                          const graph_view& differentiated) {
  const graph own = executed_graph(needed), both = executed_graph(differentiated);
  return detail::exact_parts(own.view(), both.view(), detail::causal_length(executed_graph(forward).view()));
}

constexpr counts rule_6nd_of(std::uint64_t parameters, std::uint64_t tokens) {
  const std::uint64_t once = detail::counted_product(parameters, tokens);
  return {detail::counted_product(2, once), detail::counted_product(4, once)};
}

/// The products of scores and values of a forward graph's attentions: 4 L H Q T for each token.
constexpr std::uint64_t attention_flops_of(const graph_view& forward) {
  std::uint64_t sum = 0;
  for (int id = 0; id < static_cast<int>(forward.size()); ++id)
    if (forward[id].kind == op::einsum && detail::in_attention(forward, id))
      sum = detail::counted_sum(sum, detail::torch_flops_of_einsum(forward, id));
  return sum;
}

/// Source  Chowdhery et al., "PaLM", 2022, appendix B; nanoGPT's estimate_mfu
constexpr counts rule_6nd_with_attention_of(std::uint64_t parameters, std::uint64_t tokens,
                                            std::uint64_t attention) {
  const counts dense = rule_6nd_of(parameters, tokens);
  return {detail::counted_sum(dense.forward, attention),
          detail::counted_sum(dense.backward, detail::counted_product(2, attention))};
}

namespace detail {

template <class X>
concept Step = requires {
  X::forward_graph();
  X::differentiated_graph();
  X::wanted();
};

/// How often a step runs its graph.
template <class X>
constexpr std::uint64_t find_batches() {
  if constexpr (requires { X::micro_batches; })
    return X::micro_batches;
  else
    return 1;
}

template <class X>
using flops_mistake = napkin::detail::mistake_unless<Step<X> || napkin::detail::is_lowered<X>,
                                                     napkin::rule::type_has_no_cost<fact::type<X>>>;
// Raised is what raising the mistake gave: so that the variable itself raises it.
template <class X, class Raised>
constexpr counts torch_asked_for() {
  if constexpr (Step<X>)
    return torch_of(X::forward_graph(), X::wanted()).times(find_batches<X>());
  else if constexpr (napkin::detail::is_lowered<X>)
    return torch_of(expression_graph<X>::make().view());
  else
    return {};
}
template <class X, class Raised>
constexpr counts exact_asked_for() {
  if constexpr (requires { X::needed_graph(); })
    return exact_of(X::forward_graph(), X::needed_graph().view(), X::differentiated_graph());
  else if constexpr (Step<X>)
    return exact_of(X::forward_graph(), X::differentiated_graph()).times(find_batches<X>());
  else if constexpr (napkin::detail::is_lowered<X>)
    return exact_of(expression_graph<X>::make().view());
  else
    return {};
}

template <class X>
concept CountsParameters = requires {
  X::parameter_count;
  X::tokens;
};
template <class X>
using count_mistake = napkin::detail::mistake_unless<CountsParameters<X> || is_failed<X>,
                                                     napkin::rule::type_has_no_parameters<fact::type<X>>>;
template <class X, bool WithAttention, class Raised>
constexpr counts rule_6nd_asked_for() {
  if constexpr (!CountsParameters<X>)
    return {};
  else if constexpr (WithAttention)
    return rule_6nd_with_attention_of(
        X::parameter_count, X::tokens,
        counted_product(find_batches<X>(), attention_flops_of(X::forward_graph())));
  else
    return rule_6nd_of(X::parameter_count, X::tokens);
}

}  // namespace detail

/// Of a lazy expression (forward only), of a gradient_of, or of a training step: a type with
/// `forward_graph()`, `wanted()` (the nodes of it whose gradients are) and `differentiated_graph()`, which it
/// runs `micro_batches` times if it says so, for rule_6nd also with `parameter_count` and `tokens` (of one
/// step).
///
/// Rules  type_has_no_cost, type_has_no_parameters
template <class X>
inline constexpr counts torch = detail::torch_asked_for<
    std::remove_cvref_t<X>, decltype(detail::flops_mistake<std::remove_cvref_t<X>>::raise())>();
template <class X>
inline constexpr counts exact = detail::exact_asked_for<
    std::remove_cvref_t<X>, decltype(detail::flops_mistake<std::remove_cvref_t<X>>::raise())>();
template <class X>
inline constexpr counts rule_6nd =
    detail::rule_6nd_asked_for<X, false, decltype(detail::count_mistake<X>::raise())>();
template <class X>
inline constexpr counts rule_6nd_with_attention =
    detail::rule_6nd_asked_for<X, true, decltype(detail::count_mistake<X>::raise())>();

}  // namespace conventions
}  // namespace napkin
