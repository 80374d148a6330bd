// Reading and adding at positions that are data, by name of axis: gather, scatter_add, one_hot.
#pragma once

#include "napkin/ops/axes.hpp"
#include "napkin/ops/broadcast.hpp"

namespace napkin {

namespace rule {

/// call<"gather">, of_type<T>
template <class... Facts>
struct indices_are_no_integers {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "gather, scatter_add, one_hot: indices must be integers, as of u16 or i32");
};
/// call<"f">, type<what was given>
template <class... Facts>
struct index_is_a_number {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "gather, one_hot, cross_entropy: indices are a tensor of integers, tensor<i32, batch>; of one position "
      "slice<\"vocab\", 3, 4>(x) is a view");
};
/// from<As...>, to<Bs...>
template <class... Facts>
struct values_lack_an_index_axis {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "scatter_add: the values must have every axis of the indices, to be added where these say");
};

}  // namespace rule

namespace detail {

template <fixed_string Call, class X, class I>
using number_as_index = unless_failed<rule::index_is_a_number<fact::call<Call>, fact::type<I>>, X>;

template <std::size_t Axis>
struct gather_op {
  using called = fact::call<"gather">;
  static constexpr std::int32_t emit(builder& b, const std::int32_t* xs) {
    return b.gather(xs[0], xs[1], static_cast<int>(Axis));
  }
};

/// Axes of what a table holds at indices along the axis at a position.
template <std::size_t At, class X, class I>
using gathered_axes = axes_with<axes_of<X>, At, axes_of<I>>;

template <fixed_string Call, fixed_string Name, class X, class I>
constexpr auto find_gather_mistake() {
  if constexpr (is_failed<X> || is_failed<I>) {
    return std::type_identity<silent>{};
  } else if constexpr (is_mistake<non_operand<X, I>>) {
    return find_non_operand<X, I>();
  } else {
    using named = named_axes<axes_of<X>, Name>;
    if constexpr (!named::good) {
      return named::template find_mistake<Call>();
    } else if constexpr (!is_integer(dtype_of<typename I::element>)) {
      return std::type_identity<
          rule::indices_are_no_integers<fact::call<Call>, fact::of_type<dtype_of<typename I::element>>>>{};
    } else if constexpr (!dtype_fits(op::stop_gradient, dtype_of<typename X::element>)) {
      return find_dtype_mistake<op::stop_gradient, typename X::element>();
    } else if constexpr (named::template at<0>::dynamic) {
      return std::type_identity<
          rule::axis_sized_at_run_time<fact::call<Call>, fact::axis<typename named::template at<0>>>>{};
    } else {
      using to = gathered_axes<static_cast<std::size_t>(named::positions[0]), X, I>;
      if constexpr (!distinct<to>)
        return find_repetition<Call>(to{});
      else
        return find_operation_mistake<fact::call<Call>, to, X, I>();
    }
  }
}
template <fixed_string Call, fixed_string Name, class X, class I>
using gather_mistake = typename decltype(find_gather_mistake<Call, Name, X, I>())::type;

}  // namespace detail

/// What the table holds at each index along one axis; the axes of the indices take that axis's place. An
/// index outside the table is an error where it is seen (on the CPU: input_error).
///
/// Shape     gather<"vocab">(table, tokens): (vocab, embed) and (batch, seq) -> (batch, seq, embed)
/// Cost      one copy
/// Gradient  scatter_add into the table
/// Example   auto x = nk::gather<"vocab">(embedding, tokens);
template <fixed_string Name, detail::ElementwiseArgument X, detail::ElementwiseArgument I>
constexpr auto gather(const X& table, const I& indices) {
  using mistake = detail::gather_mistake<"gather", Name, X, I>;
  if constexpr (is_mistake<mistake>) {
    return mistake::raise(detail::by<X, I>);
  } else {
    constexpr auto at = static_cast<std::size_t>(detail::named_axes<axes_of<X>, Name>::positions[0]);
    return apply<detail::gather_op<at>, typename X::element, detail::gathered_axes<at, X, I>>(table, indices);
  }
}
template <detail::ElementwiseOperand X, class... Wrong>
constexpr auto gather(const X&, const Wrong&...) {  // refused
  return detail::axes_refused<"gather", X, Wrong...>::raise(detail::by<X, Wrong...>);
}
template <fixed_string Name, detail::ElementwiseOperand X, class I>
requires(detail::is_number<I>) constexpr auto gather(const X&, const I&) {  // refused
  return detail::number_as_index<"gather", X, I>::raise(detail::by<X, I>);
}
/// An axis by type or by number: refused.
template <Axis D, Axis... Ds, class... Xs>
constexpr auto gather(const Xs&...) {
  return detail::types_refused<"gather", axes<D, Ds...>, Xs...>::raise(detail::by<Xs...>);
}
template <std::ptrdiff_t I, std::ptrdiff_t... Is, class... Xs>
constexpr auto gather(const Xs&...) {
  return detail::numbers_refused<"gather", fact::numbers<I, Is...>, Xs...>::raise(detail::by<Xs...>);
}

