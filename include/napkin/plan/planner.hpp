// From a lowered graph to its plan. A Target is what backends differ in:
//   product                        a matrix product as the backend runs it, with `workspace` bytes
//                                  and its `types()`
//   plan_product(types, a, b, c)   from dtypes, labels, sizes and strides to one
//   multiplies_8_bits(the same)    whether it multiplies these 8-bit floats as such
//                                  (passes/multiply_in_8_bits.hpp); of a backend that multiplies none there is none
//   kernels                        into how many blocks a kernel is dealt (passes::kernel_options)
//   rows_at_once(kernel, rows)     how many rows a CPU's lanes hold side by side; 1: they hold elements of one. `rows`:
//                                  of a block of the product that it finishes, if it does
//   deal(plan, kernel)             what else the backend says of a kernel
//   can_finish(product)            whether a kernel may follow each block of the result while that is in
//   finish_by(product)             cache, and elements of a block
//   workspace_of(movement)         bytes
//   attention_columns(attention)   of a result, how many share scores (attention_record)
//   adjoints_at_once               whether one kernel gives all adjoints of an attention
//   sums_deltas(form, dtype)       whether one does, and what it is made of (passes/leave_out_deltas.hpp); of a backend
//                                  of which none does there is none
//   makes_again                    whether a kernel whose rows are kept in memory sooner makes values again
//   joins_kernels                  whether a launch costs enough to make one of small ones (passes/join_kernels.hpp)
//   arithmetic                     what it costs beside bytes (passes/make_again.hpp)
//   price(dtype, a, b, c)          what a product costs by how its tensors lie (passes/order_results.hpp); of a
//                                  backend that takes all alike there is none
//   has_epilogues                  whether a product's call may do more than multiply, and then
//   can_follow(product, form)      whether it can do this, and
//   with_epilogue(product, form)   the product that does
// `make_plan` is an ordinary constexpr function; plan/frozen.hpp makes its result a constant.
#pragma once

#include "napkin/passes/find_epilogues.hpp"
#include "napkin/passes/fuse.hpp"
#include "napkin/passes/join_in_place.hpp"
#include "napkin/passes/join_kernels.hpp"
#include "napkin/passes/place_accumulations.hpp"
#include "napkin/passes/schedule.hpp"
#include "napkin/passes/units_alike.hpp"
#include "napkin/plan/contraction_table.hpp"
#include "napkin/plan/lower.hpp"
#include "napkin/plan/records.hpp"
#include "napkin/plan/settle.hpp"
#include "napkin/plan/uses.hpp"

namespace napkin::planning {

namespace detail {

template <class Target>
struct planner {
  using product_type = typename Target::product;

  const graph_view& g;
  bool fuses, runs;
  bool contracts = false;  // at all
  plan<product_type>& p;
  passes::fusion& f;
  buffer<location> where;        // by node
  buffer<std::int32_t> life_of;  // by node, -1 outside the arena

  contraction_table<Target> table;

  constexpr planner(const graph_view& graph, plan_options options, passes::fusion& fused,
                    plan<product_type>& to)
      : g(graph), fuses(options.fuse.fuse), runs(options.runs), p(to), f(fused), table(g) {
    passes::fuse(graph, fusing<Target>(options.fuse), f);
    for (const passes::unit& u : f.units) contracts = contracts || u.kind == unit_kind::contraction;
    if constexpr (Target::has_epilogues)
      if (fuses)
        passes::find_epilogues(g, f, [this](int id, const passes::epilogue_form& form) {
          return Target::can_follow(table.alone(id), form);
        });
    if (fuses) {
      constexpr std::size_t turned = Target::kernels.turned_columns;  // are no columns then
      passes::place_accumulations(g, f, turned > 0 ? turned : std::size_t(-1));
      if constexpr (Target::joins_kernels) passes::join_kernels(g, f, options.fuse.max_members);
      passes::join_in_place(g, f);
    }
    if (!runs || !contracts) return;
    for (int id = 0; id < static_cast<int>(g.node_count);
         ++id)  // so that they are numbered in order of the graph
      if (g.nodes[id].kind == op::einsum) (void)product_index(id);
  }

