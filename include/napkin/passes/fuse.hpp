// Which nodes are computed together. A *unit* is one kernel (elementwise operations and reductions over one
// iteration domain) or one operation of its own (a contraction, gather, scatter_add, pad, concat).
//
// A kernel's domain is a shape whose trailing axes form its rows. Its members are
//   element   a value at every position of the domain
//   row       a value per row: what a reduction over the row's axes gives, and arithmetic on it
//   column    a reduction over all rows: complete only when the kernel is
// so that a softmax, a norm, or a norm's backward pass with its parameter gradients is one kernel.
//
// Units have depths: a unit reads only units of lower depth. Joining a node to a kernel, or merging two
// kernels, is done only where that stays true, which keeps the schedule free of cycles without searching.
#pragma once

#include "napkin/ops/primitives/table.hpp"
#include "napkin/passes/layout.hpp"
#include "napkin/passes/legalize.hpp"

namespace napkin {

namespace passes {

enum class unit_kind : std::uint8_t { kernel, contraction, gather, scatter_add, pad, concat };
enum class role : std::uint8_t { none, element, row, column };

struct unit {
  unit_kind kind = unit_kind::kernel;
  std::int32_t depth = 0;
  std::int32_t domain = -1;      // shape ids
  std::int32_t row_shape = -1;   // of row members; set once a reduction over rows has joined
  int row_axes = -1;             // trailing axes that form the row; -1: not yet decided
  buffer<std::int32_t> members;  // node ids, ascending
  buffer<std::int32_t> readers;  // units that read this one
  bool merged = false;           // into another: no longer exists
};

/// How a node's operand is meant: the node that holds the values, and whether the path to it is direct or
/// repeats a row's value along the row.
struct reference {
  int base;
  bool direct;
  bool along_row;
};

constexpr reference resolve(const graph_view& g, int x) {
  if (!is_view(g[x].kind)) return {x, true, false};
  int base = x;
  while (is_view(g[base].kind)) base = g.operand(base, 0);
  if (g[x].kind != op::expand || g.operand(x, 0) != base) return {base, false, false};
  const auto rank = static_cast<int>(g.shape_of(base).size());
  bool along_row = g[x].attribute_count > rank;
  for (int i = 0; i < g[x].attribute_count; ++i)
    along_row = along_row && g.attribute(x, i) == (i < rank ? i : -1);
  return {base, false, along_row};
}

struct fusion {
  buffer<unit> units;
  buffer<std::int32_t> unit_of;   // by node; -1 for leaves and views
  buffer<role> role_of;           // by node, of kernel members
  buffer<reference> references;   // by node, as an operand
  buffer<std::int32_t> place_of;  // by node: its place among its unit's members
  buffer<bool> materialized;      // by node: has a buffer
};

/// Every node as an operand, resolved once: asked for many times.
constexpr buffer<reference> resolve_all(const graph_view& g) {
  buffer<reference> all;
  all.reserve(g.size());
  for (int id = 0; id < static_cast<int>(g.size()); ++id) {
    if (is_view(g.nodes[id].kind))
      all.push_back(resolve(g, id));
    else
      all.push_back({id, true, false});
  }
  return all;
}

struct fuse_options {
  bool fuse = true;              // false: every operation is a kernel of its own
  std::size_t max_members = 48;  // bounds a kernel's compile time and registers
};

namespace detail {

struct fuser {
  const graph_view& g;
  fuse_options options;
  fusion f;

  constexpr fuser(const graph_view& graph, fuse_options o) : g(graph), options(o) {
    f.references = resolve_all(g);
    f.unit_of.resize(g.size(), -1);
    f.role_of.resize(g.size(), role::none);
    f.materialized.resize(g.size(), false);
  }

  constexpr std::int32_t unit_of(int id) const { return f.unit_of[static_cast<std::size_t>(id)]; }
  constexpr unit& at(std::int32_t u) { return f.units[static_cast<std::size_t>(u)]; }
  constexpr std::int32_t depth_of(int base) {
    const std::int32_t u = unit_of(base);
    return u < 0 ? 0 : at(u).depth;
  }
  static constexpr bool is_virtual(op o) { return o == op::constant || o == op::iota; }

