// Which nodes are computed together (passes/fusion.hpp).
//
// Units have depths: a unit reads only units of lower depth. Joining a node to a kernel (which may raise the
// kernel's depth), or merging two kernels, is done only where that stays true, which keeps the schedule free
// of cycles without searching.
//
// A node joins the kernel of an operand, or else one that reads the same memory; but not a kernel whose
// results were used long before: what the backward pass makes of an activation is computed there, where it is
// wanted, not stored for it by the forward pass.
#pragma once

#include "napkin/ops/primitives/table.hpp"
#include "napkin/passes/fusion.hpp"
#include "napkin/passes/legalize.hpp"

namespace napkin {

namespace passes {

struct fuse_options {
  bool fuse = true;                   // false: every operation is a kernel of its own
  std::size_t max_members = 48;       // bounds a kernel's compile time and registers
  std::size_t max_made_again = 24;    // copies that a kernel may have beside those
  std::int32_t reach = kernel_reach;  // nodes after its first reader at which a kernel takes no more elements
  /// All adjoints of an attention in f32 or f64 are one unit's. Else those of queries are another's than
  /// those of keys and values, as of 16 bits always: no tensor takes the sums that become either. Of an
  /// attention without deltas all are one's: who computes those has what each is made of.
  bool adjoints_at_once = false;

  /// Whether a kernel may have so many members, so many of them copies.
  constexpr bool has_room(std::size_t members, std::size_t made_again) const {
    return members <= max_members + (made_again < max_made_again ? made_again : max_made_again);
  }
};

namespace detail {

struct fuser {
  const graph_view& g;
  fuse_options options;
  fusion& f;
  buffer<std::int32_t> last_readers;  // by node: the last kernel that reads it element by element
  buffer<bool> keeps;                 // by node: read by another unit so far, or an output
  // The same by pointer, which constant evaluation reads in half the time.
  const reference* references;
  std::int32_t *units_of, *last_reader;
  role* roles;
  bool* kept;

  constexpr fuser(const graph_view& graph, fuse_options o, fusion& to)
      : g(graph), options(o), f(to), last_readers(g.size(), -1), keeps(g.size(), false) {
    f.references = resolve_all(g);
    f.units.reserve(g.size() / 3 + 2);
    f.unit_of.resize(g.size(), -1);
    f.role_of.resize(g.size(), role::none);
    f.materialized.resize(g.size(), false);
    references = f.references.data();
    units_of = f.unit_of.data();
    last_reader = last_readers.data();
    roles = f.role_of.data();
    kept = keeps.data();
    for (std::int32_t out : g.output_ids()) kept[out] = true;
  }

  constexpr unit& at(std::int32_t u) { return f.units.items[u]; }
  constexpr std::int32_t depth_of(int base) {
    const std::int32_t u = units_of[base];
    return u < 0 ? 0 : at(u).depth;
  }
  static constexpr bool is_virtual(op o) { return o == op::constant || o == op::iota; }

  constexpr std::int32_t new_unit(unit_kind kind, int id) {
    unit u;
    u.kind = kind;
    for (std::int32_t x : g.operands(id)) {
      const std::int32_t d = depth_of(references[x].base) + 1;
      if (d > u.depth) u.depth = d;
    }
    if (u.depth == 0) u.depth = 1;
    f.units.push_back(u);
    return static_cast<std::int32_t>(f.units.size() - 1);
  }

  constexpr void place(int id, std::int32_t u, role r) {
    units_of[id] = u;
    roles[id] = r;
    unit& k = at(u);
    k.members.push_back(id);
    k.made_again += is_copy(id);
    const std::int32_t* x = g.pool + g.nodes[id].first_operand;
    for (const std::int32_t* end = x + g.nodes[id].arity; x != end; ++x) {
      const reference& ref = references[*x];
      const std::int32_t from = units_of[ref.base];
      if (from == u) continue;
      if (ref.direct && k.kind == unit_kind::kernel) last_reader[ref.base] = u;
      if (from < 0) continue;
      add_reader(from, u);
      kept[ref.base] = true;
      if (at(from).first_read < 0 && !is_accumulation(g.nodes[id])) at(from).first_read = id;
    }
  }
  constexpr void add_reader(std::int32_t from, std::int32_t reader) {
    unit& u = at(from);
    for (std::size_t i = u.readers.count; i-- > 0;)
      if (u.readers[i] == reader) return;
    u.readers.push_back(reader);
  }

