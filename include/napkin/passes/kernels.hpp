// From a fused unit to a kernel's description: a flat program of scalar steps in phases, and the memory that
// it walks. Both backends instantiate the program as a template argument and take the rest as run-time
// numbers, so that equal programs over different sizes share one kernel.
//
// A kernel walks rows; for each row, phase after phase: row steps once, element steps along the row, then
// the phase's reductions are complete and later phases may use them. An element value that a later phase
// needs is stored (to its own output if it has one, else to scratch) and loaded again, or, where the backend
// asks for that, made again of what it was made of.
#pragma once

#include "napkin/passes/fusion.hpp"
#include "napkin/passes/legalize.hpp"

namespace napkin {

namespace passes {

enum class action : std::uint8_t { load, constant, iota, compute, reduce_row, reduce_column, store };
enum class place : std::uint8_t { row, element };
/// How a load or store moves along the row's last axis.
enum class pace : std::uint8_t { contiguous, strided, scratch };

/// One step. load, store: a is the access (or the scratch slot); store: b is the step stored; constant: a is
/// its index; iota: a is the axis (outer axes first); compute: a, b, c are steps; reductions: a is the step
/// reduced, b of a column reduction its index.
struct kernel_step {
  action what = action::compute;
  op kind = op::input;
  dtype type = dtype::f32;
  place at = place::row;
  pace along = pace::contiguous;
  std::uint8_t phase = 0;
  std::int16_t a = -1, b = -1, c = -1;
  constexpr bool operator==(const kernel_step&) const = default;
};

struct kernel_access {
  std::int32_t base = -1;  // the node whose buffer it is
  bool written = false;
  std::ptrdiff_t offset = 0;                              // elements
  inplace_vector<std::ptrdiff_t, max_rank> outer, inner;  // strides over the collapsed axes, elements
};

struct kernel_column {
  std::int32_t node = -1;  // whose buffer it goes to
  op kind = op::sum;
  std::int32_t added = -1;  // the node that it is added to first; -1: none
};

struct kernel {
  inplace_vector<std::size_t, max_rank> outer, inner;  // collapsed sizes
  std::size_t rows = 1, row_length = 1;
  std::size_t chunk = 1;   // a row without reductions is walked in chunks of this many of its last axis
  std::size_t blocks = 1;  // runs of rows that may be computed apart: fixed by shape alone
  int phases = 1;
  buffer<kernel_step> steps;
  buffer<kernel_access> accesses;
  buffer<double> constants;
  buffer<dtype> scratch;  // a row each
  buffer<kernel_column> columns;
  buffer<std::int32_t> made_again;  // nodes, as often as they are

  constexpr std::size_t chunks() const {
    return chunk == 0 || inner.empty() ? 1 : (inner.back() + chunk - 1) / chunk;
  }
  /// Rows, each in its chunks: what is dealt out to the blocks.
  constexpr std::size_t walks() const { return rows * chunks(); }
  /// In whole groups of `at_once`, but where blocks have sums of columns: those stay as the shape says.
  constexpr std::size_t walks_per_block(std::size_t at_once = 1) const {
    const std::size_t by_shape = (walks() + blocks - 1) / (blocks == 0 ? 1 : blocks);
    return columns.empty() ? (by_shape + at_once - 1) / at_once * at_once : by_shape;
  }
};

/// How a kernel is dealt out, where its shape leaves a choice.
struct kernel_options {
  std::size_t block_elements = 8192;  // work worth a block of its own
  std::size_t max_blocks = 32;
  bool makes_again = false;  // what costs less to make again than to write to scratch and read from there
  bool casts_again = false;  // what takes more bytes than that of which it is a cast
  /// Sums over rows alone, of at least so many columns, walk columns: nothing is partial then. 0: none do.
  std::size_t turned_columns = 0;