  /// What follows a product within its call; null for nothing.
  constexpr const passes::epilogue* epilogue_of(int einsum) const {
    const std::int32_t e = f.units.items[f.unit_of.items[einsum]].epilogue;
    return e < 0 ? nullptr : f.epilogues.data() + e;
  }
  constexpr std::int32_t product_index(int einsum) {
    const passes::epilogue* const e = epilogue_of(einsum);
    return table.index_of(einsum, e == nullptr ? nullptr : &e->form);
  }
  constexpr const product_type& product_plan(std::int32_t node) {
    const std::int32_t index = product_index(node);  // which may make it: first
    return table.products.items[index];
  }

  constexpr std::size_t bytes_of(int id) const { return numel(g.shape_of(id)) * size_of(g.nodes[id].type); }

  constexpr std::int32_t add_life(std::size_t bytes, std::int32_t first) {
    p.lives.push_back({bytes, first, first});
    return static_cast<std::int32_t>(p.lives.size() - 1);
  }

  /// Which buffers exist, and from when to when.
  constexpr void find_lives(const buffer<std::int32_t>& order) {
    where.resize(g.size());
    life_of.resize(g.size(), -1);
    for (int id = 0; id < static_cast<int>(g.node_count); ++id)
      if (g.nodes[id].kind == op::input)
        where.items[id] = {region::input, static_cast<std::size_t>(g.attribute(id, 0))};
    for (std::size_t i = 0; i < g.output_count; ++i) {
      where.items[g.outputs[i]] = {region::output, i};
    }
    for (std::size_t id = 0; id < f.part_of_node.size(); ++id)
      if (const passes::part* const in = f.find_part(static_cast<int>(id)))
        where[id] = where.items[in->whole];
    for (std::size_t t = 0; t < order.size(); ++t) {
      const std::int32_t prologue = prologue_of.items[order[t]];
      if (is_prologue.items[order[t]]) continue;  // runs with its reader
      if (prologue >= 0) note_lives(prologue, static_cast<std::int32_t>(t));
      note_lives(order[t], static_cast<std::int32_t>(t));
    }
  }
  /// Of a node's buffer; one that parts are written to lives from the first of them on.
  constexpr void begin_life(int id, std::int32_t t) {
    const passes::part* const in = f.find_part(id);
    const int whole = in == nullptr ? id : in->whole;
    std::int32_t& life = life_of.items[whole];
    if (life < 0) life = add_life(bytes_of(whole), t);
    p.lives.items[life].last = t;
    life_of.items[id] = life;
  }
  constexpr void note_lives(std::int32_t unit, std::int32_t t) {
    const passes::unit& u = f.units.items[unit];
    const auto reads = [&](std::int32_t base) {
      const std::int32_t life = life_of.items[base];
      if (life >= 0) p.lives.items[life].last = t;
    };
    for (std::int32_t id : u.members) {
      const auto n = static_cast<std::size_t>(id);
      if (f.materialized[n] && where[n].where == region::arena) begin_life(id, t);
      if (u.epilogue >= 0 && g.nodes[id].kind != op::einsum) continue;
      for (std::int32_t x : g.operands(id)) reads(f.references.items[x].base);
    }
    if (u.epilogue >= 0) f.epilogues.items[u.epilogue].for_each_read(reads);
  }

  // ---- epilogues

  buffer<std::int32_t> prologue_of;  // by unit: the contraction that runs with this kernel
  buffer<bool> is_prologue;          // by unit

