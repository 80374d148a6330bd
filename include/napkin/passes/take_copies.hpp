// Copies of parameters in the narrower dtype that a step computes in, as inputs of its gradient's graph: the
// update that writes a parameter writes its copy beside it, and no run casts one.
#pragma once

#include "napkin/passes/layout.hpp"
#include "napkin/passes/simplify.hpp"

namespace napkin {

namespace passes {

namespace detail {

class copy_taker {
 public:
  constexpr copy_taker(const graph_view& graph, std::size_t parameters, dtype narrow, std::int32_t first_slot)
      : g_(graph),
        parameters_(static_cast<std::int32_t>(parameters)),
        narrow_(narrow),
        first_slot_(first_slot) {
    b_.reserve(g_.size() + 2 * parameters);
    b_.result.pool.reserve(g_.pool_count + 4 * parameters);
    b_.result.shapes.append(g_.shapes, g_.shape_count);  // so that their numbers stay
  }

  constexpr graph run() {
    find_moved();
    now_.resize(g_.size(), -1);
    copy_.resize(g_.size(), -1);
    for (int id = 0; id < static_cast<int>(g_.node_count); ++id) {
      if (id == parameters_)  // first too, as the parameters are: equal layers are found behind both
        for (std::int32_t p = 0; p < parameters_; ++p) (void)copy_of(p);
      if (is_cast_of_moved(id)) {
        now_.items[id] = copy_of(g_.operand(id, 0));
        continue;
      }
      const int bias = bias_of(id);
      xs_.clear();
      for (const std::int32_t x : g_.operands(id)) xs_.push_back(x == bias ? -1 : now_.items[x]);
      if (bias >= 0) {
        const std::int32_t copy = copy_of(bias), wide = cast_as(bias, dtype::f32, copy);
        for (std::int32_t& x : xs_)
          if (x < 0) x = wide;
      }
      now_.items[id] = emit_again(b_, g_, id, xs_, g_.nodes[id].shape_id);
    }
    for (const std::int32_t out : g_.output_ids()) b_.output(now_.items[out]);
    return without_dead_nodes(b_.take());  // parameters of which the copies are all that is read
  }

 private:
  graph_view g_;
  std::int32_t parameters_;
  dtype narrow_;
  std::int32_t first_slot_;
  builder b_;  // does not simplify: the graph is what it was
  buffer<bool> moved_;
  buffer<std::int32_t> now_, copy_, xs_;

  /// Elements of f32 parameters as they are, some of them, wherever they lie. Rows that are gathered only
  /// where all that reads them rounds them.
  constexpr void find_moved() {
    moved_.resize(g_.size(), false);
    buffer<bool> is_read_wide(g_.size(), false);
    for (int id = 0; id < static_cast<int>(g_.node_count); ++id)
      if (!rounds(id))
        for (const std::int32_t x : g_.operands(id)) is_read_wide.items[x] = true;
    for (const std::int32_t out : g_.output_ids()) is_read_wide.items[out] = true;
    for (std::int32_t id = 0; id < static_cast<std::int32_t>(g_.node_count); ++id) {
      const node& n = g_.nodes[id];
      if (n.type != dtype::f32) continue;
      bool& moved = moved_.items[id];
      if (n.kind == op::input)
        moved = id < parameters_;
      else if (n.kind == op::gather)
        moved = moved_.items[g_.operand(id, 0)] && !is_read_wide.items[id];
      else
        moved = moves(n.kind) && all_moved(id);
    }
  }
  /// A cast of f32 to f32 copies.
  static constexpr bool moves(op kind) { return is_view(kind) || kind == op::concat || kind == op::cast; }
  constexpr bool all_moved(int id) const {
    for (const std::int32_t x : g_.operands(id))
      if (!moved_.items[x]) return false;
    return true;
  }
  constexpr bool rounds(int id) const {
    return g_.nodes[id].kind == op::cast && g_.nodes[id].type == narrow_;
  }
  constexpr bool is_cast_of_moved(int id) const { return rounds(id) && moved_.items[g_.operand(id, 0)]; }

  /// What node id adds to a product, an operand of moved parameters; -1 for none. The product's call would
  /// round it (epilogue_form::rounds_vector).
  constexpr int bias_of(int id) const {
    const node& n = g_.nodes[id];
    if (n.kind != op::add || n.type != dtype::f32) return -1;
    for (int k = 0; k < 2; ++k) {
      const int bias = g_.operand(id, k);
      int x = g_.operand(id, 1 - k);
      while (g_.nodes[x].kind == op::cast || g_.nodes[x].kind == op::reshape) x = g_.operand(x, 0);
      if (moved_.items[bias] && g_.nodes[bias].kind != op::gather && g_.nodes[x].kind == op::einsum &&
          g_.nodes[x].type == narrow_)
        return bias;
    }
    return -1;
  }

  /// x in this dtype, for node id of the graph.
  constexpr std::int32_t cast_as(int id, dtype type, std::int32_t x) {
    b_.origin = g_.nodes[id].origin;
    b_.composite = g_.nodes[id].composite;
    b_.when = g_.nodes[id].when;
    return b_.emit({op::cast, type, b_[x].shape_id, {&x, 1}, {}, 0});
  }
  /// What `moved` is, of the copies.
  constexpr std::int32_t copy_of(int moved) {
    if (copy_.items[moved] >= 0) return copy_.items[moved];
    const node& n = g_.nodes[moved];
    const std::int32_t slot = n.kind == op::input ? first_slot_ + g_.attribute(moved, 0) : -1;
    buffer<std::int32_t> xs;
    for (const std::int32_t x : g_.operands(moved)) {
      xs.push_back(moved_.items[x] ? copy_of(x) : now_.items[x]);
      if (n.kind == op::concat && g_.nodes[x].kind != op::cast)  // so that one kernel moves all parts
        xs.back() = cast_as(moved, narrow_, xs.back());
    }
    b_.origin = n.origin;
    b_.composite = n.composite;
    b_.when = n.when;
    return copy_.items[moved] =
               b_.emit({n.kind, narrow_, n.shape_id, xs, slot < 0 ? g_.attributes(moved) : ids{&slot, 1}, 0});
  }
};

}  // namespace detail

/// The graph with inputs of `narrow`, a 16-bit float, where it rounded parameters (f32, nodes and slots 0 to
/// `parameters` - 1): parameter p's copy is input first_slot + p, whether any copy is read or not. Of a
/// parameter that is added to a product the copy is read too, as the product's call does not add what is
/// wider than its result.
constexpr graph take_copies(const graph_view& g, std::size_t parameters, dtype narrow,
                            std::int32_t first_slot) {
  return detail::copy_taker(g, parameters, narrow, first_slot).run();
}

}  // namespace passes
}  // namespace napkin
