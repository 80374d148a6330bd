// An optimizer's step as graphs over flat vectors: all parameters of a group lie behind one another, so that
// the whole group is one elementwise kernel, and the global norm one reduction.
//
// An optimizer is a struct, a description that owns nothing:
//   name, states, state_names   what it keeps for each element of a parameter, zero before the first step
//   options                     what a run may set
//   scalars, fill(options, learning_rate, decay, step, clip, to)   the numbers that a step needs, inputs of
//                               the graph; decay: what the group multiplies the weight decay with; step
//                               counts from 1; clip: what gradients are multiplied with first; it is the
//                               first of the numbers, where a GPU puts what it finds itself
//   update(p, g, states..., scalars...)   the next value and states, of any dtype
// One that updates matrices in another way has instead a rule for them and one for all else: optim/muon.hpp.
#pragma once

#include <concepts>
#include <utility>

#include "napkin/ops/pattern.hpp"

namespace napkin {

/// Elements in which flat vectors are reduced; their lengths are multiples of it, padded with zeros.
inline constexpr std::size_t flat_block = 1024;
constexpr std::size_t flat_length(std::size_t elements) {
  return (elements + flat_block - 1) / flat_block * flat_block;
}

/// Updates matrices by Optimizer::matrices and all else by Optimizer::others.
template <class Optimizer>
concept OptimizerOfMatrices = requires {
  typename Optimizer::matrices;
  typename Optimizer::others;
};

namespace detail {

/// The numbers of a step, to an array of whatever dtype the graph is in.
template <class T, std::size_t N>
constexpr void hand_over(const double (&values)[N], T* to) {
  for (std::size_t i = 0; i < N; ++i) to[i] = static_cast<T>(values[i]);
}

}  // namespace detail

/// Inputs: p, g, the states, the scalars. Outputs: the next p, the next states.
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

/// Inputs: a sum, a vector, a number. Output: the sum with the vector, times the number, added.
template <class T, std::size_t Length>
struct accumulate_graph {
  static constexpr graph make() {
    builder b;
    const shape flat{Length};
    const std::int32_t sum = b.input(0, dtype_of<T>, flat), x = b.input(1, dtype_of<T>, flat);
    const std::int32_t share = b.expand(b.input(2, dtype_of<T>, {}), flat, std::array<std::int32_t, 1>{-1});
    b.output(b.add(sum, b.mul(x, share)));
    return b.take();
  }
};

/// Of flat vectors as rows of flat_block elements.
constexpr std::int32_t sum_of_products(builder& b, std::int32_t x, std::int32_t y) {
  const std::int32_t row[] = {1}, all[] = {0};
  return b.reduce(op::sum, b.reduce(op::sum, b.mul(x, y), row), all);
}

/// The squared norm of gradients, and NaN where a parameter or a state of the optimizer is not finite: an
/// update would spread that though loss and gradients were finite. Inputs 0 to 2 are gradients, parameters
/// and, if there are any, states: flat vectors, multiples of flat_block long.
constexpr std::int32_t checked_squares(builder& b, dtype type, std::size_t length, std::size_t state_length) {
  const auto rows = [&b, type](std::int32_t slot, std::size_t elements) {
    return b.input(slot, type, {elements / flat_block, flat_block});
  };
  const auto zero_if_finite = [&b](std::int32_t x) { return sum_of_products(b, x, b.zeros_like(x)); };
  const std::int32_t gradients = rows(0, length);
  const std::int32_t squares = sum_of_products(b, gradients, gradients);
  const std::int32_t checked = b.add(squares, zero_if_finite(rows(1, length)));
  return state_length == 0 ? checked : b.add(checked, zero_if_finite(rows(2, state_length)));
}

/// Inputs: the flat vectors of gradients, parameters and states. Output: as checked_squares.
template <class T, std::size_t Length, std::size_t StateLength>
struct squared_norm_graph {
  static constexpr graph make() {
    builder b;
    b.output(checked_squares(b, dtype_of<T>, Length, StateLength));
    return b.take();
  }
};

}  // namespace napkin