  /// Contractions that run when their one reader does: a kernel that takes the result as it lies, element by
  /// element. It is only delayed, which nothing else can notice.
  constexpr void find_prologues() {
    prologue_of.resize(f.units.size(), -1);
    is_prologue.resize(f.units.size(), false);
    if (!fuses || !contracts) return;
    buffer<std::int32_t> reader(f.units.size(),
                                -1);  // of contractions: the one unit that reads it; -2: several
    for (int id = 0; id < static_cast<int>(g.node_count); ++id) {
      const std::int32_t u = f.unit_of.items[id];
      if (u < 0) continue;
      for (std::int32_t x : g.operands(id)) {
        const passes::reference& r = f.references.items[x];
        if (g.nodes[r.base].kind != op::einsum) continue;
        std::int32_t& seen = reader.items[f.unit_of.items[r.base]];
        if (!r.direct || (seen != -1 && seen != u))
          seen = -2;
        else
          seen = u;
      }
    }
    for (std::int32_t out : g.output_ids())
      if (g.nodes[out].kind == op::einsum) reader.items[f.unit_of.items[out]] = -2;
    for (std::size_t c = 0; c < reader.size(); ++c) {
      if (reader[c] < 0) continue;
      const auto k = static_cast<std::size_t>(reader[c]);
      const passes::unit& kernel = f.units[k];
      const std::int32_t product = product_of(f.units[c]);
      if (kernel.kind != unit_kind::kernel || prologue_of[k] >= 0 ||
          g.nodes[product].shape_id != kernel.domain)
        continue;
      bool has_columns = false;  // their blocks are fixed by the domain alone
      for (std::int32_t id : kernel.members)
        has_columns = has_columns || f.role_of.items[id] == passes::role::column;
      if (has_columns || !Target::can_finish(product_plan(product))) continue;
      prologue_of[k] = static_cast<std::int32_t>(c);
      is_prologue[c] = true;
    }
  }

  /// Deal a kernel's rows out as the contraction's blocks of `range` elements; false where they do not fit.
  static constexpr bool deal_by_blocks(kernel_record& r, std::size_t range) {
    const std::size_t total = r.walks / r.chunks * r.row_length;
    if (r.columns > 0 || range == 0 || total == 0 || r.row_length == 0) return false;
    if (r.inner_rank == 1 &&
        r.walks == r.chunks) {  // one long row, without reductions or it would not be cut
      if (r.slots > 0 || (r.chunks == 1 && range < r.row_length)) return false;
      r.chunk = range;
      r.chunks = (r.row_length + range - 1) / range;
      r.walks = r.chunks;
      r.walks_per_block = 1;
    } else {
      if (r.chunks != 1 || range % r.row_length != 0) return false;
      r.walks_per_block = range / r.row_length;
    }
    r.blocks = (r.walks + r.walks_per_block - 1) / r.walks_per_block;
    return true;
  }

  constexpr std::int32_t program_index(const buffer<passes::kernel_step>& steps, bool across_rows) {
    for (std::size_t i = 0; i < p.programs.size(); ++i) {
      const program_record& known = p.programs[i];
      bool same = static_cast<std::size_t>(known.steps) == steps.size() && known.across_rows == across_rows;
      for (std::size_t s = 0; same && s < steps.size(); ++s)
        same = p.steps[static_cast<std::size_t>(known.first_step) + s] == steps[s];
      if (same) return static_cast<std::int32_t>(i);
    }
    p.programs.push_back(
        {static_cast<std::int32_t>(p.steps.size()), static_cast<std::int32_t>(steps.size()), across_rows});
    for (const passes::kernel_step& s : steps) p.steps.push_back(s);
    return static_cast<std::int32_t>(p.programs.size() - 1);
  }

  /// A kernel that was planned, and the unit that it was planned for.
  struct planned_kernel {
    std::int32_t unit;
    kernel_record kernel;        // as planned alone
    buffer<std::int32_t> bases;  // of its accesses, then of its columns: nodes
  };
  buffer<planned_kernel> planned;
  std::size_t times = 0;  // of units in their order

