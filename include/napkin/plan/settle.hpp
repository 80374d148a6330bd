// Where a plan's intermediates and workspaces lie in its arena: last of what is decided, as lifetimes are
// known by then. Before, a location in the arena is the number of a life.
#pragma once

#include "napkin/plan/hold_memory.hpp"
#include "napkin/plan/share_memory.hpp"
#include "napkin/plan/uses.hpp"

namespace napkin::planning {

constexpr passes::memory_plan plan_memory_of(const passes::lifetime* first, std::size_t count) {
  buffer<passes::lifetime> lives;
  lives.append(first, count);
  return passes::plan_memory(lives, passes::steps_of(lives));
}

namespace detail {

/// Put each intermediate and workspace where a memory plan says: offsets by life.
template <class P>
constexpr void put(P& p, const plan_sizes& count, const std::size_t* offsets, std::size_t peak,
                   std::size_t lower_bound) {
  p.peak = peak;
  p.lower_bound = lower_bound;
  for_each_place_in(p, count, [offsets](location& l, const place_use&) {
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

}  // namespace detail

/// Plan the memory of a plan, and put all where it is to lie. P: a plan, or a static_plan. `count` says of
/// what; lives are fewer then.
template <class Product, class P>
constexpr void settle(P& p, plan_sizes& count) {
  share_memory(p, count);
  passes::memory_plan memory = plan_memory_of(p.lives.data(), count.lives);
  if constexpr (Product::side_by_side)
    memory = hold_memory(p, count, static_cast<passes::memory_plan&&>(memory));
  detail::put(p, count, memory.offsets.data(), memory.peak, memory.lower_bound);
}
template <class Product>
constexpr void settle(plan<Product>& p) {
  plan_sizes count = p.counts();
  settle<Product>(p, count);
  p.lives.resize(count.lives);
}

}  // namespace napkin::planning
