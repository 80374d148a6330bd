// What a plan costs: bytes moved, launches, memory. Bytes are those of tensors and, where a backend says that its
// workspace is memory as any other (Product::workspace_is_memory), of what instructions keep there: a CPU's
// scratch rows and partial sums stay in the nearest caches, a GPU's go through the device's memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "napkin/cost/cost.hpp"
#include "napkin/plan/frozen.hpp"

namespace napkin::planning {

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

/// Built axis by axis. Elements that several places of an access share, as the windows of a convolution do,
/// count once: axes are taken by stride, and one that continues what the axes below it cover makes that
/// longer.
class access_extent {
 public:
  constexpr void add(std::size_t size, std::ptrdiff_t stride) {
    if (size == 0) empty_ = true;
    if (stride == 0 || size <= 1) return;
    const std::ptrdiff_t reach = stride * static_cast<std::ptrdiff_t>(size - 1);
    (reach < 0 ? first_ : last_) += reach;
    const step now{static_cast<std::uint64_t>(stride < 0 ? -stride : stride), size};
    std::size_t at = axes_.size();
    axes_.push_back(now);
    for (; at > 0 && axes_[at - 1].stride > now.stride; --at) axes_[at] = axes_[at - 1];
    axes_[at] = now;
  }
  constexpr void add(const shape& sizes, const stride_list& strides) {
    for (std::size_t i = 0; i < sizes.size(); ++i) add(sizes[i], strides[i]);
  }
  /// Distinct ones; where more than two axes overlap by strides that are no multiples of one another, at most
  /// the run they lie in.
  constexpr std::uint64_t elements() const {
    if (empty_) return 0;
    std::uint64_t below = 1, reach = 0;  // what axes below the current run cover, and how far
    step run{1, 1};
    for (const step& axis : axes_) {
      const std::uint64_t whole = reach + run.stride * (run.size - 1);
      const bool continues = axis.stride % run.stride == 0 && axis.stride <= run.stride * run.size;
      if (continues && run.stride > reach) {
        run.size += axis.stride / run.stride * (axis.size - 1);
        continue;
      }
      if (axis.stride > whole) {
        below = counted_product(below, run.size);
        reach = whole;
        run = axis;
        continue;
      }
      const std::uint64_t shared = common_divisor(run.stride, axis.stride);
      if (shared <= reach) return static_cast<std::uint64_t>(last_ - first_) + 1;
      below = counted_product(below, distinct_sums(run, axis, shared));
      reach = whole + axis.stride * (axis.size - 1);
      run = {reach + 1, 1};
    }
    return counted_product(below, run.size);
  }
  constexpr touch at(location base, std::ptrdiff_t offset, dtype type) const {
    const auto size = static_cast<std::ptrdiff_t>(size_of(type));
    return {base, offset + first_ * size, offset + (last_ + 1) * size,
            counted_product(elements(), size_of(type))};
  }