  /// Or where there are few rows, so that partial sums would be as much as what is summed.
  static constexpr std::size_t few_rows = 32, columns_of_few_rows = 1024;
  constexpr bool turns(std::size_t rows, std::size_t columns) const {
    return turned_columns > 0 &&
           (columns >= turned_columns || (rows <= few_rows && columns >= columns_of_few_rows));
  }
};

/// Operations that are sooner done again than their result is written to memory and read: for every 4 bytes
/// that a GPU writes and reads it has some fifty instructions, and an exponential takes twenty.
inline constexpr int most_made_again = 12;

namespace detail {

struct kernel_maker {
  const graph_view& g;
  const fusion& f;
  std::int32_t self;
  const unit& u;
  kernel_options options;
  kernel& k;
  // By pointer, which constant evaluation reads in half the time.
  const std::int32_t *unit_of, *place_in;
  const role* roles;
  const reference* references;
  const bool* materialized;
  int outer_rank = 0, rank = 0;                     // of the domain as it is walked, not collapsed
  bool turned = false;                              // columns are walked: reduced axes come last
  shape domain;                                     // as it is walked
  inplace_vector<std::int32_t, max_rank> axis_now;  // walked axis -> collapsed axis (outer first)

  struct made {
    std::int32_t node;
    int phase;
    std::int16_t step;
  };
  buffer<made> leaves;            // which step holds a constant or a coordinate, in a phase
  buffer<made> members_made;      // parallel to u.members: which step holds the value, in the latest phase
  buffer<made> loads;             // parallel to k.accesses: which step loads it, in the latest phase
  buffer<std::int32_t> phase_of;  // parallel to u.members
  struct saved {
    std::int32_t node;
    std::int16_t slot;
  };
  buffer<saved> slots;

  constexpr kernel_maker(const graph_view& graph, const fusion& fused, std::int32_t unit_id, kernel_options o,
                         kernel& to)
      : g(graph),
        f(fused),
        self(unit_id),
        u(fused.units.items[unit_id]),
        options(o),
        k(to),
        unit_of(fused.unit_of.data()),
        place_in(fused.place_of.data()),
        roles(fused.role_of.data()),
        references(fused.references.data()),
        materialized(fused.materialized.data()) {}

  constexpr bool is_member(int id) const { return unit_of[id] == self; }
  constexpr role role_of(int id) const {
    const role r = roles[id];
    return turned && r == role::column ? role::row : r;
  }
  /// The domain's axis, as it is walked.
  constexpr int walked(int axis) const {
    if (!turned) return axis;
    return axis < rank - outer_rank ? axis + outer_rank : axis - (rank - outer_rank);
  }
  constexpr const reference& reference_of(int x) const { return references[x]; }
  constexpr std::size_t place_of(int id) const { return static_cast<std::size_t>(place_in[id]); }
  constexpr int phase(int id) const { return phase_of[place_of(id)]; }
  /// First phase in which others may use the value.
  constexpr int available(int id) const { return is_reduction(g.nodes[id].kind) ? phase(id) + 1 : phase(id); }

  /// Added to columns when the walks are over.
  constexpr bool is_joined(int id) const {
    return f.role_of.items[id] == role::column && !is_reduction(g.nodes[id].kind);
  }
  constexpr void assign_phases() {
    phase_of.resize(u.members.count);
    for (std::size_t i = 0; i < u.members.count; ++i) {
      if (is_joined(u.members.items[i])) continue;
      const node& n = g.nodes[u.members.items[i]];
      std::int32_t first = 0;
      for (std::int32_t a = 0; a < n.arity; ++a) {
        const int base = references[g.pool[n.first_operand + a]].base;
        if (unit_of[base] != self) continue;
        const int from = available(base);
        if (from > first) first = from;
      }
      phase_of.items[i] = first;
      if (first + 1 > k.phases) k.phases = first + 1;
    }
    for (std::int32_t id : u.members)  // a row value written after the last reduction
      if (role_of(id) == role::row && materialized[id] && available(id) + 1 > k.phases)
        k.phases = available(id) + 1;
  }

