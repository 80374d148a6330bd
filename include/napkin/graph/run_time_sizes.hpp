// Axes that are sized at run time, in graphs. While a graph is traced and differentiated, the size of such an
// axis is its bound with a number of its name above it (`run_time_size`), so that it goes where the axis
// goes. Which of these sizes must be equal, and which inputs say how large they are, is read from the graph.
// Plans know nothing of it: graph/bind_run_time_sizes.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "napkin/core/inplace_vector.hpp"
#include "napkin/graph/builder.hpp"

namespace napkin {

/// Axes of different names that are sized at run time, in one graph, at most.
inline constexpr std::size_t max_run_time_sizes = 16;

constexpr bool is_run_time_size(std::size_t size) { return size >> 63 != 0; }

/// The size of an axis as tensors are laid out: the bound of one that is sized at run time.
constexpr std::size_t bound_of(std::size_t size) {
  return is_run_time_size(size) ? size & 0xff'ffff'ffff : size;
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
  std::array<std::size_t, max_run_time_sizes> bounds{};
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
    for (int id = 0; id < static_cast<int>(g.node_count); ++id) join_node(id);
    const std::int32_t end = g.next_slot();
    for (std::int32_t slot = 0; slot < end; ++slot)
      for (int id = 0; id < static_cast<int>(g.node_count); ++id)
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
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
      s.equal_to[k] = static_cast<std::uint8_t>(input_of(inputs_[k]));
      s.bounds[k] = bound_of(inputs_[k]);
    }
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

}  // namespace detail

/// Of a traced graph, not yet bound.
constexpr run_time_slots slots_of_run_time_sizes(const graph_view& g) {
  return detail::equal_sizes(g).slots();
}

}  // namespace napkin
