// An optimizer's step as graphs over flat vectors: all parameters of a group lie behind one another, and groups
// that differ in numbers alone do too, so that all of them are one elementwise kernel, and the global norm one
// reduction.
//
// An optimizer is a struct, a description that owns nothing:
//   name, states, state_names   what it keeps for each element of a parameter, zero before the first step
//   options                     what a run may set; options::mistake() says what is wrong with it, or null
//   scalars, fill(options, learning_rate, decay, step, clip, to)   the numbers that a step needs, inputs of
//                               the graph; decay: what the group multiplies the weight decay with; step
//                               counts from 1; clip: what gradients are multiplied with first; it is the
//                               first of the numbers, where a GPU puts what it finds itself
//   of_group                    which of the numbers learning_rate and decay change: those that a kernel of
//                               several groups chooses for each block; without it, all but the first
//   update(p, g, states..., scalars...)   the next value and states, of any dtype; of zeros, which padding
//                               is, finite
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

/// Groups behind one another in flat vectors, updated at once: elements of each, multiples of flat_block
/// where there are several.
template <std::size_t... Lengths>
struct group_lengths {
  static constexpr std::size_t count = sizeof...(Lengths), total = (Lengths + ... + 0);
  static constexpr std::size_t value[count] = {Lengths...};
};

/// Updates matrices by Optimizer::matrices and all else by Optimizer::others.
template <class Optimizer>
concept OptimizerOfMatrices = requires {
  typename Optimizer::matrices;
  typename Optimizer::others;
};

namespace detail {

// Of options: NaN is neither.
constexpr bool is_below_one(double x) { return x >= 0 && x < 1; }
constexpr bool is_amount(double x) { return x >= 0 && x <= 1.7976931348623157e308; }
/// Of what is added to a divisor. The padding of flat vectors is 0, and 0 / 0 there would be a parameter that
/// is not finite: no step would be taken any more. 2^-150 and less is 0 in f32.
constexpr bool is_amount_above_zero(double x) { return is_amount(x) && x > 0x1p-150; }

/// The numbers of a step, to an array of whatever dtype the graph is in.
template <class T, std::size_t N>
constexpr void hand_over(const double (&values)[N], T* to) {
  for (std::size_t i = 0; i < N; ++i) to[i] = static_cast<T>(values[i]);
}

/// Whether a rule's number depends on the group.
template <class Rule>
constexpr bool is_of_group(std::size_t number) {
  if constexpr (requires { Rule::of_group; }) {
    for (const std::size_t n : Rule::of_group)
      if (n == number) return true;
    return false;
  } else {
    return number > 0;
  }
}

/// The numbers of a rule as inputs of a graph, two of them: the first number, which is the same for all
/// groups, and a table of all numbers, a row for each group. Of several groups each number is one for each
/// block of the flat vectors: a kernel chooses it once a row.
template <class Rule, class T, class Groups>
struct group_numbers {
  static constexpr std::size_t blocks = Groups::total / flat_block;
  using number = std::conditional_t<Groups::count == 1, traced<T>, traced<T, dim<"block", blocks>>>;

  builder& b;
  std::int32_t first, table;

  constexpr group_numbers(builder& to, int slot)
      : b(to),
        first(b.input(slot, dtype_of<T>, {})),
        table(b.input(slot + 1, dtype_of<T>, {Groups::count, Rule::scalars})) {}

  constexpr number operator[](std::size_t n) const {
    if constexpr (Groups::count == 1) {
      return {&b, n == 0 ? first : of_group(0, n)};
    } else {
      const shape each{blocks};
      if (n == 0) return {&b, b.fill(first, each)};
      std::int32_t x = b.fill(of_group(Groups::count - 1, n), each);
      if (!is_of_group<Rule>(n)) return {&b, x};
      std::size_t end = blocks;
      for (std::size_t g = Groups::count - 1; g > 0; --g) {
        end -= Groups::value[g] / flat_block;
        const auto border = b.constant(static_cast<double>(end), dtype::i32, each);
        x = b.select(b.binary(op::less, b.iota(0, dtype::i32, each), border),
                     b.fill(of_group(g - 1, n), each), x);
      }
      return {&b, x};
    }
  }

 private:
  constexpr std::int32_t of_group(std::size_t group, std::size_t n) const {
    const std::int32_t start[] = {static_cast<std::int32_t>(group), static_cast<std::int32_t>(n)},
                       step[] = {1, 1};
    return b.reshape(b.slice(table, {1, 1}, start, step), {});
  }
};

}  // namespace detail

/// Inputs: p, g, the states, the first of the numbers, the numbers of each group. Outputs: the next p, the
/// next states.
template <class Optimizer, class T, class Groups>
struct optimizer_graph {
  using vector = flat_vector<T, Groups::total>;
  static constexpr std::size_t vectors = 2 + Optimizer::states;

  template <std::size_t... V, std::size_t... S>
  static constexpr void emit(builder& b, std::index_sequence<V...>, std::index_sequence<S...>) {
    const vector x[] = {{&b, b.input(static_cast<int>(V), dtype_of<T>, flat_shape(Groups::total))}...};
    const detail::group_numbers<Optimizer, T, Groups> numbers(b, vectors);
    const typename decltype(numbers)::number n[] = {numbers[S]...};
    const auto next = Optimizer::update(x[V]..., n[S]...);
    std::apply([&](const auto&... y) { (b.output(detail::node_of(b, y)), ...); }, next);
  }
  static constexpr graph make() {
    builder b;
    emit(b, std::make_index_sequence<vectors>{}, std::make_index_sequence<Optimizer::scalars>{});
    return b.take();
  }
};

namespace detail {

/// Of each row of two axes.
constexpr std::int32_t sums_of_rows(builder& b, std::int32_t x) {
  const std::int32_t row[] = {1};
  return b.reduce(op::sum, x, row);
}
/// Of one axis or two: of each row, and then of those.
constexpr std::int32_t sum_by_rows(builder& b, std::int32_t x) {
  const std::int32_t all[] = {0};
  return b.reduce(op::sum, b.shape_of(x).size() == 2 ? sums_of_rows(b, x) : x, all);
}
/// 0 where an element is finite, else NaN.
constexpr std::int32_t zero_if_finite(builder& b, std::int32_t x) { return b.mul(x, b.zeros_like(x)); }

/// Of the gradients, a flat vector that is input 0.
constexpr std::int32_t squares(builder& b, dtype type, std::size_t length) {
  const std::int32_t gradients = b.input(0, type, flat_shape(length));
  return b.mul(gradients, gradients);
}

}  // namespace detail

/// What gradients begin as where several micro-batches add theirs: a flat vector of zeros.
template <class T, std::size_t Length>
struct zero_graph {
  static constexpr graph make() {
    builder b;
    b.output(b.constant(0, dtype_of<T>, flat_shape(Length)));
    return b.take();
  }
};

/// The squared norm of gradients, and NaN where a parameter or a state of the optimizer is not finite: an
/// update would spread that though loss and gradients were finite. Inputs: the flat vectors of gradients,
/// parameters and, if there are any, states.
template <class T, std::size_t Length, std::size_t StateLength>
struct squared_norm_graph {
  static constexpr graph make() {
    builder b;
    std::int32_t squares = detail::sum_by_rows(b, detail::squares(b, dtype_of<T>, Length));
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