  /// The kernel of a unit like one before: the same program over the same sizes, other buffers.
  constexpr bool add_known_kernel(std::int32_t unit, std::int32_t t) {
    if (planned.empty()) return false;
    passes::unit_mapping mapping;
    for (const planned_kernel& known : planned) {
      if (!passes::units_alike(g, f, known.unit, unit, mapping)) continue;
      kernel_record r = known.kernel;
      const auto index = static_cast<std::int32_t>(p.kernels.size());
      const std::int32_t first_access = r.first_access, first_column = r.first_column;
      r.first_access = static_cast<std::int32_t>(p.accesses.size());
      r.first_column = static_cast<std::int32_t>(p.columns.size());
      std::size_t next = 0;
      const auto now = [&] { return where.items[mapping.of(f, unit, known.bases[next++])]; };
      for (int a = 0; a < r.accesses; ++a) {
        access_record made = p.accesses.items[first_access + a];
        made.base = now();
        p.accesses.push_back(made);
      }
      for (int c = 0; c < r.columns; ++c) {
        column_record made = p.columns.items[first_column + c];
        made.to = now();
        if (made.adds) made.added = now();
        p.columns.push_back(made);
      }
      finish_kernel(r, unit, index, t);
      return true;
    }
    return false;
  }
  constexpr void finish_kernel(kernel_record r, std::int32_t unit, std::int32_t index, std::int32_t t) {
    const std::int32_t last = f.units.items[unit].members.back();
    const std::int32_t prologue = prologue_of.items[unit];
    instruction made{unit_kind::kernel, index, last};
    if (prologue >= 0) {  // it was added just before
      const product_type& product = product_plan(p.instructions.back().node);
      if (deal_by_blocks(r, Target::finish_by(product))) {
        made = p.instructions.back();
        p.instructions.pop_back();
        made.product = made.node;
        made.node = last;
        made.epilogue = index;
      }
    }
    if (r.scratch_per_block > 0)
      p.workspaces.push_back({add_life(r.scratch_per_block * r.blocks, t), index, -1, true});
    if (r.columns > 0)
      p.workspaces.push_back({add_life(r.partials_per_block * r.blocks, t), index, -1, false});
    p.instructions.push_back(made);
    p.kernels.push_back(r);
  }

  constexpr void add_kernel(std::int32_t unit, std::int32_t t) {
    if (add_known_kernel(unit, t)) return;
    passes::kernel k;
    passes::make_kernel(g, f, unit, Target::kernels, k);
    const plan_sizes before = p.counts();
    kernel_record r = record(k, unit);
    if constexpr (Target::makes_again)
      if (r.scratch_per_block > 0) {
        p.cut_to(before);
        passes::kernel_options options = Target::kernels;
        options.makes_again = true;
        passes::kernel again;
        passes::make_kernel(g, f, unit, options, again);
        k = static_cast<passes::kernel&&>(again);
        r = record(k, unit);
      }
    if (static_cast<std::size_t>(t) + 1 < times) {
      planned_kernel known{unit, r, {}};
      for (const passes::kernel_access& a : k.accesses) known.bases.push_back(a.base);
      for (const passes::kernel_column& c : k.columns) {
        known.bases.push_back(c.node);
        if (c.added >= 0) known.bases.push_back(c.added);
      }
      planned.push_back(known);
    }
    finish_kernel(r, unit, static_cast<std::int32_t>(p.kernels.size()), t);
  }
  /// Rows of a block of the product, added just before, that the kernel finishes; 0: it finishes none.
  constexpr std::size_t finished_rows(const passes::kernel& k, std::int32_t unit) {
    if (prologue_of.items[unit] < 0 || k.row_length == 0) return 0;
    const std::size_t range = Target::finish_by(product_plan(p.instructions.back().node));
    return range % k.row_length == 0 ? range / k.row_length : 0;
  }
  /// Its tables are added to the plan's.
  constexpr kernel_record record(const passes::kernel& k, std::int32_t unit) {
    kernel_record r;
    const std::size_t rows_at_once = Target::rows_at_once(k, finished_rows(k, unit));
    r.program = program_index(k.steps, rows_at_once > 1);
    r.first_size = static_cast<std::int32_t>(p.sizes.size());
    r.outer_rank = static_cast<std::int32_t>(k.outer.size());
    r.inner_rank = static_cast<std::int32_t>(k.inner.size());
    for (std::size_t s : k.outer) p.sizes.push_back(s);
    for (std::size_t s : k.inner) p.sizes.push_back(s);
    r.first_access = static_cast<std::int32_t>(p.accesses.size());
    r.accesses = static_cast<std::int32_t>(k.accesses.size());
    for (const passes::kernel_access& a : k.accesses) {
      access_record made;
      made.base = where.items[a.base];
      made.offset = a.offset * static_cast<std::ptrdiff_t>(size_of(g.nodes[a.base].type));
      made.first_stride = static_cast<std::int32_t>(p.strides.size());
      made.written = a.written;
      made.part = f.find_part(a.base) != nullptr;
      for (std::ptrdiff_t s : a.outer) p.strides.push_back(s);
      for (std::ptrdiff_t s : a.inner) p.strides.push_back(s);
      p.accesses.push_back(made);
    }
    r.first_constant = static_cast<std::int32_t>(p.constants.size());
    r.constants = static_cast<std::int32_t>(k.constants.size());
    for (double c : k.constants) p.constants.push_back(c);
    r.row_length = k.row_length;
    r.chunk = k.chunk;
    r.chunks = k.chunks();
    r.walks = k.walks();
    r.walks_per_block = k.walks_per_block(rows_at_once);
    r.blocks = k.blocks;
    if (r.walks_per_block > k.walks_per_block())
      r.blocks = (r.walks + r.walks_per_block - 1) / r.walks_per_block;
    r.first_slot = static_cast<std::int32_t>(p.slots.size());
    r.slots = static_cast<std::int32_t>(k.scratch.size());
    for (dtype type : k.scratch) {
      p.slots.push_back(r.scratch_per_block);
      r.scratch_per_block += passes::aligned(k.row_length * rows_at_once * size_of(type));
    }
    if (rows_at_once > 1) r.scratch_per_block = 0;  // of few bytes, which a thread has
    r.first_column = static_cast<std::int32_t>(p.columns.size());
    r.columns = static_cast<std::int32_t>(k.columns.size());
    for (const passes::kernel_column& c : k.columns) {
      const dtype type = g.nodes[c.node].type;
      column_record made{c.kind, type, r.partials_per_block, where.items[c.node]};
      made.adds = c.added >= 0;
      if (made.adds) made.added = where.items[c.added];
      p.columns.push_back(made);
      r.partials_per_block += passes::aligned(k.row_length * partial_bytes(type));
    }
    for (int c = 0; c < r.columns; ++c)
      r.joins += alike_before(p.columns.data() + r.first_column, c) % joined_columns == 0;
    Target::deal(p, r);
    r.like = static_cast<std::int32_t>(p.kernels.size());
    r.first_member = static_cast<std::int32_t>(p.members.count);
    for (std::int32_t id : f.units.items[unit].members) p.members.push_back(id);
    for (std::int32_t id : k.made_again) p.members.push_back(id);  // counts as often as it is done
    r.members = static_cast<std::int32_t>(p.members.count) - r.first_member;
    return r;
  }

