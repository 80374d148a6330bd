// The table of operations as graphs for the device: each operation as an output of its own, in every dtype
// that verify() lets it have. Few kernels, since nvcc compiles them: what can share one does. nvcc reads this
// file too.
#pragma once

#include <array>
#include <type_traits>

#include "napkin/graph/builder.hpp"
#include "napkin/passes/verify.hpp"
#include "support/op_inputs.hpp"

namespace napkin::testing {

/// In each of these every operation is tried.
inline constexpr std::array op_dtypes{dtype::f64, dtype::f32, dtype::bf16, dtype::f16,
                                      dtype::i64, dtype::i32, dtype::u8,   dtype::b8};

namespace detail {

constexpr double low_of(op o) {
  double low = 0;
  with_primitive(o, [&low]<op O>(primitive<O>) {
    if constexpr (is_elementwise(O)) low = primitive<O>::low;
  });
  return low;
}

/// Operation o on inputs of t; -1 for a cast, which has graphs of its own.
constexpr int emit_elementwise(builder& b, op o, dtype t) {
  using namespace op_slot;
  const auto in = [&](int slot) { return b.input(slot, t, {13, 40}); };
  const int first = low_of(o) > 0 && o != op::div ? positive : any;
  if (o == op::cast) return -1;
  if (o == op::random_bits) return b.binary(o, in(any), in(keys));
  if (facts_of(o).arity == 1) return b.unary(o, in(first));
  if (facts_of(o).arity == 2) return b.binary(o, in(first), in(o == op::div ? positive : other));
  if (o == op::select) return b.select(b.binary(op::less, in(other), in(any)), in(any), in(third));
  return b.emit({o, t, b[in(any)].shape_id, std::array{in(any), in(other), in(third)}, {}, 0});
}

/// Over rows, over leading axes, and, of two dtypes, over the one in the middle: a kernel for each, of turned
/// rows.
constexpr int emit_reduction(builder& b, op o, dtype t, int which) {
  if (which == 2 && t != dtype::f32 && t != dtype::bf16) return -1;
  using namespace op_slot;
  constexpr std::int32_t last[] = {2}, leading[] = {0, 1}, middle[] = {1};
  const ids axes = which == 0 ? ids{last} : which == 1 ? ids{leading} : ids{middle};
  const bool quantifies = o == op::any || o == op::all;
  const int slot = !quantifies ? factors : which == 0 ? truths_of_rows : truths_of_columns;
  return b.reduce(o, b.input(slot, t, {6, 20, op_row}), axes);
}

/// What is read in another order than it lies: one kernel, since all results have one shape.
constexpr int emit_view(builder& b, op o, dtype t) {
  using namespace op_slot;
  const int x = b.input(any, t, {7, 9, 10});
  constexpr std::int32_t ones[] = {1, 1, 1}, zeros[] = {0, 0, 0};
  switch (o) {
    case op::expand: {
      constexpr std::int32_t turned[] = {0, 2, 1}, repeated[] = {0, -1, 1}, zero[] = {0, 0}, one[] = {1, 1};
      const int few = b.slice(b.reshape(x, {7, 90}), {7, 10}, zero, one);
      return b.add(b.expand(few, {7, 4, 10}, repeated),
                   b.permute(b.slice(b.reshape(x, {7, 10, 9}), {7, 10, 4}, zeros, ones), turned));
    }
    case op::slice: {
      constexpr std::int32_t start[] = {0, 8, 9}, step[] = {1, -2, -1};
      return b.slice(x, {7, 4, 10}, start, step);
    }
    case op::diagonal: {
      constexpr std::int32_t map[] = {0, 0, 1}, repeated[] = {0, -1, 1};
      return b.expand(b.diagonal(b.slice(x, {7, 7, 10}, zeros, ones), {7, 10}, map), {7, 4, 10}, repeated);
    }
    case op::window:
      return b.window(b.reshape(x, {7, 90}), 1, 4, 10, 9, 20, -1);
    default:
      return -1;
  }
}

/// A scatter_add of others the CPU refuses, with a word on what to do.
constexpr bool adds_on_the_cpu(dtype t) {
  return t == dtype::f64 || t == dtype::f32 || t == dtype::i64 || t == dtype::i32;
}

constexpr int emit_scatter_add(builder& b, dtype t) {
  return b.scatter_add(b.input(op_slot::factors, t, {5, 12, 9}),
                       b.input(op_slot::more_indices, dtype::u8, {12}), {5, op_index_limit, 9}, 1);
}
/// What the library's own kernels move and add up; -1 where there is no such.
constexpr int emit_movement(builder& b, op o, dtype t) {
  using namespace op_slot;
  const int x = b.input(any, t, {7, 9, 10}), y = b.input(other, t, {7, 4, 10});
  switch (o) {
    case op::reshape: {
      constexpr std::int32_t turned[] = {1, 0, 2};
      return b.reshape(b.permute(x, turned), {63, 10});
    }
    case op::pad: {
      constexpr std::int32_t start[] = {1, 9, 3}, step[] = {1, -2, 1};
      return b.pad(y, {9, 11, 17}, start, step);
    }
    case op::concat: {
      const std::int32_t parts[] = {x, y, x};
      return b.concat(parts, 1);
    }
    case op::gather:
      return b.gather(x, b.input(indices, dtype::i32, {3, 2}), 1);
    case op::scatter_add:
      return adds_on_the_cpu(t) ? emit_scatter_add(b, t) : -1;
    case op::einsum: {
      constexpr std::int32_t labels[] = {0, 1, 2, 0, 2, 3, 3, 4}, of_result[] = {1, 0, 4};
      const std::int32_t three[] = {b.input(factors, t, {5, 12, 9}), b.input(more_factors, t, {5, 9, 6}),
                                    b.input(yet_more_factors, t, {6, 8})};
      return b.einsum(three, labels, of_result);
    }
    default:
      return -1;
  }
}

/// Whether `emit` gives a node that verify() takes.
constexpr bool is_legal(auto emit) {
  builder b;
  const int id = emit(b);
  if (id < 0) return false;
  b.output(id);
  return passes::verify(b.view()).none();
}

template <class F>
constexpr graph made_of_legal(op first, op last, F emit) {
  builder b;
  b.simplify = true;  // inputs are nodes once
  for (auto o = first; o <= last; o = static_cast<op>(static_cast<int>(o) + 1))
    for (int which = 0; which < (is_reduction(o) ? 3 : 1); ++which) {
      const auto one = [&](builder& to) { return emit(to, o, which); };
      if (is_legal(one)) b.output(one(b));
    }
  return b.take();
}

}  // namespace detail

/// Elementwise, from one row of the table to another.
template <dtype T, op First, op Last>
struct elementwise_ops {
  static constexpr graph make() {
    return detail::made_of_legal(First, Last,
                                 [](builder& b, op o, int) { return detail::emit_elementwise(b, o, T); });
  }
};
template <dtype T>
struct reduction_ops {
  static constexpr graph make() {
    return detail::made_of_legal(
        op::sum, op::all, [](builder& b, op o, int which) { return detail::emit_reduction(b, o, T, which); });
  }
};
template <dtype T>
struct view_ops {
  static constexpr graph make() {
    return detail::made_of_legal(op::expand, op::window,
                                 [](builder& b, op o, int) { return detail::emit_view(b, o, T); });
  }
};
template <dtype T>
struct movement_ops {
  static constexpr graph make() {
    return detail::made_of_legal(op::expand, op::scatter_add,
                                 [](builder& b, op o, int) { return detail::emit_movement(b, o, T); });
  }
};
/// To every other dtype.
template <dtype T>
struct cast_ops {
  static constexpr graph make() {
    builder b;
    const int x = b.input(op_slot::to_cast, T, {5, 64});
    for (const dtype to : all_dtypes)
      if (to != T && !is_complex(to)) b.output(b.cast(x, to));
    return b.take();
  }
};
/// From the dtypes that nothing else here is in.
struct cast_others {
  static constexpr graph make() {
    builder b;
    int slot = op_slot::first_to_cast;
    for (const dtype from : {dtype::f8e4m3, dtype::f8e5m2, dtype::i16, dtype::i8, dtype::u32, dtype::u16})
      b.output(b.cast(b.input(slot++, from, {256}), dtype::f32));
    return b.take();
  }
};

/// That the CPU refuses.
template <dtype T>
struct scatter_ops {
  static_assert(!detail::adds_on_the_cpu(T));
  static constexpr graph make() {
    builder b;
    b.output(detail::emit_scatter_add(b, T));
    return b.take();
  }
};

/// What only moves takes a dtype by its size.
constexpr bool is_one_of_its_size(dtype t) {
  return t == dtype::f64 || t == dtype::f32 || t == dtype::f16 || t == dtype::u8;
}

/// f(type_identity<graph>) for each.
template <class F>
constexpr void for_each_op_graph(F&& f) {
  const auto of_dtype = [&f]<std::size_t I>(std::integral_constant<std::size_t, I>) {
    constexpr dtype t = op_dtypes[I];
    if constexpr (is_floating(t)) {
      f(std::type_identity<elementwise_ops<t, op::neg, op::stop_gradient>>{});
      f(std::type_identity<elementwise_ops<t, op::add, op::fma>>{});
    } else {  // in one kernel wide integers spill on an A100 or a B200
      f(std::type_identity<elementwise_ops<t, op::neg, op::pow>>{});
      f(std::type_identity<elementwise_ops<t, op::maximum, op::fma>>{});
    }
    f(std::type_identity<reduction_ops<t>>{});
    if constexpr (is_one_of_its_size(t)) f(std::type_identity<view_ops<t>>{});
    f(std::type_identity<movement_ops<t>>{});
    f(std::type_identity<cast_ops<t>>{});
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (of_dtype(std::integral_constant<std::size_t, I>{}), ...);
  }
  (std::make_index_sequence<op_dtypes.size()>{});
  f(std::type_identity<cast_others>{});
}

/// The same, and what a GPU does besides.
template <class F>
constexpr void for_each_op_graph_of_gpus(F&& f) {
  for_each_op_graph(f);
  f(std::type_identity<scatter_ops<dtype::bf16>>{});
  f(std::type_identity<scatter_ops<dtype::f16>>{});
  f(std::type_identity<scatter_ops<dtype::u8>>{});
}

}  // namespace napkin::testing
