// A graph whose nodes are dealt to units: what passes/fuse.hpp makes, and what later passes change. A *unit* is one
// kernel (elementwise operations and reductions over one iteration domain) or one operation of its own (a
// contraction, gather, scatter_add, pad, concat; an attention with its sums, the adjoints of its keys and values).
//
// A kernel's domain is a shape whose trailing axes form its rows. Its members are
//   element   a value at every position of the domain
//   row       a value per row: what a reduction over the row's axes gives, and arithmetic on it
//   column    a reduction over all rows: complete only when the kernel is
// so that a softmax, a norm, or a norm's backward pass with its parameter gradients is one kernel.
#pragma once

#include "napkin/ops/composite.hpp"
#include "napkin/passes/epilogue.hpp"
#include "napkin/passes/layout.hpp"

namespace napkin {

namespace passes {

enum class unit_kind : std::uint8_t { kernel, contraction, gather, scatter_add, pad, concat, attention };
enum class role : std::uint8_t { none, element, row, column };

struct unit {
  unit_kind kind = unit_kind::kernel;
  std::int32_t depth = 0;
  std::int32_t domain = -1;      // shape ids
  std::int32_t row_shape = -1;   // of row members; set once a reduction over rows has joined
  int row_axes = -1;             // trailing axes that form the row; -1: not yet decided
  buffer<std::int32_t> members;  // node ids, ascending
  buffer<std::int32_t> readers;  // units that read this one, while units are formed
  std::size_t made_again = 0;    // of the members: copies of what another kernel makes (computed::again)
  bool merged = false;           // into another: no longer exists
  std::int32_t into = -1;        // which one
  std::int32_t first_read = -1;  // the first node of another unit that reads this one, accumulations aside
  std::int32_t epilogue = -1;    // of a contraction: which of the fusion's
};

/// How a node's operand is meant: the node that holds the values, and whether the path to it is direct or
/// repeats a row's value along the row.
struct reference {
  int base;
  bool direct;
  bool along_row;
};

constexpr reference resolve(const graph_view& g, int x) {
  if (!is_view(g.nodes[x].kind)) return {x, true, false};
  int base = x;
  while (is_view(g.nodes[base].kind)) base = g.operand(base, 0);
  if (g.nodes[x].kind != op::expand || g.operand(x, 0) != base) return {base, false, false};
  const auto rank = static_cast<int>(g.shape_of(base).size());
  bool along_row = g.nodes[x].attribute_count > rank;
  for (int i = 0; i < g.nodes[x].attribute_count; ++i)
    along_row = along_row && g.attribute(x, i) == (i < rank ? i : -1);
  return {base, false, along_row};
}

/// A node whose elements are written as a part of another's buffer, `whole`: in elements.
struct part {
  std::int32_t whole = -1;
  std::ptrdiff_t offset = 0;
  stride_list stride;
};

/// A sum of columns that is added to an input where it is joined: nodes. `result` is a column of the sum's
/// kernel too; the sum itself has no buffer. Found by passes/place_accumulations.hpp.
struct added_column {
  std::int32_t sum = -1, added = -1, result = -1;
};
/// Of a sum that is kept as it is stored, so that adding before it is stored makes no difference.
constexpr bool can_add_to_column(dtype type) { return size_of(type) >= 4 && !is_complex(type); }

struct fusion {
  buffer<unit> units;
  buffer<std::int32_t> unit_of;        // by node; -1 for leaves and views
  buffer<role> role_of;                // by node, of kernel members
  buffer<reference> references;        // by node, as an operand
  buffer<std::int32_t> place_of;       // by node: its place among its unit's members
  buffer<bool> materialized;           // by node: has a buffer
  buffer<epilogue> epilogues;          // of contractions, in no order
  buffer<added_column> added_columns;  // in order of their sums
  buffer<part> parts;                  // in no order (passes/join_in_place.hpp)
  buffer<std::int32_t> part_of_node;   // by node: which of `parts`, or -1; empty where there are none