  constexpr bool is_copy(int id) const { return g.nodes[id].when != computed::once; }
  constexpr bool has_room(std::size_t members, std::size_t made_again) const {
    return options.has_room(members, made_again);
  }
  constexpr bool have_room(const unit& a, const unit& b) const {
    return has_room(a.members.count + b.members.count, a.made_again + b.made_again);
  }

  /// The role that an elementwise node or a reduction would have in unit u; none if it does not fit.
  constexpr role role_in(std::int32_t u, int id) {
    const unit& k = at(u);
    if (k.kind != unit_kind::kernel || !has_room(k.members.count + 1, k.made_again + is_copy(id)))
      return role::none;
    if (is_reduction(g.nodes[id].kind)) {
      const int x = g.operand(id, 0);
      if (g.nodes[x].shape_id != k.domain) return role::none;
      const int reduced = g.nodes[id].attribute_count, rank = static_cast<int>(g.shape_of(x).size());
      const bool by_row = reduces_row(g, id);
      const int row_axes = by_row ? reduced : rank - reduced;
      if (k.row_axes >= 0 && k.row_axes != row_axes) return role::none;
      return by_row ? role::row : role::column;
    }
    if (g.nodes[id].shape_id == k.domain) return role::element;
    return g.nodes[id].shape_id == k.row_shape ? role::row : role::none;
  }

  /// The depth that unit u has once node id is in it; -1 where it does not fit.
  constexpr std::int32_t depth_with(std::int32_t u, int id, role r) {
    const role reads = is_reduction(g.nodes[id].kind) ? role::element : r;
    const std::int32_t own = at(u).depth;
    std::int32_t depth = own;
    const std::int32_t* x = g.pool + g.nodes[id].first_operand;
    for (const std::int32_t* end = x + g.nodes[id].arity; x != end; ++x) {
      const reference& ref = references[*x];
      if (is_virtual(g.nodes[ref.base].kind)) continue;
      if (units_of[ref.base] == u) {
        if (!is_inside(f, u, reads, ref)) return -1;
      } else if (const std::int32_t above = depth_of(ref.base) + 1; above > depth) {
        depth = above;
      }
    }
    if (depth > own)
      for (std::int32_t reader : at(u).readers)
        if (!at(reader).merged && at(reader).depth <= depth) return -1;
    return depth;
  }

  /// Too late for node id, a value at every position: it would be one more thing to store. Not so where it
  /// replaces two.
  constexpr bool is_closed(std::int32_t u, int id) {
    const std::int32_t first_read = at(u).first_read;
    if (first_read < 0 || id <= first_read + options.reach) return false;
    int replaced = 0, first = -1;
    for (std::int32_t x : g.operands(id)) {
      const int base = references[x].base;
      if (base == first || units_of[base] != u || kept[base] || roles[base] != role::element) continue;
      first = base;
      ++replaced;
    }
    return replaced < 2;
  }

  /// What is made again after the loss is none of the forward pass's kernels'.
  constexpr bool is_too_early(std::int32_t u, int id) {
    return is_copy(id) && at(u).members[0] <= g.outputs[0];
  }

  constexpr bool try_join(std::int32_t u, int id) {
    if (is_too_early(u, id)) return false;
    const role r = role_in(u, id);
    if (r == role::none || (r == role::element && is_closed(u, id))) return false;
    const std::int32_t depth = depth_with(u, id, r);
    if (depth < 0) return false;
    at(u).depth = depth;
    join(id, u, r);
    return true;
  }

