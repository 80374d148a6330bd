// The floating-point operations of a graph, node by node: what is executed, whatever the backend. Knows no
// plan; bytes and launches are the lowered plan's (a backend's cost.hpp).
#pragma once

#include <cstdint>

#include "napkin/core/error.hpp"
#include "napkin/cost/sheet.hpp"
#include "napkin/ops/primitives/table.hpp"
#include "napkin/passes/simplify.hpp"

namespace napkin {

/// How an operation is counted.
enum class cost_rule : std::uint8_t {
  free,         // moves or names elements: no arithmetic
  per_element,  // the row's flops and transcendental for each element of the result
  per_value,    // the row's flops for each element of operand 0
  per_term,     // a reduction: n - 1 for each result
  contraction,
  attention  // of what is visible: each query with each key that it sees
};

constexpr cost_rule cost_rule_of(op o) {
  switch (category_of(o)) {
    case category::leaf:
    case category::movement:
      return cost_rule::free;
    case category::elementwise:
      return o == op::cast || o == op::stop_gradient ? cost_rule::free : cost_rule::per_element;
    case category::reduction:
      return cost_rule::per_term;
    case category::contraction:
      return cost_rule::contraction;
    case category::indexing:
      if (o == op::gather) return cost_rule::free;
      if (o == op::scatter_add) return cost_rule::per_value;
      break;
    case category::attention:
      return cost_rule::attention;
  }
  throw error("cost_rule_of: an operation without a rule");
}

namespace detail {
constexpr bool every_row_has_its_cost() {
  for (std::size_t i = 0; i < op_count; ++i) {
    const primitive_facts& row = primitives[i];
    const cost_rule rule = cost_rule_of(static_cast<op>(i));
    const bool counts = rule == cost_rule::per_element || rule == cost_rule::per_value;
    if (counts != (row.flops + row.transcendental > 0)) return false;
    if (rule == cost_rule::per_value && row.transcendental > 0) return false;
  }
  return true;
}
static_assert(
    every_row_has_its_cost(),
    "a row of the table of primitives says what it costs where its rule counts that, and only there");
}  // namespace detail

/// The terms of an einsum: what its labels span, each once.
struct einsum_extent {
  std::uint64_t points = 1;   // product of the sizes of all labels
  std::uint64_t outputs = 1;  // of those of the result
  std::uint64_t alone = 1;    // of those that one operand has and neither another nor the result
  bool sums = false;          // some label is summed
  bool contracts = false;     // some label of several operands is summed
};

constexpr einsum_extent extent_of_einsum(const graph_view& g, int id) {
  // A bit for each label: an array by label takes some compilers longer to fill than all else here.
  static_assert(max_labels <= 64);
  std::uint64_t once = 0, again = 0, in_result = 0;
  einsum_extent e;
  const ids labels = g.attributes(id);
  const std::int32_t* at = labels.begin();
  for (int k = 0; k < g.nodes[id].arity; ++k) {
    std::uint64_t here = 0;
    for (const std::size_t s : g.shape_of(g.operand(id, k))) {
      const std::uint64_t label = std::uint64_t{1} << *at++;
      if (((once | here) & label) == 0) e.points = detail::counted_product(e.points, s);
      here |= label;  // once more: its diagonal
    }
    again |= once & here;
    once |= here;
  }
  for (const std::size_t s : g.shape_of(id)) {
    in_result |= std::uint64_t{1} << *at++;
    e.outputs = detail::counted_product(e.outputs, s);
  }
  e.sums = (once & ~in_result) != 0;
  e.contracts = (again & ~in_result) != 0;
  std::uint64_t alone = once & ~again & ~in_result;
  at = labels.begin();
  for (int k = 0; k < g.nodes[id].arity && alone != 0; ++k)
    for (const std::size_t s : g.shape_of(g.operand(id, k))) {
      const std::uint64_t label = std::uint64_t{1} << *at++;
      if ((alone & label) != 0) e.alone = detail::counted_product(e.alone, s);
      alone &= ~label;
    }
  return e;
}

namespace detail {

/// n - 1 for each of the results, of n terms each.
constexpr std::uint64_t reduction_flops(std::uint64_t terms, std::uint64_t results) {
  return terms > results ? terms - results : 0;  // none where nothing is reduced
}

/// A sum divided by how many it sums, whoever wrote it: the division is part of a mean.
constexpr bool is_mean(const graph_view& g, int id) {
  if (g.nodes[id].kind != op::div) return false;
  const int total = g.operand(id, 0), by = g.operand(id, 1);
  if (g.nodes[total].kind != op::sum || g.nodes[by].kind != op::constant) return false;
  const std::uint64_t results = counted_numel(g.shape_of(total));
  return results != 0 && g.nodes[by].value * static_cast<double>(results) ==
                             static_cast<double>(counted_numel(g.shape_of(g.operand(total, 0))));
}

}  // namespace detail

/// What the kernel that gives a part of an attention shares between parts and columns.
struct attention_kernel {
  std::uint64_t columns = 0;  // as planning::attention_record's
  bool has_weights = false;   // another part's that this one needs too
  bool has_slopes = false;    // the scores' adjoints
};

namespace detail {

/// Of a node of attention: products of visible pairs, and of a backward pass their scores again, unless the
/// node's kernel has made them for another part. What the masked part of a tile on the diagonal costs is not
/// counted, as a tile's padding is not.
constexpr flop_counts flops_of_attention(const graph_view& g, int id, const attention_kernel& kernel) {
  const std::uint64_t columns = kernel.columns;
  const row::attention_form a(g, id);
  const std::uint64_t q = a.queries(), k = a.keys(), d = a.size[row::attention_form::hidden],
                      w = a.size[row::attention_form::value];
  const auto causal_pairs = [k](std::uint64_t queries) {
    const std::uint64_t seen =
        queries < k ? queries : k;  // queries that see one key more than the one before
    const std::uint64_t triangle =
        seen % 2 == 0 ? counted_product(seen / 2, seen + 1) : counted_product(seen, (seen + 1) / 2);
    return counted_sum(triangle, counted_product(queries - seen, k));
  };
  const std::uint64_t behind = a.window != 0 && a.window < q ? causal_pairs(q - a.window) : 0,
                      visible = a.causal ? causal_pairs(q) - behind : counted_product(q, k);
  const std::uint64_t masks =
      a.is_masked() ? 1 : 0;  // adds, or selects; backward one number more is subtracted
  const std::uint64_t pairs = counted_product(a.heads(), visible), rows = counted_product(a.heads(), q);
  flop_counts f;
  // How often scores are taken for a result that is so wide.
  const auto times = [columns](std::uint64_t width) {
    return columns == 0 || width == 0 ? 1 : (width - 1) / columns + 1;
  };
  const auto products = [&](std::uint64_t widths, std::uint64_t taken, std::uint64_t sums) {
    f.matmul = counted_product(counted_product(2, pairs), counted_sum(counted_product(widths, taken), sums));
  };
  // Of weights and of these times their adjoints, and divided: once, as a kernel of all keys has them.
  const auto sum_deltas = [&] {
    if (row::attention_form::has_deltas(g.nodes[id])) return;
    f.elementwise = counted_sum(f.elementwise, counted_sum(pairs, rows));
    f.reduce = counted_sum(f.reduce, counted_product(2, pairs - rows));
  };
  switch (a.part) {
    case attention_part::output: {  // scale, subtract the largest; divide by the sum
      const std::uint64_t n = times(w);
      products(d, n, w);
      f.elementwise = counted_sum(counted_product((2 + masks) * n, pairs), counted_product(rows, w));
      f.reduce = counted_product(2 * n, pairs - rows);
      f.transcendental = counted_product(n, pairs);
      break;
    }
    case attention_part::log_sum:
      f.elementwise = rows;
      f.transcendental = rows;
      break;
    case attention_part::largest:  // found for the output
      break;
    case attention_part::query: {  // scale, subtract the sum; subtract delta, multiply; scale
      const std::uint64_t n = times(d);
      products(d + w, n, d);
      f.elementwise = counted_sum(counted_product((4 + 2 * masks) * n, pairs), counted_product(rows, d));
      f.transcendental = counted_product(n, pairs);
      sum_deltas();
      break;
    }
    case attention_part::value: {
      const std::uint64_t n = kernel.has_weights ? 0 : times(w);
      products(d, n, w);
      f.elementwise = counted_product((2 + 2 * masks) * n, pairs);
      f.transcendental = counted_product(n, pairs);
      break;
    }
    case attention_part::key: {
      const std::uint64_t weights = kernel.has_weights ? 0 : times(d),
                          slopes = kernel.has_slopes ? 0 : times(d);
      products(1, d * weights + w * slopes, d);
      f.elementwise = counted_sum(counted_product((2 + 2 * masks) * weights + 2 * slopes, pairs),
                                  counted_numel(g.shape_of(id)));
      f.transcendental = counted_product(weights, pairs);
      if (!kernel.has_slopes) sum_deltas();
      break;
    }
  }
  return f;
}

}  // namespace detail

/// Of one node. An einsum of more than two operands has no count before it is ordered: `error`. `kernel`: of
/// a node of attention.
constexpr flop_counts flops_of_node(const graph_view& g, int id, const attention_kernel& kernel = {}) {
  flop_counts f;
  const op kind = g.nodes[id].kind;
  const primitive_facts& row = facts_of(kind);
  const auto flops = static_cast<std::uint64_t>(row.flops);
  switch (cost_rule_of(kind)) {
    case cost_rule::free:
      break;
    case cost_rule::per_element: {
      const std::uint64_t n = detail::counted_numel(g.shape_of(id));
      (detail::is_mean(g, id) ? f.reduce : f.elementwise) = detail::counted_product(n, flops);
      f.transcendental = detail::counted_product(n, static_cast<std::uint64_t>(row.transcendental));
      break;
    }
    case cost_rule::per_value:
      f.reduce = detail::counted_product(detail::counted_numel(g.shape_of(g.operand(id, 0))), flops);
      break;
    case cost_rule::per_term:
      f.reduce = detail::reduction_flops(detail::counted_numel(g.shape_of(g.operand(id, 0))),
                                         detail::counted_numel(g.shape_of(id)));
      break;
    case cost_rule::contraction: {
      if (g.nodes[id].arity > 2)
        throw error("flops_of: an einsum of more than two operands; passes::contract orders it first");
      const einsum_extent e = extent_of_einsum(g, id);
      if (g.nodes[id].arity == 1)
        f.reduce = detail::reduction_flops(e.points, e.outputs);
      else if (e.sums)
        f.matmul = detail::counted_product(2, e.points);
      else
        f.elementwise = e.points;
      break;
    }
    case cost_rule::attention:
      f = detail::flops_of_attention(g, id, kernel);
      break;
  }
  if (g.nodes[id].when == computed::again) f.recomputed = f.total();
  return f;
}

/// Of all that the outputs need, each node once. Contractions are pairwise (passes/contract.hpp).
constexpr flop_counts flops_of(const graph_view& g) {
  flop_counts sum;
  const buffer<bool> live = passes::live_nodes(g);
  for (int id = 0; id < static_cast<int>(g.node_count); ++id)
    if (live[static_cast<std::size_t>(id)]) sum += flops_of_node(g, id);
  return sum;
}

}  // namespace napkin