  /// Null where the sum is stored as it is.
  constexpr const added_column* find_added(int sum) const {
    for (std::size_t i = 0; i < added_columns.size(); ++i)
      if (added_columns.items[i].sum == sum) return added_columns.data() + i;
    return nullptr;
  }
  /// Null where the node has its buffer to itself.
  constexpr const part* find_part(int id) const {
    if (part_of_node.empty() || part_of_node.items[id] < 0) return nullptr;
    return parts.data() + part_of_node.items[id];
  }
};

/// An output that is added to what lies there (passes/accumulate.hpp): nothing reads it.
constexpr bool is_accumulation(const node& n) {
  return n.composite == static_cast<std::uint16_t>(composite::accumulation) && n.kind == op::add;
}

/// Every node as an operand, resolved once: asked for many times.
constexpr buffer<reference> resolve_all(const graph_view& g) {
  buffer<reference> all;
  all.reserve(g.size());
  for (int id = 0; id < static_cast<int>(g.node_count); ++id) {
    if (is_view(g.nodes[id].kind))
      all.push_back(resolve(g, id));
    else
      all.push_back({id, true, false});
  }
  return all;
}

/// May operand `r` of a node with role `as` be read from inside unit u?
constexpr bool is_inside(const fusion& f, std::int32_t u, role as, const reference& r) {
  if (f.unit_of.items[r.base] != u) return false;
  const role has = f.role_of.items[r.base];
  if (r.direct) return has == as;
  return as == role::element && has == role::row && r.along_row;
}

/// Which nodes have a buffer: outputs, what a unit gives that is no kernel, what another unit reads.
constexpr void find_materialized(const graph_view& g, fusion& f) {
  bool* const made = f.materialized.data();
  const std::int32_t* const unit_of = f.unit_of.data();
  const role* const role_of = f.role_of.data();
  for (std::size_t id = 0; id < g.node_count; ++id) made[id] = false;
  for (const std::int32_t out : g.output_ids()) made[out] = true;
  const auto read = [&](int base) {
    if (unit_of[base] >= 0) made[base] = true;
  };
  for (int id = 0; id < static_cast<int>(g.node_count); ++id) {
    const std::int32_t u = unit_of[id];
    if (u < 0) continue;
    const unit& in = f.units.items[u];
    if (in.epilogue >= 0) {
      const epilogue& e = f.epilogues.items[in.epilogue];
      if (e.stores(id)) made[id] = true;
      if (id != e.product) continue;
      e.for_each_read(read);
    }
    const bool in_kernel = in.kind == unit_kind::kernel;
    if (in.epilogue < 0 && (!in_kernel || (role_of[id] == role::column && f.find_added(id) == nullptr)))
      made[id] = true;
    const role reads = is_reduction(g.nodes[id].kind) ? role::element : role_of[id];
    const std::int32_t* x = g.pool + g.nodes[id].first_operand;
    for (const std::int32_t* end = x + g.nodes[id].arity; x != end; ++x) {
      const reference& r = f.references.items[*x];
      if (!(in_kernel && is_inside(f, u, reads, r)) && unit_of[r.base] >= 0) made[r.base] = true;
    }
  }
}
/// Members stay ascending.
constexpr void insert_member(unit& u, std::int32_t id) {
  std::size_t at = u.members.count;
  u.members.push_back(id);
  for (; at > 0 && u.members[at - 1] > id; --at) u.members[at] = u.members[at - 1];
  u.members[at] = id;
}
constexpr void number_members(fusion& f) {
  std::int32_t* const place_of = f.place_of.data();
  for (const unit& u : f.units) {
    std::int32_t place = 0;
    const std::int32_t* id = u.members.items;
    for (const std::int32_t* const end = id + u.members.count; id != end;) place_of[*id++] = place++;
  }
}

}  // namespace passes
}  // namespace napkin
