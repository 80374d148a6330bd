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
#include <type_traits>
#include <utility>

#include "napkin/ops/pattern.hpp"

namespace napkin {

/// Elements in which flat vectors are reduced; their lengths are multiples of it, padded with zeros.
inline constexpr std::size_t flat_block = 1024;
constexpr std::size_t flat_length(std::size_t elements) {
  return (elements + flat_block - 1) / flat_block * flat_block;
}
/// How a graph has one: as rows of flat_block, so that a reduction is part of the kernel that makes what it
/// reduces; as one axis where the length is no multiple.
constexpr shape flat_shape(std::size_t length) {
  shape s{length};
  if (length % flat_block == 0) s = {length / flat_block, flat_block};
  return s;
}
template <class T, std::size_t Length>
using flat_vector =
    std::conditional_t<Length % flat_block == 0,
                       traced<T, dim<"block", Length / flat_block>, dim<"parameter", flat_block>>,
                       traced<T, dim<"parameter", Length>>>;

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
  using vector = flat_vector<T, Length>;
  static constexpr std::size_t vectors = 2 + Optimizer::states;

  template <std::size_t... V, std::size_t... S>
  static constexpr void emit(builder& b, std::index_sequence<V...>, std::index_sequence<S...>) {
    const auto next =
        Optimizer::update(vector(&b, b.input(static_cast<int>(V), dtype_of<T>, flat_shape(Length)))...,
                          traced<T>(&b, b.input(static_cast<int>(vectors + S), dtype_of<T>, {}))...);
    std::apply([&](const auto&... x) { (b.output(detail::node_of(b, x)), ...); }, next);
  }
  static constexpr graph make() {
    builder b;
    emit(b, std::make_index_sequence<vectors>{}, std::make_index_sequence<Optimizer::scalars>{});
    return b.take();
  }
};

namespace detail {

/// Of one axis or two: of each row, and then of those.
constexpr std::int32_t sum_by_rows(builder& b, std::int32_t x) {
  const std::int32_t row[] = {1}, all[] = {0};
  return b.reduce(op::sum, b.shape_of(x).size() == 2 ? b.reduce(op::sum, x, row) : x, all);
}
/// 0 where an element is finite, else NaN.
constexpr std::int32_t zero_if_finite(builder& b, std::int32_t x) { return b.mul(x, b.zeros_like(x)); }

/// Of the gradients, a flat vector that is input 0.
constexpr std::int32_t sum_of_squares(builder& b, dtype type, std::size_t length) {
  const std::int32_t gradients = b.input(0, type, flat_shape(length));
  return sum_by_rows(b, b.mul(gradients, gradients));
}

}  // namespace detail

/// The squared norm of gradients, and NaN where a parameter or a state of the optimizer is not finite: an
/// update would spread that though loss and gradients were finite. Inputs: the flat vectors of gradients,
/// parameters and, if there are any, states.
template <class T, std::size_t Length, std::size_t StateLength>
struct squared_norm_graph {
  static constexpr graph make() {
    builder b;
    std::int32_t squares = detail::sum_of_squares(b, dtype_of<T>, Length);
    add_check(b, squares, b.input(1, dtype_of<T>, flat_shape(Length)));
    if (StateLength > 0) add_check(b, squares, b.input(2, dtype_of<T>, flat_shape(StateLength)));
    b.output(squares);
    return b.take();
  }

 private:
  static constexpr void add_check(builder& b, std::int32_t& squares, std::int32_t x) {
    squares = b.add(squares, detail::sum_by_rows(b, detail::zero_if_finite(b, x)));
  }
};

}  // namespace napkin