  constexpr std::int32_t new_unit(unit_kind kind, int id) {
    unit u;
    u.kind = kind;
    for (std::int32_t x : g.operands(id)) {
      const std::int32_t d = depth_of(f.references[static_cast<std::size_t>(x)].base) + 1;
      if (d > u.depth) u.depth = d;
    }
    if (u.depth == 0) u.depth = 1;
    f.units.push_back(u);
    return static_cast<std::int32_t>(f.units.size() - 1);
  }

  constexpr void place(int id, std::int32_t u, role r) {
    f.unit_of[static_cast<std::size_t>(id)] = u;
    f.role_of[static_cast<std::size_t>(id)] = r;
    at(u).members.push_back(id);
    for (std::int32_t x : g.operands(id)) {
      const std::int32_t from = unit_of(f.references[static_cast<std::size_t>(x)].base);
      if (from >= 0 && from != u) add_reader(from, u);
    }
  }
  constexpr void add_reader(std::int32_t from, std::int32_t reader) {
    unit& u = at(from);
    for (std::size_t i = u.readers.size(); i-- > 0;)
      if (u.readers[i] == reader) return;
    u.readers.push_back(reader);
  }

  /// May operand `r` of a node with role `as` be read from inside unit u?
  constexpr bool inside(std::int32_t u, role as, const reference& r) const {
    if (unit_of(r.base) != u) return false;
    const role has = f.role_of[static_cast<std::size_t>(r.base)];
    if (r.direct) return has == as;
    return as == role::element && has == role::row && r.along_row;
  }

  /// The role that an elementwise node or a reduction would have in unit u; none if it does not fit.
  constexpr role role_in(std::int32_t u, int id) {
    const unit& k = at(u);
    if (k.kind != unit_kind::kernel || k.members.size() >= options.max_members) return role::none;
    if (is_reduction(g[id].kind)) {
      const int x = g.operand(id, 0);
      if (g[x].shape_id != k.domain) return role::none;
      const int reduced = g[id].attribute_count, rank = static_cast<int>(g.shape_of(x).size());
      const bool by_row = reduces_row(g, id);
      const int row_axes = by_row ? reduced : rank - reduced;
      if (k.row_axes >= 0 && k.row_axes != row_axes) return role::none;
      return by_row ? role::row : role::column;
    }
    if (g[id].shape_id == k.domain) return role::element;
    return g[id].shape_id == k.row_shape ? role::row : role::none;
  }

  constexpr bool fits(std::int32_t u, int id, role r) {
    const role reads = is_reduction(g[id].kind) ? role::element : r;
    for (std::int32_t x : g.operands(id)) {
      const reference& ref = f.references[static_cast<std::size_t>(x)];
      if (is_virtual(g[ref.base].kind)) continue;
      if (unit_of(ref.base) == u) {
        if (!inside(u, reads, ref)) return false;
      } else if (depth_of(ref.base) >= at(u).depth) {
        return false;
      }
    }
    return true;
  }

  /// Move all of `from` into `to`, whose depth is not smaller. Legal if nothing that reads `from` lies at
  /// or below the new depth, neither reads the other, and their rows agree.
  constexpr bool merge(std::int32_t from, std::int32_t to) {
    unit& a = at(from);
    unit& b = at(to);
    if (from == to || a.kind != unit_kind::kernel || b.kind != unit_kind::kernel || a.domain != b.domain ||
        a.members.size() + b.members.size() > options.max_members)
      return false;
    if (a.row_axes >= 0 && b.row_axes >= 0 && a.row_axes != b.row_axes) return false;
    for (std::int32_t r : a.readers)
      if (at(r).depth <= b.depth) return false;
    for (std::int32_t r : b.readers)
      if (r == from) return false;
    // members stay ascending
    buffer<std::int32_t> both;
    both.reserve(a.members.size() + b.members.size());
    std::size_t i = 0, j = 0;
    while (i < a.members.size() || j < b.members.size()) {
      const bool take_a = j == b.members.size() || (i < a.members.size() && a.members[i] < b.members[j]);
      both.push_back(take_a ? a.members[i++] : b.members[j++]);
    }
    for (std::int32_t m : a.members) f.unit_of[static_cast<std::size_t>(m)] = to;
    b.members = static_cast<buffer<std::int32_t>&&>(both);
    if (b.row_axes < 0) b.row_axes = a.row_axes;
    if (b.row_shape < 0) b.row_shape = a.row_shape;
    for (std::int32_t r : a.readers) add_reader(to, r);
    // what a read now has b as a reader
    for (std::int32_t m : a.members)
      for (std::int32_t x : g.operands(m)) {
        const std::int32_t u = unit_of(f.references[static_cast<std::size_t>(x)].base);
        if (u >= 0 && u != to) add_reader(u, to);
      }
    a.merged = true;
    a.members.clear();
    a.readers.clear();
    return true;
  }

