// Deltas of short attentions. A backward pass of attention takes for each query the sum of its output times that
// one's adjoint, which is a kernel before it and reads both. The same number is the sum over keys of a weight
// times its adjoint, and a kernel that has a query's keys all at once has these in registers.
//
// Source  Dao et al. 2022, "FlashAttention", appendix B.2: the two sums are equal
#pragma once

#include "napkin/ops/primitives/attention.hpp"
#include "napkin/passes/simplify.hpp"

namespace napkin::passes {

/// A graph whose attentions lack deltas where Target::sums_deltas(form, dtype) says that a kernel computes
/// them, which gives all adjoints: where those of queries are wanted, and of keys or values. Not those with
/// masks.
template <class Target>
constexpr graph leave_out_deltas(graph&& g) {
  const graph_view view = g.view();
  const auto count = static_cast<int>(view.size());
  buffer<std::int32_t> found;
  const auto may_lack_them = [&](int id) {
    if (view.nodes[id].kind != op::attention_backward || !row::attention_form::has_deltas(view.nodes[id]))
      return false;
    const row::attention_form form(view, id);
    return !form.is_masked() && Target::sums_deltas(form, view.nodes[id].type);
  };
  const auto is_of_queries = [&](int id) {
    return row::attention_part_of(view, id) == attention_part::query;
  };
  for (int id = 0; id < count; ++id) {
    if (!may_lack_them(id)) continue;
    bool has_others = false;
    for (int other = 0; other < count && !has_others; ++other)
      has_others = row::are_one_attention(view, id, other) && is_of_queries(id) != is_of_queries(other);
    if (has_others) found.push_back(id);
  }
  if (found.size() == 0) return static_cast<graph&&>(g);
  for (const std::int32_t id : found)
    g.nodes[static_cast<std::size_t>(id)].arity = row::attention_form::operands_without_deltas;
  return without_dead_nodes(g.view());
}

}  // namespace napkin::passes
