// A large plan settled in stages, each by itself a constant evaluation, so that none passes the compilers'
// default limits. What comes out is what settle (plan/settle.hpp) makes at once.
#pragma once

#include <array>

#include "napkin/plan/settle.hpp"

namespace napkin::planning {

/// Lives from which on a plan is settled in stages: some twelve layers of a transformer have fewer.
inline constexpr std::size_t lives_of_large_plan = 640;

/// `Unsettled::make()` returns the plan, a static_plan.
template <class Product, class Unsettled>
class settled_in_stages {
  using plan_type = decltype(Unsettled::make());

  static constexpr plan_type make_shared() {
    plan_type p = Unsettled::make();
    share_memory(p, p.counts);
    return p;
  }
  static constexpr plan_type shared = make_shared();
  static constexpr std::size_t count = shared.counts.lives;

  /// A memory plan, and by how much lives are held.
  struct placed {
    std::array<std::size_t, count> offsets{};
    std::array<std::int32_t, count> held{};
    std::size_t peak = 0, lower_bound = 0;
    bool is_taken = false;

    constexpr void take(const passes::memory_plan& memory) {
      copy_run(memory.offsets.data(), count, offsets.data());
      peak = memory.peak;
      lower_bound = memory.lower_bound;
    }
  };
  static constexpr placed place() {
    placed made;
    made.take(plan_memory_of(shared.lives.data(), count));
    return made;
  }
  static constexpr placed unheld = place();

  static constexpr std::array<std::int32_t, count> find_ends() {
    std::array<std::int32_t, count> ends{};
    copy_run(find_ends_of_holds(shared, shared.counts).data(), count, ends.data());
    return ends;
  }
  template <std::size_t Number, class Ends>
  static constexpr placed attempt() {
    buffer<passes::lifetime> lives;
    lives.append(shared.lives.data(), count);
    const held_memory found =
        try_to_hold(Number, lives, {Ends::value.data(), count}, unheld.peak, unheld.lower_bound);
    placed made;
    made.take(found.plan);
    made.is_taken = found.is_taken;
    for (std::size_t l = 0; l < count; ++l) made.held[l] = lives[l].held;
    return made;
  }
  // Templates, so that where nothing is held none of this is evaluated.
  template <class Stages>
  struct ends_of {
    static constexpr std::array<std::int32_t, count> value = Stages::find_ends();
  };
  template <std::size_t Number, class Stages>
  struct attempt_of {
    static constexpr placed value = Stages::template attempt<Number, ends_of<Stages>>();
  };
  template <std::size_t Number>
  static constexpr const placed& choose() {
    if constexpr (!Product::side_by_side || Number == tries_to_hold)
      return unheld;
    else if constexpr (attempt_of<Number, settled_in_stages>::value.is_taken)
      return attempt_of<Number, settled_in_stages>::value;
    else
      return choose<Number + 1>();
  }

 public:
  static constexpr plan_type make() {
    plan_type p = shared;
    const placed& at = choose<0>();
    for (std::size_t l = 0; l < count; ++l) p.lives[l].held = at.held[l];
    detail::put(p, p.counts, at.offsets.data(), at.peak, at.lower_bound);
    return p;
  }
};

}  // namespace napkin::planning