 private:
  struct step {
    std::uint64_t stride = 1, size = 1;
  };
  static constexpr std::uint64_t common_divisor(std::uint64_t a, std::uint64_t b) {
    while (b != 0) {
      const std::uint64_t rest = a % b;
      a = b;
      b = rest;
    }
    return a;
  }
  /// Of x.stride * i + y.stride * j: strides divided by what they share, p and q, the sums of (i + q, j) and
  /// (i, j + p) are equal, and no others. So all count but those that have an equal one before them.
  static constexpr std::uint64_t distinct_sums(const step& x, const step& y, std::uint64_t shared) {
    const std::uint64_t p = x.stride / shared, q = y.stride / shared;
    const std::uint64_t again = x.size > q && y.size > p ? counted_product(x.size - q, y.size - p) : 0;
    return counted_product(x.size, y.size) - again;
  }
  inplace_vector<step, 2 * max_rank> axes_;  // by stride
  std::ptrdiff_t first_ = 0, last_ = 0;      // elements, from the access's offset
  bool empty_ = false;
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

/// `contraction`: the one whose epilogue the kernel is, -1 for none. What that leaves in cache moves nothing.
/// (Not by pointer: with sanitizers on, g++ 12 finds none of an array's elements to be non-null.)
template <class Product>
constexpr byte_counts bytes_of_kernel(const plan_view<Product>& p, const kernel_record& k,
                                      std::int32_t contraction) {
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
    if (contraction >= 0 && !access.written) {
      const location& in_cache = p.contractions[contraction].c;
      if (access.base.where == in_cache.where && access.base.at == in_cache.at) continue;
    }
    access_extent extent;
    for (std::int32_t i = 0; i < k.outer_rank + k.inner_rank; ++i)
      extent.add(p.sizes[k.first_size + i], p.strides[access.first_stride + i]);
    const touch t = extent.at(access.base, access.offset, types[static_cast<std::size_t>(a)]);
    if (access.written)
      bytes.written = counted_sum(bytes.written, t.bytes);
    else
      read.push_back(t);
  }
  std::uint64_t added = 0;
  for (std::int32_t c = 0; c < k.columns; ++c) {
    const column_record& column = p.columns[k.first_column + c];
    const std::uint64_t all = counted_product(k.row_length, size_of(column.type));
    bytes.written = counted_sum(bytes.written, all);
    if (column.adds) added = counted_sum(added, all);
  }
  bytes.read = counted_sum(distinct_bytes(static_cast<buffer<touch>&&>(read)), added);
  return bytes;
}

/// What a kernel writes to scratch rows and partial sums and reads there again, each as often as it does so;
/// and what reads the partial sums to join them.
template <class Product>
constexpr byte_counts workspace_bytes_of_kernel(const plan_view<Product>& p, const kernel_record& k) {
  byte_counts bytes;
  const auto rows = [&k](std::size_t count, std::size_t size) {
    return counted_product(counted_product(count, k.row_length), size);
  };
  const program_record& program = p.programs[k.program];
  if (k.scratch_per_block > 0)
    for (std::int32_t s = program.first_step; s < program.first_step + program.steps; ++s) {
      const passes::kernel_step& step = p.steps[s];
      const bool reads = step.what == passes::action::load, writes = step.what == passes::action::store;
      if ((!reads && !writes) || step.along != passes::pace::scratch) continue;
      const std::uint64_t moved = rows(k.walks, size_of(step.type));
      bytes += reads ? byte_counts{moved, 0} : byte_counts{0, moved};
    }
  for (std::int32_t c = 0; c < k.columns; ++c) {
    const std::size_t size = partial_bytes(p.columns[k.first_column + c].type);
    // a team's sums, from registers; or zeros first, and then each row adds to what lies there
    std::uint64_t each_way = rows(k.blocks, size);
    if (!k.layout.kept) each_way = counted_sum(each_way, rows(k.walks, size));
    bytes += {each_way, each_way};
  }
  return bytes;
}

/// A buffer of its own, every element of it once.
constexpr bool is_whole(const graph_view& g, int id) {
  const node& n = g.nodes[id];
  return !passes::is_view(n.kind) && (n.kind != op::input || n.attribute_count <= 1);
}

/// The elements of both operands and of the result: where there is no result, nothing is read.
constexpr byte_counts bytes_of_product(const graph_view& g, int einsum, const contraction_record& r) {
  const dtype type = g[einsum].type;
  const std::uint64_t result = counted_numel(g.shape_of(einsum));
  const int a = g.operand(einsum, 0), b = g.operand(einsum, 1);
  if (result > 0 && is_whole(g, a) && is_whole(g, b) && (r.a.where != r.b.where || r.a.at != r.b.at)) {
    const std::uint64_t both = counted_sum(counted_numel(g.shape_of(a)), counted_numel(g.shape_of(b)));
    return {counted_product(both, size_of(type)), counted_product(result, size_of(type))};
  }
  buffer<touch> read;
  const auto reads = [&](int x, location base, std::ptrdiff_t offset) {
    access_extent extent;
    extent.add(g.shape_of(x), passes::access_of(g, x).stride);
    read.push_back(extent.at(base, offset, type));
  };
  if (result > 0) {
    reads(a, r.a, r.a_offset);
    reads(b, r.b, r.b_offset);
  }
  return {distinct_bytes(static_cast<buffer<touch>&&>(read)), counted_product(result, size_of(type))};
}

/// With what its epilogue reads and writes; the result may be of another dtype than the product.
constexpr byte_counts bytes_of_contraction(const graph_view& g, int einsum, const contraction_record& r,
                                           dtype result) {
  byte_counts bytes = bytes_of_product(g, einsum, r);
  bytes.written = bytes.written / size_of(g[einsum].type) * size_of(result);
  for (const contraction_record::other& x : r.others)
    (x.written ? bytes.written : bytes.read) = counted_sum(x.written ? bytes.written : bytes.read, x.bytes);
  return bytes;
}

/// A gather reads as many elements as it gives, or the whole table where that is less: which ones are
/// distinct is data.
constexpr byte_counts bytes_of_movement(const movement_record& r) {
  access_extent from, index;
  from.add(r.from_shape, r.from_stride);
  index.add(r.index_shape, r.index_stride);
  const std::uint64_t result = counted_numel(r.to_shape);
  const bool is_gather = r.kind == unit_kind::gather, indexed = is_gather || r.kind == unit_kind::scatter_add;
  const std::uint64_t elements = is_gather && result < from.elements() ? result : from.elements();
  byte_counts bytes;
  bytes.read = counted_product(elements, size_of(r.type));
  if (indexed) bytes.read = counted_sum(bytes.read, counted_product(index.elements(), size_of(r.index_type)));
  // a concatenation is one instruction for each operand, which writes its part
  bytes.written =
      counted_product(r.kind == unit_kind::concat ? counted_numel(r.from_shape) : result, size_of(r.type));
  return bytes;
}

/// f(size, stride) for each axis that an attention walks of one of its tensors.
constexpr void for_each_axis(const passes::attention_extent& e, passes::attention_tensor of, auto&& f) {
  using tensor = passes::attention_tensor;
  const bool of_keys =
      of == tensor::key || of == tensor::value || of == tensor::d_key || of == tensor::d_value;
  const bool sums = of == tensor::log_sum || of == tensor::delta || of == tensor::largest;
  const bool hidden =
      of == tensor::query || of == tensor::key || of == tensor::d_query || of == tensor::d_key;
  const passes::attention_walk& w = e.walk(of);
  f(of_keys ? e.keys : e.queries, w.position);
  if (of == tensor::mask)
    f(e.keys, w.width);
  else if (!sums)
    f(hidden ? e.hidden : e.value, w.width);
  for (std::size_t o = 0; o < (of_keys ? e.shared : e.outer.size()); ++o) f(e.outer[o], w.outer[o]);
}

/// What q, k, v, the mask and the others hold, each once.
constexpr byte_counts bytes_of_attention(const attention_record& r) {
  byte_counts bytes;
  buffer<touch> read;
  for (std::size_t x = 0; x < passes::attention_tensors; ++x) {
    if (!r.operands[x].there) continue;
    const auto of = static_cast<passes::attention_tensor>(x);
    access_extent extent;
    for_each_axis(r.extent, of, [&](std::size_t size, std::ptrdiff_t stride) { extent.add(size, stride); });
    const touch t = extent.at(r.operands[x].at, r.operands[x].offset, r.type_of(of));
    if (r.operands[x].written)
      bytes.written = counted_sum(bytes.written, t.bytes);
    else
      read.push_back(t);
  }
  bytes.read = distinct_bytes(static_cast<buffer<touch>&&>(read));
  return bytes;
}

template <class Product>
constexpr std::uint64_t workspace_of(const plan_view<Product>& p, const instruction& i) {
  const auto of_kernel = [&p](std::int32_t index) {
    const kernel_record& k = p.kernels[index];
    return counted_product(k.blocks, counted_sum(k.scratch_per_block, k.partials_per_block));
  };
  if (i.kind == unit_kind::kernel) return of_kernel(i.index);
  if (i.kind == unit_kind::attention) return 0;
  if (i.kind != unit_kind::contraction) return p.movements[i.index].workspace_bytes;
  const std::uint64_t own = p.products[p.contractions[i.index].product].workspace;
  return i.epilogue < 0 ? own : counted_sum(own, of_kernel(i.epilogue));
}

}  // namespace detail

