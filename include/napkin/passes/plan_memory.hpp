// Where each intermediate lies in one arena: offsets fixed before anything runs. Buffers are placed in the
// order of time, each into the smallest hole that holds it, holes joining as buffers die; the same scan over
// reversed time often packs tighter, so both are made and the lower peak is kept. Of a few buffers, where one
// badly placed is a tenth of the arena, placements by size are tried too.
#pragma once

#include <cstddef>
#include <cstdint>

#include "napkin/core/buffer.hpp"

namespace napkin {

namespace passes {

inline constexpr std::size_t alignment = 64;  // bytes; of every buffer in an arena
constexpr std::size_t aligned(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

/// Needed from step `first` to step `last`, both included.
struct lifetime {
  std::size_t bytes = 0;
  std::int32_t first = 0, last = 0;
  /// Steps behind the last in which nothing else is to lie there (plan/hold_memory.hpp).
  std::int32_t held = 0;

  constexpr std::int32_t end() const { return last + held; }
};

struct memory_plan {
  buffer<std::size_t> offsets;  // bytes, parallel to the lifetimes
  std::size_t peak = 0;         // bytes of the arena
  std::size_t lower_bound = 0;  // bytes: the largest sum of what is alive at any step

  /// As low as is worth looking for.
  constexpr bool is_low() const { return peak - lower_bound <= lower_bound / 256; }
};

namespace detail {

struct hole {
  std::size_t begin, end;
};

/// Lists of buffers by the step at which something happens to them.
struct agenda {
  buffer<std::int32_t> head, next;
  constexpr agenda(std::size_t steps, std::size_t buffers) : head(steps, -1), next(buffers, -1) {}
};

// By pointers, not by indices: this is where the constant evaluation of a deep model spends its time.
constexpr memory_plan scan(const buffer<lifetime>& buffers, std::int32_t steps, bool reversed) {
  memory_plan plan;
  plan.offsets = buffer<std::size_t>(buffers.size());
  agenda births(static_cast<std::size_t>(steps), buffers.size());
  agenda deaths(static_cast<std::size_t>(steps), buffers.size());
  std::int32_t *next_birth = births.next.data(), *next_death = deaths.next.data();
  const lifetime* const lives = buffers.data();
  for (std::size_t b = buffers.size(); b-- > 0;) {
    const lifetime& l = lives[b];
    if (l.bytes == 0) continue;
    std::int32_t& born = births.head.items[reversed ? steps - 1 - l.end() : l.first];
    std::int32_t& dies = deaths.head.items[reversed ? steps - 1 - l.first : l.end()];
    next_birth[b] = born;
    next_death[b] = dies;
    born = dies = static_cast<std::int32_t>(b);
  }
  std::size_t* const offsets = plan.offsets.data();
  buffer<hole> holes;  // below the top, by address, none touching another
  std::size_t top = 0, alive = 0;
  for (std::size_t t = 0; t < static_cast<std::size_t>(steps); ++t) {
    for (std::int32_t b = births.head.items[t]; b >= 0; b = next_birth[b]) {
      const std::size_t bytes = aligned(lives[b].bytes);
      alive += bytes;
      std::size_t best = holes.count, least = ~std::size_t{0};
      const hole* h = holes.items;
      for (const hole *first = h, *end = h + best; h != end; ++h) {
        const std::size_t room = h->end - h->begin;
        if (room < bytes || room >= least) continue;
        least = room;
        best = static_cast<std::size_t>(h - first);
        if (room == bytes) break;
      }
      if (best < holes.count) {
        hole& found = holes.items[best];
        offsets[b] = found.begin;
        found.begin += bytes;
        if (found.begin == found.end) holes.erase(best);
      } else if (holes.count > 0 && holes.back().end == top) {  // the last hole, and what is missing above it
        offsets[b] = holes.back().begin;
        top = holes.back().begin + bytes;
        holes.pop_back();
      } else {
        offsets[b] = top;
        top += bytes;
      }
      if (top > plan.peak) plan.peak = top;
    }
    if (alive > plan.lower_bound) plan.lower_bound = alive;
    for (std::int32_t b = deaths.head.items[t]; b >= 0; b = next_death[b]) {
      const std::size_t bytes = aligned(lives[b].bytes);
      alive -= bytes;
      hole freed{offsets[b], offsets[b] + bytes};
      const hole *above = holes.items, *end = above + holes.count;
      while (above != end && above->begin < freed.begin) ++above;
      const auto at = static_cast<std::size_t>(above - holes.items);
      const bool joins_before = at > 0 && holes.items[at - 1].end == freed.begin;
      const bool joins_after = at < holes.count && holes.items[at].begin == freed.end;
      if (joins_before && joins_after) {
        holes.items[at - 1].end = holes.items[at].end;
        holes.erase(at);
      } else if (joins_before) {
        holes.items[at - 1].end = freed.end;
      } else if (joins_after) {
        holes.items[at].begin = freed.begin;
      } else {
        holes.insert(at, freed);
      }
    }
  }
  return plan;
}

/// Buffers placed in an order of their own, each into the smallest gap between those placed before that live
/// at the same time as it.
struct placement {
  buffer<std::size_t> offsets;
  std::size_t peak = 0;
  std::size_t highest = 0;  // the place in the order of the first buffer that reaches the peak
};

constexpr placement place_in_order(const buffer<lifetime>& buffers, const buffer<std::int32_t>& order) {
  placement made{buffer<std::size_t>(buffers.size())};
  buffer<std::int32_t> placed;  // by address
  placed.reserve(order.size());
  const lifetime* const lives = buffers.data();
  std::size_t* const offsets = made.offsets.data();
  for (std::size_t k = 0; k < order.size(); ++k) {
    const lifetime& now = lives[order[k]];
    const std::size_t bytes = aligned(now.bytes);
    std::size_t above = 0, best = 0, least = ~std::size_t{0};
    for (const std::int32_t *p = placed.data(), *end = p + placed.size(); p != end; ++p) {
      const lifetime& other = lives[*p];
      if (other.end() < now.first || now.end() < other.first) continue;
      const std::size_t begin = offsets[*p];
      if (begin > above && begin - above >= bytes && begin - above < least) {
        least = begin - above;
        best = above;
      }
      const std::size_t end_of_other = begin + aligned(other.bytes);
      if (end_of_other > above) above = end_of_other;
    }
    const std::size_t at = least == ~std::size_t{0} ? above : best;
    offsets[order[k]] = at;
    std::size_t rank = placed.size();
    while (rank > 0 && offsets[placed[rank - 1]] > at) --rank;
    placed.insert(rank, order[k]);
    if (at + bytes > made.peak) {
      made.peak = at + bytes;
      made.highest = k;
    }
  }
  return made;
}

/// Buffers that take room, those of more bytes first, of equal ones those that live longer.
constexpr buffer<std::int32_t> by_size(const buffer<lifetime>& buffers) {
  buffer<std::int32_t> order;
  order.reserve(buffers.size());
  const auto before = [&](const lifetime& a, const lifetime& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.end() - a.first > b.end() - b.first;
  };
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    if (buffers[b].bytes == 0) continue;
    std::size_t at = order.size();
    while (at > 0 && before(buffers[b], buffers[static_cast<std::size_t>(order[at - 1])])) --at;
    order.insert(at, static_cast<std::int32_t>(b));
  }
  return order;
}

// Looks at pairs of buffers that all placements by size together may take: some 0.1 s of a compiler.
inline constexpr std::size_t most_pairs = 16384;

/// Lower a plan's peak by placements in order of size: after each, the buffer that reaches highest moves half
/// way to the front (Joslin and Clements 1999, "Squeaky wheel optimization"). Ends within 1/256 of the lower
/// bound, or where most_pairs are spent; many buffers are left as they are.
constexpr void improve(memory_plan& plan, const buffer<lifetime>& buffers) {
  const std::size_t each = buffers.size() * buffers.size() / 2 + 1;  // never 0, which would spend nothing
  if (each > most_pairs) return;
  buffer<std::int32_t> order = by_size(buffers);
  bool to_front = false;
  for (std::size_t spent = 0; spent < most_pairs && !plan.is_low(); spent += each, to_front = !to_front) {
    placement made = place_in_order(buffers, order);
    if (made.peak < plan.peak) {
      plan.peak = made.peak;
      plan.offsets = static_cast<buffer<std::size_t>&&>(made.offsets);
    }
    const std::int32_t moved = order[made.highest];
    order.erase(made.highest);
    order.insert(to_front ? 0 : made.highest / 2, moved);
  }
}

}  // namespace detail

constexpr std::int32_t steps_of(const buffer<lifetime>& buffers) {
  std::int32_t steps = 0;
  for (const lifetime& l : buffers)
    if (l.end() + 1 > steps) steps = l.end() + 1;
  return steps;
}

constexpr memory_plan plan_memory(const buffer<lifetime>& buffers, std::int32_t steps) {
  memory_plan plan = detail::scan(buffers, steps, false);
  if (plan.peak == plan.lower_bound) return plan;
  memory_plan reversed = detail::scan(buffers, steps, true);
  if (reversed.peak < plan.peak) plan = static_cast<memory_plan&&>(reversed);
  detail::improve(plan, buffers);
  return plan;
}

}  // namespace passes
}  // namespace napkin