namespace detail {

/// How values lie for a scatter: their own other axes, with the axes of the indices, in the indices' order,
/// where the first of them stands.
template <class Values, class Indices>
struct scatter_layout {
  struct answer {
    bool possible = true;
    int two_sizes = -1;  // an axis of the indices that has another size in the values
    std::size_t at = 0;
    axis_positions order, others;
  };
  static constexpr answer look() {
    const auto& values = infos_of<Values>::value;
    const auto& indices = infos_of<Indices>::value;
    answer a;
    axis_positions theirs;
    for (std::size_t i = 0; i < Indices::rank; ++i) {
      const int at = indices[i].name.empty() ? -1 : find_axis(values, indices[i].name);
      if (at >= 0 && !same_axis_info(values[static_cast<std::size_t>(at)], indices[i]))
        a.two_sizes = static_cast<int>(i);
      if (at < 0 || a.two_sizes >= 0) {
        a.possible = false;
        return a;
      }
      theirs.push_back(at);
    }
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(Values::rank); ++i) {
      if (!theirs.contains(i)) {
        a.order.push_back(i);
        a.others.push_back(i);
      } else if (a.others.size() == a.order.size()) {
        a.at = a.others.size();
        for (const std::int32_t k : theirs) a.order.push_back(k);
      }
    }
    return a;
  }
  static constexpr answer value = look();
  struct others {
    static constexpr axis_positions positions = value.others;
  };
  template <class D>
  using to = joined_axes<axes_between<picked_axes<Values, others>, 0, value.at>, axes<D>,
                         axes_between<picked_axes<Values, others>, value.at, value.others.size()>>;
};

template <class Values, class Indices, class D>
struct scatter_add_op {
  using called = fact::call<"scatter_add">;
  using layout = scatter_layout<Values, Indices>;
  using to = typename layout::template to<D>;
  static constexpr std::int32_t emit(builder& b, const std::int32_t* xs) {
    const axis_positions& order = layout::value.order;
    bool moves = false;
    for (std::size_t i = 0; i < order.size(); ++i) moves = moves || order[i] != static_cast<std::int32_t>(i);
    const std::int32_t values = moves ? b.permute(xs[0], {order.data(), order.size()}) : xs[0];
    return b.scatter_add(values, xs[1], traced_shape_over<to>(), static_cast<int>(layout::value.at));
  }
};

template <class Values, class Indices>
struct scatter_complaint;
template <class... Vs, class... Is>
struct scatter_complaint<axes<Vs...>, axes<Is...>> {
  static constexpr auto find() {
    constexpr int two_sizes = scatter_layout<axes<Vs...>, axes<Is...>>::value.two_sizes;
    if constexpr (two_sizes >= 0) {
      using D = axis_at<static_cast<std::size_t>(two_sizes), Is...>;
      using E = axis_at<static_cast<std::size_t>(axis_index<D::name, Vs...>), Vs...>;
      return std::type_identity<two_sizes_mistake<D, E, fact::call<"scatter_add">>>{};
    } else {
      return std::type_identity<rule::values_lack_an_index_axis<fact::from<Vs...>, fact::to<Is...>>>{};
    }
  }
  using mistake = typename decltype(find())::type;
};

}  // namespace detail

