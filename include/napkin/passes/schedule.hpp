// The order in which units run: as the graph was written, as far as dependencies allow, so that values die
// soon after they are made.
#pragma once

#include "napkin/passes/fusion.hpp"

namespace napkin {

namespace passes {

namespace detail {
struct scheduler {
  const graph_view& g;
  const fusion& f;
  buffer<std::int32_t> order;
  buffer<bool> done, is_read;  // by unit; by another

  /// From the nodes: a unit's `readers` are those that it had before passes moved nodes from one to another.
  constexpr void find_read() {
    for (int id = 0; id < static_cast<int>(g.node_count); ++id) {
      const std::int32_t u = f.unit_of.items[id];
      if (u < 0) continue;
      for (std::int32_t x : g.operands(id)) {
        const std::int32_t from = f.unit_of.items[f.references.items[x].base];
        if (from >= 0 && from != u) is_read.items[from] = true;
      }
    }
  }

  constexpr void visit(std::int32_t u) {
    if (done.items[u]) return;
    done.items[u] = true;
    for (std::int32_t id : f.units.items[u].members)
      for (std::int32_t x : g.operands(id)) {
        const std::int32_t from = f.unit_of.items[f.references.items[x].base];
        if (from >= 0) visit(from);
      }
    order.push_back(u);
  }

  /// Is a kernel that reads inputs and nothing else that is computed, and that others read: it can wait until
  /// they do, as the copy of a parameter in another dtype should.
  constexpr bool can_wait(std::int32_t u) const {
    const unit& k = f.units.items[u];
    if (k.kind != unit_kind::kernel || !is_read.items[u]) return false;
    bool reads_input = false;
    for (std::int32_t id : k.members)
      for (std::int32_t x : g.operands(id)) {
        const auto base = static_cast<std::size_t>(f.references.items[x].base);
        if (f.unit_of[base] >= 0 && f.unit_of[base] != u) return false;
        reads_input = reads_input || g.nodes[base].kind == op::input;
      }
    return reads_input;
  }
};
}  // namespace detail

/// Units in an order that respects every dependency.
constexpr buffer<std::int32_t> schedule(const graph_view& g, const fusion& f) {
  detail::scheduler s{g, f, {}, buffer<bool>(f.units.size(), false), buffer<bool>(f.units.size(), false)};
  s.find_read();
  // by the unit's last node: a kernel runs once all that it was joined from is there
  for (int id = 0; id < static_cast<int>(g.node_count); ++id) {
    const std::int32_t u = f.unit_of.items[id];
    if (u >= 0 && f.units.items[u].members.back() == id && !s.can_wait(u)) s.visit(u);
  }
  return static_cast<buffer<std::int32_t>&&>(s.order);
}

}  // namespace passes
}  // namespace napkin
