// Reductions of much to little, as the sum of a whole tensor is. A kernel joins what is reduced within a row, so
// that such a sum would be one row: one block's work on a GPU. It is taken in two: of parts, which are rows
// enough, and of these. What it reduces is computed where the parts are; sums of 16- and 8-bit floats are f32
// in between.
#pragma once

#include "napkin/passes/simplify.hpp"

namespace napkin {

namespace passes {

/// When a reduction is split.
struct reduction_limits {
  std::size_t rows = 0;    // results that keep a backend busy: of fewer it is,
  std::size_t length = 0;  // where more elements than that are reduced to one; the more, the more results
};

namespace detail {

class reduction_splitter {
 public:
  constexpr reduction_splitter(const graph_view& graph, reduction_limits limits)
      : g_(graph), limits_(limits) {}

  /// Whether there is any to split; most graphs have none.
  constexpr bool find() const {
    const auto count = static_cast<std::int32_t>(g_.node_count);
    for (std::int32_t id = 0; id < count; ++id)
      if (is_reduction(g_.nodes[id].kind) && is_split(id)) return true;
    return false;
  }

  constexpr graph run() {
    b_.simplify = true;  // as the graph was
    b_.reserve(g_.size() + g_.size() / 8 + 16);
    b_.result.pool.reserve(g_.pool_count + g_.pool_count / 8 + 64);
    b_.result.shapes.append(g_.shapes, g_.shape_count);
    count_readers();
    now_.resize(g_.size(), -1);
    for (std::int32_t id = 0; id < static_cast<std::int32_t>(g_.node_count); ++id) {
      if (is_reduction(g_.nodes[id].kind) && is_split(id)) {
        now_.items[id] = split(id);
        continue;
      }
      buffer<std::int32_t> xs;
      for (const std::int32_t x : g_.operands(id)) xs.push_back(now_.items[x]);
      now_.items[id] = emit_again(b_, g_, id, xs, g_.nodes[id].shape_id);
    }
    for (const std::int32_t out : g_.output_ids()) b_.output(now_.items[out]);
    return without_dead_nodes(b_.take());  // what is computed in its parts alone
  }

 private:
  using axis_list = inplace_vector<std::int32_t, max_rank>;

  graph_view g_;
  reduction_limits limits_;
  builder b_;
  buffer<std::int32_t> now_, readers_;

  /// Parts of a result that one row reduces in little time.
  static constexpr std::size_t most_parts = 65536;

  /// Where the list of a reduction's axes is cut: positions of those up to number `last` are parts, of that
  /// one itself `parts` runs; 0: each position. `last` -1: nowhere.
  struct cut {
    std::int32_t last = -1;
    std::size_t parts = 0;
  };

  constexpr bool is_split(std::int32_t id) const { return find_cut(id).last >= 0; }

  constexpr cut find_cut(std::int32_t id) const {
    const ids axes = g_.attributes(id);
    const shape& from = g_.shape_of(g_.operand(id, 0));
    const std::size_t rows = numel(g_.shape_of(id));
    if (rows == 0 || rows >= limits_.rows) return {};
    if (numel(from) / rows <= limits_.length * (1 + rows / 4)) return {};
    // Of columns, what is left of leading axes, a backend adds up rows in parts itself.
    if (static_cast<std::size_t>(axes[axes.size() - 1]) + 1 != from.size()) return {};
    const std::size_t wanted = 4 * limits_.rows / rows + 1;
    std::size_t parts = 1;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const auto last = static_cast<std::int32_t>(i);
      const std::size_t size = from[static_cast<std::size_t>(axes[i])];
      const bool is_last = i + 1 == axes.size();
      if (is_last || parts * size > most_parts) {
        const std::size_t runs = find_divisor(size, (wanted + parts - 1) / parts, most_parts / parts);
        if (runs > 0 && from.size() < max_rank) return {last, runs};  // of which it makes one axis more
        if (parts > 1) return {last - 1, 0};
        return is_last ? cut{} : cut{last, 0};
      }
      parts *= size;
      if (rows * parts >= limits_.rows) return {last, 0};  // what it reads may have such rows
    }
    return {};
  }
  /// The least from `least` on, or else the largest below it, but 1; 0: there is none. A prime number of
  /// elements is one row.
  static constexpr std::size_t find_divisor(std::size_t size, std::size_t least, std::size_t most) {
    for (std::size_t d = least < 2 ? 2 : least; d <= most && d < size; ++d)
      if (size % d == 0) return d;
    for (std::size_t d = least; d-- > 2;)
      if (size % d == 0) return d;
    return 0;
  }