  struct operand_place {
    passes::access access;
    location base;
    std::ptrdiff_t offset;  // bytes
  };
  constexpr operand_place place_of(int x) const {
    const passes::access a = passes::access_of(g, x);
    return {a, where.items[a.base], a.offset * static_cast<std::ptrdiff_t>(size_of(g.nodes[x].type))};
  }

  constexpr void add_contraction(int id, std::int32_t t) {
    const operand_place a = place_of(g.operand(id, 0)), b = place_of(g.operand(id, 1));
    contraction_record r;
    r.product = runs ? product_index(id) : -1;
    r.a = a.base;
    r.b = b.base;
    r.c = where.items[id];
    r.a_offset = a.offset;
    r.b_offset = b.offset;
    if (const passes::epilogue* const e = epilogue_of(id)) add_epilogue(*e, r);
    const auto index = static_cast<std::int32_t>(p.contractions.size());
    const std::size_t workspace = runs ? product_plan(id).workspace : 0;
    if (workspace > 0) p.workspaces.push_back({add_life(workspace, t), -1, index, false});
    p.instructions.push_back({unit_kind::contraction, index, id});
    p.contractions.push_back(r);
  }

  constexpr void add_epilogue(const passes::epilogue& e, contraction_record& r) {
    const auto put = [&](epilogue_operand x, std::int32_t node, bool written) {
      if (node >= 0) r.of(x) = {where.items[node], bytes_of(node), written};
    };
    r.c = where.items[e.result];
    r.follows = e.form;
    put(epilogue_operand::vector, e.vector, e.form.sums != passes::summed::none);
    put(epilogue_operand::added, e.added, false);
    put(epilogue_operand::auxiliary, e.auxiliary, e.form.keeps);
    put(epilogue_operand::first_factor, e.factor[0], false);
    put(epilogue_operand::second_factor, e.factor[1], false);
    r.first_member = static_cast<std::int32_t>(p.members.count);
    for (std::int32_t id : f.units.items[f.unit_of.items[e.product]].members)
      if (id != e.product) p.members.push_back(id);
    r.members = static_cast<std::int32_t>(p.members.count) - r.first_member;
  }