  /// Move all of `from` into `to`, whose depth is not smaller. Legal if nothing that reads `from` lies at
  /// or below the new depth, neither reads the other, and their rows agree.
  constexpr bool merge(std::int32_t from, std::int32_t to) {
    unit& a = at(from);
    unit& b = at(to);
    if (from == to || a.kind != unit_kind::kernel || b.kind != unit_kind::kernel || a.domain != b.domain ||
        !have_room(a, b))
      return false;
    if (a.row_axes >= 0 && b.row_axes >= 0 && a.row_axes != b.row_axes) return false;
    for (std::int32_t r : a.readers)
      if (!at(r).merged && at(r).depth <= b.depth) return false;
    for (std::int32_t r : b.readers)
      if (r == from) return false;
    const int row_axes = a.row_axes;
    const std::int32_t row_shape = a.row_shape;
    take_members(a, b, to);
    if (b.row_axes < 0) b.row_axes = row_axes;
    if (b.row_shape < 0) b.row_shape = row_shape;
    return true;
  }
  /// What was a is now part of b, unit `to`. Members stay ascending.
  constexpr void take_members(unit& a, unit& b, std::int32_t to) {
    buffer<std::int32_t> both;
    both.reserve(a.members.count + b.members.count);
    std::size_t i = 0, j = 0;
    while (i < a.members.count || j < b.members.count) {
      const bool take_a = j == b.members.count || (i < a.members.count && a.members[i] < b.members[j]);
      both.push_back(take_a ? a.members[i++] : b.members[j++]);
    }
    for (std::int32_t m : a.members) units_of[m] = to;
    b.members = static_cast<buffer<std::int32_t>&&>(both);
    b.made_again += a.made_again;
    for (std::int32_t r : a.readers)
      if (r != to) add_reader(to, r);
    // what a read now has b as a reader
    for (std::int32_t m : a.members)
      for (std::int32_t x : g.operands(m)) {
        const std::int32_t u = units_of[references[x].base];
        if (u >= 0 && u != to) add_reader(u, to);
      }
    if (b.first_read < 0 || (a.first_read >= 0 && a.first_read < b.first_read)) b.first_read = a.first_read;
    a.merged = true;
    a.into = to;
    a.members.clear();
    a.readers.clear();
  }

  /// Element by element; -1 where none does.
  constexpr std::int32_t last_kernel_reading(int base) {
    std::int32_t u = last_reader[base];
    while (u >= 0 && at(u).merged) u = at(u).into;
    return u;
  }
  /// It is of what reads it, so that kernel may be one with those that read its other operands.
  constexpr bool reads_what_is_made_again(int id) const {
    const std::int32_t* x = g.pool + g.nodes[id].first_operand;
    for (const std::int32_t* end = x + g.nodes[id].arity; x != end; ++x)
      if (is_copy(*x)) return true;
    return false;
  }

  constexpr void place_in_kernel(int id) {
    const node& n = g.nodes[id];
    const std::int32_t domain = is_reduction(n.kind) ? g.nodes[g.operand(id, 0)].shape_id : n.shape_id;
    const std::int32_t* const operands = g.pool + n.first_operand;
    const std::int32_t* const end = operands + n.arity;
    if (options.fuse) {
      // the kernels that hold operands, deepest first
      inplace_vector<std::int32_t, 4> candidates;
      const bool reads_again = !is_copy(id) && reads_what_is_made_again(id);
      for (const std::int32_t* x = operands; x != end; ++x) {
        const reference& r = references[*x];
        std::int32_t u = units_of[r.base];
        if (reads_again && r.direct && (u < 0 || at(u).kind != unit_kind::kernel))
          u = last_kernel_reading(r.base);
        if (u < 0 || at(u).kind != unit_kind::kernel || candidates.contains(u)) continue;
        std::size_t before = 0;
        while (before < candidates.size() && at(candidates[before]).depth >= at(u).depth) ++before;
        candidates.insert(before, u);
      }
      for (std::size_t c = 0; c < candidates.size(); ++c) {
        const std::int32_t u = candidates[c];
        if (at(u).merged || is_too_early(u, id)) continue;
        const role r = role_in(u, id);
        if (r == role::none || (r == role::element && is_closed(u, id))) continue;
        for (std::size_t d = c + 1; d < candidates.size(); ++d)
          if (!at(candidates[d]).merged) merge(candidates[d], u);
        if (try_join(u, id)) return;
      }
      // a kernel that reads the same memory
      for (const std::int32_t* x = operands; x != end; ++x) {
        const reference& r = references[*x];
        const std::int32_t u = last_kernel_reading(r.base);
        if (u >= 0 && r.direct && at(u).domain == domain && try_join(u, id)) return;
      }
    }
    const std::int32_t u = new_unit(unit_kind::kernel, id);
    at(u).domain = domain;
    join(id, u, role_in(u, id));
  }
  constexpr void join(int id, std::int32_t u, role r) {
    if (is_reduction(g.nodes[id].kind)) {
      const int reduced = g.nodes[id].attribute_count;
      const int rank = static_cast<int>(g.shape_of(g.operand(id, 0)).size());
      at(u).row_axes = r == role::row ? reduced : rank - reduced;
      if (r == role::row) at(u).row_shape = g.nodes[id].shape_id;
    }
    place(id, u, r);
  }

