// A recomputing graph read backwards: which of its copies the backward pass itself reads, which are only on
// the way to those, and what is kept for copies alone.
#include "napkin/train/recomputed_values.hpp"

#include "napkin/cuda/plan.hpp"
#include "napkin/passes/recompute.hpp"

namespace napkin::detail {
namespace {

/// Who reads a node's value, views being no readers of their own.
struct readers {
  bool copies = false;    // computed later or again
  bool backward = false;  // the backward pass as it would be without a budget
};

std::vector<readers> readers_of(const graph_view& g, const passes::step_halves& halves) {
  std::vector<readers> found(g.size());
  for (std::size_t id = g.size(); id-- > 0;) {
    const node& n = g.nodes[id];
    for (const std::int32_t x : g.operands(static_cast<int>(id))) {
      readers& r = found[static_cast<std::size_t>(x)];
      if (passes::is_view(n.kind)) {
        r.copies = r.copies || found[id].copies;
        r.backward = r.backward || found[id].backward;
      } else if (n.when != computed::once) {
        r.copies = true;
      } else if (halves.after[id]) {
        r.backward = true;
      }
    }
  }
  return found;
}

template <class Product>
std::vector<remade_value> values_of(const planning::plan_view<Product>& plan, const graph_view& g) {
  bool recomputes = false;
  for (std::size_t id = 0; id < g.size(); ++id) recomputes = recomputes || g.nodes[id].when != computed::once;
  std::vector<remade_value> values;
  if (!recomputes) return values;
  const passes::fusion f = passes::fuse(g);
  const passes::step_halves halves = passes::halves_of(g, f);
  const std::vector<readers> read = readers_of(g, halves);

  const auto add = [&](std::size_t instruction, std::int32_t id) {
    const node& n = g[id];
    const readers& by = read[static_cast<std::size_t>(id)];
    // Of equal layers that are planned once, the instruction says which one it is of.
    const planning::instruction& now = plan.instructions[instruction];
    const std::int32_t origin = n.origin < 0 ? -1 : n.origin + now.origin - g[now.node].origin;
    remade_value v{remade::kept, instruction, origin, n.kind, n.composite, n.type, g.shape_of(id)};
    const std::uint64_t bytes = passes::aligned(numel(g.shape_of(id)) * size_of(n.type));
    if (n.when != computed::once) {
      v.how = n.when == computed::again ? remade::again : remade::later;
      if (by.backward) v.bytes = bytes;
      if (n.when == computed::again) v.flops = flops_of_node(g, id);
    } else if (!halves.after[static_cast<std::size_t>(id)] && by.copies && !by.backward) {
      v.bytes = bytes;
    } else {
      return;
    }
    values.push_back(v);
  };
  std::vector<bool> is_of_product(g.size(), false);  // computed by a product's call
  for (std::size_t c = 0; c < plan.count.contractions; ++c) {
    const planning::contraction_record& r = plan.contractions[c];
    for (std::int32_t m = 0; m < r.members; ++m)
      is_of_product[static_cast<std::size_t>(plan.members[r.first_member + m])] = true;
  }
  for (std::size_t i = 0; i < plan.count.instructions; ++i) {
    const planning::instruction& now = plan.instructions[i];
    if (i > 0 && plan.instructions[i - 1].node == now.node) continue;  // a concat's later operands
    if (now.epilogue >= 0) add(i, now.product);
    const std::int32_t unit = f.unit_of[static_cast<std::size_t>(now.node)];
    for (const std::int32_t id : f.units[static_cast<std::size_t>(unit)].members)
      if (!is_of_product[static_cast<std::size_t>(id)]) add(i, id);
    if (now.kind != passes::unit_kind::contraction) continue;
    const planning::contraction_record& r = plan.contractions[now.index];
    for (std::int32_t m = 0; m < r.members; ++m) add(i, plan.members[r.first_member + m]);
  }
  return values;
}

}  // namespace

std::vector<remade_value> remade_values(const on_cpu::plan_view& plan, const graph_view& lowered) {
  return values_of(plan, lowered);
}
std::vector<remade_value> remade_values(const on_cuda::plan_view& plan, const graph_view& lowered) {
  return values_of(plan, lowered);
}

}  // namespace napkin::detail