  /// Was a concat's operand written where it goes?
  constexpr bool is_in_place(int x) const { return f.find_part(f.references.items[x].base) != nullptr; }
  constexpr void add_movement(unit_kind kind, int id, std::int32_t t) {
    const int operands = kind == unit_kind::concat ? g.nodes[id].arity : 1;
    shape start(g.shape_of(id).size(), 0);
    for (int k = 0; k < operands; ++k) {
      movement_record r;
      if (kind == unit_kind::concat && is_in_place(g.operand(id, k))) {
        const auto axis = static_cast<std::size_t>(g.attribute(id, 0));
        start[axis] += g.shape_of(g.operand(id, k))[axis];
        continue;
      }
      const operand_place from = place_of(g.operand(id, k));
      r.kind = kind;
      r.type = g.nodes[id].type;
      r.from_shape = g.shape_of(g.operand(id, k));
      r.from_stride = from.access.stride;
      r.from = from.base;
      r.from_offset = from.offset;
      r.to_shape = g.shape_of(id);
      r.to = where.items[id];
      r.step = stride_list(r.to_shape.size(), 1);
      r.fills = kind == unit_kind::pad || kind == unit_kind::scatter_add;
      if (kind == unit_kind::pad) {
        for (std::size_t i = 0; i < start.size(); ++i) {
          r.start.push_back(static_cast<std::size_t>(g.attribute(id, static_cast<int>(i))));
          r.step[i] = g.attribute(id, static_cast<int>(i + start.size()));
        }
      } else {
        r.axis = g.attribute(id, 0);
        r.start = start;
        if (kind == unit_kind::concat) start.items[r.axis] += r.from_shape.items[r.axis];
      }
      if (looks_up(kind)) {
        const operand_place index = place_of(g.operand(id, 1));
        r.index_type = g.nodes[g.operand(id, 1)].type;
        r.index_shape = g.shape_of(g.operand(id, 1));
        r.index_stride = index.access.stride;
        r.index = index.base;
        r.index_offset = index.offset;
      }
      const auto place = static_cast<std::int32_t>(p.movements.size());
      r.workspace_bytes = Target::workspace_of(r);
      if (r.workspace_bytes > 0)
        p.workspaces.push_back({add_life(r.workspace_bytes, t), -1, -1, false, place});
      p.instructions.push_back({kind, place, id});
      p.movements.push_back(r);
    }
  }

  constexpr void add_attention(const passes::unit& u) {
    using tensor = passes::attention_tensor;
    const int id = u.members[0];
    attention_record r;
    r.type = g.nodes[g.operand(id, 0)].type;
    r.backward = g.nodes[id].kind == op::attention_backward;
    r.extent = passes::extent_of(g, id, [this](int x) { return passes::access_of(g, x).stride; });
    constexpr tensor of_backward[] = {tensor::query,   tensor::key,   tensor::value, tensor::output,
                                      tensor::log_sum, tensor::delta, tensor::mask,  tensor::largest},
                     of_forward[] = {tensor::query, tensor::key, tensor::value, tensor::mask};
    const tensor* const operands = r.backward ? of_backward : of_forward;
    for (int k = 0; k < g.nodes[id].arity; ++k) {
      const operand_place from = place_of(g.operand(id, k));
      r.of(operands[k]) = {from.base, from.offset, true, false};
    }
    for (const std::int32_t member : u.members) {
      const row::attention_form form(g, member);
      const passes::attention_tensor made = passes::tensor_of(form.part, r.backward);
      r.of(made) = {where.items[member], 0, true, true};
      const passes::part* const in = f.find_part(member);
      if (in == nullptr) continue;
      r.of(made).offset = in->offset * static_cast<std::ptrdiff_t>(size_of(r.type_of(made)));
      r.of(made).part = true;
      r.extent.walk(made) = passes::walk_of(form, form.part, in->stride);
    }
    r.columns = Target::attention_columns(r);
    p.instructions.push_back({unit_kind::attention, static_cast<std::int32_t>(p.attentions.size()), id});
    p.attentions.push_back(r);
  }

