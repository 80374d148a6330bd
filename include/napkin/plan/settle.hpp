// Where a plan's intermediates and workspaces lie in its arena: last of what is decided, as lifetimes are
// known by then. Before, a location in the arena is the number of a life.
#pragma once

#include "napkin/plan/records.hpp"
#include "napkin/plan/share_memory.hpp"

namespace napkin::planning {

constexpr passes::memory_plan plan_memory_of(const passes::lifetime* first, std::size_t count) {
  buffer<passes::lifetime> lives;
  lives.append(first, count);
  std::int32_t steps = 0;
  for (const passes::lifetime& l : lives)
    if (l.last + 1 > steps) steps = l.last + 1;
  return passes::plan_memory(lives, steps);
}

/// Put each intermediate and workspace where the memory plan says. P: a plan, or a static_plan.
template <class P>
constexpr void settle(P& p, const plan_sizes& count, const auto& offsets, std::size_t peak,
                      std::size_t bound) {
  p.peak = peak;
  p.lower_bound = bound;
  for_each_place(p, count, [&offsets](location& l) {
    if (l.where == region::arena) l.at = offsets[l.at];
  });
  for (std::size_t i = 0; i < count.workspaces; ++i) {
    const workspace_record& w = p.workspaces[i];
    const std::size_t offset = offsets[static_cast<std::size_t>(w.life)];
    if (w.movement >= 0)
      p.movements[static_cast<std::size_t>(w.movement)].workspace = offset;
    else if (w.contraction >= 0)
      p.contractions[static_cast<std::size_t>(w.contraction)].workspace = offset;
    else if (w.scratch)
      p.kernels[static_cast<std::size_t>(w.kernel)].scratch = offset;
    else
      p.kernels[static_cast<std::size_t>(w.kernel)].partials = offset;
  }
}

/// Plan the memory of a plan, and put all where it is to lie.
template <class Product>
constexpr void settle(plan<Product>& p) {
  plan_sizes count = p.counts();
  share_memory(p, count);
  p.lives.resize(count.lives);
  const passes::memory_plan memory = plan_memory_of(p.lives.data(), p.lives.size());
  settle(p, count, memory.offsets, memory.peak, memory.lower_bound);
}

}  // namespace napkin::planning
