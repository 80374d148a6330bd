// What a CPU plan costs: bytes moved, launches, memory; and the door's answers for lazy expressions. Bytes
// are those of tensors: what a kernel keeps in its scratch rows and partial sums stays in the caches.
#pragma once

#include <cstddef>
#include <cstdint>

#include "napkin/cost/cost.hpp"
#include "napkin/cpu/plan.hpp"

namespace napkin::on_cpu {

namespace detail {

using napkin::detail::counted_numel;
using napkin::detail::counted_product;
using napkin::detail::counted_sum;

/// Elements of one buffer that an instruction touches: as bytes of a run from begin to end, some of which it
/// may leave out.
struct touch {
  location base;
  std::ptrdiff_t begin = 0, end = 0;  // bytes
  std::uint64_t bytes = 0;
  constexpr bool is_dense() const { return bytes == static_cast<std::uint64_t>(end - begin); }
};

/// Built axis by axis. Strides of a view never overlap but where they are 0, so that the elements of an
/// access are the product of the sizes that move.
struct access_extent {
  std::uint64_t elements = 1;
  std::ptrdiff_t first = 0, last = 0;  // elements, from the access's offset
  constexpr void add(std::size_t size, std::ptrdiff_t stride) {
    if (size == 0) elements = 0;
    if (stride == 0 || size <= 1) return;
    elements = counted_product(elements, size);
    const std::ptrdiff_t reach = stride * static_cast<std::ptrdiff_t>(size - 1);
    (reach < 0 ? first : last) += reach;
  }
  constexpr void add(const shape& sizes, const stride_list& strides) {
    for (std::size_t i = 0; i < sizes.size(); ++i) add(sizes[i], strides[i]);
  }
  constexpr touch at(location base, std::ptrdiff_t offset, dtype type) const {
    const auto size = static_cast<std::ptrdiff_t>(size_of(type));
    return {base, offset + first * size, offset + (last + 1) * size,
            counted_product(elements, size_of(type))};
  }
};

constexpr bool comes_before(const touch& a, const touch& b) {
  if (a.base.where != b.base.where) return a.base.where < b.base.where;
  if (a.base.at != b.base.at) return a.base.at < b.base.at;
  return a.begin < b.begin;
}

/// Bytes of their union: exact for runs without gaps and for whatever lies within one; strided accesses that
/// interleave or overlap otherwise count each, and together never more than the run that they lie in.
constexpr std::uint64_t distinct_bytes(buffer<touch> touches) {
  for (std::size_t i = 1; i < touches.size(); ++i)
    for (std::size_t j = i; j > 0 && comes_before(touches[j], touches[j - 1]); --j) {
      const touch t = touches[j];
      touches[j] = touches[j - 1];
      touches[j - 1] = t;
    }
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < touches.size();) {
    if (touches[i].bytes == 0) {
      ++i;
      continue;
    }
    const touch& first = touches[i];
    std::ptrdiff_t end = first.end, dense_end = first.begin;
    std::uint64_t here = 0;
    std::size_t next = i;
    for (; next < touches.size(); ++next) {  // runs that overlap, densest parts first
      const touch& t = touches[next];
      if (t.bytes == 0) continue;
      if (t.base.where != first.base.where || t.base.at != first.base.at || t.begin >= end) break;
      if (t.end > end) end = t.end;
      if (!t.is_dense() || t.end <= dense_end) continue;
      here += static_cast<std::uint64_t>(t.end - (t.begin > dense_end ? t.begin : dense_end));
      dense_end = t.end;
    }
    for (std::size_t j = i; j < next; ++j) {
      bool covered = touches[j].bytes == 0 || touches[j].is_dense();
      for (std::size_t k = i; k < next && !covered; ++k)
        covered = touches[k].bytes != 0 && touches[k].is_dense() && touches[k].begin <= touches[j].begin &&
                  touches[j].end <= touches[k].end;
      if (!covered) here = counted_sum(here, touches[j].bytes);
    }
    const auto run = static_cast<std::uint64_t>(end - first.begin);
    sum = counted_sum(sum, here < run ? here : run);
    i = next;
  }
  return sum;
}

/// `in_cache`: what a contraction leaves for its epilogue moves nothing.
constexpr byte_counts bytes_of_kernel(const plan_view& p, const kernel_record& k,
                                      const contraction_record* in_cache = nullptr) {
  byte_counts bytes;
  buffer<touch> read;
  // an access's dtype stands in the steps that go there
  const program_record& program = p.programs[k.program];
  const std::size_t accesses = static_cast<std::uint32_t>(k.accesses);  // never negative, as g++ fears
  buffer<dtype> types(accesses, dtype::f32);
  buffer<bool> moves(accesses, false);
  for (std::int32_t s = program.first_step; s < program.first_step + program.steps; ++s) {
    const passes::kernel_step& step = p.steps[s];
    const bool is_memory = step.what == passes::action::load || step.what == passes::action::store;
    if (!is_memory || step.along == passes::pace::scratch) continue;
    types[static_cast<std::size_t>(step.a)] = step.type;
    moves[static_cast<std::size_t>(step.a)] = true;
  }
  for (std::int32_t a = 0; a < k.accesses; ++a) {
    if (!moves[static_cast<std::size_t>(a)]) continue;
    const access_record& access = p.accesses[k.first_access + a];
    if (in_cache != nullptr && !access.written && access.base.where == in_cache->c.where &&
        access.base.at == in_cache->c.at)
      continue;
    access_extent extent;
    for (std::int32_t i = 0; i < k.outer_rank + k.inner_rank; ++i)
      extent.add(p.sizes[k.first_size + i], p.strides[access.first_stride + i]);
    const touch t = extent.at(access.base, access.offset, types[static_cast<std::size_t>(a)]);
    if (access.written)
      bytes.written = counted_sum(bytes.written, t.bytes);
    else
      read.push_back(t);
  }
  for (std::int32_t c = 0; c < k.columns; ++c) {
    const column_record& column = p.columns[k.first_column + c];
    bytes.written = counted_sum(bytes.written, counted_product(k.row_length, size_of(column.type)));
  }
  bytes.read = distinct_bytes(static_cast<buffer<touch>&&>(read));
  return bytes;
}

constexpr byte_counts bytes_of_contraction(const contraction_record& r) {
  const contraction_plan& plan = r.plan;
  access_extent a, b, c;
  for (const contraction_plan::loop& l : plan.batch)
    a.add(l.size, l.a), b.add(l.size, l.b), c.add(l.size, l.c);
  for (const contraction_plan::loop& l : plan.outer_k) a.add(l.size, l.a), b.add(l.size, l.b);
  a.add(plan.m, plan.a_m), a.add(plan.k, plan.a_k);
  b.add(plan.k, plan.b_k), b.add(plan.n, plan.b_n);
  c.add(plan.m, plan.c_m), c.add(plan.n, plan.c_n);
  const access_extent& first = plan.swapped ? b : a;
  const access_extent& second = plan.swapped ? a : b;
  buffer<touch> read;
  read.push_back(first.at(r.a, r.a_offset, plan.type));
  read.push_back(second.at(r.b, r.b_offset, plan.type));
  return {distinct_bytes(static_cast<buffer<touch>&&>(read)),
          counted_product(c.elements, size_of(plan.type))};
}

/// A gather reads as many elements as it gives, or the whole table where that is less: which ones are
/// distinct is data.
constexpr byte_counts bytes_of_movement(const movement_record& r) {
  access_extent from, index;
  from.add(r.from_shape, r.from_stride);
  index.add(r.index_shape, r.index_stride);
  const std::uint64_t result = counted_numel(r.to_shape);
  const bool is_gather = r.kind == unit_kind::gather, indexed = is_gather || r.kind == unit_kind::scatter_add;
  const std::uint64_t elements = is_gather && result < from.elements ? result : from.elements;
  byte_counts bytes;
  bytes.read = counted_product(elements, size_of(r.type));
  if (indexed) bytes.read = counted_sum(bytes.read, counted_product(index.elements, size_of(r.index_type)));
  // a concatenation is one instruction for each operand, which writes its part
  bytes.written =
      counted_product(r.kind == unit_kind::concat ? counted_numel(r.from_shape) : result, size_of(r.type));
  return bytes;
}

constexpr std::uint64_t workspace_of(const plan_view& p, const instruction& i) {
  const auto of_kernel = [&p](std::int32_t index) {
    const kernel_record& k = p.kernels[index];
    return counted_product(k.blocks, counted_sum(k.scratch_per_block, k.partials_per_block));
  };
  if (i.kind == unit_kind::kernel) return of_kernel(i.index);
  if (i.kind != unit_kind::contraction) return 0;
  const std::uint64_t own = p.contractions[i.index].plan.workspace;
  return i.epilogue < 0 ? own : counted_sum(own, of_kernel(i.epilogue));
}

}  // namespace detail