  constexpr std::int32_t product_of(const passes::unit& u) const {
    return u.epilogue < 0 ? u.members[0] : f.epilogues.items[u.epilogue].product;
  }

  /// Which instructions an evaluation of the first output alone has to run.
  constexpr void mark_first_output() {
    if (g.output_count == 0) return;
    if (g.output_count == 1) {  // all of it is needed for that
      for (instruction& i : p.instructions) i.first_output = true;
      return;
    }
    buffer<bool> needed(f.units.size(), false);
    const auto need_unit = [&](std::int32_t base) {
      const std::int32_t u = f.unit_of.items[base];
      if (u >= 0) needed.items[u] = true;
    };
    const auto need = [&](std::int32_t base) {
      need_unit(base);
      if (g.nodes[base].kind != op::concat) return;
      for (const std::int32_t x : g.operands(base))  // perhaps all in place: then it is no instruction
        need_unit(f.references.items[x].base);
    };
    need(g.outputs[0]);
    for (std::size_t i = p.instructions.size(); i-- > 0;) {
      const auto u = static_cast<std::size_t>(f.unit_of.items[p.instructions[i].node]);
      if (!needed[u]) continue;
      p.instructions[i].first_output = true;
      const auto need_operands = [&](std::int32_t id) {
        for (std::int32_t x : g.operands(id)) need(f.references.items[x].base);
      };
      for (std::int32_t id : f.units[u].members) need_operands(id);
      if (p.instructions[i].product >= 0) need_operands(p.instructions[i].product);
    }
  }

  constexpr void run() {
    const buffer<std::int32_t> order = passes::schedule(g, f);
    times = order.size();
    p.instructions.reserve(times);
    p.kernels.reserve(times);
    find_prologues();
    find_lives(order);
    for (std::size_t id = 0; id < g.node_count; ++id)
      if (life_of[id] >= 0) where[id].at = static_cast<std::size_t>(life_of[id]);
    for (std::size_t t = 0; t < order.size(); ++t) {
      const passes::unit& u = f.units.items[order[t]];
      const auto now = static_cast<std::int32_t>(t);
      if (is_prologue.items[order[t]]) continue;
      const std::int32_t prologue = prologue_of.items[order[t]];
      const std::size_t before = p.instructions.size();
      if (prologue >= 0) add_contraction(product_of(f.units.items[prologue]), now);
      if (u.kind == unit_kind::kernel)
        add_kernel(order[t], now);
      else if (u.kind == unit_kind::contraction)
        add_contraction(product_of(u), now);
      else if (u.kind == unit_kind::attention)
        add_attention(u);
      else
        add_movement(u.kind, u.members[0], now);
      for (std::size_t i = before; i < p.instructions.size(); ++i) p.instructions[i].time = now;
    }
    mark_first_output();
    p.products = static_cast<buffer<product_type>&&>(table.products);
    for (instruction& i : p.instructions) i.origin = g.nodes[i.node].origin;
  }
};

}  // namespace detail

/// Plan a graph that lower_graph has made, all but where intermediates lie: that is `settle`'s. In two, so
/// that each constant evaluation stays within the compilers' default limits. `to` is empty.
template <class Target>
constexpr void make_unsettled_plan(const graph_view& lowered, plan_options options,
                                   plan<typename Target::product>& to) {
  passes::fusion fused;  // by itself: g++ looks for a member among all of its object's
  detail::planner<Target>(lowered, options, fused, to).run();
}
template <class Target>
constexpr plan<typename Target::product> make_unsettled_plan(const graph_view& lowered,
                                                             plan_options options = {}) {
  plan<typename Target::product> made;
  make_unsettled_plan<Target>(lowered, options, made);
  return made;
}

/// The whole plan of a graph that lower_graph has made.
template <class Target>
constexpr plan<typename Target::product> make_plan(const graph_view& lowered, plan_options options = {}) {
  plan<typename Target::product> p = make_unsettled_plan<Target>(lowered, options);
  settle(p);
  return p;
}

}  // namespace napkin::planning
