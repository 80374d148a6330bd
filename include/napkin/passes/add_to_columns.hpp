// Sums of columns that are only added to what lies there, as gradients of several batches are: of a fused
// graph (passes/fuse.hpp), moved into the kernel that makes the sums. It joins them block after block at its
// end, and adds there.
#pragma once

#include "napkin/passes/fuse.hpp"

namespace napkin {

namespace passes {

namespace detail {

class column_finder {
 public:
  constexpr column_finder(const graph_view& graph, fusion& fused, std::size_t most_columns)
      : g_(graph), f_(fused), most_(most_columns), readers_(g_.size(), 0), reader_(g_.size(), -1) {}

  constexpr void run() {
    for (int id = 0; id < static_cast<int>(g_.size()); ++id)
      if (unit_of(id) >= 0)
        for (const std::int32_t x : g_.operands(id)) read(x, id);
    for (const std::int32_t out : g_.output_ids()) ++readers_[static_cast<std::size_t>(out)];
    for (int id = 0; id < static_cast<int>(g_.size()); ++id) consider(id);
    if (f_.added_columns.empty()) return;
    number_members(f_);
    find_materialized(g_, f_);
  }

 private:
  graph_view g_;
  fusion& f_;
  std::size_t most_;
  buffer<std::int32_t> readers_, reader_;  // by node: how many, outputs among them; the last

  constexpr std::int32_t unit_of(int id) const { return f_.unit_of.data()[id]; }
  constexpr const reference& reference_of(int x) const { return f_.references.data()[x]; }
  constexpr void read(int x, int by) {
    const auto base = static_cast<std::size_t>(reference_of(x).base);
    ++readers_[base];
    reader_[base] = by;
  }

  constexpr void consider(int sum) {
    const std::int32_t u = unit_of(sum);
    if (u < 0 || f_.role_of.data()[sum] != role::column || readers_[static_cast<std::size_t>(sum)] != 1)
      return;
    const int result = reader_[static_cast<std::size_t>(sum)];
    if (result < 0 || g_[result].kind != op::add || !can_add_to_column(g_[sum].type) ||
        numel(g_.shape_of(sum)) >= most_)
      return;
    const std::int32_t from = unit_of(result);
    const unit& alone = f_.units.data()[from];
    if (alone.kind != unit_kind::kernel || alone.members.size() != 1) return;
    const int at = reference_of(g_.operand(result, 0)).base == sum ? 0 : 1;
    const reference &added = reference_of(g_.operand(result, 1 - at)),
                    &of = reference_of(g_.operand(result, at));
    const node& there = g_[added.base];
    if (!of.direct || !added.direct || there.kind != op::input || there.attribute_count > 1) return;
    f_.added_columns.push_back({sum, added.base, result});
    move(result, from, u);
  }
  constexpr void move(int id, std::int32_t from, std::int32_t to) {
    unit &a = f_.units.data()[from], &b = f_.units.data()[to];
    a.members.clear();
    a.merged = true;
    a.into = to;
    f_.unit_of.data()[id] = to;
    f_.role_of.data()[id] = role::column;
    std::size_t at = b.members.size();
    b.members.push_back(id);
    for (; at > 0 && b.members[at - 1] > id; --at) b.members[at] = b.members[at - 1];
    b.members[at] = id;
  }
};

}  // namespace detail

/// Find the sums of fewer than `most_columns` columns that nothing but an addition to an input reads, and
/// have their kernels add.
constexpr void add_to_columns(const graph_view& g, fusion& f, std::size_t most_columns) {
  detail::column_finder(g, f, most_columns).run();
}

}  // namespace passes
}  // namespace napkin