/// What each instruction costs, asked in the plan's order. Instructions that do the same to other buffers,
/// as those of equal layers, are counted once.
template <class Product>
class instruction_costs {
 public:
  /// `lowered` is the graph that the plan was made of.
  constexpr instruction_costs(const plan_view<Product>& plan, const graph_view& lowered)
      : p_(plan), g_(lowered), by_kernel_(plan.count.kernels), by_product_(plan.count.products) {}

  /// Errors  `error` where the plan was made of another graph.
  constexpr cost_sheet of(std::size_t i) {
    const instruction& now = p_.instructions[i];
    check(now);
    if (now.kind == unit_kind::kernel) return of_kernel(now.index, -1);
    if (now.kind == unit_kind::contraction) {
      const cost_sheet product = of_product(now);
      if (now.epilogue < 0) return product;
      cost_sheet c = of_kernel(now.epilogue, now.index);
      c.flops += product.flops;
      c.bytes.read = detail::counted_sum(c.bytes.read, product.bytes.read);
      return c;
    }
    if (now.kind == unit_kind::attention) {
      cost_sheet c{{}, detail::bytes_of_attention(p_.attentions[now.index]), 1};
      for (const std::int32_t id : members_of_attention(now))
        c.flops += flops_of_node(g_, id, p_.attentions[now.index].columns);
      return c;
    }
    const bool counted = i > 0 && p_.instructions[i - 1].node == now.node;  // a concat's later operands
    cost_sheet c{counted ? flop_counts{} : flops_of_node(g_, now.node),
                 detail::bytes_of_movement(p_.movements[now.index]), 1};
    if constexpr (Product::workspace_is_memory) c.bytes += Product::workspace_bytes(p_.movements[now.index]);
    return c;
  }

