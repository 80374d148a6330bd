// What of a plan waits for what. A plan's order is one in which its instructions may run, a line; what it takes
// is less: a task follows those before it that write memory which it touches, or touch memory which it writes.
// Where a device runs several kernels at once, others may run beside it, and come to the same bits. A function
// of the plan's tables: memory is the arena as it was planned, so that what lies where something else lay waits
// for all that touched that.
#pragma once

#include <cstdint>

#include "napkin/core/error.hpp"
#include "napkin/graph/graph.hpp"
#include "napkin/plan/settle.hpp"
#include "napkin/plan/uses.hpp"

namespace napkin::planning {

/// An instruction; of a kernel with column sums it may be two: the kernel, and what joins the sums.
struct task {
  std::int32_t instruction = 0;
  bool joins = false;
};

struct task_order {
  buffer<task> tasks;           // in the plan's order
  buffer<std::size_t> first;    // by task, and one more: where it begins in `before`
  buffer<std::int32_t> before;  // tasks that one waits for; not those that these wait for already
  buffer<bool> followed;        // by task: another waits for it

  constexpr ids waits(std::size_t t) const { return {before.data() + first[t], first[t + 1] - first[t]}; }
  /// Every task waits for the one before it.
  constexpr bool is_a_line() const {
    for (std::size_t t = 1; t < tasks.size(); ++t)
      if (waits(t).size() != 1 || waits(t)[0] != static_cast<std::int32_t>(t) - 1) return false;
    return true;
  }
};

namespace detail {

template <class Product, class TensorOf, class UsesWorkspace>
class task_orderer {
 public:
  constexpr task_orderer(const plan_view<Product>& plan, bool joins_apart, const TensorOf& tensor_of,
                         const UsesWorkspace& uses_workspace)
      : p_(plan),
        joins_apart_(joins_apart),
        tensor_of_(tensor_of),
        uses_workspace_(uses_workspace),
        offsets_(plan_memory_of(plan.lives, plan.count.lives).offsets),
        workspaces_(plan.count.instructions) {
    buffer<std::size_t> of_kernel(p_.count.kernels), of_contraction(p_.count.contractions),
        of_movement(p_.count.movements);
    for (std::size_t i = 0; i < p_.count.instructions; ++i) {
      const instruction& now = p_.instructions[i];
      const auto index = static_cast<std::size_t>(now.index);
      if (now.kind == unit_kind::kernel)
        of_kernel[index] = i;
      else if (now.kind == unit_kind::contraction)
        of_contraction[index] = i;
      else if (now.kind != unit_kind::attention)
        of_movement[index] = i;
      if (now.epilogue >= 0) of_kernel[static_cast<std::size_t>(now.epilogue)] = i;
    }
    for (std::size_t w = 0; w < p_.count.workspaces; ++w) {
      const workspace_record& x = p_.workspaces[w];
      const std::size_t i = x.movement >= 0      ? of_movement[static_cast<std::size_t>(x.movement)]
                            : x.contraction >= 0 ? of_contraction[static_cast<std::size_t>(x.contraction)]
                                                 : of_kernel[static_cast<std::size_t>(x.kernel)];
      workspaces_[i].push_back(static_cast<std::int32_t>(w));
    }
  }

  constexpr task_order run() {
    list_tasks();
    const std::size_t n = made_.tasks.size(), words = (n + 63) / 64;
    buffer<std::uint64_t> follows(n * words, 0);  // by task: those that it follows, one bit each
    made_.followed.resize(n, false);
    for (std::size_t t = 0; t < n; ++t) {
      made_.first.push_back(made_.before.size());
      std::uint64_t* const mine = follows.data() + t * words;
      for (std::size_t b = t; b-- > 0;) {
        if ((mine[b / 64] >> (b % 64) & 1) != 0 || !meet(b, t)) continue;
        made_.before.push_back(static_cast<std::int32_t>(b));
        made_.followed[b] = true;
        for (std::size_t w = 0; w < words; ++w) mine[w] |= follows[b * words + w];
        mine[b / 64] |= std::uint64_t{1} << (b % 64);
      }
    }
    made_.first.push_back(made_.before.size());
    return static_cast<task_order&&>(made_);
  }

 private:
  /// Bytes of the arena, or a tensor that is handed in or out.
  struct use {
    region where = region::arena;
    std::size_t begin = 0, end = 0;  // bytes into the arena; a tensor's name, and one more
    std::int32_t life = -1;
    bool written = false;
    bool part = false;          // others write the rest of the same memory
    std::ptrdiff_t offset = 0;  // bytes: where it begins there
  };
  enum class kept : std::uint8_t { all, partial_sums };  // of what a kernel keeps in workspace
  /// What all that look up indices write: so the same one is noted first in any order.
  static constexpr std::size_t fault_tensor = ~std::size_t{0} - 1;

  const plan_view<Product>& p_;
  bool joins_apart_;
  const TensorOf& tensor_of_;
  const UsesWorkspace& uses_workspace_;
  buffer<std::size_t> offsets_;              // by life
  buffer<buffer<std::int32_t>> workspaces_;  // by instruction
  task_order made_;
  buffer<use> uses_;
  buffer<std::size_t> first_use_;  // by task, and one more

  static constexpr bool meet(const use& a, const use& b) {
    if (!(a.written || b.written) || (a.where == region::arena) != (b.where == region::arena)) return false;
    if (a.end <= b.begin || b.end <= a.begin) return false;
    // Parts are written whole; what is read of one may begin anywhere.
    const bool side_by_side = a.written && b.written && a.part && b.part && a.offset != b.offset;
    return !side_by_side || a.life != b.life;
  }
  constexpr bool meet(std::size_t s, std::size_t t) const {
    for (std::size_t a = first_use_[s]; a < first_use_[s + 1]; ++a)
      for (std::size_t b = first_use_[t]; b < first_use_[t + 1]; ++b)
        if (meet(uses_[a], uses_[b])) return true;
    return false;
  }

