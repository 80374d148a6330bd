// Movements as values: what every operation by name that only moves elements comes down to, as nodes of a
// graph and as strides of a view. The operations are in movement.hpp and reshape.hpp.
#pragma once

#include <string>

#include "napkin/graph/strides.hpp"
#include "napkin/ops/axes.hpp"

namespace napkin {

namespace detail {

/// A movement as a value: part of each axis, then the axes in another order, repeated where new, then the
/// same elements under another shape.
struct move {
  bool slices = false, expands = false, reshapes = false;
  axis_positions start, step;  // one each for every axis of the operand
  shape sliced;
  axis_positions map;  // as expand's
  shape spread;
  shape result;
  axis_positions size_from;  // for each axis of the result the operand's whose run-time size it has, or -1
};

constexpr move no_move(const shape& s) {
  move m;
  m.sliced = m.spread = m.result = s;
  for (std::size_t i = 0; i < s.size(); ++i) {
    m.start.push_back(0);
    m.step.push_back(1);
    m.map.push_back(static_cast<std::int32_t>(i));
    m.size_from.push_back(static_cast<std::int32_t>(i));
  }
  return m;
}
constexpr move slice_move(const shape& s, std::size_t axis, std::size_t start, std::ptrdiff_t step,
                          std::size_t size) {
  move m = no_move(s);
  m.slices = true;
  m.start[axis] = place_attribute(static_cast<std::ptrdiff_t>(start));
  m.step[axis] = place_attribute(step);
  m.sliced[axis] = size;
  m.spread = m.result = m.sliced;
  if (step > 0) m.size_from[axis] = -1;
  return m;
}
constexpr move index_move(const shape& s, std::size_t axis, std::size_t at) {
  move m = slice_move(s, axis, at, 1, 1);
  m.reshapes = true;
  m.result.clear();
  m.size_from.clear();
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (i == axis) continue;
    m.result.push_back(s[i]);
    m.size_from.push_back(static_cast<std::int32_t>(i));
  }
  return m;
}
/// Axis i of the result is axis map[i] of the operand, -1 for a new one.
constexpr move expand_move(const shape& s, const axis_positions& map, const shape& to) {
  move m = no_move(s);
  for (std::size_t i = 0; i < map.size(); ++i)
    m.expands = m.expands || map.size() != s.size() || map[i] != static_cast<std::int32_t>(i);
  m.map = m.size_from = map;
  m.spread = m.result = to;
  return m;
}

/// `result`: m's, as a graph has it. A move's own shapes know no more than bounds.
constexpr std::int32_t emit_move(builder& b, std::int32_t x, const move& m, const shape& result) {
  if (m.slices) {
    shape to = m.sliced;
    for (std::size_t i = 0; i < to.size(); ++i)
      if (bound_of(b.shape_of(x)[i]) == to[i]) to[i] = b.shape_of(x)[i];
    x = b.slice(x, to, {m.start.data(), m.start.size()}, {m.step.data(), m.step.size()});
  }
  if (m.expands) {
    shape to = m.reshapes ? m.spread : result;
    for (std::size_t i = 0; i < to.size(); ++i)
      if (m.map[i] >= 0) to[i] = b.shape_of(x)[static_cast<std::size_t>(m.map[i])];
    x = b.expand(x, to, {m.map.data(), m.map.size()});
  }
  return m.reshapes ? b.reshape(x, result) : x;
}

/// How a strided operand looks after a movement.
struct moved_layout {
  bool possible = true;
  stride_list stride;
};
template <std::size_t Rank>
constexpr moved_layout layout_after(const move& m, const std::array<std::ptrdiff_t, Rank>& old) {
  stride_list sliced, spread;
  for (std::size_t i = 0; i < Rank; ++i) sliced.push_back(old[i] * m.step[i]);
  for (const std::int32_t from : m.map)
    spread.push_back(from < 0 ? 0 : sliced[static_cast<std::size_t>(from)]);
  if (!m.reshapes) return {true, spread};
  moved_layout l;
  l.possible = reshape_strides(m.spread, spread, m.result, l.stride);
  return l;
}

/// Move has `value` (a move) and `to` (axes<...>).
template <class Move>
struct move_op {
  using called = fact::call<"movement">;
  static constexpr std::int32_t emit(builder& b, const std::int32_t* xs) {
    return emit_move(b, xs[0], Move::value, traced_shape_over<typename Move::to>());
  }
};

template <class Move, class Layout>
struct layout_of_move {
  static constexpr moved_layout value = layout_after(Move::value, Layout::values);
};

template <class Layout, class X, class... Ds, std::size_t... I>
auto view_after(const X& x, std::ptrdiff_t offset, const move& m, axes<Ds...>, std::index_sequence<I...>) {
  std::array<std::size_t, sizeof...(Ds)> actual{Ds::size...};
  if constexpr (X::dynamic)
    for (std::size_t i = 0; i < actual.size(); ++i)
      if (m.size_from[i] >= 0) actual[i] = x.sizes()[static_cast<std::size_t>(m.size_from[i])];
  return make_view<plain_strides<Layout::value.stride[I]...>, Ds...>(x, offset, actual);
}

/// What a move makes of a tensor whose first element lies `offset` elements further on.
template <class Move, class X>
auto view_from(const X& x, std::ptrdiff_t offset) {
  return view_after<layout_of_move<Move, typename X::layout>>(x, offset, Move::value, typename Move::to{},
                                                              std::make_index_sequence<Move::to::rank>{});
}

template <class Move, class X>
constexpr auto moved(const X& x) {
  if constexpr (TensorLike<X>) {
    using layout = layout_of_move<Move, typename X::layout>;
    if constexpr (layout::value.possible) {
      std::ptrdiff_t offset = 0;
      for (std::size_t i = 0; i < X::rank; ++i) {
        // Backwards from the last element that there is, at run time fewer than the bound.
        const bool backwards = Move::value.step[i] < 0;
        const std::size_t size = x.sizes()[i];
        const auto first = backwards ? (size == 0 ? 0 : static_cast<std::ptrdiff_t>(size) - 1)
                                     : static_cast<std::ptrdiff_t>(Move::value.start[i]);
        offset += first * X::strides[i];
      }
      if (numel(Move::value.result) == 0) offset = 0;
      return view_from<Move>(x, offset);
    } else {
      return apply<move_op<Move>, typename X::element, typename Move::to>(x);
    }
  } else {
    return apply<move_op<Move>, typename X::element, typename Move::to>(x);
  }
}

/// Only a tensor knows where an axis that is sized at run time ends.
template <class X, class D>
inline constexpr bool ends_known = !D::dynamic || TensorLike<X>;

[[noreturn]] inline void throw_range(std::string_view call, std::string_view axis, std::string_view what,
                                     std::size_t size) {
  throw input_error(std::string(call) + ": axis '" + std::string(axis) + "' has " + std::to_string(size) +
                    " elements, which do not reach " + std::string(what));
}

template <class Axes, class To, class Map>
struct expand_move_of {
  using to = To;
  static constexpr move value = expand_move(shape_over<Axes>, Map::positions, shape_over<To>);
};

/// The same elements, in row-major order after the axes are brought into the order of Map.
template <class Axes, class To, class Map>
struct reshape_move_of {
  using to = To;
  static constexpr move make() {
    const shape from = shape_over<Axes>;
    shape spread;
    for (const std::int32_t i : Map::positions) spread.push_back(from[static_cast<std::size_t>(i)]);
    move m = expand_move(from, Map::positions, spread);
    m.reshapes = true;
    m.result = shape_over<To>;
    m.size_from = axis_positions(To::rank, -1);
    for (std::size_t i = 0; i < To::rank; ++i)  // what keeps its name keeps its size
      if (!infos_of<To>::value[i].name.empty())
        m.size_from[i] = find_axis(infos_of<Axes>::value, infos_of<To>::value[i].name);
    return m;
  }
  static constexpr move value = make();
};
template <class Axes, class To>
using retyped = expand_move_of<Axes, To, position_range<0, Axes::rank>>;
template <class Axes, class To>
using reshaped = reshape_move_of<Axes, To, position_range<0, Axes::rank>>;

}  // namespace detail

}  // namespace napkin