 private:
  struct known {
    cost_sheet cost;
    enum { nothing, alone, epilogue } of = nothing;  // what `cost` is that of
  };
  plan_view<Product> p_;
  graph_view g_;
  buffer<known> by_kernel_, by_product_;
  known unplanned_;  // the product that was counted last, of a plan that has none

  constexpr void check(const instruction& now) const {
    if (now.node < 0 || static_cast<std::size_t>(now.node) >= g_.size() ||
        (now.epilogue < 0 && now.kind == unit_kind::contraction) != (g_[now.node].kind == op::einsum))
      throw error("the plan was not made of this graph");
  }
  /// The nodes that the instruction's record has results of: of its first one's operands and kind.
  constexpr buffer<std::int32_t> members_of_attention(const instruction& i) const {
    const attention_record& r = p_.attentions[i.index];
    buffer<std::int32_t> members;
    for (int id = i.node; id < static_cast<int>(g_.size()); ++id) {
      const node &a = g_[i.node], &b = g_[id];
      if (a.kind != b.kind || a.when != b.when || a.attribute_count != b.attribute_count) continue;
      bool same = true;
      for (int k = 0; k < a.arity && same; ++k) same = g_.operand(i.node, k) == g_.operand(id, k);
      if (!same) continue;
      const auto part = static_cast<attention_part>(g_.attribute(id, b.attribute_count - 1));
      if (r.of(passes::tensor_of(part, r.backward)).written) members.push_back(id);
    }
    return members;
  }
  constexpr cost_sheet of_product(const instruction& i) {
    cost_sheet c = of_like_product(i);
    const int einsum = i.epilogue < 0 ? i.node : i.product;
    c.flops.recomputed = g_[einsum].when == computed::again ? c.flops.total() : 0;
    const contraction_record& r = p_.contractions[i.index];
    for (std::int32_t m = 0; m < r.members; ++m) c.flops += flops_of_node(g_, p_.members[r.first_member + m]);
    return c;
  }
  constexpr const cost_sheet& of_like_product(const instruction& i) {
    const contraction_record& r = p_.contractions[i.index];
    known& last = r.product < 0 ? unplanned_ : by_product_[static_cast<std::size_t>(r.product)];
    // both operands in one buffer overlap in ways of their own
    const bool usual = r.product >= 0 && (r.a.where != r.b.where || r.a.at != r.b.at);
    if (usual && last.of == known::alone) return last.cost;
    const int einsum = i.epilogue < 0 ? i.node : i.product;
    last.cost = {flops_of_node(g_, einsum), detail::bytes_of_contraction(g_, einsum, r, result_type_of(i)),
                 std::uint64_t{1} + r.follows.rounds_vector()};
    if constexpr (Product::workspace_is_memory)
      if (r.product >= 0) last.cost.bytes += p_.products[r.product].workspace_bytes();
    last.of = usual ? known::alone : known::nothing;
    return last.cost;
  }
  /// Of what is stored: the einsum's, or its epilogue's.
  constexpr dtype result_type_of(const instruction& i) const {
    const contraction_record& r = p_.contractions[i.index];
    return r.members == 0 ? g_[i.epilogue < 0 ? i.node : i.product].type : r.follows.type;
  }
  constexpr cost_sheet of_kernel(std::int32_t index, std::int32_t contraction) {
    const kernel_record &k = p_.kernels[index], &like = p_.kernels[k.like];
    known& last = by_kernel_[static_cast<std::size_t>(k.like)];
    const auto of = contraction < 0 ? known::alone : known::epilogue;
    if (last.of == of) return last.cost;
    last = {};
    last.of = of;
    last.cost.launches = 1;
    last.cost.bytes = detail::bytes_of_kernel(p_, k, contraction);
    if constexpr (Product::workspace_is_memory) last.cost.bytes += detail::workspace_bytes_of_kernel(p_, k);
    for (std::int32_t m = 0; m < like.members; ++m)
      last.cost.flops += flops_of_node(g_, p_.members[like.first_member + m]);
    return last.cost;
  }
};

