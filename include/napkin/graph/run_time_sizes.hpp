// Axes that are sized at run time, in graphs. While a graph is traced and differentiated, the size of such an
// axis is its bound with a number of its name above it (`run_time_size`), so that it goes where the axis
// goes. Plans know nothing of that: `bind_run_time_sizes` makes a graph of bounds, in which whatever would
// run past the end, a sum say, reads the operation's identity there, and in which the actual sizes are
// inputs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "napkin/graph/builder.hpp"

namespace napkin {

/// Axes of different names that are sized at run time, in one graph, at most.
inline constexpr std::size_t max_run_time_sizes = 16;

constexpr bool is_run_time_size(std::size_t size) { return size >> 63 != 0; }

/// The size of an axis as tensors are laid out: the bound of one that is sized at run time.
constexpr std::size_t bound_of(std::size_t size) {
  return is_run_time_size(size) ? size & 0xff'ffff'ffff : size;
}
constexpr shape at_bounds(shape s) {
  for (std::size_t i = 0; i < s.count; ++i) s.items[i] = bound_of(s.items[i]);
  return s;
}

/// The size that a graph has for an axis called `name` with at most `bound` elements, fewer than 2^31. Names
/// are told apart by 23 bits: where two are not, their axes' actual sizes must be equal, which is looked at.
constexpr std::size_t run_time_size(std::size_t bound, std::string_view name) {
  if (bound > 0x7fff'ffff) throw "an axis that is sized at run time has 2^31 elements or more";
  std::uint32_t h = 2166136261u;  // FNV-1a
  for (const char c : name) h = (h ^ static_cast<unsigned char>(c)) * 16777619u;
  return std::size_t{1} << 63 | std::size_t{(h ^ h >> 23) & 0x7f'ffff} << 40 | bound;
}

constexpr bool has_run_time_sizes(const graph_view& g) {
  for (std::size_t s = 0; s < g.shape_count; ++s)
    for (std::size_t i = 0; i < g.shapes[s].count; ++i)
      if (is_run_time_size(g.shapes[s].items[i])) return true;
  return false;
}

/// Which run-time sizes a graph's inputs have, in the order of slots and axes, each once: that is how the
/// actual ones are handed over. Some must be equal, as where one axis is renamed to another and added to it.
struct run_time_slots {
  std::size_t count = 0;
  std::array<std::uint8_t, max_run_time_sizes> equal_to{};  // the first that each must equal, perhaps itself
  /// For each axis of the first output: which of them its size is; `count` where it is known to the compiler.
  std::array<std::uint8_t, max_rank> of_output{};
};

namespace detail {

/// Sizes of one graph that must be equal.
class equal_sizes {
 public:
  constexpr explicit equal_sizes(const graph_view& g) : g_(g) {
    for (std::size_t s = 0; s < g.shape_count; ++s)
      for (std::size_t i = 0; i < g.shapes[s].count; ++i) (void)find(g.shapes[s].items[i]);
    for (int id = 0; id < static_cast<int>(g.size()); ++id) join_node(id);
    const std::int32_t end = g.next_slot();
    for (std::int32_t slot = 0; slot < end; ++slot)
      for (int id = 0; id < static_cast<int>(g.size()); ++id)
        if (g[id].kind == op::input && g.attribute(id, 0) == slot)
          for (const std::size_t size : g.shape_of(id))
            if (is_run_time_size(size) && !inputs_.contains(size)) inputs_.push_back(size);
  }

  /// Of an axis's size the number of the first input size that it equals.
  constexpr std::size_t input_of(std::size_t size) const {
    for (std::size_t k = 0; k < inputs_.size(); ++k)
      if (root(inputs_[k]) == root(size)) return k;
    throw "an axis is sized at run time, and no operand that has it says how long it is";
  }
  constexpr run_time_slots slots() const {
    run_time_slots s;
    s.count = inputs_.size();
    for (std::size_t k = 0; k < inputs_.size(); ++k)
      s.equal_to[k] = static_cast<std::uint8_t>(input_of(inputs_[k]));
    const shape& result = g_.shape_of(g_.outputs[0]);
    for (std::size_t i = 0; i < result.size(); ++i)
      s.of_output[i] =
          static_cast<std::uint8_t>(is_run_time_size(result[i]) ? input_of(result[i]) : inputs_.size());
    return s;
  }

 private:
  const graph_view& g_;
  inplace_vector<std::size_t, 4 * max_run_time_sizes> sizes_, parents_;
  inplace_vector<std::size_t, max_run_time_sizes> inputs_;

  constexpr std::size_t find(std::size_t size) {
    const std::size_t at = sizes_.index_of(size);
    if (is_run_time_size(size) && at == sizes_.size()) {
      parents_.push_back(sizes_.size());
      sizes_.push_back(size);
    }
    return at;
  }
  constexpr std::size_t root(std::size_t size) const {
    std::size_t at = sizes_.index_of(size);
    while (parents_[at] != at) at = parents_[at];
    return at;
  }
  constexpr void join(std::size_t a, std::size_t b) {
    if (a == b) return;
    if (is_run_time_size(a) != is_run_time_size(b) || bound_of(a) != bound_of(b))
      throw "an operation has lost track of an axis that is sized at run time";
    if (!is_run_time_size(a)) return;
    const std::size_t x = root(a), y = root(b);
    parents_[x > y ? x : y] = x > y ? y : x;
  }
  /// Whole axes that stay, in order, and the same number of elements between them.
  constexpr void join_reshaped(const shape& from, const shape& to) {
    std::size_t i = 0, j = 0;
    while (true) {
      std::size_t before = 1, after = 1;
      for (; i < from.size() && !is_run_time_size(from[i]); ++i) before *= from[i];
      for (; j < to.size() && !is_run_time_size(to[j]); ++j) after *= to[j];
      if (before != after || (i < from.size()) != (j < to.size()))
        throw "an axis that is sized at run time would be joined with another, or taken apart";
      if (i == from.size()) return;
      join(from[i++], to[j++]);
    }
  }
  constexpr void join_node(int id) {
    const node& n = g_[id];
    const shape& to = g_.shape_of(id);
    const auto attribute = [&](std::size_t k) { return g_.attribute(id, static_cast<int>(k)); };
    if (n.kind == op::einsum) {
      std::size_t size_of[max_labels] = {}, at = 0;
      const auto join_labelled = [&](const shape& s) {
        for (const std::size_t size : s) {
          const auto label = static_cast<std::size_t>(attribute(at++));
          if (size_of[label] == 0) size_of[label] = size;
          join(size_of[label], size);
        }
      };
      for (const std::int32_t x : g_.operands(id)) join_labelled(g_.shape_of(x));
      join_labelled(to);
      return;
    }
    if (n.arity == 0 || is_reduction(n.kind) || category_of(n.kind) == category::indexing) return;
    for (const std::int32_t x : g_.operands(id)) {
      const shape& from = g_.shape_of(x);
      if (n.kind == op::expand) {
        for (std::size_t i = 0; i < to.size(); ++i)
          if (attribute(i) >= 0) join(to[i], from[static_cast<std::size_t>(attribute(i))]);
      } else if (n.kind == op::reshape) {
        join_reshaped(from, to);
      } else if (n.kind == op::diagonal) {
        for (std::size_t i = 0; i < from.size(); ++i)
          join(from[i], to[static_cast<std::size_t>(attribute(i))]);
      } else if (n.kind == op::window) {
        const auto axis = static_cast<std::size_t>(attribute(0));
        for (std::size_t i = 0; i < from.size(); ++i)
          if (i != axis) join(from[i], to[i > axis ? i + 1 : i]);
      } else {  // elementwise, or of parts of axes
        for (std::size_t i = 0; i < from.size(); ++i)
          if (is_elementwise(n.kind) || is_run_time_size(from[i]) || is_run_time_size(to[i]))
            join(from[i], to[i]);
      }
    }
  }
};

/// What a reduction makes of nothing, of type t, as a node of shape s.
constexpr int identity_node(builder& b, op o, dtype t, const shape& s) {
  constexpr double lowest_i64 = -9223372036854775808.0;
  const auto number = [&](double x) { return b.constant(x, t, s); };
  if (o == op::sum || o == op::any || o == op::einsum) return number(0);
  if (o == op::product || o == op::all) return number(1);
  const bool largest = o == op::min;
  if (is_floating(t)) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (t == dtype::f8e4m3) return number(largest ? 448 : -448);  // which has no infinity
    return number(largest ? infinity : -infinity);
  }
  switch (t) {
    case dtype::i64:  // 2^63 - 1 is no double
      return largest ? b.sub(number(-1), number(lowest_i64)) : number(lowest_i64);
    case dtype::i32:
      return number(largest ? 2147483647.0 : -2147483648.0);
    case dtype::i16:
      return number(largest ? 32767 : -32768);
    case dtype::i8:
      return number(largest ? 127 : -128);
    case dtype::u32:
      return number(largest ? 4294967295.0 : 0);
    case dtype::u16:
      return number(largest ? 65535 : 0);
    case dtype::u8:
      return number(largest ? 255 : 0);
    default:
      return number(largest ? 1 : 0);
  }
}

/// Makes the graph of bounds.
class run_time_binder {
 public:
  constexpr run_time_binder(const graph_view& g, bool simplify, bool masks)
      : g_(g),
        equal_(g),
        first_slot_(g.next_slot()),
        masks_(masks),
        now_(g.size(), -1),
        size_nodes_(max_run_time_sizes, -1) {
    b_.simplify = simplify;
    b_.reserve(2 * g.size() + 16);
  }
  constexpr graph make() {
    for (int id = 0; id < static_cast<int>(g_.size()); ++id) now_[static_cast<std::size_t>(id)] = bind(id);
    for (const std::int32_t out : g_.output_ids()) b_.output(now_[static_cast<std::size_t>(out)]);
    return b_.take();
  }

 private:
  const graph_view& g_;
  equal_sizes equal_;
  std::int32_t first_slot_;
  bool masks_;
  builder b_;
  buffer<std::int32_t> now_;
  inplace_vector<std::int32_t, max_run_time_sizes> size_nodes_;

  /// The actual size, a scalar of i32.
  constexpr int size_node(std::size_t size) {
    const std::size_t k = equal_.input_of(size);
    if (size_nodes_[k] < 0)
      size_nodes_[k] = b_.input(first_slot_ + static_cast<std::int32_t>(k), dtype::i32, {});
    return size_nodes_[k];
  }
  /// Node x of g, with another's number instead behind the end of those of its axes that `chosen` has.
  constexpr int masked(int x, op reads_as, const auto& chosen) {
    const int now = now_[static_cast<std::size_t>(x)];
    if (!masks_) return now;
    const shape& s = g_.shape_of(x);
    const shape bounds = at_bounds(s);
    int inside = -1;
    for (std::size_t i = 0; i < s.size(); ++i) {
      if (!is_run_time_size(s[i]) || !chosen(i)) continue;
      const int along = b_.binary(op::less, b_.iota(static_cast<int>(i), dtype::i32, bounds),
                                  b_.fill(size_node(s[i]), bounds));
      inside = inside < 0 ? along : b_.binary(op::logical_and, inside, along);
    }
    return inside < 0 ? now : b_.select(inside, now, identity_node(b_, reads_as, g_[x].type, bounds));
  }
  /// The number of elements that a constant is summed over, times it.
  constexpr int counted(int id) {
    const node& n = g_[id];
    const int x = g_.operand(id, 0);
    double known = g_[x].value;
    int number = -1;
    for (const std::int32_t a : g_.attributes(id)) {
      const std::size_t size = g_.shape_of(x)[static_cast<std::size_t>(a)];
      if (masks_ && is_run_time_size(size)) {
        const int s = b_.cast(size_node(size), n.type);
        number = number < 0 ? s : b_.mul(number, s);
      } else {
        known *= static_cast<double>(bound_of(size));
      }
    }
    const shape bounds = at_bounds(g_.shape_of(id));
    if (number < 0) return b_.constant(known, n.type, bounds);
    return b_.fill(known == 1 ? number : b_.scale(number, known), bounds);
  }

  constexpr int bind(int id) {
    const node& n = g_[id];
    b_.origin = n.origin;
    b_.composite = n.composite;
    b_.when = n.when;
    buffer<std::int32_t> xs;
    for (const std::int32_t x : g_.operands(id)) xs.push_back(now_[static_cast<std::size_t>(x)]);
    const shape bounds = at_bounds(g_.shape_of(id));
    if (is_reduction(n.kind)) {
      if (n.kind == op::sum && g_[g_.operand(id, 0)].kind == op::constant) return counted(id);
      xs[0] = masked(g_.operand(id, 0), n.kind, [&](std::size_t i) {
        for (const std::int32_t a : g_.attributes(id))
          if (static_cast<std::size_t>(a) == i) return true;
        return false;
      });
    } else if (n.kind == op::einsum) {
      std::size_t labels = 0;
      for (const std::int32_t x : g_.operands(id)) labels += g_.shape_of(x).size();
      const ids all = g_.attributes(id);
      std::size_t first = 0;
      for (int k = 0; k < n.arity; ++k) {
        const int x = g_.operand(id, k);
        xs[static_cast<std::size_t>(k)] = masked(x, n.kind, [&](std::size_t i) {
          for (std::size_t r = labels; r < all.size(); ++r)
            if (all[r] == all[first + i]) return false;
          return true;
        });
        first += g_.shape_of(x).size();
      }
    } else if (n.kind == op::gather || n.kind == op::scatter_add) {
      const auto everywhere = [](std::size_t) { return true; };
      xs[1] = masked(g_.operand(id, 1), op::sum, everywhere);  // a number behind the end may be no index
      if (n.kind == op::scatter_add) {
        const auto at = static_cast<std::size_t>(g_.attribute(id, 0));
        const std::size_t rank = g_.shape_of(g_.operand(id, 1)).size();
        xs[0] = masked(g_.operand(id, 0), op::sum, [&](std::size_t i) { return i >= at && i < at + rank; });
      }
    } else if (n.kind == op::expand || n.kind == op::reshape) {
      bool same = b_.shape_of(xs[0]).size() == bounds.size();
      for (std::size_t i = 0; same && i < bounds.size(); ++i)
        same =
            b_.shape_of(xs[0])[i] == bounds[i] &&
            (n.kind == op::reshape || g_.attribute(id, static_cast<int>(i)) == static_cast<std::int32_t>(i));
      if (same) return xs[0];
    }
    return b_.emit({n.kind, n.type, b_.result.intern(bounds), xs, g_.attributes(id), n.value});
  }
};

}  // namespace detail

/// A traced graph at the bounds of its axes. The actual sizes (i32, without axes) are inputs behind those
/// that there are, in the order of `slots_of_run_time_sizes`. Elements behind the end of an axis are anything
/// in operands and results, and nothing that reads across the axis sees them. Without `masks` none of that:
/// what the same would be of operands that are full, as costs are counted.
constexpr graph bind_run_time_sizes(graph&& g, bool simplify, bool masks = true) {
  if (!has_run_time_sizes(g.view())) return static_cast<graph&&>(g);
  const graph_view view = g.view();
  return detail::run_time_binder(view, simplify, masks).make();
}

/// Of a traced graph, not yet bound.
constexpr run_time_slots slots_of_run_time_sizes(const graph_view& g) {
  return detail::equal_sizes(g).slots();
}

}  // namespace napkin
