// Which unit of a fused graph (passes/fuse.hpp) an accumulation (passes/accumulate.hpp) is done by. It is a
// member of a kernel, or what follows a product, as any addition is, but for two things:
//   - none by a kernel that the graph's first output needs. A loss is computed alone at times, and would add;
//     such an addition becomes a kernel of its own.
//   - that of a sum of columns by the kernel that sums. It joins them block after block at its end, and adds
//     there.
#pragma once

#include "napkin/passes/fusion.hpp"

namespace napkin {

namespace passes {

namespace detail {

class accumulation_placer {
 public:
  constexpr accumulation_placer(const graph_view& graph, fusion& fused, std::size_t most_columns)
      : g_(graph), f_(fused), most_(most_columns), readers_(g_.size(), 0) {}

  constexpr void run() {
    find_needed();
    const auto read = [this](int x) { ++readers_.items[reference_of(x).base]; };
    for (int id = 0; id < static_cast<int>(g_.node_count); ++id)
      if (unit_of(id) >= 0)
        for (const std::int32_t x : g_.operands(id)) read(x);
    for (const std::int32_t out : g_.output_ids()) read(out);
    for (int id = 0; id < static_cast<int>(g_.node_count); ++id)
      if (is_accumulation(g_.nodes[id]) && unit_of(id) >= 0) place(id);
    number_members(f_);
    find_materialized(g_, f_);
  }

 private:
  graph_view g_;
  fusion& f_;
  std::size_t most_;
  buffer<std::int32_t> readers_;  // by node: how many, outputs among them
  buffer<bool> needed_;           // by unit: the first output does

  constexpr std::int32_t unit_of(int id) const { return f_.unit_of.items[id]; }
  constexpr unit& unit_at(std::int32_t u) const { return f_.units.items[u]; }
  constexpr const reference& reference_of(int x) const { return f_.references.items[x]; }

  constexpr void find_needed() {
    needed_.resize(f_.units.size(), false);
    buffer<std::int32_t> open;
    const auto need = [&](int x) {
      const std::int32_t u = unit_of(reference_of(x).base);
      if (u < 0 || needed_.items[u]) return;
      needed_.items[u] = true;
      open.push_back(u);
    };
    need(g_.outputs[0]);
    while (!open.empty()) {
      const std::int32_t u = open.back();
      open.pop_back();
      for (const std::int32_t id : unit_at(u).members)
        for (const std::int32_t x : g_.operands(id)) need(x);
    }
  }

  constexpr void place(int id) {
    const std::int32_t u = unit_of(id);
    if (unit_at(u).members.size() > 1) {
      if (needed_.items[u]) take_out(id, u);
      return;
    }
    for (int at = 0; at < 2; ++at) {
      const reference &of = reference_of(g_.operand(id, at)), &added = reference_of(g_.operand(id, 1 - at));
      if (!of.direct || !added.direct || g_.nodes[added.base].kind != op::input || !is_column(of.base))
        continue;
      f_.added_columns.push_back({of.base, added.base, id});
      join_column(id, u, unit_of(of.base));
      return;
    }
  }
  constexpr bool is_column(int sum) const {
    const std::int32_t u = unit_of(sum);
    return u >= 0 && !needed_.items[u] && f_.role_of.items[sum] == role::column && readers_.items[sum] == 1 &&
           can_add_to_column(g_.nodes[sum].type) && numel(g_.shape_of(sum)) < most_;
  }

  constexpr void take_out(int id, std::int32_t from) {
    buffer<std::int32_t> left;
    for (const std::int32_t x : unit_at(from).members)
      if (x != id) left.push_back(x);
    unit_at(from).members = static_cast<buffer<std::int32_t>&&>(left);
    const auto alone = static_cast<std::int32_t>(f_.units.size());
    unit made;
    made.depth = unit_at(from).depth + 1;
    made.domain = g_.nodes[id].shape_id;
    made.members.push_back(id);
    f_.units.push_back(made);
    needed_.push_back(false);
    f_.unit_of.items[id] = alone;
    f_.role_of.items[id] = role::element;
  }
  constexpr void join_column(int id, std::int32_t from, std::int32_t to) {
    unit& alone = unit_at(from);
    alone.members.clear();
    alone.merged = true;
    alone.into = to;
    f_.unit_of.items[id] = to;
    f_.role_of.items[id] = role::column;
    insert_member(unit_at(to), id);
  }
};

}  // namespace detail

/// Place a fused graph's accumulations. Sums of `most_columns` columns and more are not joined by the kernel
/// that makes them.
constexpr void place_accumulations(const graph_view& g, fusion& f, std::size_t most_columns) {
  for (std::size_t id = 0; id < g.node_count; ++id)
    if (is_accumulation(g.nodes[id])) return detail::accumulation_placer(g, f, most_columns).run();
}

}  // namespace passes
}  // namespace napkin