/// FLOPs, bytes and launches of a plan.
template <class Product>
constexpr cost_sheet cost_of(const plan_view<Product>& p, const graph_view& lowered) {
  cost_sheet sum;
  instruction_costs costs(p, lowered);
  for (std::size_t i = 0; i < p.count.instructions; ++i) sum += costs.of(i);
  return sum;
}

/// What a lowered graph costs, without a plan that anything could run. A graph of one contraction is its own
/// plan, so nothing is fused to find that out.
template <class Target>
constexpr cost_sheet cost_of(const graph_view& lowered) {
  const int last = static_cast<int>(lowered.size()) - 1;
  bool lone = last >= 0 && lowered.nodes[last].kind == op::einsum;
  for (int id = 0; id < last && lone; ++id) lone = lowered.nodes[id].kind == op::input;
  if (lone) {
    contraction_record operands;
    const auto place = [&](int k, location& base) {
      base = {region::input, static_cast<std::size_t>(lowered.attribute(lowered.operand(last, k), 0))};
    };
    place(0, operands.a);
    place(1, operands.b);
    cost_sheet c{flops_of_node(lowered, last), detail::bytes_of_product(lowered, last, operands), 1};
    if constexpr (Target::product::workspace_is_memory)
      c.bytes += contraction_table<Target>(lowered).alone(last).workspace_bytes();
    return c;
  }
  const plan<typename Target::product> p =  // workspace that counts is a product's form
      make_unsettled_plan<Target>(lowered, {.runs = Target::product::workspace_is_memory});
  return cost_of(view_of(p), lowered);
}

/// The most bytes of the arena that one instruction takes beside its operands: scratch rows, partial sums,
/// what a product packs.
template <class Product>
constexpr std::uint64_t workspace_of(const plan_view<Product>& p) {
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < p.count.instructions; ++i) {
    const std::uint64_t workspace = detail::workspace_of(p, p.instructions[i]);
    if (workspace > most) most = workspace;
  }
  return most;
}

/// How many of a plan's products do more in their call than multiply; one may count several times.
struct epilogue_counts {
  std::int32_t bias = 0, added = 0, gelu = 0, gelu_gradient = 0;  // `added`: a residual, another product
  std::int32_t bias_gradient = 0;
  constexpr bool operator==(const epilogue_counts&) const = default;
};
template <class Product>
constexpr epilogue_counts epilogues_of(const plan_view<Product>& p) {
  epilogue_counts n;
  for (std::size_t i = 0; i < p.count.contractions; ++i) {
    const passes::epilogue_form& f = p.contractions[i].follows;
    n.bias += f.adds_vector();
    n.added += f.adds;
    n.gelu += f.then == passes::activation::gelu;
    n.gelu_gradient += f.then == passes::activation::gelu_gradient;
    n.bias_gradient += f.sums != passes::summed::none;
  }
  return n;
}