  /// Move kernel `from`, elementwise over the rows' shape of `to`, which reads it, into it: arithmetic on a
  /// value per row, done where the row is.
  constexpr bool absorb(std::int32_t from, std::int32_t to) {
    unit& a = at(from);
    unit& b = at(to);
    if (a.kind != unit_kind::kernel || a.merged || a.row_axes >= 0 || a.domain != b.row_shape ||
        !have_room(a, b))
      return false;
    for (std::int32_t r : a.readers)
      if (r != to && !at(r).merged && at(r).depth <= b.depth) return false;
    for (std::int32_t m : b.members)
      for (std::int32_t x : g.operands(m)) {
        const reference& r = references[x];
        if (units_of[r.base] != from) continue;
        const bool of_row = !is_reduction(g.nodes[m].kind) && roles[m] == role::row;
        if (of_row ? !r.direct : !r.along_row) return false;
      }
    for (std::int32_t m : a.members) roles[m] = role::row;
    take_members(a, b, to);
    return true;
  }
  constexpr void absorb_row_kernels() {
    for (std::size_t u = 0; u < f.units.size(); ++u) {
      const auto to = static_cast<std::int32_t>(u);
      if (at(to).merged || at(to).row_shape < 0) continue;
      for (std::size_t i = 0; i < at(to).members.count; ++i)
        for (std::int32_t x : g.operands(at(to).members[i])) {
          const std::int32_t from = units_of[references[x].base];
          if (from >= 0 && from != to && absorb(from, to))
            i = static_cast<std::size_t>(-1);  // from the start
        }
    }
  }

  /// Results of one attention that one kernel gives: its output with the sums, the adjoints of keys and of
  /// values, and those of queries where the options say so, or that kernel makes deltas.
  constexpr bool are_of_one_kernel(int a, int b) const {
    if (!row::are_one_attention(g, a, b)) return false;
    const node& x = g.nodes[a];
    const bool at_once = (options.adjoints_at_once && !is_small_float(x.type)) ||
                         (x.kind == op::attention_backward && !row::attention_form::has_deltas(x));
    constexpr auto query = attention_part::query;
    return at_once || (row::attention_part_of(g, a) == query) == (row::attention_part_of(g, b) == query);
  }
  constexpr void place_attention(int id) {
    if (options.fuse)
      for (std::size_t u = f.units.size(); u-- > 0;)
        if (f.units[u].kind == unit_kind::attention && are_of_one_kernel(f.units[u].members[0], id))
          return place(id, static_cast<std::int32_t>(u), role::none);
    place(id, new_unit(unit_kind::attention, id), role::none);
  }

  constexpr void run() {
    for (int id = 0; id < static_cast<int>(g.node_count); ++id) {
      const op o = g.nodes[id].kind;
      if (category_of(o) == category::leaf || is_view(o)) continue;
      if (is_elementwise(o) || is_reduction(o)) {
        place_in_kernel(id);
        continue;
      }
      if (category_of(o) == category::attention) {
        place_attention(id);
        continue;
      }
      const unit_kind kind = o == op::einsum   ? unit_kind::contraction
                             : o == op::gather ? unit_kind::gather
                             : o == op::pad    ? unit_kind::pad
                             : o == op::concat ? unit_kind::concat
                                               : unit_kind::scatter_add;
      place(id, new_unit(kind, id), role::none);
    }
    if (options.fuse) absorb_row_kernels();
    find_materialized(g, f);
    f.place_of.resize(g.size(), -1);
    number_members(f);
  }
};

}  // namespace detail

/// g is legal (passes/legalize.hpp) and has no dead nodes; `to` is empty.
constexpr void fuse(const graph_view& g, fuse_options options, fusion& to) {
  detail::fuser(g, options, to).run();
}
/// The same, as a value: g++ takes half as long again, as a constant evaluation looks through what a call
/// returns.
constexpr fusion fuse(const graph_view& g, fuse_options options = {}) {
  fusion made;
  fuse(g, options, made);
  return made;
}

}  // namespace passes
}  // namespace napkin