  // ---- memory

  /// Strides over the whole domain of operand x (a node of the domain's shape or of the rows').
  constexpr access domain_access(int x) const {
    access a = access_of(g, x);
    if (const part* const in = f.find_part(x)) a.offset = in->offset, a.stride = in->stride;
    if (turned && static_cast<int>(a.stride.size()) == rank) {
      const stride_list by = a.stride;
      for (int i = 0; i < rank; ++i) a.stride.items[walked(i)] = by.items[i];
    }
    while (static_cast<int>(a.stride.size()) < rank) a.stride.push_back(0);
    return a;
  }
  buffer<access> pending;  // before collapsing; parallel to k.accesses

  buffer<std::int32_t> pending_node;  // the operand that each came from

  constexpr std::int16_t access_index(int x, bool written) {
    std::size_t at = 0;
    while (at < pending_node.count && pending_node.items[at] != x) ++at;
    if (at == pending_node.count) {  // perhaps the same memory under another name
      const access a = domain_access(x);
      at = 0;
      for (const access* p = pending.items; at < pending.count; ++at, ++p)
        if (p->base == a.base && p->offset == a.offset && p->stride == a.stride) break;
      if (at == pending.count) {
        pending.push_back(a);
        pending_node.push_back(x);
        loads.push_back({-1, -1, -1});
        kernel_access made_access;
        made_access.base = a.base;
        made_access.offset = a.offset;
        k.accesses.push_back(made_access);
      }
    }
    if (written) k.accesses.items[at].written = true;
    return static_cast<std::int16_t>(at);
  }

  std::uint32_t pinned_axes = 0;  // bits: a coordinate along the walked axis is a value
  constexpr bool pinned(int axis) const { return ((pinned_axes >> axis) & 1) != 0; }

  constexpr void collapse(bool has_row_reduction) {
    const access* const before = pending.items;
    kernel_access* const now = k.accesses.items;
    const std::size_t count = pending.count;
    for (std::size_t i = 0; i < count; ++i) now[i].outer.count = now[i].inner.count = 0;
    bool previous_pinned = true;
    for (int axis = 0; axis < rank; ++axis) {
      const auto i = static_cast<std::size_t>(axis);
      const bool is_outer = axis < outer_rank;
      auto& sizes = is_outer ? k.outer : k.inner;
      const bool here_pinned = pinned(axis);
      const std::size_t size = domain.items[i];
      bool merges = sizes.count != 0 && !here_pinned && !previous_pinned && (is_outer || !has_row_reduction);
      for (std::size_t p = 0; merges && p < count; ++p)
        merges =
            before[p].stride.items[i - 1] == before[p].stride.items[i] * static_cast<std::ptrdiff_t>(size);
      if (merges)
        sizes.back() *= size;
      else
        sizes.push_back(size);
      const std::size_t last = sizes.count - 1;
      for (std::size_t p = 0; p < count; ++p) {
        auto& strides = is_outer ? now[p].outer : now[p].inner;
        strides.items[last] = before[p].stride.items[i];
        strides.count = last + 1;
      }
      axis_now.push_back(static_cast<std::int32_t>(k.outer.size() + k.inner.size()) - 1);
      previous_pinned = here_pinned;
    }
  }
  /// A kernel without reductions has no rows of its own: its last axis serves.
  constexpr void choose_flat_rows() {
    if (k.outer.empty()) return;
    k.inner.push_back(k.outer.back());
    k.outer.pop_back();
    for (kernel_access& a : k.accesses) {
      a.inner.push_back(a.outer.back());
      a.outer.pop_back();
    }
  }

