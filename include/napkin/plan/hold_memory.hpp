// Memory given to another a little later than it could be. What lies where something else lay waits for all that
// touched that: where a device runs launches side by side, those behind a product that nobody needs, a weight's
// gradient, would wait for it as they write where it reads. So tasks get levels, each a later one than those
// whose data it needs, and a buffer's memory is held until no task of the buffer's last level, or of one before,
// is to come: then what waits for memory is of a later level, and no more tasks follow one another than need
// each other's data. A pass over a plan whose memory is not settled; it holds what there is room for in an arena
// that is as small as it was, or a few thousandths larger.
#pragma once

#include "napkin/passes/plan_memory.hpp"
#include "napkin/plan/uses.hpp"

namespace napkin::planning {

namespace detail {

/// Levels of a plan's tasks (plan/task_order.hpp), and how long lives may be held by them.
template <class P>
class level_finder {
 public:
  constexpr level_finder(const P& plan, const plan_sizes& sizes) : p_(plan), count_(sizes) {
    find_levels();
    note_workspaces();
  }
  constexpr buffer<std::int32_t> ends() const {
    buffer<std::int32_t> all;
    all.reserve(count_.lives);
    for (std::size_t l = 0; l < count_.lives; ++l) all.push_back(latest_.items[touched_.items[l].last()]);
    return all;
  }

 private:
  /// Of a buffer: a life, or, behind those, what all that look up indices write, and outputs.
  struct touch {
    std::int32_t buffer = 0;
    bool written = false, part = false, joined = false;
  };
  /// The last level, counted from 1, in which a buffer is written and read. Walked from behind, how many
  /// levels are left from there on.
  struct levels {
    std::int32_t written = 0, read = 0;
    constexpr std::int32_t last() const { return written > read ? written : read; }
  };

  const P& p_;
  plan_sizes count_;
  buffer<touch> touches_;             // of all instructions
  buffer<std::int32_t> first_touch_;  // by instruction, and one more
  buffer<levels> touched_;            // by buffer
  buffer<std::int32_t> level_at_;     // by time
  buffer<std::int32_t> latest_;       // by level: the time of the last instruction of it or of one before

  constexpr std::size_t list_touches() {
    const std::size_t faults = count_.lives, outputs = faults + 1;
    std::size_t buffers = outputs;
    for (std::size_t i = 0; i < count_.instructions; ++i) {
      first_touch_.push_back(static_cast<std::int32_t>(touches_.size()));
      const instruction& now = p_.instructions[i];
      if (looks_up(now.kind)) touches_.push_back({static_cast<std::int32_t>(faults), true});
      for_each_place_of(p_, now, [&](const location& l, const place_use& u) {
        if (l.where == region::input) return;
        const std::size_t number = l.where == region::arena ? l.at : outputs + l.at;
        if (number >= buffers) buffers = number + 1;
        touches_.push_back({static_cast<std::int32_t>(number), u.written, u.part, u.joined});
      });
    }
    first_touch_.push_back(static_cast<std::int32_t>(touches_.size()));
    return buffers;
  }

  /// One level more than what an instruction waits for, or, from behind, than what waits for it. Either way a
  /// reader and a writer wait for one another, and two writers but for those of parts. What is joined is a
  /// level later.
  constexpr std::int32_t level_beyond(std::size_t i, std::int32_t joined) const {
    std::int32_t most = 0;
    const touch* const end = touches_.data() + first_touch_.items[i + 1];
    for (const touch* u = touches_.data() + first_touch_.items[i]; u != end; ++u) {
      const levels& seen = touched_.items[u->buffer];
      std::int32_t other = u->part ? 0 : seen.written;
      if (u->written && seen.read > other) other = seen.read;
      if (u->joined) other += joined;
      if (other > most) most = other;
    }
    return most + 1;
  }
  constexpr void note(std::size_t i, std::int32_t level, std::int32_t joined) {
    const touch* const end = touches_.data() + first_touch_.items[i + 1];
    for (const touch* u = touches_.data() + first_touch_.items[i]; u != end; ++u) {
      levels& seen = touched_.items[u->buffer];
      std::int32_t& noted = u->written ? seen.written : seen.read;
      const std::int32_t here = u->joined ? level + joined : level;
      if (here > noted) noted = here;
    }
  }