  /// One that reads twice counts once.
  constexpr void count_readers() {
    readers_.resize(g_.size(), 0);
    for (std::int32_t id = 0; id < static_cast<std::int32_t>(g_.node_count); ++id) {
      const ids xs = g_.operands(id);
      for (std::size_t i = 0; i < xs.size(); ++i) {
        bool again = false;
        for (std::size_t j = 0; j < i; ++j) again = again || xs[j] == xs[i];
        if (!again) ++readers_.items[xs[i]];
      }
    }
    for (const std::int32_t out : g_.output_ids()) ++readers_.items[out];
  }

  constexpr void credit(std::int32_t id) {
    b_.origin = g_.nodes[id].origin;
    b_.composite = g_.nodes[id].composite;
    b_.when = g_.nodes[id].when;
  }

  constexpr std::int32_t split(std::int32_t id) {
    const node& n = g_.nodes[id];
    const cut at = find_cut(id);
    const ids axes = g_.attributes(id);
    const auto last = static_cast<std::size_t>(at.last);
    axis_list over, within;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (i <= last) over.push_back(axes[i]);
      if (i > last || (i == last && at.parts > 0)) within.push_back(axes[i] + (at.parts > 0 ? 1 : 0));
    }
    std::int32_t x = now_.items[g_.operand(id, 0)];
    if (at.parts > 0) x = in_runs(g_.operand(id, 0), static_cast<std::size_t>(axes[last]), at.parts);
    credit(id);
    const bool rounds = (n.kind == op::sum || n.kind == op::product) && is_small_float(n.type);
    if (rounds) x = b_.cast(x, dtype::f32);
    const std::int32_t parts = b_.reduce(n.kind, x, {within.data(), within.size()});
    const std::int32_t whole = b_.reduce(n.kind, parts, {over.data(), over.size()});
    return rounds ? b_.cast(whole, n.type) : whole;
  }

  /// Whether all whole numbers below n are a dtype's, so that a coordinate may be made of two in it.
  static constexpr bool counts(dtype t, std::size_t n) {
    switch (t) {
      case dtype::f64:
      case dtype::i64:
        return true;
      case dtype::i32:
        return n <= std::size_t{1} << 31;
      case dtype::f32:
        return n <= std::size_t{1} << 24;
      default:
        return false;
    }
  }

  /// Node id with an axis as two, of `runs` and of their positions. What nobody else reads is computed so.
  constexpr std::int32_t in_runs(std::int32_t id, std::size_t axis, std::size_t runs) {
    const node& n = g_.nodes[id];
    shape to = g_.shape_of(id);
    const std::size_t each = to[axis] / runs;
    to[axis] = runs;
    to.insert(axis + 1, each);
    if (n.kind == op::iota) {
      const auto along = static_cast<std::size_t>(g_.attribute(id, 0));
      const dtype exact = counts(n.type, runs * each) ? n.type : dtype::i64;
      const auto coordinate = [&](std::size_t a, dtype t) { return b_.iota(static_cast<int>(a), t, to); };
      if (along != axis) return coordinate(along < axis ? along : along + 1, n.type);
      const std::int32_t run =
          b_.scale(coordinate(axis, exact), static_cast<double>(each));  // before the other
      return b_.cast(b_.add(run, coordinate(axis + 1, exact)), n.type);
    }
    if (n.kind == op::expand) {
      const ids before = g_.attributes(id);
      const std::int32_t of = before[axis], x = g_.operand(id, 0);
      axis_list map;
      for (std::size_t i = 0; i < before.size(); ++i) {
        map.push_back(of >= 0 && before[i] > of ? before[i] + 1 : before[i]);
        if (i == axis) map.push_back(of < 0 ? -1 : of + 1);
      }
      const std::int32_t y = of < 0 ? now_.items[x] : in_runs(x, static_cast<std::size_t>(of), runs);
      credit(id);
      return b_.expand(y, to, {map.data(), map.size()});
    }
    if (is_elementwise(n.kind) && n.attribute_count == 0 && readers_.items[id] == 1) {
      buffer<std::int32_t> xs;
      for (const std::int32_t x : g_.operands(id)) xs.push_back(in_runs(x, axis, runs));
      return emit_again(b_, g_, id, xs, b_.result.intern(to));
    }
    credit(id);
    return b_.reshape(now_.items[id], to);
  }
};

}  // namespace detail

/// A graph that its builder simplified, no reduction of which is to fewer results, of more elements each,
/// than `limits` say; but where what is reduced cannot be divided.
constexpr graph split_reductions(graph&& g, reduction_limits limits) {
  detail::reduction_splitter splitter(g.view(), limits);
  if (splitter.find()) return splitter.run();
  return static_cast<graph&&>(g);
}

}  // namespace passes
}  // namespace napkin