constexpr byte_counts bytes_of(const plan_view& p, const instruction& i) {
  if (i.kind == unit_kind::kernel) return detail::bytes_of_kernel(p, p.kernels[i.index]);
  if (i.kind == unit_kind::contraction) {
    const contraction_record& contraction = p.contractions[i.index];
    byte_counts bytes = detail::bytes_of_contraction(contraction);
    if (i.epilogue < 0) return bytes;
    bytes.written = 0;
    bytes += detail::bytes_of_kernel(p, p.kernels[i.epilogue], &contraction);
    return bytes;
  }
  return detail::bytes_of_movement(p.movements[i.index]);
}

/// FLOPs of the graph that was planned, bytes and launches of its plan.
constexpr cost_sheet cost_of(const plan_view& p, const graph_view& lowered) {
  cost_sheet c;
  c.flops = flops_of(lowered);
  c.launches = p.count.instructions;
  for (std::size_t i = 0; i < p.count.instructions; ++i) c.bytes += bytes_of(p, p.instructions[i]);
  return c;
}

/// Inputs that are read, outputs, the arena and what lies in it beside intermediates.
constexpr memory_sheet memory_of(const plan_view& p, const graph_view& lowered) {
  memory_sheet m;
  buffer<detail::touch> inputs;
  for (int id = 0; id < static_cast<int>(lowered.size()); ++id) {
    if (lowered[id].kind != op::input) continue;
    detail::access_extent extent;
    extent.add(lowered.shape_of(id), passes::access_of(lowered, id).stride);
    const location slot{region::input, static_cast<std::size_t>(lowered.attribute(id, 0))};
    inputs.push_back(extent.at(slot, 0, lowered[id].type));
  }
  m.inputs = detail::distinct_bytes(static_cast<buffer<detail::touch>&&>(inputs));
  for (const std::int32_t out : lowered.output_ids())
    m.outputs = detail::counted_sum(
        m.outputs,
        detail::counted_product(detail::counted_numel(lowered.shape_of(out)), size_of(lowered[out].type)));
  for (std::size_t i = 0; i < p.count.instructions; ++i) {
    const std::uint64_t workspace = detail::workspace_of(p, p.instructions[i]);
    if (workspace > m.workspace) m.workspace = workspace;
  }
  m.arena = p.peak;
  m.arena_lower_bound = p.lower_bound;
  m.peak = detail::counted_sum(detail::counted_sum(m.inputs, m.outputs), m.arena);
  return m;
}