  constexpr void place_in_kernel(int id) {
    if (options.fuse) {
      // the kernels that hold operands, deepest first
      inplace_vector<std::int32_t, 4> candidates;
      for (std::int32_t x : g.operands(id)) {
        const reference& r = f.references[static_cast<std::size_t>(x)];
        const std::int32_t u = unit_of(r.base);
        if (u < 0 || at(u).kind != unit_kind::kernel || candidates.contains(u)) continue;
        std::size_t before = 0;
        while (before < candidates.size() && at(candidates[before]).depth >= at(u).depth) ++before;
        candidates.insert(before, u);
      }
      for (std::size_t c = 0; c < candidates.size(); ++c) {
        const std::int32_t u = candidates[c];
        if (at(u).merged) continue;
        const role r = role_in(u, id);
        if (r == role::none) continue;
        for (std::size_t d = c + 1; d < candidates.size(); ++d)
          if (!at(candidates[d]).merged) merge(candidates[d], u);
        if (!fits(u, id, r)) continue;
        join(id, u, r);
        return;
      }
    }
    const std::int32_t u = new_unit(unit_kind::kernel, id);
    at(u).domain = is_reduction(g[id].kind) ? g[g.operand(id, 0)].shape_id : g[id].shape_id;
    join(id, u, role_in(u, id));
  }
  constexpr void join(int id, std::int32_t u, role r) {
    if (is_reduction(g[id].kind)) {
      const int reduced = g[id].attribute_count;
      const int rank = static_cast<int>(g.shape_of(g.operand(id, 0)).size());
      at(u).row_axes = r == role::row ? reduced : rank - reduced;
      if (r == role::row) at(u).row_shape = g[id].shape_id;
    }
    place(id, u, r);
  }

  constexpr void mark_materialized() {
    for (std::int32_t out : g.output_ids()) f.materialized[static_cast<std::size_t>(out)] = true;
    for (int id = 0; id < static_cast<int>(g.size()); ++id) {
      if (unit_of(id) < 0) continue;
      const bool in_kernel = at(unit_of(id)).kind == unit_kind::kernel;
      if (!in_kernel || f.role_of[static_cast<std::size_t>(id)] == role::column)
        f.materialized[static_cast<std::size_t>(id)] = true;
      const role reads = is_reduction(g[id].kind) ? role::element : f.role_of[static_cast<std::size_t>(id)];
      for (std::int32_t x : g.operands(id)) {
        const reference& r = f.references[static_cast<std::size_t>(x)];
        if (unit_of(r.base) >= 0 && !(in_kernel && inside(unit_of(id), reads, r)))
          f.materialized[static_cast<std::size_t>(r.base)] = true;
      }
    }
  }

  constexpr void run() {
    for (int id = 0; id < static_cast<int>(g.size()); ++id) {
      const op o = g[id].kind;
      if (category_of(o) == category::leaf || is_view(o)) continue;
      if (is_elementwise(o) || is_reduction(o)) {
        place_in_kernel(id);
        continue;
      }
      const unit_kind kind = o == op::einsum   ? unit_kind::contraction
                             : o == op::gather ? unit_kind::gather
                             : o == op::pad    ? unit_kind::pad
                             : o == op::concat ? unit_kind::concat
                                               : unit_kind::scatter_add;
      place(id, new_unit(kind, id), role::none);
    }
    mark_materialized();
    f.place_of.resize(g.size(), -1);
    for (const unit& u : f.units)
      for (std::size_t i = 0; i < u.members.size(); ++i)
        f.place_of[static_cast<std::size_t>(u.members[i])] = static_cast<std::int32_t>(i);
  }
};

}  // namespace detail

/// g is legal (passes/legalize.hpp) and has no dead nodes.
constexpr fusion fuse(const graph_view& g, fuse_options options = {}) {
  detail::fuser f(g, options);
  f.run();
  return static_cast<fusion&&>(f.f);
}

}  // namespace passes
}  // namespace napkin
