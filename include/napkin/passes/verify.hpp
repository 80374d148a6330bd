// What a legal graph is, in one place: every pass may rely on it and must leave it true. An ordinary
// constexpr function, run between passes by the tests, in constant evaluation or at run time.
#pragma once

#include <cstdint>
#include <string_view>

#include "napkin/graph/graph.hpp"
#include "napkin/ops/primitives/table.hpp"

namespace napkin {

namespace passes {

/// The first thing that is wrong with a graph; none where `sentence` is empty. `node` is -1 where the fault
/// is not a node's (a shape's, the outputs').
struct flaw {
  int node = -1;
  std::string_view sentence;

  constexpr bool none() const { return sentence.empty(); }
};

/// Elementwise operations with a formula for floating point only.
constexpr bool is_floating_only(op o) {
  return facts_of(o).transcendental > 0 || o == op::floor || o == op::fma;
}
constexpr bool is_comparison(op o) { return o == op::equal || o == op::less || o == op::less_equal; }
constexpr bool is_logical(op o) {
  return o == op::logical_not || o == op::logical_and || o == op::logical_or;
}
/// Takes part in arithmetic.
constexpr bool is_number(dtype t) { return is_floating(t) || is_integer(t); }

namespace detail {

inline constexpr std::int32_t max_slots = 1 << 16;

constexpr std::string_view leaf_fault(const graph_view& g, int id) {
  const node& n = g[id];
  const bool strided = n.kind == op::input && n.attribute_count > 1;  // a view handed in: slot, strides
  if (n.attribute_count != (n.kind == op::constant ? 0
                            : strided              ? 1 + static_cast<int>(g.shape_of(id).size())
                                                   : 1))
    return "a leaf has a wrong number of attributes";
  if (n.kind == op::input) {
    if (g.attribute(id, 0) < 0 || g.attribute(id, 0) >= max_slots) return "an input's slot is out of range";
    return {};
  }
  if (is_complex(n.type)) return "a complex number is computed with";
  if (n.kind == op::constant) return {};
  if (!is_number(n.type)) return "an iota is not of numbers";
  if (g.attribute(id, 0) < 0 || static_cast<std::size_t>(g.attribute(id, 0)) >= g.shape_of(id).size())
    return "an iota's axis is not one of the shape";
  return {};
}

/// Each axis once.
constexpr bool is_order(ids axes, std::size_t rank) {
  std::uint64_t seen = 0;
  for (const std::int32_t a : axes) {
    if (a < 0 || static_cast<std::size_t>(a) >= rank) return false;
    seen |= std::uint64_t{1} << a;
  }
  return axes.size() == rank && seen + 1 == std::uint64_t{1} << rank;
}

constexpr std::string_view elementwise_fault(const graph_view& g, int id) {
  const node& n = g[id];
  if (n.attribute_count != 0 && !is_order(g.attributes(id), g.shape_of(id).size()))
    return "the attributes of an elementwise operation are no order of its axes";
  for (std::int32_t x : g.operands(id))
    if (g[x].shape_id != n.shape_id) return "an elementwise operand has another shape than the result";
  const dtype t = g[g.operand(id, 0)].type;
  if (n.kind == op::cast) return {};
  if (n.kind == op::select) {
    if (t != dtype::b8) return "the condition of a select is not b8";
    if (g[g.operand(id, 1)].type != n.type || g[g.operand(id, 2)].type != n.type)
      return "a select mixes dtypes without a cast";
    return {};
  }
  for (std::int32_t x : g.operands(id))
    if (g[x].type != t) return "an elementwise operation mixes dtypes without a cast";
  if (is_comparison(n.kind)) return n.type == dtype::b8 ? "" : "a comparison does not give b8";
  if (n.type != t) return "an elementwise operation changes the dtype without a cast";
  if (n.kind == op::stop_gradient) return {};
  if (n.kind == op::random_bits) return t == dtype::i64 ? "" : "random bits are not of i64";
  if (is_logical(n.kind)) return t == dtype::b8 ? "" : "a logical operation is not on b8";
  if (is_floating_only(n.kind))
    return is_floating(t) ? "" : "an operation on floating point has another dtype";
  return is_number(t) ? "" : "arithmetic is not on numbers";
}

constexpr std::string_view expand_fault(const graph_view& g, int id) {
  const shape &to = g.shape_of(id), &from = g.shape_of(g.operand(id, 0));
  const ids map = g.attributes(id);
  if (map.size() != to.size()) return "an expand does not name an axis for each of the result";
  std::uint32_t seen = 0;
  for (std::size_t i = 0; i < map.size(); ++i) {
    if (map[i] == -1) continue;
    const auto axis = static_cast<std::size_t>(map[i]);
    if (map[i] < 0 || axis >= from.size()) return "an expand names an axis that the operand lacks";
    if (seen >> axis & 1u) return "an expand names an axis twice";
    if (to[i] != from[axis]) return "an expand changes an axis's size";
    seen |= 1u << axis;
  }
  return seen + 1 == 1u << from.size() ? "" : "an expand leaves an axis of the operand out";
}

/// `few` positions, starting at `start` and `step` apart, within `many`.
constexpr bool walk_stays_inside(std::size_t few, std::size_t many, std::int64_t start, std::int64_t step) {
  if (step == 0) return false;
  if (few == 0) return true;
  const auto size = static_cast<std::int64_t>(many), last = static_cast<std::int64_t>(few) - 1;
  if (start < 0 || start >= size || last >= size) return false;
  const std::int64_t end = start + last * step;
  return end >= 0 && end < size;
}

constexpr std::string_view walk_fault(const graph_view& g, int id) {
  const bool pads = g[id].kind == op::pad;
  const shape &x = g.shape_of(g.operand(id, 0)), &y = g.shape_of(id);
  const shape &few = pads ? x : y, &many = pads ? y : x;
  const std::size_t rank = x.size();
  if (y.size() != rank) return "a slice or pad changes the rank";
  const ids at = g.attributes(id);
  if (at.size() != 2 * rank) return "a slice or pad does not have a start and a step for each axis";
  for (std::size_t i = 0; i < rank; ++i)
    if (!walk_stays_inside(few[i], many[i], at[i], at[rank + i])) return "a slice or pad leaves the axis";
  return {};
}

constexpr std::string_view diagonal_fault(const graph_view& g, int id) {
  const shape &to = g.shape_of(id), &from = g.shape_of(g.operand(id, 0));
  const ids map = g.attributes(id);
  if (map.size() != from.size()) return "a diagonal does not name an axis for each of the operand";
  std::uint32_t seen = 0;
  for (std::size_t i = 0; i < map.size(); ++i) {
    const auto axis = static_cast<std::size_t>(map[i]);
    if (map[i] < 0 || axis >= to.size()) return "a diagonal names an axis that the result lacks";
    if (to[axis] != from[i]) return "a diagonal joins axes of unequal sizes";
    seen |= 1u << axis;
  }
  return seen + 1 == 1u << to.size() ? "" : "a diagonal leaves an axis of the result out";
}

constexpr std::string_view window_fault(const graph_view& g, int id) {
  const shape &to = g.shape_of(id), &from = g.shape_of(g.operand(id, 0));
  if (g[id].attribute_count != 4) return "a window does not have an axis, a start, a step and a dilation";
  const int axis = g.attribute(id, 0);
  const auto at = static_cast<std::size_t>(axis);
  if (axis < 0 || at >= from.size() || to.size() != from.size() + 1)
    return "a window's axis is not one that becomes two";
  for (std::size_t i = 0; i < to.size(); ++i)
    if (i != at && i != at + 1 && to[i] != from[i > at ? i - 1 : i])
      return "a window changes another axis than its own";
  if (to[at] == 0 || to[at + 1] == 0) return "";  // reads nothing
  const auto start = static_cast<std::ptrdiff_t>(g.attribute(id, 1));
  const std::ptrdiff_t walked[] = {g.attribute(id, 2) * static_cast<std::ptrdiff_t>(to[at] - 1),
                                   g.attribute(id, 3) * static_cast<std::ptrdiff_t>(to[at + 1] - 1)};
  std::ptrdiff_t least = start, most = start;
  for (const std::ptrdiff_t w : walked) (w < 0 ? least : most) += w;
  return least >= 0 && most < static_cast<std::ptrdiff_t>(from[at]) ? "" : "a window leaves the axis";
}

constexpr std::string_view concat_fault(const graph_view& g, int id) {
  const shape& to = g.shape_of(id);
  if (g[id].attribute_count != 1 || g.attribute(id, 0) < 0 ||
      static_cast<std::size_t>(g.attribute(id, 0)) >= to.size())
    return "a concat's axis is not one of the shape";
  const auto axis = static_cast<std::size_t>(g.attribute(id, 0));
  std::size_t total = 0;
  for (std::int32_t x : g.operands(id)) {
    const shape& part = g.shape_of(x);
    if (part.size() != to.size()) return "a concat's operands differ in rank";
    for (std::size_t i = 0; i < to.size(); ++i)
      if (i != axis && part[i] != to[i]) return "a concat's operands differ on another axis than the joined";
    total += part[axis];
  }
  return total == to[axis] ? "" : "a concat's sizes do not add up";
}

constexpr std::string_view movement_fault(const graph_view& g, int id) {
  const node& n = g[id];
  for (std::int32_t x : g.operands(id))
    if (g[x].type != n.type) return "a movement changes the dtype";
  switch (n.kind) {
    case op::expand:
      return expand_fault(g, id);
    case op::slice:
    case op::pad:
      return walk_fault(g, id);
    case op::diagonal:
      return diagonal_fault(g, id);
    case op::window:
      return window_fault(g, id);
    case op::concat:
      return concat_fault(g, id);
    default:
      if (n.attribute_count != 0) return "a reshape has attributes";
      return numel(g.shape_of(id)) == numel(g.shape_of(g.operand(id, 0)))
                 ? ""
                 : "a reshape changes the number of elements";
  }
}

constexpr std::string_view reduction_fault(const graph_view& g, int id) {
  const node& n = g[id];
  const shape &from = g.shape_of(g.operand(id, 0)), &to = g.shape_of(id);
  const dtype t = g[g.operand(id, 0)].type;
  if (n.kind == op::any || n.kind == op::all) {
    if (n.type != dtype::b8) return "any or all does not give b8";
  } else {
    if (!is_number(t)) return "a reduction is not of numbers";
    if (n.type != t) return "a reduction changes the dtype without a cast";
  }
  const ids axes = g.attributes(id);
  if (axes.empty()) return "a reduction has no axis";
  std::size_t next = 0, kept = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (next < axes.size() && axes[next] == static_cast<std::int32_t>(i)) {
      ++next;
      continue;
    }
    if (kept >= to.size() || to[kept] != from[i]) return "a reduction's shape is not what its axes leave";
    ++kept;
  }
  if (next != axes.size()) return "a reduction's axes are not ascending axes of its operand";
  return kept == to.size() ? "" : "a reduction's shape is not what its axes leave";
}

constexpr std::string_view einsum_fault(const graph_view& g, int id) {
  const node& n = g[id];
  if (!is_number(n.type)) return "an einsum is not of numbers";
  if (n.arity > static_cast<std::int32_t>(max_einsum_operands)) return "an einsum has too many operands";
  std::size_t size_of_label[max_labels]{};
  bool known[max_labels]{}, in_result[max_labels]{};
  const ids labels = g.attributes(id);
  std::size_t at = 0;
  // what a product of two 8-bit floats gives is stored wider: backends that multiply them are handed such
  const bool widens = n.arity == 2 && is_floating(n.type) && !is_8_bit_float(n.type) &&
                      n.type != dtype::f64 && is_8_bit_float(g[g.operand(id, 0)].type) &&
                      is_8_bit_float(g[g.operand(id, 1)].type);
  for (std::int32_t x : g.operands(id)) {
    if (!widens && g[x].type != n.type) return "an einsum mixes dtypes without a cast";
    for (std::size_t size : g.shape_of(x)) {
      if (at >= labels.size()) return "an einsum lacks labels";
      if (labels[at] < 0 || static_cast<std::size_t>(labels[at]) >= max_labels)
        return "an einsum's label is out of range";
      const auto l = static_cast<std::size_t>(labels[at++]);
      if (known[l] && size_of_label[l] != size) return "one label of an einsum has two sizes";
      known[l] = true;
      size_of_label[l] = size;
    }
  }
  const shape& to = g.shape_of(id);
  if (labels.size() - at != to.size()) return "an einsum's result has not a label for each axis";
  for (std::size_t i = 0; i < to.size(); ++i, ++at) {
    const auto l = static_cast<std::size_t>(labels[at]);
    if (labels[at] < 0 || l >= max_labels || !known[l]) return "an einsum's result has a label of no operand";
    if (in_result[l]) return "an einsum's result has a label twice";
    if (size_of_label[l] != to[i]) return "an einsum's result has an axis of another size than its label";
    in_result[l] = true;
  }
  return {};
}

/// `whole` with its axis replaced by the axes of `index`.
constexpr bool is_gathered(const shape& part, const shape& whole, const shape& index, std::size_t axis) {
  if (part.size() + 1 != whole.size() + index.size()) return false;
  for (std::size_t i = 0; i < part.size(); ++i) {
    const std::size_t size = i < axis                  ? whole[i]
                             : i < axis + index.size() ? index[i - axis]
                                                       : whole[i + 1 - index.size()];
    if (part[i] != size) return false;
  }
  return true;
}

constexpr std::string_view indexing_fault(const graph_view& g, int id) {
  const bool gathers = g[id].kind == op::gather;
  const int x = g.operand(id, 0), index = g.operand(id, 1);
  if (is_complex(g[x].type)) return "a complex number is computed with";
  if (g[x].type != g[id].type) return "a gather or scatter_add changes the dtype";
  if (!gathers && !is_number(g[x].type)) return "a scatter_add is not of numbers";
  if (!is_integer(g[index].type)) return "an index is not of integers";
  const shape &part = g.shape_of(gathers ? id : x), &whole = g.shape_of(gathers ? x : id);
  if (g[id].attribute_count != 1 || g.attribute(id, 0) < 0 ||
      static_cast<std::size_t>(g.attribute(id, 0)) >= whole.size())
    return "the axis of a gather or scatter_add is not one of the shape";
  return is_gathered(part, whole, g.shape_of(index), static_cast<std::size_t>(g.attribute(id, 0)))
             ? ""
             : "the shapes of a gather or scatter_add do not fit its index";
}

constexpr std::string_view attention_fault(const graph_view& g, int id) {
  using form = row::attention_form;
  const node& n = g[id];
  const bool backward = n.kind == op::attention_backward;
  const int plain = !backward             ? 3
                    : form::has_deltas(n) ? 6
                                          : form::operands_without_deltas,
            masked = backward ? 8 : 4;
  if (n.arity != plain && n.arity != masked) return "the number of operands is not the row's";
  const int mask = form::mask_operand(n);
  const dtype t = g[g.operand(id, 0)].type;
  if (!is_floating(t)) return "an attention is not of floating point";
  for (int k = 0; k < n.arity; ++k) {
    const dtype other = g[g.operand(id, k)].type;
    if (k == mask ? !is_floating(other) && other != dtype::b8 : other != (k < 4 ? t : accumulator_of(t)))
      return k == mask ? "an attention's mask is neither numbers nor truths"
                       : "an attention mixes dtypes without a cast";
  }
  const ids all = g.attributes(id);
  std::size_t at = 0, size[form::label_count]{};
  bool known[form::label_count]{};
  std::uint32_t has[5]{};  // labels of q, k, v, the output and the mask
  const auto take = [&](std::uint32_t& seen, std::size_t& one) -> std::string_view {
    if (at + form::numbers >= all.size()) return "an attention lacks labels";
    const std::int32_t l = all[at++];
    if (l < 0 || l >= static_cast<std::int32_t>(form::label_count))
      return "an attention's label is out of range";
    if (seen >> l & 1) return "an attention's operand has a label twice";
    seen |= 1u << l;
    if (known[l] && one != size[l] && one != static_cast<std::size_t>(-1))
      return "one label of an attention has two sizes";
    if (one != static_cast<std::size_t>(-1)) size[l] = one;
    known[l] = true;
    return {};
  };
  for (int k = 0; k < 3; ++k)
    for (std::size_t s : g.shape_of(g.operand(id, k)))
      if (const auto fault = take(has[k], s); !fault.empty()) return fault;
  if (mask >= 0)
    for (std::size_t s : g.shape_of(g.operand(id, mask)))
      if (const auto fault = take(has[4], s); !fault.empty()) return fault;
  while (at + form::numbers < all.size()) {
    std::size_t unsaid = static_cast<std::size_t>(-1);
    const std::int32_t l = all[at];
    if (l >= 0 && l < static_cast<std::int32_t>(form::label_count) && !known[l])
      return "an attention's output has a label of no operand";
    if (const auto fault = take(has[3], unsaid); !fault.empty()) return fault;
  }
  if (all.size() < form::numbers) return "an attention lacks labels";
  constexpr std::uint32_t q = 1u << form::query, k = 1u << form::key, d = 1u << form::hidden,
                          w = 1u << form::value, own = q | k | d | w;
  if ((has[0] & own) != (q | d) || (has[1] & own) != (k | d) || (has[2] & own) != (k | w) ||
      (has[3] & own) != (q | w) || (has[1] & ~own) != (has[2] & ~own) || (has[0] & ~own) != (has[3] & ~own) ||
      (has[1] & ~own & ~has[0]) != 0 || (has[4] & ~(has[0] | k)) != 0 || (has[4] & d) != 0)
    return "an attention's labels are not those of queries, keys, values, their mask and their output";
  std::size_t outer = 0;
  for (std::size_t l = form::first_outer; l < form::label_count; ++l) {
    outer += has[0] >> l & 1;
    if ((has[0] >> l & 1) != 0 && outer != l + 1 - form::first_outer)
      return "an attention's labels of batches and heads leave one out";
  }
  if (size[form::key] == 0) return "an attention has no keys";
  if (all[at] != 0 && all[at] != 1) return "an attention is neither causal nor full";
  const std::int32_t window = all[at + 1];
  if (window < 0 || (window > 0 && all[at] == 0)) return "an attention of a window is not causal";
  if (window > 0 && size[form::query] >= size[form::key] + static_cast<std::size_t>(window))
    return "a query sees no key, so many are behind its window";
  const std::int32_t part = all[at + 3];
  constexpr auto number = [](attention_part p) { return static_cast<std::int32_t>(p); };
  const bool forward_part = part == number(attention_part::output) ||
                            part == number(attention_part::log_sum) ||
                            (part == number(attention_part::largest) && mask >= 0);
  const bool backward_part = part == number(attention_part::query) || part == number(attention_part::key) ||
                             part == number(attention_part::value);
  if (backward ? !backward_part : !forward_part) return "an attention has no such part";
  const form f(g, id);
  const bool of_sums = f.part == attention_part::log_sum || f.part == attention_part::largest;
  if (n.type != (of_sums ? accumulator_of(t) : t)) return "an attention changes the dtype without a cast";
  if (g.shape_of(id) != f.shape_of(f.part)) return "an attention's shape is not its part's";
  if (!backward) return {};
  if (g.shape_of(g.operand(id, 3)) != f.shape_of(attention_part::output))
    return "an attention's adjoint has another shape than its output";
  for (const int rows : {4, 5, 7})
    if (rows < n.arity && g.shape_of(g.operand(id, rows)) != f.shape_of(attention_part::log_sum))
      return "an attention's sums have another shape than its queries";
  return {};
}

constexpr std::string_view node_fault(const graph_view& g, int id) {
  const node& n = g[id];
  if (n.kind >= op::count_) return "the operation is none of the table's";
  if (n.type > dtype::b8) return "the dtype is none of the list's";
  if (n.shape_id < 0 || static_cast<std::size_t>(n.shape_id) >= g.shape_count)
    return "the shape is none of the graph's";
  const auto in_pool = [&](std::int64_t first, std::int64_t count) {
    return first >= 0 && count >= 0 && first + count <= static_cast<std::int64_t>(g.pool_count);
  };
  if (!in_pool(n.first_operand, n.arity) || !in_pool(n.first_attribute, n.attribute_count))
    return "operands or attributes lie outside the pool";
  const int arity = facts_of(n.kind).arity;
  if (arity < 0 ? n.arity < 1 : n.arity != arity) return "the number of operands is not the row's";
  for (std::int32_t x : g.operands(id)) {
    if (x < 0 || x >= id) return "an operand does not stand before its node";
    if (is_complex(g[x].type)) return "a complex number is computed with";
  }
  if (is_complex(n.type) && n.kind != op::input) return "a complex number is computed with";
  switch (category_of(n.kind)) {
    case category::leaf:
      return leaf_fault(g, id);
    case category::elementwise:
      return elementwise_fault(g, id);
    case category::movement:
      return movement_fault(g, id);
    case category::reduction:
      return reduction_fault(g, id);
    case category::contraction:
      return einsum_fault(g, id);
    case category::attention:
      return attention_fault(g, id);
    default:
      return indexing_fault(g, id);
  }
}

constexpr std::string_view shapes_fault(const graph_view& g) {
  constexpr std::size_t limit = std::size_t{1} << 62;
  for (std::size_t i = 0; i < g.shape_count; ++i) {
    std::size_t n = 1;
    for (std::size_t size : g.shapes[i]) {
      if (size != 0 && n > limit / size) return "a shape has more elements than can be counted";
      n *= size;
    }
    for (std::size_t j = 0; j < i; ++j)
      if (g.shapes[i] == g.shapes[j]) return "the table of shapes has a shape twice";
  }
  return {};
}

}  // namespace detail

/// Near-linear in nodes; reads nothing outside the arrays of `g` whatever they hold.
constexpr flaw verify(const graph_view& g) {
  if (const auto fault = detail::shapes_fault(g); !fault.empty()) return {-1, fault};
  buffer<std::int32_t> of_slot;  // the first input node of each slot
  for (int id = 0; id < static_cast<int>(g.node_count); ++id) {
    if (const auto fault = detail::node_fault(g, id); !fault.empty()) return {id, fault};
    if (g[id].kind != op::input) continue;
    const auto slot = static_cast<std::size_t>(g.attribute(id, 0));
    if (slot >= of_slot.size()) of_slot.resize(slot + 1, -1);
    const std::int32_t first = of_slot[slot];
    if (first >= 0 && (g[first].type != g[id].type || g[first].shape_id != g[id].shape_id))
      return {id, "two inputs of one slot differ in dtype or shape"};
    of_slot[slot] = id;
  }
  if (g.output_count == 0) return {-1, "the graph has no output"};
  for (std::int32_t out : g.output_ids())
    if (out < 0 || static_cast<std::size_t>(out) >= g.size()) return {-1, "an output is no node"};
  return {};
}

}  // namespace passes
}  // namespace napkin
