// What a plan costs: FLOPs, bytes moved (plan/bytes.hpp), launches, memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "napkin/passes/find_attention.hpp"
#include "napkin/plan/bytes.hpp"

namespace napkin::planning {

namespace detail {

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
    if (now.kind == unit_kind::attention) return of_attention(now);
    const bool counted = i > 0 && p_.instructions[i - 1].node == now.node;  // a concat's later operands
    cost_sheet c{counted ? flop_counts{} : flops_of_node(g_, now.node),
                 detail::bytes_of_movement(p_.movements[now.index]),
                 Product::launches(p_.movements[now.index])};
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
  // Of the attention that was counted last: those of layers that one stands for follow one another.
  cost_sheet attention_;
  std::int32_t attention_node_ = -1;

  constexpr void check(const instruction& now) const {
    if (now.node < 0 || static_cast<std::size_t>(now.node) >= g_.size() ||
        (now.epilogue < 0 && now.kind == unit_kind::contraction) != (g_.nodes[now.node].kind == op::einsum))
      throw error("the plan was not made of this graph");
  }
  /// f(node, its part) for the nodes that the instruction's record has results of.
  template <class F>
  constexpr void for_members_of_attention(const instruction& i, F f) const {
    const attention_record& r = p_.attentions[i.index];
    for (int id = i.node; id < static_cast<int>(g_.size()); ++id) {
      if (!row::are_one_attention(g_, i.node, id)) continue;
      const attention_part part = row::attention_part_of(g_, id);
      if (r.of(passes::tensor_of(part, r.backward)).written) f(id, part);
    }
  }
  constexpr const cost_sheet& of_attention(const instruction& i) {
    if (attention_node_ == i.node) return attention_;
    attention_node_ = i.node;
    const attention_record& r = p_.attentions[i.index];
    attention_ = {{}, detail::bytes_of_attention(r), 1};
    // Scores are made for the first of a kernel's parts that needs them, in this order, and shared.
    using enum passes::attention_tensor;
    const bool shares = r.columns == 0, gives_query = shares && r.of(d_query).written,
               gives_value = shares && r.of(d_value).written;
    for_members_of_attention(i, [&](int id, attention_part part) {
      const bool of_key = part == attention_part::key, of_value = part == attention_part::value;
      attention_.flops += flops_of_node(
          g_, id,
          {r.columns, (of_value && gives_query) || (of_key && (gives_query || gives_value)), gives_query});
    });
    return attention_;
  }
  constexpr cost_sheet of_product(const instruction& i) {
    cost_sheet c = of_like_product(i);
    const int einsum = i.epilogue < 0 ? i.node : i.product;
    c.flops.recomputed = g_.nodes[einsum].when == computed::again ? c.flops.total() : 0;
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
                 r.product < 0 ? std::uint64_t{1} : p_.products[r.product].launches()};
    if constexpr (Product::workspace_is_memory)
      if (r.product >= 0) last.cost.bytes += p_.products[r.product].workspace_bytes();
    last.of = usual ? known::alone : known::nothing;
    return last.cost;
  }
  /// Of what is stored: the einsum's, or its epilogue's.
  constexpr dtype result_type_of(const instruction& i) const {
    const contraction_record& r = p_.contractions[i.index];
    return r.members == 0 ? g_.nodes[i.epilogue < 0 ? i.node : i.product].type : r.follows.type;
  }
  constexpr cost_sheet of_kernel(std::int32_t index, std::int32_t contraction) {
    const kernel_record &k = p_.kernels[index], &like = p_.kernels[k.like];
    known& last = by_kernel_[static_cast<std::size_t>(k.like)];
    const auto of = contraction < 0 ? known::alone : known::epilogue;
    if (last.of == of) return last.cost;
    last = {};
    last.of = of;
    last.cost.launches = Product::launches(k);
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
    if constexpr (Target::product::workspace_is_memory) {
      const auto product = contraction_table<Target>(lowered).alone(last);
      c.bytes += product.workspace_bytes();
      c.launches = product.launches();
    }
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
/// and never costed. The expression is replay_of its type: one function for all of them. Fits: which
/// attentions are one operation (passes/find_attention.hpp).
template <class Target, class Fits>
constexpr cost_sheet cost_of_expression(const napkin::detail::replay_step& expression) {
  return cost_of<Target>(lower_simplified<Target>(
                             passes::find_attention(napkin::detail::make_simplified(expression), Fits{}, {}))
                             .view());
}

/// The same of operands of the given sizes (graph/run_time_sizes.hpp).
template <class Target, class Fits>
constexpr cost_sheet cost_at_sizes(const napkin::detail::replay_step& expression, const std::size_t* sizes) {
  return cost_of<Target>(
      lower_simplified<Target>(passes::find_attention(napkin::detail::make_at(expression, sizes), Fits{}, {}))
          .view());
}

/// Inputs that are read, outputs, the arena and what lies in it beside intermediates.
template <class Product>
constexpr memory_sheet memory_of(const plan_view<Product>& p, const graph_view& lowered) {
  memory_sheet m;
  buffer<detail::touch> inputs;
  for (int id = 0; id < static_cast<int>(lowered.node_count); ++id) {
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

namespace detail {

/// plan_line::others of an instruction.
template <class Product>
constexpr dtype computed_in(const plan_view<Product>& p, const graph_view& g, const instruction& now) {
  if (now.kind == unit_kind::attention)
    return p.attentions[now.index].type == dtype::f64 ? dtype::f64 : dtype::f32;
  bool some = false, narrow = false;
  const auto look = [&](int id) {
    const ids xs = g.operands(id);
    const bool in_f64 = g[id].type == dtype::f64 || (xs.size() > 0 && g[xs[0]].type == dtype::f64);
    if (narrow || (some && in_f64)) return;
    const flop_counts c = flops_of_node(g, id);
    if (c.total() + c.transcendental > 0) (in_f64 ? some : narrow) = true;
  };
  const auto look_at_all = [&](const auto& record) {
    for (std::int32_t m = 0; m < record.members; ++m) look(p.members[record.first_member + m]);
  };
  const std::int32_t kernel = now.kind == unit_kind::kernel ? now.index : now.epilogue;
  if (kernel >= 0) look_at_all(p.kernels[p.kernels[kernel].like]);
  if (now.kind == unit_kind::contraction) look_at_all(p.contractions[now.index]);
  if (!some && !narrow) look(now.product < 0 ? now.node : now.product);
  return some && !narrow ? dtype::f64 : dtype::f32;
}

}  // namespace detail

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
    line.launches = cost.launches;
    line.others = detail::computed_in(p, lowered, now);
    if (now.kind == unit_kind::attention) line.operands = p.attentions[now.index].type;
    if (now.kind == unit_kind::contraction) {
      const contraction_record& r = p.contractions[now.index];
      line.operands = p.products[r.product].type;
      line.refused = p.products[r.product].refused();
      line.f32_products = p.products[r.product].f32_products();
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
    s.launches += lines[i].launches;
    s.refused_products += !lines[i].refused.empty();
  }
  s.memory = memory_of(p, frozen::graph());
  s.workspace = s.memory.workspace;
  s.peak = s.memory.arena;
  return s;
}

}  // namespace napkin::planning