/// gather's adjoint: zeros along a new axis D, where each value is added at its index. The axes of the
/// indices, which the values must have, give way to D. Values of one index are added in order of position.
///
/// Shape     scatter_add<vocab>(values, tokens): (batch, seq, embed) and (batch, seq) -> (vocab, embed)
/// Cost      1 elementwise FLOP for each value
/// Gradient  gather at the same indices
template <Axis D, detail::ElementwiseArgument X, detail::ElementwiseArgument I>
constexpr auto scatter_add(const X& values, const I& indices) {
  if constexpr (is_failed<X> || is_failed<I>) {
    return failed{};
  } else if constexpr (is_mistake<detail::non_operand<X, I>>) {
    return detail::non_operand<X, I>::raise(detail::by<X, I>);
  } else if constexpr (!is_integer(dtype_of<typename I::element>)) {
    return rule::indices_are_no_integers<
        fact::call<"scatter_add">, fact::of_type<dtype_of<typename I::element>>>::raise(detail::by<X, I>);
  } else if constexpr (!detail::dtype_fits(op::add, dtype_of<typename X::element>)) {
    return detail::dtype_mistake<op::add, typename X::element>::raise(detail::by<X, I>);
  } else if constexpr (!detail::scatter_layout<axes_of<X>, axes_of<I>>::value.possible) {
    return detail::scatter_complaint<axes_of<X>, axes_of<I>>::mistake::raise(detail::by<X, I>);
  } else {
    using scatter = detail::scatter_add_op<axes_of<X>, axes_of<I>, D>;
    if constexpr (!detail::distinct<typename scatter::to>) {
      return detail::repetition<"scatter_add", typename scatter::to>::raise(detail::by<X, I>);
    } else {
      using mistake = detail::operation_mistake<fact::call<"scatter_add">, typename scatter::to, X, I>;
      if constexpr (D::dynamic)
        return rule::axis_sized_at_run_time<fact::call<"scatter_add">, fact::axis<D>>::raise(
            detail::by<X, I>);
      else if constexpr (is_mistake<mistake>)
        return mistake::raise(detail::by<X, I>);
      else
        return apply<scatter, typename X::element, typename scatter::to>(values, indices);
    }
  }
}
template <std::size_t Size, class... Xs>
constexpr auto scatter_add(const Xs&...) {  // refused
  return detail::new_sizes_refused<"scatter_add", fact::numbers<Size>, Xs...>::raise(detail::by<Xs...>);
}
template <fixed_string Name, fixed_string... Names, class... Xs>
constexpr auto scatter_add(const Xs&...) {  // refused
  return rule::new_axes_are_types<fact::call<"scatter_add">, fact::named<Name>, fact::named<Names>...>::raise(
      detail::by<Xs...>);
}

namespace detail {

template <class Axes, class D, dtype Index>
struct one_hot_op {
  using called = fact::call<"one_hot">;
  using to = joined_axes<Axes, axes<D>>;
  static constexpr std::int32_t emit(builder& b, const std::int32_t* xs) {
    // i32 holds every position and every index but those of i64 and u32.
    constexpr dtype wide = Index == dtype::i64 || Index == dtype::u32 ? dtype::i64 : dtype::i32;
    axis_positions map = position_range<0, Axes::rank>::positions;
    map.push_back(-1);
    const shape s = traced_shape_over<to>();
    const std::int32_t index = b.expand(b.cast(xs[0], wide), s, {map.data(), map.size()});
    return b.binary(op::equal, index, b.iota(static_cast<int>(Axes::rank), wide, s));
  }
};

}  // namespace detail

/// Whether the position along a new last axis D is the index; of b8, false everywhere for an index outside D.
///
/// Shape     one_hot<vocab>(tokens): (batch, seq) -> (batch, seq, vocab)
template <Axis D, detail::ElementwiseArgument I>
constexpr auto one_hot(const I& indices) {
  if constexpr (is_failed<I>) {
    return failed{};
  } else if constexpr (is_mistake<detail::non_operand<I>>) {
    return detail::non_operand<I>::raise(detail::by<I>);
  } else if constexpr (!is_integer(dtype_of<typename I::element>)) {
    return rule::indices_are_no_integers<fact::call<"one_hot">,
                                         fact::of_type<dtype_of<typename I::element>>>::raise(detail::by<I>);
  } else {
    using hot = detail::one_hot_op<axes_of<I>, D, dtype_of<typename I::element>>;
    if constexpr (!detail::distinct<typename hot::to>) {
      return detail::repetition<"one_hot", typename hot::to>::raise(detail::by<I>);
    } else {
      using mistake = detail::operation_mistake<fact::call<"one_hot">, typename hot::to, I>;
      using made = detail::new_axis_mistake<fact::call<"one_hot">, D, detail::is_traced_operand<I>>;
      if constexpr (is_mistake<made>)
        return made::raise(detail::by<I>);
      else if constexpr (is_mistake<mistake>)
        return mistake::raise(detail::by<I>);
      else
        return apply<hot, b8, typename hot::to>(indices);
    }
  }
}
template <Axis D, class I>
requires(detail::is_number<I>) constexpr auto one_hot(const I&) {  // refused
  return detail::number_as_index<"one_hot", I, I>::raise(detail::by<I>);
}
template <std::size_t Size, class... Xs>
constexpr auto one_hot(const Xs&...) {  // refused
  return detail::new_sizes_refused<"one_hot", fact::numbers<Size>, Xs...>::raise(detail::by<Xs...>);
}
template <detail::ElementwiseOperand I, class... Wrong>
constexpr auto one_hot(const I&, const Wrong&...) {  // refused
  using mistake = rule::new_axes_are_types<fact::call<"one_hot">, fact::type<I>, fact::type<Wrong>...>;
  return detail::unless_failed<mistake, I>::raise(detail::by<I, Wrong...>);
}
template <fixed_string Name, fixed_string... Names, class... Xs>
constexpr auto one_hot(const Xs&...) {  // refused
  return rule::new_axes_are_types<fact::call<"one_hot">, fact::named<Name>, fact::named<Names>...>::raise(
      detail::by<Xs...>);
}

}  // namespace napkin
