// Which units of a fused graph compute alike, as those of equal layers do: their kernels are one.
#pragma once

#include <bit>

#include "napkin/passes/fusion.hpp"
#include "napkin/passes/legalize.hpp"

namespace napkin {

namespace passes {

/// Which nodes of one unit, and of what it reads, stand for which of a unit like it.
struct unit_mapping {
  std::int32_t from_unit = -1;
  inplace_vector<std::int32_t, 64> from, to;  // what is read from outside

  constexpr bool pair(std::int32_t a, std::int32_t b) {
    for (std::size_t i = 0; i < from.size(); ++i)
      if (from[i] == a || to[i] == b) return from[i] == a && to[i] == b;
    if (from.size() == from.capacity()) return false;
    from.push_back(a);
    to.push_back(b);
    return true;
  }
  /// The node of `unit` that stands where `node` does.
  constexpr std::int32_t of(const fusion& f, std::int32_t unit, std::int32_t node) const {
    const auto n = static_cast<std::size_t>(node);
    if (f.unit_of[n] == from_unit) return f.units.items[unit].members.items[f.place_of[n]];
    return to[from.index_of(node)];
  }
};

/// Two units compute alike: member for member the same operations on the same shapes, reading each other and
/// what lies outside in the same ways. As equal layers do.
constexpr bool units_alike(const graph_view& g, const fusion& f, std::int32_t u, std::int32_t v,
                           unit_mapping& map) {
  const unit &a = f.units.items[u], &b = f.units.items[v];
  if (a.members.size() != b.members.size() || a.domain != b.domain || a.row_axes != b.row_axes) return false;
  map.from_unit = u;
  map.from.clear();
  map.to.clear();
  const std::int32_t *as = a.members.data(), *bs = b.members.data();
  for (const std::int32_t* end = as + a.members.size(); as != end; ++as, ++bs) {
    const node &x = g.nodes[*as], &y = g.nodes[*bs];
    if (x.kind != y.kind || x.type != y.type || x.shape_id != y.shape_id || x.arity != y.arity ||
        x.attribute_count != y.attribute_count || x.when != y.when)
      return false;
    if (f.role_of.items[*as] != f.role_of.items[*bs] ||
        f.materialized.items[*as] != f.materialized.items[*bs])
      return false;
    const part *const p = f.find_part(*as), *const q = f.find_part(*bs);
    if ((p == nullptr) != (q == nullptr)) return false;
    if (p != nullptr && (p->offset != q->offset || !(p->stride == q->stride))) return false;
    for (int i = 0; i < x.attribute_count; ++i)
      if (g.pool[x.first_attribute + i] != g.pool[y.first_attribute + i]) return false;
    for (int k = 0; k < x.arity; ++k) {
      const std::int32_t xo = g.pool[x.first_operand + k], yo = g.pool[y.first_operand + k];
      const reference &xr = f.references.items[xo], &yr = f.references.items[yo];
      const bool x_inside = f.unit_of.items[xr.base] == u;
      if (x_inside != (f.unit_of.items[yr.base] == v)) return false;
      if (x_inside) {
        if (f.place_of.items[xr.base] != f.place_of.items[yr.base] || xr.direct != yr.direct ||
            xr.along_row != yr.along_row)
          return false;
        continue;
      }
      const node &xb = g.nodes[xr.base], &yb = g.nodes[yr.base];
      if (is_constant_or_iota(xb.kind) || is_constant_or_iota(yb.kind)) {
        if (xb.kind != yb.kind || xb.type != yb.type || xb.shape_id != yb.shape_id || xo != xr.base ||
            yo != yr.base || std::bit_cast<std::uint64_t>(xb.value) != std::bit_cast<std::uint64_t>(yb.value))
          return false;
        if (xb.kind == op::iota && g.attribute(xr.base, 0) != g.attribute(yr.base, 0)) return false;
        continue;
      }
      if (xb.type != yb.type || !lie_alike(g, xo, yo) || !map.pair(xr.base, yr.base)) return false;
    }
  }
  return true;
}

}  // namespace passes
}  // namespace napkin