  constexpr void deal_out(bool has_reduction) {
    k.rows = 1;
    k.row_length = 1;
    for (std::size_t s : k.outer) k.rows *= s;
    for (std::size_t s : k.inner) k.row_length *= s;
    k.chunk = k.inner.empty() ? 1 : k.inner.back();
    if (!has_reduction && k.inner.size() == 1 && k.rows < options.max_blocks &&
        k.chunk > options.block_elements)
      k.chunk = options.block_elements / 2;
    const std::size_t total = k.rows * k.row_length;
    k.blocks = total / options.block_elements;
    if (k.blocks > options.max_blocks) k.blocks = options.max_blocks;
    if (k.blocks > k.walks()) k.blocks = k.walks();
    if (k.blocks == 0) k.blocks = 1;
  }

  // ---- steps

  constexpr std::int16_t push(const kernel_step& s) {
    k.steps.push_back(s);
    return static_cast<std::int16_t>(k.steps.size() - 1);
  }
  constexpr std::int16_t find_leaf(int node, int phase, bool any_phase) const {
    for (const made& v : leaves)
      if (v.node == node && (any_phase || v.phase == phase)) return v.step;
    return -1;
  }
  constexpr std::int16_t remember_leaf(int node, int phase, std::int16_t step) {
    leaves.push_back({node, phase, step});
    return step;
  }
  constexpr std::int16_t constant_index(double value) {
    for (std::size_t i = 0; i < k.constants.size(); ++i)
      if (std::bit_cast<std::uint64_t>(k.constants[i]) == std::bit_cast<std::uint64_t>(value))
        return static_cast<std::int16_t>(i);
    k.constants.push_back(value);
    return static_cast<std::int16_t>(k.constants.size() - 1);
  }
  constexpr bool moves_along_row(int access) const {
    for (std::ptrdiff_t s : k.accesses.items[access].inner)
      if (s != 0) return true;
    return false;
  }
  constexpr pace pace_of(int access) const {
    const auto& inner = k.accesses.items[access].inner;
    return inner.empty() || inner.back() == 1 ? pace::contiguous : pace::strided;
  }

  /// The step that holds operand x in this phase, emitted if it is not there yet.
  constexpr std::int16_t value(int x, int phase_now) {
    const reference& r = reference_of(x);
    const node& base = g.nodes[r.base];
    if (base.kind == op::constant) {
      const std::int16_t known = find_leaf(x, 0, true);
      if (known >= 0) return known;
      kernel_step s{action::constant, op::constant, base.type, place::row, pace::contiguous, 0};
      s.a = constant_index(base.value);
      return remember_leaf(x, 0, push(s));
    }
    if (base.kind == op::iota) {
      const int axis = axis_now.items[walked(g.attribute(r.base, 0))];
      const bool along = axis >= static_cast<int>(k.outer.size());
      const std::int16_t known = find_leaf(x, phase_now, !along);
      if (known >= 0) return known;
      kernel_step s{action::iota,     op::iota,
                    base.type,        along ? place::element : place::row,
                    pace::contiguous, static_cast<std::uint8_t>(along ? phase_now : 0)};
      s.a = static_cast<std::int16_t>(axis);
      return remember_leaf(x, phase_now, push(s));
    }
    if (is_member(r.base)) {
      made& latest = members_made[place_of(r.base)];
      if (latest.step >= 0 && (role_of(r.base) == role::row || latest.phase == phase_now)) return latest.step;
      // an element value of an earlier phase, read back from where it was stored
      kernel_step s{action::load,   op::input,     base.type,
                    place::element, pace::scratch, static_cast<std::uint8_t>(phase_now)};
      if (materialized[r.base]) {
        s.a = access_index(r.base, true);
        s.along = pace_of(s.a);
      } else {
        for (const saved& slot : slots)
          if (slot.node == r.base) s.a = slot.slot;
        if (s.a < 0) return make_again(r.base, phase_now);
      }
      latest = {r.base, phase_now, push(s)};
      return latest.step;
    }
    const std::int16_t access = access_index(x, false);
    const bool along = moves_along_row(access);
    made& load = loads.items[access];
    if (load.step >= 0 && (!along || load.phase == phase_now)) return load.step;
    kernel_step s{action::load,    op::input,
                  base.type,       along ? place::element : place::row,
                  pace_of(access), static_cast<std::uint8_t>(along ? phase_now : 0)};
    s.a = access;
    load = {x, phase_now, push(s)};
    return load.step;
  }

