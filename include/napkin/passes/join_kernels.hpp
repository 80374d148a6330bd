// Small kernels that do the same to parts of one tensor are one kernel: of one operation each, over equal shapes,
// that write parts of one concatenation, or results that are parts of one value. Parameters that are joined, and
// a gradient that is taken apart (passes/merge_products.hpp), are then a launch for all parts of equal shape.
#pragma once

#include "napkin/passes/fusion.hpp"

namespace napkin {

namespace passes {

namespace detail {

class kernel_joiner {
 public:
  constexpr kernel_joiner(const graph_view& graph, fusion& fused)
      : g_(graph), f_(fused), whole_(graph.size(), -1) {}

  constexpr void run(std::size_t most_members) {
    find_wholes();
    bool any = false;
    for (std::size_t u = 0; u < f_.units.size(); ++u) {
      const std::int32_t whole = whole_of(f_.units.items[u]);
      if (whole < 0) continue;
      const auto now = static_cast<std::int32_t>(u);
      const std::int32_t known = find_alike(whole, now, most_members);
      if (known < 0) {
        found_.push_back({whole, now});
      } else {
        join(now, known);
        any = true;
      }
    }
    if (any) number_members(f_);
  }

 private:
  graph_view g_;
  fusion& f_;
  buffer<std::int32_t> whole_;  // by node: what it is a part of; -1: nothing, or more than one thing
  struct found_kernel {
    std::int32_t whole, unit;
  };
  buffer<found_kernel> found_;

  /// Of what concatenations join, and of results that are read from a part of a value.
  constexpr void find_wholes() {
    buffer<std::int32_t> reads(g_.size(), 0);
    for (int id = 0; id < static_cast<int>(g_.node_count); ++id)
      for (const std::int32_t x : g_.operands(id)) ++reads.items[x];
    for (const std::int32_t out : g_.output_ids()) ++reads.items[out];
    for (int id = 0; id < static_cast<int>(g_.node_count); ++id)
      if (g_.nodes[id].kind == op::concat)
        for (std::int32_t x : g_.operands(id)) {
          while (is_view(g_.nodes[x].kind) && reads.items[x] == 1) x = g_.operand(x, 0);
          if (reads.items[x] == 1) whole_.items[x] = id;
        }
    for (const std::int32_t out : g_.output_ids())
      if (reads.items[out] == 1) whole_.items[out] = part_read_by(out);
  }
  /// The value of which a result reads a part, and nothing else that is computed.
  constexpr std::int32_t part_read_by(int id) const {
    std::int32_t found = -1;
    for (const std::int32_t x : g_.operands(id)) {
      const reference& r = f_.references.items[x];
      if (f_.unit_of.items[r.base] < 0) continue;
      if (found >= 0 || r.direct || numel(g_.shape_of(x)) >= numel(g_.shape_of(r.base))) return -1;
      found = r.base;
    }
    return found;
  }
  constexpr std::int32_t whole_of(const unit& u) const {
    if (u.merged || u.kind != unit_kind::kernel || u.members.count != 1) return -1;
    const std::int32_t id = u.members[0];
    return f_.role_of.items[id] == role::element && is_elementwise(g_.nodes[id].kind) ? whole_.items[id] : -1;
  }
  constexpr std::int32_t find_alike(std::int32_t whole, std::int32_t u, std::size_t most_members) const {
    for (std::size_t i = found_.size(); i-- > 0;)
      if (const found_kernel& k = found_[i];
          k.whole == whole && are_alike(k.unit, u) && f_.units.items[k.unit].members.count < most_members)
        return k.unit;
    return -1;
  }
  /// Of one depth, neither reads the other.
  constexpr bool are_alike(std::int32_t a, std::int32_t b) const {
    const unit &x = f_.units.items[a], &y = f_.units.items[b];
    const node &m = g_.nodes[x.members[0]], &n = g_.nodes[y.members[0]];
    return x.domain == y.domain && x.depth == y.depth && m.kind == n.kind && m.type == n.type &&
           m.when == n.when;
  }
  constexpr void join(std::int32_t from, std::int32_t to) {
    unit &a = f_.units.items[from], &b = f_.units.items[to];
    const std::int32_t id = a.members[0];
    insert_member(b, id);
    f_.unit_of.items[id] = to;
    b.made_again += a.made_again;
    if (b.first_read < 0 || (a.first_read >= 0 && a.first_read < b.first_read)) b.first_read = a.first_read;
    a.members.clear();
    a.merged = true;
    a.into = to;
  }
};

}  // namespace detail

/// Join such kernels of a fused graph, as far as they have room for members.
constexpr void join_kernels(const graph_view& g, fusion& f, std::size_t most_members) {
  detail::kernel_joiner(g, f).run(most_members);
}

}  // namespace passes
}  // namespace napkin
