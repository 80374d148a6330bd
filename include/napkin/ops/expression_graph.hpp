// From a lazy expression's type to its graph, whose inputs are the expression's tensors, views and numbers in
// order, and, behind them, the sizes of axes that are known at run time. Knows how each operation's node is
// made, and no pass.
#pragma once

#include <cstddef>
#include <cstdint>

#include "napkin/graph/bind_run_time_sizes.hpp"
#include "napkin/ops/expression.hpp"

namespace napkin {

namespace detail {

/// How the graph of an expression is built, as a constant: a leaf, or an operation over what becomes of its
/// operands. Data, where a function for each expression would take the compilers an instantiation each.
struct replay_step {
  std::size_t operand_count = 0;
  const replay_step* const* operands = nullptr;
  op kind = op::input;                      // of an elementwise operation
  dtype type = dtype::f32;                  // of a leaf
  const shape* sizes = nullptr;             // of the result
  const std::ptrdiff_t* strides = nullptr;  // of a leaf that is not contiguous
  const std::int32_t* alignments[3] = {};   // of an elementwise operation: alignment_onto (ops/broadcast.hpp)
  std::int32_t (*emit)(builder& b, const std::int32_t* operands) = nullptr;  // of another
  // Which of those there are: with sanitizers on, g++ 12 compares no address with null.
  bool is_strided = false, is_aligned[3] = {}, is_emitted = false;
};
template <class X>
struct replay_of;  // ::value; classes: nvcc takes no specialisation of a constant that has a requires-clause

template <class X>
requires(TensorLike<X>) struct replay_of<X> {
  static constexpr replay_step value{.type = dtype_of<typename X::element>,
                                     .sizes = traced_shape<axes_of<X>>(),
                                     .strides = is_contiguous<X> ? nullptr : X::layout::values.data(),
                                     .is_strided = !is_contiguous<X>};
};
template <class T>
struct replay_of<scalar<T>> {
  static constexpr replay_step value{.type = dtype_of<T>, .sizes = &shape_over<axes<>>};
};

/// After an error: what it costs and how it is planned are asked all the same.
constexpr std::int32_t emit_failed(builder& b, const std::int32_t*) { return b.constant(0, dtype::f32, {}); }
template <class X>
requires(is_failed<X>) struct replay_of<X> {
  static constexpr replay_step value{.emit = &emit_failed, .is_emitted = true};
};

template <class... Xs>
inline constexpr const replay_step* replays_of[] = {&replay_of<Xs>::value..., nullptr};
template <class Op, class T, class Axes, class... Xs>
struct replay_of<expression<Op, T, Axes, Xs...>> {
  static constexpr replay_step value{
      .operand_count = sizeof...(Xs), .operands = replays_of<Xs...>, .emit = &Op::emit, .is_emitted = true};
};

constexpr std::int32_t emit_leaf(builder& b, std::int32_t slot, const replay_step& x) {
  if (!x.is_strided) return b.input(slot, x.type, *x.sizes);
  std::int32_t attributes[max_rank + 1] = {slot};
  const std::size_t rank = x.sizes->size();
  for (std::size_t i = 0; i < rank; ++i) {
    attributes[i + 1] = static_cast<std::int32_t>(x.strides[i]);
    if (attributes[i + 1] != x.strides[i])
      throw "a view whose strides pass 2^31 elements is not computed with: contiguous(x) copies it";
  }
  return b.emit({op::input, x.type, b.result.intern(*x.sizes), {}, {attributes, rank + 1}, 0});
}
/// Operand x over the axes of this shape, if it is to be aligned to them.
constexpr std::int32_t expand_to(builder& b, std::int32_t x, bool aligned, const std::int32_t* alignment,
                                 const shape& to) {
  return aligned ? b.expand(x, to, {alignment, to.count}) : x;
}
constexpr std::int32_t emit_elementwise(builder& b, op o, const std::int32_t* xs, std::size_t count) {
  if (count == 1) return b.unary(o, xs[0]);
  if (o == op::select) return b.select(xs[0], xs[1], xs[2]);
  if (o == op::fma) return b.fma(xs[0], xs[1], xs[2]);
  return b.binary(o, xs[0], xs[1]);
}
/// The node of x, after those of its operands; leaves are counted by slot.
constexpr std::int32_t replay(builder& b, std::int32_t& slot, const replay_step& x) {
  const std::size_t count = x.operand_count;
  if (x.is_emitted) {
    buffer<std::int32_t> operands(count);
    for (std::size_t k = 0; k < count; ++k) operands.items[k] = replay(b, slot, *x.operands[k]);
    return x.emit(b, operands.items);
  }
  if (count == 0) return emit_leaf(b, slot++, x);
  std::int32_t over[3] = {};
  for (std::size_t k = 0; k < count; ++k)
    over[k] = expand_to(b, replay(b, slot, *x.operands[k]), x.is_aligned[k], x.alignments[k], *x.sizes);
  return emit_elementwise(b, x.kind, over, count);
}
/// Not bound: sizes that are known at run time are marked.
constexpr graph trace(const replay_step& x, bool simplify) {
  builder b;
  b.simplify = simplify;
  std::int32_t slot = 0;
  b.output(replay(b, slot, x));
  return b.take();
}

/// Tensors, views and numbers of an expression, each as often as it stands there.
constexpr std::size_t count_leaves(const replay_step& x) {
  if (x.operand_count == 0) return !x.is_emitted;
  std::size_t n = 0;
  for (std::size_t k = 0; k < x.operand_count; ++k) n += count_leaves(*x.operands[k]);
  return n;
}
template <class E>
inline constexpr std::size_t leaves_of = count_leaves(replay_of<E>::value);

/// Whether some leaf has an axis that is sized at run time.
constexpr bool has_run_time_sizes(const replay_step& x) {
  if (x.operand_count == 0 && !x.is_emitted)
    for (const std::size_t size : *x.sizes)
      if (is_run_time_size(size)) return true;
  for (std::size_t k = 0; k < x.operand_count; ++k)
    if (has_run_time_sizes(*x.operands[k])) return true;
  return false;
}
/// As plans are made of it.
constexpr graph make_simplified(const replay_step& x) { return bind_run_time_sizes(trace(x, true), true); }
/// Of operands of the given sizes, in the order of run_time_slots.
constexpr graph make_at(const replay_step& x, const std::size_t* sizes) {
  const graph traced = trace(x, true);
  return at_run_time_sizes(traced.view(), true, sizes);
}
template <class E>
inline constexpr bool is_sized_at_run_time = has_run_time_sizes(replay_of<E>::value);
template <class E>
inline constexpr run_time_slots run_time_slots_of =
    slots_of_run_time_sizes(trace(replay_of<E>::value, false).view());

/// take(x) for each tensor, view and number of an expression, in the order of its graph's inputs.
template <class X, class Take>
void for_each_leaf(const X& x, const Take& take) {
  take(x);
}
template <class Op, class T, class Axes, class... Xs, class Take>
void for_each_leaf(const expression<Op, T, Axes, Xs...>& e, const Take& take) {
  e.operands.each([&take](const auto& x) { for_each_leaf(x, take); });
}

}  // namespace detail

/// The graph of a lazy expression's type: its leaves are the inputs, in order.
template <class E>
struct expression_graph {
  static constexpr graph make() {
    return bind_run_time_sizes(detail::trace(detail::replay_of<E>::value, false), false,
                               behind_the_end::nothing);
  }
  /// For plans, which are made of it within the same constant evaluation.
  static constexpr graph make_simplified() { return detail::make_simplified(detail::replay_of<E>::value); }
};

}  // namespace napkin