  constexpr std::int16_t make_again(int id, int phase_now) {
    const node& n = g.nodes[id];
    std::int16_t xs[3] = {-1, -1, -1};
    for (int i = 0; i < n.arity; ++i) xs[i] = value(g.operand(id, i), phase_now);
    kernel_step s{action::compute, n.kind,           n.type,
                  place::element,  pace::contiguous, static_cast<std::uint8_t>(phase_now)};
    s.a = xs[0];
    s.b = xs[1];
    s.c = xs[2];
    k.made_again.push_back(id);
    return (members_made[place_of(id)] = {id, phase_now, push(s)}).step;
  }
  /// What making an element value again takes: operations, and bytes read for it.
  struct effort {
    int operations = 0;
    std::size_t bytes = 0;
  };
  constexpr void add_effort(int id, effort& e) const {
    if (++e.operations > most_made_again) return;
    for (std::int32_t x : g.operands(id)) {
      const reference& r = reference_of(x);
      if (is_constant_or_iota(g.nodes[r.base].kind) || r.along_row) continue;
      const bool here = is_member(r.base);
      if (here && role_of(r.base) == role::row) continue;
      if (here && !materialized[r.base])
        add_effort(r.base, e);
      else
        e.bytes += size_of(g.nodes[r.base].type);
    }
  }
  /// A cast of what lies in memory, narrower there.
  constexpr bool is_widened(int id) const {
    if (g.nodes[id].kind != op::cast) return false;
    const reference& r = reference_of(g.operand(id, 0));
    return !is_constant_or_iota(g.nodes[r.base].kind) && !is_member(r.base) &&
           size_of(g.nodes[r.base].type) < size_of(g.nodes[id].type);
  }
  constexpr bool can_make_again(int id) const {
    if (options.casts_again && is_widened(id)) return true;
    if (!options.makes_again) return false;
    effort e;
    add_effort(id, e);
    return e.operations <= most_made_again && e.bytes <= 2 * size_of(g.nodes[id].type);
  }

  constexpr void find_saved() {
    for (std::int32_t id : u.members)
      for (std::int32_t x : g.operands(id)) {
        const int base = reference_of(x).base;
        if (!is_member(base) || role_of(base) != role::element || phase(id) == phase(base) ||
            materialized[base] || can_make_again(base))
          continue;
        bool known = false;
        for (const saved& s : slots) known = known || s.node == base;
        if (known) continue;
        slots.push_back({base, static_cast<std::int16_t>(k.scratch.size())});
        k.scratch.push_back(g.nodes[base].type);
      }
  }

  constexpr void emit_member(int id) {
    const node& n = g.nodes[id];
    const int now = phase(id);
    const role as = role_of(id);
    std::int16_t xs[3] = {-1, -1, -1};
    for (int i = 0; i < n.arity; ++i) xs[i] = value(g.operand(id, i), now);
    kernel_step s;
    s.kind = n.kind;
    s.type = n.type;
    s.phase = static_cast<std::uint8_t>(now);
    s.at = as == role::element ? place::element : place::row;
    s.a = xs[0];
    s.b = xs[1];
    s.c = xs[2];
    s.what = action::compute;
    if (is_reduction(n.kind)) s.what = as == role::row ? action::reduce_row : action::reduce_column;
    if (s.what == action::reduce_column) {
      s.b = static_cast<std::int16_t>(k.columns.size());
      const added_column* const to = f.find_added(id);
      if (to != nullptr)
        k.columns.push_back({to->result, n.kind, to->added});
      else
        k.columns.push_back({id, n.kind});
      push(s);
      return;
    }
    const std::int16_t step = push(s);
    members_made[place_of(id)] = {id, now, step};
    if (materialized[id]) {
      kernel_step out{action::store,    op::input,
                      n.type,           s.at,
                      pace::contiguous, static_cast<std::uint8_t>(as == role::row ? available(id) : now)};
      out.a = access_index(id, true);
      out.b = step;
      if (s.at == place::element) out.along = pace_of(out.a);
      push(out);
    }
    for (const saved& slot : slots)
      if (slot.node == id) {
        kernel_step out{action::store,  op::input,     n.type,
                        place::element, pace::scratch, static_cast<std::uint8_t>(now)};
        out.a = slot.slot;
        out.b = step;
        push(out);
      }
  }