/// One line for each instruction, in order. `lowered` and `options` are those that the plan was made of.
constexpr buffer<plan_line> lines_of(const plan_view& p, const graph_view& lowered,
                                     plan_options options = {}) {
  const passes::fusion f = passes::fuse(lowered, options.fuse);
  buffer<plan_line> lines;
  lines.reserve(p.count.instructions);
  std::int32_t before = -1;
  for (std::size_t i = 0; i < p.count.instructions; ++i) {
    const instruction& now = p.instructions[i];
    if (now.node < 0 || static_cast<std::size_t>(now.node) >= lowered.size() ||
        f.unit_of[static_cast<std::size_t>(now.node)] < 0)
      throw error("lines_of: the plan was not made of this graph with these options");
    const passes::unit& unit =
        f.units[static_cast<std::size_t>(f.unit_of[static_cast<std::size_t>(now.node)])];
    if (unit.members.back() != now.node || (now.epilogue < 0 && unit.kind != now.kind))
      throw error("lines_of: the plan was not made of this graph with these options");
    plan_line line;
    line.kind = now.kind;
    line.last = lowered[now.node].kind;
    line.type = lowered[now.node].type;
    line.result = lowered.shape_of(now.node);
    line.origin = lowered[now.node].origin;
    line.composite = lowered[now.node].composite;
    line.operations = static_cast<std::int32_t>(unit.members.size());
    line.bytes = bytes_of(p, now);
    if (now.node != before)  // a concat is an instruction for each operand, and counted with the first
      for (const std::int32_t id : unit.members) line.flops += flops_of_node(lowered, id);
    if (now.product >= 0) {
      ++line.operations;
      line.flops += flops_of_node(lowered, now.product);
    }
    before = now.node;
    lines.push_back(line);
  }
  return lines;
}

/// The lines of a frozen plan and their sums, as a constant.
template <class Make, plan_options Options>
constexpr auto summary_of(frozen_plan<Make, Options>) {
  using frozen = frozen_plan<Make, Options>;
  constexpr plan_view p = frozen::view();
  plan_summary<p.count.instructions> s;
  const buffer<plan_line> lines = lines_of(p, frozen::graph(), Options);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    s.instructions[i] = lines[i];
    s.bytes += lines[i].bytes;
  }
  s.memory = memory_of(p, frozen::graph());
  s.workspace = s.memory.workspace;
  s.peak = s.memory.arena;
  return s;
}

}  // namespace napkin::on_cpu

namespace napkin {

template <class E>
struct lowering<E, cpu> {
  using frozen = on_cpu::frozen_plan<expression_graph<E>>;
  static constexpr cost_sheet sheet() { return on_cpu::cost_of(frozen::view(), frozen::graph()); }
  static constexpr auto plan() { return on_cpu::summary_of(frozen{}); }
};

}  // namespace napkin
