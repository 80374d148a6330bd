// Flips of computed values, as a rotary embedding's gradient has them: a view is of what is stored, so that what is
// computed element by element would be stored to be read backwards. Flipped are its operands instead, where these
// are stored anyway, and the value is computed where it is read.
#pragma once

#include "napkin/passes/layout.hpp"
#include "napkin/passes/simplify.hpp"

namespace napkin {

namespace passes {

namespace detail {

class view_sinker {
 public:
  constexpr explicit view_sinker(const graph_view& graph) : g_(graph) {}

  /// Whether there is any such view; most graphs have no flip at all.
  constexpr bool find() {
    bool any = false;
    for (int id = 0; id < static_cast<int>(g_.node_count); ++id) any = any || is_flip_of_computed(id);
    if (!any) return false;
    is_read_as_is_.resize(g_.size(), false);
    for (const std::int32_t out : g_.output_ids()) is_read_as_is_.items[out] = true;
    for (int id = 0; id < static_cast<int>(g_.node_count); ++id)
      if (!is_flip_of_computed(id))
        for (const std::int32_t x : g_.operands(id)) is_read_as_is_.items[x] = true;
    sinks_.resize(g_.size(), false);
    any = false;
    for (int id = 0; id < static_cast<int>(g_.node_count); ++id) {
      if (!is_flip_of_computed(id) || is_read_as_is_.items[g_.operand(id, 0)]) continue;
      int operations = 0;
      sinks_.items[id] = is_of_stored(g_.operand(id, 0), operations);
      any = any || sinks_.items[id];
    }
    return any;
  }

  constexpr graph run() {
    b_.simplify = true;  // as the graph was
    b_.reserve(g_.size() + g_.size() / 8 + 16);
    b_.result.pool.reserve(g_.pool_count + g_.pool_count / 8 + 64);
    b_.result.shapes.append(g_.shapes, g_.shape_count);
    now_.resize(g_.size(), -1);
    for (int id = 0; id < static_cast<int>(g_.node_count); ++id) {
      if (sinks_.items[id]) {
        now_.items[id] = flipped(g_.operand(id, 0), id);
        continue;
      }
      buffer<std::int32_t> xs;
      for (const std::int32_t x : g_.operands(id)) xs.push_back(now_.items[x]);
      now_.items[id] = emit_again(b_, g_, id, xs, g_.nodes[id].shape_id);
    }
    for (const std::int32_t out : g_.output_ids()) b_.output(now_.items[out]);
    return without_dead_nodes(b_.take());  // what was only read backwards
  }

 private:
  graph_view g_;
  builder b_;
  buffer<bool> is_read_as_is_, sinks_;
  buffer<std::int32_t> now_;

  /// As many as are sooner done again than kept.
  static constexpr int most_operations = 8;

  constexpr bool is_computed(int id) const {
    return is_elementwise(g_.nodes[id].kind) && g_.nodes[id].attribute_count == 0;
  }
  /// A slice of all elements, in another order.
  constexpr bool is_flip_of_computed(int id) const {
    const node& n = g_.nodes[id];
    return n.kind == op::slice && n.shape_id == g_.nodes[g_.operand(id, 0)].shape_id &&
           is_computed(g_.operand(id, 0));
  }
  /// A few operations on what has a buffer, whoever reads it, or is repeated from one.
  constexpr bool is_of_stored(int id, int& operations) const {
    if (++operations > most_operations) return false;
    for (const std::int32_t x : g_.operands(id)) {
      if (g_.nodes[x].kind == op::constant) continue;
      if (is_computed(x)) {
        if (!is_of_stored(x, operations)) return false;
        continue;
      }
      int base = x;
      while (is_view(g_.nodes[base].kind)) base = g_.operand(base, 0);
      const bool is_whole = numel(g_.shape_of(base)) >= numel(g_.shape_of(id));
      if (g_.nodes[base].kind == op::iota || (is_whole && is_elementwise(g_.nodes[base].kind))) return false;
    }
    return true;
  }
  /// What is computed as node id, of operands read as view `flip` reads.
  constexpr std::int32_t flipped(int id, int flip) {
    if (g_.nodes[id].kind == op::constant) return now_.items[id];
    if (!is_computed(id)) {
      b_.origin = g_.nodes[flip].origin;
      b_.composite = g_.nodes[flip].composite;
      b_.when = g_.nodes[flip].when;
      const std::int32_t x = now_.items[id];
      return b_.emit({op::slice, g_.nodes[id].type, g_.nodes[id].shape_id, {&x, 1}, g_.attributes(flip), 0});
    }
    buffer<std::int32_t> xs;
    for (const std::int32_t x : g_.operands(id)) xs.push_back(flipped(x, flip));
    return emit_again(b_, g_, id, xs, g_.nodes[id].shape_id);
  }
};

}  // namespace detail

/// A graph that its builder simplified, no value of which is stored only to be read backwards, but where it
/// is more than a few operations on what is stored anyway.
constexpr graph sink_views(graph&& g) {
  detail::view_sinker sinker(g.view());
  if (sinker.find()) return sinker.run();
  return static_cast<graph&&>(g);
}

}  // namespace passes
}  // namespace napkin