  /// What members read lies along the domain's last axis, or is the same all along it; they store nothing but
  /// sums, to which nothing is added as they are joined.
  constexpr bool lies_along_columns() const {
    for (const std::int32_t id : u.members) {
      if (is_joined(id)) return false;
      if (role_of(id) == role::element && materialized[id]) return false;
      for (const std::int32_t x : g.operands(id)) {
        const int base = reference_of(x).base;
        if (is_member(base) || is_constant_or_iota(g.nodes[base].kind)) continue;
        const access a = access_of(g, x);
        if (!a.stride.empty() && a.stride.back() != 0 && a.stride.back() != 1) return false;
      }
    }
    return true;
  }
  /// Sums over rows, where rows are long and nothing else is done to them, walk columns.
  constexpr void turn() {
    const int reduced = outer_rank;
    std::size_t rows = 1, columns = 1;
    for (int i = 0; i < rank; ++i) (i < reduced ? rows : columns) *= domain.items[i];
    if (!options.turns(rows, columns) || !lies_along_columns()) return;
    const shape before = domain;
    turned = true;
    outer_rank = rank - reduced;
    for (int i = 0; i < rank; ++i) domain.items[walked(i)] = before.items[i];
  }

  constexpr void run() {
    domain = g.shapes[static_cast<std::size_t>(u.domain)];
    rank = static_cast<int>(domain.size());
    bool row_reduction = false, column_reduction = false, has_rows = false;
    for (std::int32_t id : u.members) {
      has_rows = has_rows || role_of(id) == role::row;
      row_reduction = row_reduction || (is_reduction(g.nodes[id].kind) && role_of(id) == role::row);
      column_reduction = column_reduction || role_of(id) == role::column;
    }
    outer_rank = u.row_axes >= 0 ? rank - u.row_axes : rank;
    if (column_reduction && !has_rows) turn();
    row_reduction = row_reduction || turned;
    assign_phases();
    members_made.resize(u.members.count, {-1, -1, -1});
    k.steps.reserve(2 * u.members.count + 2);
    // every access first: how axes collapse depends on all of them
    for (std::int32_t id : u.members) {
      if (is_joined(id)) continue;
      for (std::int32_t x : g.operands(id)) {
        const reference& r = reference_of(x);
        if (g.nodes[x].kind == op::iota) pinned_axes |= std::uint32_t{1} << walked(g.attribute(x, 0));
        if (!is_member(r.base) && category_of(g.nodes[r.base].kind) != category::leaf) access_index(x, false);
        if (g.nodes[r.base].kind == op::input) access_index(x, false);
      }
      if (materialized[id] && role_of(id) != role::column) access_index(id, true);
    }
    collapse(row_reduction);
    if (u.row_axes < 0) choose_flat_rows();
    deal_out(row_reduction || column_reduction);
    find_saved();
    for (int p = 0; p < k.phases; ++p)
      for (std::int32_t id : u.members)
        if (phase(id) == p && !is_joined(id)) emit_member(id);
  }
};

}  // namespace detail

/// `to` is empty.
constexpr void make_kernel(const graph_view& g, const fusion& f, std::int32_t unit_id, kernel_options options,
                           kernel& to) {
  detail::kernel_maker(g, f, unit_id, options, to).run();
}

}  // namespace passes
}  // namespace napkin