/// How many of a plan's products no library call computes: a kernel of the project's own does, and the plan's
/// line says why (`plan_line::refused`).
template <class Product>
constexpr std::size_t refused_products_of(const plan_view<Product>& p) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < p.count.contractions; ++i)
    n += !p.products[p.contractions[i].product].refused().empty();
  return n;
}

/// Bytes of the arena that are alive once the first output, a loss, is known, and read after that: what the
/// forward pass keeps for the backward pass. With the padding that aligns each buffer.
template <class Product>
constexpr std::uint64_t kept_after_first_output(const plan_view<Product>& p) {
  std::int32_t border = -1;
  for (std::size_t i = 0; i < p.count.instructions; ++i)
    if (p.instructions[i].first_output && p.instructions[i].time > border) border = p.instructions[i].time;
  std::uint64_t kept = 0;
  for (std::size_t l = 0; l < p.count.lives; ++l)
    if (p.lives[l].first <= border && p.lives[l].last > border) kept += passes::aligned(p.lives[l].bytes);
  return kept;
}

/// What a lazy expression costs, in one constant evaluation that keeps nothing: most are costed alone, or run
/// and never costed. The expression is replay_of its type: one function for all of them.
template <class Target>
constexpr cost_sheet cost_of_expression(const napkin::detail::replay_step& expression) {
  return cost_of<Target>(lower_simplified<Target>(napkin::detail::make_graph(expression, true)).view());
}

/// Inputs that are read, outputs, the arena and what lies in it beside intermediates.
template <class Product>
constexpr memory_sheet memory_of(const plan_view<Product>& p, const graph_view& lowered) {
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
  m.workspace = workspace_of(p);
  m.arena = p.peak;
  m.arena_lower_bound = p.lower_bound;
  m.peak = detail::counted_sum(detail::counted_sum(m.inputs, m.outputs), m.arena);
  return m;
}

/// One line for each instruction, in order. `lowered` is the graph that the plan was made of.
///
/// Errors  `error` where it was made of another.
template <class Product>
constexpr buffer<plan_line> lines_of(const plan_view<Product>& p, const graph_view& lowered) {
  buffer<plan_line> lines;
  lines.reserve(p.count.instructions);
  instruction_costs costs(p, lowered);
  for (std::size_t i = 0; i < p.count.instructions; ++i) {
    const cost_sheet cost = costs.of(i);
    const instruction& now = p.instructions[i];
    plan_line line;
    line.kind = now.kind;
    line.last = lowered[now.node].kind;
    line.type = lowered[now.node].type;
    line.result = lowered.shape_of(now.node);
    line.origin = now.origin;
    line.composite = lowered[now.node].composite;
    const std::int32_t kernel = now.kind == unit_kind::kernel ? now.index : now.epilogue;
    if (kernel >= 0) line.operations = p.kernels[p.kernels[kernel].like].members + (now.epilogue >= 0);
    if (now.kind == unit_kind::attention) {
      line.operations = 0;
      for (const attention_operand& x : p.attentions[now.index].operands) line.operations += x.written;
    }
    line.flops = cost.flops;
    line.bytes = cost.bytes;
    if (now.kind == unit_kind::attention) line.operands = p.attentions[now.index].type;
    if (now.kind == unit_kind::contraction) {
      const contraction_record& r = p.contractions[now.index];
      line.operands = p.products[r.product].type;
      line.refused = p.products[r.product].refused();
      if (r.members > 0) {
        line.operations = 1 + r.members;
        line.type = r.follows.type;
        line.follows = r.follows;
      }
    }
    lines.push_back(line);
  }
  return lines;
}

/// The lines of a frozen plan and their sums, as a constant.
template <class Target, class Make, plan_options Options>
constexpr auto summary_of(frozen_plan<Target, Make, Options>) {
  using frozen = frozen_plan<Target, Make, Options>;
  constexpr plan_view<typename Target::product> p = frozen::view();
  plan_summary<p.count.instructions> s;
  const buffer<plan_line> lines = lines_of(p, frozen::graph());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    s.instructions[i] = lines[i];
    s.bytes += lines[i].bytes;
    s.launches += lines[i].follows.rounds_vector();
    s.refused_products += !lines[i].refused.empty();
  }
  s.memory = memory_of(p, frozen::graph());
  s.workspace = s.memory.workspace;
  s.peak = s.memory.arena;
  return s;
}

}  // namespace napkin::planning