  constexpr void find_levels() {
    const std::size_t n = count_.instructions, buffers = list_touches();
    buffer<std::int32_t> left(n, 0);  // levels from there on
    std::int32_t all = 0;
    touched_.resize(buffers, {});
    for (std::size_t i = n; i-- > 0;) {
      left[i] = level_beyond(i, 1);
      note(i, left[i], -1);
      if (left[i] > all) all = left[i];
    }
    touched_.clear();
    touched_.resize(buffers, {});
    latest_.resize(static_cast<std::size_t>(all) + 2, 0);
    if (n > 0) level_at_.resize(static_cast<std::size_t>(p_.instructions[n - 1].time) + 1, 0);
    std::int32_t reached = 1;
    for (std::size_t i = 0; i < n; ++i) {
      const std::int32_t time = p_.instructions[i].time;
      // Any from `first` to `last` would do. Launches run about in the plan's order.
      const std::int32_t first = level_beyond(i, -1), last = all + 1 - left[i];
      std::int32_t level = reached < last ? reached : last;
      if (level < first) level = first;
      note(i, level, 1);
      if (level > reached) reached = level;
      level_at_.items[time] = level;
      if (latest_.items[level] < time) latest_.items[level] = time;
    }
    for (std::size_t l = 1; l < latest_.size(); ++l)
      if (latest_[l] < latest_[l - 1]) latest_[l] = latest_[l - 1];
  }
  /// What joins a kernel's sums reads its workspace.
  constexpr void note_workspaces() {
    for (std::size_t w = 0; w < count_.workspaces; ++w) {
      const workspace_record& x = p_.workspaces[w];
      const auto life = static_cast<std::size_t>(x.life);
      const bool joined = x.kernel >= 0 && !x.scratch;
      touched_[life].written = level_at_[static_cast<std::size_t>(p_.lives[life].first)] + joined;
    }
  }
};

}  // namespace detail

/// By life the time until which it may be held: when the tasks of the last level that touches it are over.
///
/// P  a plan, or a static_plan, whose locations in the arena are numbers of lives
template <class P>
constexpr buffer<std::int32_t> find_ends_of_holds(const P& p, const plan_sizes& count) {
  return detail::level_finder<P>(p, count).ends();
}

/// Lets lives be held until then, as long as all that is held and alive takes no more than `limit` bytes.
constexpr void hold(buffer<passes::lifetime>& lives, ids ends, std::size_t limit) {
  std::int32_t last = 0;
  for (const std::int32_t end : ends)
    if (end > last) last = end;
  for (const passes::lifetime& l : lives)
    if (l.last > last) last = l.last;
  // By time; first what it grows by.
  buffer<std::size_t> taken(static_cast<std::size_t>(last) + 2, 0);
  for (const passes::lifetime& l : lives) {
    taken.items[l.first] += passes::aligned(l.bytes);
    taken.items[l.last + 1] -= passes::aligned(l.bytes);
  }
  for (std::size_t t = 1; t < taken.size(); ++t) taken.items[t] += taken.items[t - 1];
  for (std::size_t l = 0; l < lives.size(); ++l) {
    passes::lifetime& life = lives.items[l];
    const std::size_t bytes = passes::aligned(life.bytes);
    const std::int32_t until = ends[l];
    std::int32_t t = life.last + 1;
    for (; t <= until && taken.items[t] + bytes <= limit; ++t) taken.items[t] += bytes;
    life.held = t - 1 - life.last;
  }
}

/// Less is held by each try, since where what is leaves holes that others do not fit into.
inline constexpr std::size_t tries_to_hold = 3;
struct held_memory {
  passes::memory_plan plan;
  bool is_taken = false;  // its peak is no higher than without, or low enough (memory_plan::is_low)
};
/// `peak` and `bound`: of the memory plan in which nothing is held.
constexpr held_memory try_to_hold(std::size_t number, buffer<passes::lifetime>& lives, ids ends,
                                  std::size_t peak, std::size_t bound) {
  hold(lives, ends, bound - bound / 4 * number);
  held_memory made{passes::plan_memory(lives, passes::steps_of(lives))};
  made.is_taken = made.plan.peak <= peak || made.plan.is_low();
  return made;
}

/// `memory` is what plan_memory says of the plan's lives; so is what comes back, of lives some of which are
/// held.
template <class P>
constexpr passes::memory_plan hold_memory(P& p, const plan_sizes& count, passes::memory_plan&& memory) {
  if (count.lives < 2) return static_cast<passes::memory_plan&&>(memory);
  const buffer<std::int32_t> ends = find_ends_of_holds(p, count);
  buffer<passes::lifetime> lives;
  lives.append(p.lives.data(), count.lives);
  for (std::size_t number = 0; number < tries_to_hold; ++number) {
    held_memory held =
        try_to_hold(number, lives, {ends.data(), ends.size()}, memory.peak, memory.lower_bound);
    if (!held.is_taken) continue;
    copy_run(lives.data(), count.lives, p.lives.data());
    return static_cast<passes::memory_plan&&>(held.plan);
  }
  return static_cast<passes::memory_plan&&>(memory);
}

}  // namespace napkin::planning
