// Movement: elements change place, none changes value. All but pad and concat are views of their operand.
#pragma once

#include "napkin/ops/primitives/row.hpp"
#include "napkin/ops/primitives/window_adjoint.hpp"

namespace napkin {

/// attributes: for each axis of the result the operand's axis, -1 where it repeats. Every axis of the
/// operand appears once: transposition and broadcasting in one.
template <>
struct primitive<op::expand> : row::movement {
  static constexpr auto name = "expand";
  static constexpr int examples = 4;
  static constexpr int example(builder& g, int variant) {
    const std::int32_t rotated[] = {1, 2, 0};  // not its own inverse
    if (variant == 3) return g.permute(g.input(0, dtype::f64, {2, 3, 4}), rotated);
    const int x = g.input(0, dtype::f64, {2, 3});
    const std::int32_t transposed[] = {1, 0}, repeated[] = {0, -1, 1}, both[] = {1, -1, 0};
    if (variant == 0) return g.permute(x, transposed);
    return variant == 1 ? g.expand(x, {2, 4, 3}, repeated) : g.expand(x, {3, 2, 2}, both);
  }
  static constexpr void gradient(builder& g, int n, int dy, auto give) {
    inplace_vector<std::int32_t, max_rank> repeated, kept;  // axes of the result; of the operand, in order
    for (int i = 0; i < g[n].attribute_count; ++i) {
      if (g.attribute(n, i) < 0)
        repeated.push_back(i);
      else
        kept.push_back(g.attribute(n, i));
    }
    const int summed = g.reduce(op::sum, dy, {repeated.data(), repeated.size()});
    inplace_vector<std::int32_t, max_rank> back(kept.size(), 0);
    for (std::size_t i = 0; i < kept.size(); ++i)
      back[static_cast<std::size_t>(kept[i])] = static_cast<std::int32_t>(i);
    give(0, g.expand(summed, shape{g.shape_of(g.operand(n, 0))}, {back.data(), back.size()}));
  }
};

/// The same elements in row-major order under another shape.
template <>
struct primitive<op::reshape> : row::movement {
  static constexpr auto name = "reshape";
  static constexpr int example(builder& g, int) {
    return g.reshape(g.input(0, dtype::f64, {2, 3, 4}), {6, 4});
  }
  static constexpr void gradient(builder& g, int n, int dy, auto give) {
    give(0, g.reshape(dy, shape{g.shape_of(g.operand(n, 0))}));
  }
};

namespace row {
struct start_and_step {
  std::int32_t values[2 * max_rank]{};
  std::size_t rank;
  constexpr start_and_step(const builder& g, int n)
      : rank(static_cast<std::size_t>(g[n].attribute_count) / 2) {
    for (int i = 0; i < g[n].attribute_count; ++i) values[i] = g.attribute(n, i);
  }
  constexpr ids start() const { return {values, rank}; }
  constexpr ids step() const { return {values + rank, rank}; }
};
}  // namespace row

/// attributes: a start and then a step for each axis; a negative step reads backwards.
template <>
struct primitive<op::slice> : row::movement {
  static constexpr auto name = "slice";
  static constexpr int examples = 2;
  static constexpr int example(builder& g, int variant) {
    const int x = g.input(0, dtype::f64, {3, 5});
    const std::int32_t start[] = {1, 0}, step[] = {1, 2}, from_end[] = {0, 4}, backwards[] = {1, -1};
    return variant == 0 ? g.slice(x, {2, 3}, start, step) : g.slice(x, {3, 5}, from_end, backwards);
  }
  static constexpr void gradient(builder& g, int n, int dy, auto give) {
    const row::start_and_step at(g, n);
    const shape full = g.shape_of(g.operand(n, 0));
    bool reverses = g.shape_of(n) == full;  // reading backwards is its own adjoint, and a view
    for (std::size_t i = 0; i < at.rank; ++i)
      reverses = reverses && (at.step()[i] == 1 || at.step()[i] == -1);
    give(0, reverses ? g.slice(dy, full, at.start(), at.step()) : g.pad(dy, full, at.start(), at.step()));
  }
};

/// attributes: as slice's; zeros elsewhere.
template <>
struct primitive<op::pad> : row::movement {
  static constexpr auto name = "pad";
  static constexpr int example(builder& g, int) {
    const std::int32_t start[] = {1, 0}, step[] = {1, 2};
    return g.pad(g.input(0, dtype::f64, {2, 3}), {3, 5}, start, step);
  }
  static constexpr void gradient(builder& g, int n, int dy, auto give) {
    const row::start_and_step at(g, n);
    give(0, g.slice(dy, shape{g.shape_of(g.operand(n, 0))}, at.start(), at.step()));
  }
};

/// attributes: for each axis of the operand the result's axis; axes that share one are walked together.
template <>
struct primitive<op::diagonal> : row::movement {
  static constexpr auto name = "diagonal";
  static constexpr int example(builder& g, int) {
    const std::int32_t map[] = {0, 1, 0};
    return g.diagonal(g.input(0, dtype::f64, {3, 2, 3}), {3, 2}, map);
  }
  static constexpr void gradient(builder& g, int n, int dy, auto give) {
    // dy, repeated along the operand's extra axes, where their coordinates are equal
    const shape full = g.shape_of(g.operand(n, 0));
    inplace_vector<std::int32_t, max_rank> map, owner(g.shape_of(n).size(), -1);
    int mask = -1;
    for (std::size_t i = 0; i < full.size(); ++i) {
      const std::int32_t to = g.attribute(n, static_cast<int>(i));
      std::int32_t& first = owner[static_cast<std::size_t>(to)];
      map.push_back(first < 0 ? to : -1);
      if (first < 0) {
        first = static_cast<std::int32_t>(i);
      } else {
        const int on = g.binary(op::equal, g.iota(first, dtype::i32, full),
                                g.iota(static_cast<int>(i), dtype::i32, full));
        mask = mask < 0 ? on : g.binary(op::logical_and, mask, on);
      }
    }
    const int spread = g.expand(dy, full, {map.data(), map.size()});
    give(0, mask < 0 ? spread : g.select(mask, spread, g.zeros_like(spread)));
  }
};

/// attributes: [axis, start, step, dilation]; the axis becomes positions and, next to it, taps. Tap k of
/// position i is the operand's element start + i * step + k * dilation.
template <>
struct primitive<op::window> : row::movement {
  static constexpr auto name = "window";
  static constexpr int examples = 4;
  static constexpr int example(builder& g, int variant) {
    const int x = g.input(0, dtype::f64, {2, 7, 2});
    if (variant == 0) return g.window(x, 1, 5, 3, 0, 1, 1);
    if (variant == 1) return g.window(x, 1, 3, 3, 0, 2, 1);  // the last element is in one
    if (variant == 2) return g.window(x, 1, 2, 3, 1, 1, 2);  // the first is in none
    return g.window(x, 1, 4, 3, 2, 1, -1);
  }
  static constexpr void gradient(builder& g, int n, int dy, auto give) {
    give(0, row::window_adjoint(g, n, dy));
  }
};

/// attributes: [axis] along which the operands follow one another.
template <>
struct primitive<op::concat> : row::movement {
  static constexpr auto name = "concat";
  static constexpr int arity = -1;
  static constexpr int example(builder& g, int) {
    const std::int32_t xs[] = {g.input(0, dtype::f64, {2, 3}), g.input(1, dtype::f64, {2, 2})};
    return g.concat(xs, 1);
  }
  static constexpr void gradient(builder& g, int n, int dy, auto give) {
    const auto axis = static_cast<std::size_t>(g.attribute(n, 0));
    std::int32_t start[max_rank]{}, step[max_rank]{};
    for (auto& s : step) s = 1;
    const std::size_t rank = g.shape_of(n).size();
    std::ptrdiff_t at = 0;
    for (int k = 0; k < g[n].arity; ++k) {
      const shape part = g.shape_of(g.operand(n, k));
      start[axis] = place_attribute(at);
      give(k, g.slice(dy, part, {start, rank}, {step, rank}));
      at += static_cast<std::ptrdiff_t>(part[axis]);
    }
  }
};

}  // namespace napkin
