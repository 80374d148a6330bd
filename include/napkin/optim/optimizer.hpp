// An optimizer's step as graphs over flat vectors: all parameters of a group lie behind one another, so that
// the whole group is one elementwise kernel, and the global norm one reduction.
#pragma once

#include <utility>

#include "napkin/ops/pattern.hpp"

namespace napkin {

/// Elements in which flat vectors are reduced; their lengths are multiples of it, padded with zeros.
inline constexpr std::size_t flat_block = 1024;
constexpr std::size_t flat_length(std::size_t elements) {
  return (elements + flat_block - 1) / flat_block * flat_block;
}

/// Inputs: p, g, the states, the scalars, of which the first is what gradients are multiplied with. Outputs:
/// the next p, the next states.
template <class Optimizer, class T, std::size_t Length>
struct optimizer_graph {
  using vector = traced<T, dim<"parameter", Length>>;
  static constexpr std::size_t vectors = 2 + Optimizer::states;

  template <std::size_t... V, std::size_t... S>
  static constexpr void emit(builder& b, std::index_sequence<V...>, std::index_sequence<S...>) {
    const auto next =
        Optimizer::update(vector(&b, b.input(static_cast<int>(V), dtype_of<T>, {Length}))...,
                          traced<T>(&b, b.input(static_cast<int>(vectors + S), dtype_of<T>, {}))...);
    std::apply([&](const auto&... x) { (b.output(x.id), ...); }, next);
  }
  static constexpr graph make() {
    builder b;
    emit(b, std::make_index_sequence<vectors>{}, std::make_index_sequence<Optimizer::scalars>{});
    return b.take();
  }
};

/// Of a flat vector as rows of flat_block elements.
constexpr std::int32_t sum_of_squares(builder& b, std::int32_t rows) {
  const std::int32_t row[] = {1}, all[] = {0};
  return b.reduce(op::sum, b.reduce(op::sum, b.mul(rows, rows), row), all);
}

/// Input: a flat vector. Output: the sum of its squares.
template <class T, std::size_t Length>
struct squared_norm_graph {
  static constexpr graph make() {
    builder b;
    b.output(sum_of_squares(b, b.input(0, dtype_of<T>, {Length / flat_block, flat_block})));
    return b.take();
  }
};

}  // namespace napkin