  constexpr void list_tasks() {
    for (std::size_t i = 0; i < p_.count.instructions; ++i) {
      const instruction& now = p_.instructions[i];
      begin_task(i, false);
      add_workspaces(i, kept::all);
      if (looks_up(now.kind))
        uses_.push_back({region::output, fault_tensor, fault_tensor + 1, -1, true, false, 0});
      bool joining = !joins_apart_ || now.kind != unit_kind::kernel;
      for_each_place_of(p_, now, [&](const location& l, const place_use& u) {
        if (u.joined && !joining) {
          begin_task(i, true);
          add_workspaces(i, kept::partial_sums);
          joining = true;
        }
        add(now, l, u);
      });
    }
    first_use_.push_back(uses_.size());
  }
  constexpr void begin_task(std::size_t i, bool joins) {
    made_.tasks.push_back({static_cast<std::int32_t>(i), joins});
    first_use_.push_back(uses_.size());
  }
  constexpr void add_workspaces(std::size_t i, kept which) {
    for (const std::int32_t w : workspaces_[i]) {
      const workspace_record& x = p_.workspaces[static_cast<std::size_t>(w)];
      if (which == kept::partial_sums && x.scratch) continue;
      if (x.contraction >= 0 && !uses_workspace_(static_cast<std::size_t>(x.contraction))) continue;
      const std::size_t begin = offsets_[static_cast<std::size_t>(x.life)];
      const std::size_t bytes = p_.lives[static_cast<std::size_t>(x.life)].bytes;
      if (bytes > 0) uses_.push_back({region::arena, begin, begin + bytes, x.life, true, false, 0});
    }
  }
  constexpr void add(const instruction& now, const location& l, const place_use& of) {
    use u{l.where, 0, 0, -1, of.written, of.part, of.offset};
    if (l.where != region::arena) {
      u.begin = tensor_of_(l);
      u.end = u.begin + 1;
    } else {
      u.life = life_at(l.at, now.time);
      if (u.life < 0) return;  // of no bytes
      u.begin = l.at;
      u.end = l.at + p_.lives[static_cast<std::size_t>(u.life)].bytes;
    }
    uses_.push_back(u);
  }
  constexpr std::int32_t life_at(std::size_t offset, std::int32_t time) const {
    bool there = false;
    for (std::size_t l = 0; l < p_.count.lives; ++l) {
      const passes::lifetime& x = p_.lives[l];
      if (offsets_[l] != offset || time < x.first || x.last < time) continue;
      if (x.bytes > 0) return static_cast<std::int32_t>(l);
      there = true;
    }
    if (!there) throw error("task_order: an instruction touches memory in which nothing lives then");
    return -1;
  }
};

}  // namespace detail

/// Of a plan whose memory is settled.
///
/// joins_apart          a kernel and what joins its column sums are two tasks
/// tensor_of(location)  a tensor that is handed in or out, as a number: equal ones are the same memory,
///                      others have no byte in common
/// uses_workspace(i)    whether contraction i writes to the workspace that is planned for it
///
/// Errors  `error` of tables that are no plan's
template <class Product, class TensorOf, class UsesWorkspace>
constexpr task_order order_tasks(const plan_view<Product>& p, bool joins_apart, const TensorOf& tensor_of,
                                 const UsesWorkspace& uses_workspace) {
  return detail::task_orderer<Product, TensorOf, UsesWorkspace>(p, joins_apart, tensor_of, uses_workspace)
      .run();
}
/// Of a plan whose outputs are none of its inputs. Contractions use their workspace, or none of them does.
template <class Product>
constexpr task_order order_tasks(const plan_view<Product>& p, bool joins_apart, bool uses_workspace = true) {
  return order_tasks(
      p, joins_apart, [](const location& l) { return 2 * l.at + (l.where == region::output); },
      [uses_workspace](std::size_t) { return uses_workspace; });
}

/// Launches of those that follow one another, where that takes the most: what no device runs at once.
template <class Product>
constexpr std::uint64_t longest_chain(const plan_view<Product>& p, const task_order& order) {
  buffer<std::uint64_t> until(order.tasks.size(), 0);
  std::uint64_t most = 0;
  for (std::size_t t = 0; t < order.tasks.size(); ++t) {
    const task& now = order.tasks[t];
    const instruction& i = p.instructions[static_cast<std::size_t>(now.instruction)];
    const auto index = static_cast<std::size_t>(i.index);
    std::uint64_t launches = 1;
    if (i.kind == unit_kind::contraction) {
      launches = p.products[static_cast<std::size_t>(p.contractions[index].product)].launches();
    } else if (i.kind == unit_kind::kernel) {
      const std::uint64_t all = Product::launches(p.kernels[index]);
      const auto joins = static_cast<std::uint64_t>(p.kernels[index].joins);
      const bool apart = t + 1 < order.tasks.size() && order.tasks[t + 1].joins;
      launches = now.joins ? joins : apart ? all - joins : all;
    } else if (i.kind != unit_kind::attention) {
      launches = Product::launches(p.movements[index]);
    }
    for (const std::int32_t b : order.waits(t))
      if (until[static_cast<std::size_t>(b)] > until[t]) until[t] = until[static_cast<std::size_t>(b)];
    until[t] += launches;
    if (until[t] > most) most = until[t];
  }
  return most;
}

}  // namespace napkin::planning
