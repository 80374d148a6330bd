// What is joined by a concatenation is written where it goes, as a part of the result, and not copied there:
// the gradients of queries, keys and values of one packed tensor. Done to kernels and attentions, which write
// by any strides, where nothing but the concatenation reads the part; and not long before it, as the whole
// result is alive from its first part on.
#pragma once

#include "napkin/passes/fusion.hpp"
#include "napkin/passes/legalize.hpp"

namespace napkin {

namespace passes {

namespace detail {

class part_finder {
 public:
  constexpr part_finder(const graph_view& graph, fusion& fused) : g_(graph), f_(fused) {}

  constexpr void run() {
    bool any = false;
    for (const unit& u : f_.units) any = any || u.kind == unit_kind::concat;
    if (!any) return;
    readers_.resize(g_.size(), 0);
    for (int id = 0; id < static_cast<int>(g_.node_count); ++id)
      for (const std::int32_t x : g_.operands(id))
        if (!is_inside_one_kernel(id, x)) ++readers_[static_cast<std::size_t>(x)];
    for (const std::int32_t out : g_.output_ids()) ++readers_[static_cast<std::size_t>(out)];
    f_.part_of_node.resize(g_.size(), -1);
    for (const unit& u : f_.units)
      if (u.kind == unit_kind::concat && !u.merged) find_parts(u.members[0]);
  }

 private:
  graph_view g_;
  fusion& f_;
  buffer<std::int32_t> readers_;  // by node: how often it is read outside of its unit, or is an output

  constexpr bool is_inside_one_kernel(int id, int x) const {
    const std::int32_t u = f_.unit_of[static_cast<std::size_t>(x)];
    return u >= 0 && u == f_.unit_of[static_cast<std::size_t>(id)];
  }

  constexpr void find_parts(int concat) {
    const stride_list whole = row_major_strides(g_.shape_of(concat));
    const auto axis = static_cast<std::size_t>(g_.attribute(concat, 0));
    std::size_t start = 0;
    for (const std::int32_t x : g_.operands(concat)) {
      part found{concat, static_cast<std::ptrdiff_t>(start) * whole[axis], whole};
      start += g_.shape_of(x)[axis];
      const int base = find_writer(x, found.stride);
      if (base < 0) continue;
      const auto writer = static_cast<std::size_t>(f_.unit_of[static_cast<std::size_t>(base)]);
      if (concat - f_.units[writer].members.back() > kernel_reach) continue;  // with its kernel's last
      f_.part_of_node[static_cast<std::size_t>(base)] = static_cast<std::int32_t>(f_.parts.size());
      f_.parts.push_back(found);
    }
  }

  /// The node that x is a view of, and how its elements lie if x's lie by `stride`; -1 where it cannot write
  /// them so.
  constexpr int find_writer(int x, stride_list& stride) const {
    while (is_view(g_.nodes[x].kind)) {
      const int from = g_.operand(x, 0);
      if (readers_[static_cast<std::size_t>(x)] != 1 || !turn_back(x, from, stride)) return -1;
      x = from;
    }
    const std::int32_t u = f_.unit_of[static_cast<std::size_t>(x)];
    if (u < 0 || readers_[static_cast<std::size_t>(x)] != 1) return -1;
    const unit_kind kind = f_.units[static_cast<std::size_t>(u)].kind;
    const bool writes =
        kind == unit_kind::attention ||
        (kind == unit_kind::kernel && f_.role_of[static_cast<std::size_t>(x)] == role::element);
    return writes ? x : -1;
  }
  /// From how a view's elements lie to how its operand's do; false where the view is not all of it, once.
  constexpr bool turn_back(int view, int operand, stride_list& stride) const {
    const shape &from = g_.shape_of(operand), &to = g_.shape_of(view);
    if (numel(from) != numel(to)) return false;
    stride_list before(from.size(), 0);
    if (g_.nodes[view].kind == op::reshape) {
      if (!reshape_strides(to, stride, from, before)) return false;
    } else if (g_.nodes[view].kind == op::expand) {
      for (std::size_t i = 0; i < to.size(); ++i)
        if (const std::int32_t m = g_.attribute(view, static_cast<int>(i)); m >= 0)
          before[static_cast<std::size_t>(m)] = stride[i];
    } else {
      return false;
    }
    stride = before;
    return true;
  }
};

}  // namespace detail

/// Say of each part that its writer can put in place where that is: fusion::parts.
constexpr void join_in_place(const graph_view& g, fusion& f) { detail::part_finder(g, f).run(); }

}  // namespace passes
}  // namespace napkin
