// Operands behind one another along one axis.
#pragma once

#include <initializer_list>

#include "napkin/ops/axes.hpp"
#include "napkin/ops/broadcast.hpp"

namespace napkin {

namespace rule {
/// from<As...>, to<Bs...>
template <class... Facts>
struct concat_axes_differ {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "concat: apart from the axis along which they are joined, the operands' axes must be the "
      "same");
};
/// type<X>...
template <class... Facts>
struct concat_of_a_number {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "concat: a number has no axis along which it could be joined: full<f32, axes...>(2) is a tensor of "
      "it");
};
/// type<X>...
template <class... Facts>
struct concat_of_a_list {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "concat: each operand is an argument, concat<\"seq\">(x, y, z): the result's type has its size, and "
      "no list's type says how many it has");
};
}  // namespace rule

namespace detail {

/// Operands joined along the axis called Name, in the order of the first one's axes.
template <fixed_string Name, class First, class... Rest>
struct concat_op {
  using called = fact::call<"concat">;
  using named = named_axes<First, Name>;
  static constexpr auto at = static_cast<std::size_t>(named::positions[0]);
  /// The first's axes with another operand's own joined axis.
  template <class Axes>
  using wanted = axes_with<First, at, typename named_axes<Axes, Name>::all>;
  template <class Axes>
  static constexpr bool fits() {
    if constexpr (Axes::rank == First::rank)
      return axes_alignment<Axes, wanted<Axes>>::value.possible;
    else
      return false;
  }
  template <class Axes>
  static constexpr std::size_t size_in() {
    return size_of_all(typename named_axes<Axes, Name>::all{});
  }

  static constexpr std::int32_t emit(builder& b, const std::int32_t* xs) {
    return run(b, xs, std::make_index_sequence<sizeof...(Rest)>{});
  }
  template <std::size_t... I>
  static constexpr std::int32_t run(builder& b, const std::int32_t* xs, std::index_sequence<I...>) {
    const std::int32_t parts[] = {
        xs[0], expand_to(b, xs[I + 1], !same_axes<Rest, wanted<Rest>>, alignment_onto<Rest, wanted<Rest>>,
                         traced_shape_over<wanted<Rest>>())...};
    return b.concat({parts, sizeof...(Rest) + 1}, static_cast<int>(at));
  }
};

template <class X>
inline constexpr bool is_list_of_operands = requires {
  requires !is_operand<X> && is_operand<typename X::value_type>;
};

template <class... As, class... Bs>
constexpr auto find_difference(axes<As...>, axes<Bs...>) {
  return std::type_identity<rule::concat_axes_differ<fact::from<As...>, fact::to<Bs...>>>{};
}
/// Of the first operand that does not fit.
template <class Op, class First, class Next, class... Rest>
constexpr auto find_first_misfit() {
  if constexpr (!Op::template fits<Next>())
    return find_difference(First{}, Next{});
  else
    return find_first_misfit<Op, First, Rest...>();
}
template <class Op, class... Axes>
using misfit = typename decltype(find_first_misfit<Op, Axes...>())::type;
template <fixed_string Call, fixed_string Name, class First, class... Rest>
constexpr auto find_first_without() {
  if constexpr (!named_axes<First, Name>::good)
    return named_axes<First, Name>::template find_mistake<Call>();
  else
    return find_first_without<Call, Name, Rest...>();
}
template <fixed_string Call, fixed_string Name, class... Axes>
using lack_of_axis = typename decltype(find_first_without<Call, Name, Axes...>())::type;

}  // namespace detail

/// Operands behind one another along one axis; the others are the same, in any order.
///
/// Shape     concat<"seq">(x, y): (batch, seq=3) and (batch, seq=5) -> (batch, dim<"seq", 8>)
/// Cost      one copy
/// Gradient  a slice for each operand
template <fixed_string Name, detail::ElementwiseArgument X, detail::ElementwiseArgument... Xs>
constexpr auto concat(const X& x, const Xs&... xs) {
  if constexpr (is_failed<X> || (is_failed<Xs> || ...)) {
    return failed{};
  } else if constexpr (is_mistake<detail::non_operand<X, Xs...>>) {
    return detail::non_operand<X, Xs...>::raise(detail::by<X, Xs...>);
  } else if constexpr (!(detail::named_axes<axes_of<X>, Name>::good && ... &&
                         detail::named_axes<axes_of<Xs>, Name>::good)) {
    return detail::lack_of_axis<"concat", Name, axes_of<X>, axes_of<Xs>...>::raise(detail::by<X, Xs...>);
  } else {
    using joining = detail::spelled_with<detail::concat_op, Name, axes_of<X>, axes_of<Xs>...>;
    using T = typename X::element;
    using D = typename joining::named::template at<0>;
    constexpr bool dynamic = (detail::some_dynamic(typename joining::named::all{}) || ... ||
                              detail::some_dynamic(typename detail::named_axes<axes_of<Xs>, Name>::all{}));
    if constexpr (dynamic) {
      return rule::axis_sized_at_run_time<fact::call<"concat">, fact::axis<D>>::raise(detail::by<X, Xs...>);
    } else if constexpr (detail::is_composed<D>) {
      return rule::axis_is_composed<fact::call<"concat">, fact::axis<D>>::raise(detail::by<X, Xs...>);
    } else if constexpr (!(joining::template fits<axes_of<Xs>>() && ...)) {
      return detail::misfit<joining, axes_of<X>, axes_of<Xs>...>::raise(detail::by<X, Xs...>);
    } else if constexpr (!(std::is_same_v<T, typename Xs::element> && ...)) {
      return rule::operands_differ_in_dtype<
          fact::call<"concat">, fact::of_type<dtype_of<T>>,
          fact::into_type<dtype_of<typename Xs::element>>...>::raise(detail::by<X, Xs...>);
    } else {
      constexpr std::size_t size =
          (joining::template size_in<axes_of<X>>() + ... + joining::template size_in<axes_of<Xs>>());
      using to = detail::axes_with<axes_of<X>, joining::at, axes<detail::spelled_dim<Name, size>>>;
      using mistake = detail::operation_mistake<fact::call<"concat">, to, X, Xs...>;
      if constexpr (is_mistake<mistake>)
        return mistake::raise(detail::by<X, Xs...>);
      else
        return apply<joining, T, to>(x, xs...);
    }
  }
}

template <fixed_string Name, class... Xs>
requires((detail::is_number<Xs> || ...)) constexpr auto concat(const Xs&...) {  // refused
  using mistake = rule::concat_of_a_number<fact::type<Xs>...>;
  return detail::unless_failed<mistake, Xs...>::raise(detail::by<Xs...>);
}
template <fixed_string Name, class... Xs>
requires((detail::is_list_of_operands<Xs> || ...)) constexpr auto concat(const Xs&...) {  // refused
  using mistake = rule::concat_of_a_list<fact::type<Xs>...>;
  return detail::unless_failed<mistake, Xs...>::raise(detail::by<Xs...>);
}
template <fixed_string Name, class X>
constexpr auto concat(std::initializer_list<X>) {  // refused
  return detail::unless_failed<rule::concat_of_a_list<fact::type<X>>, X>::raise(detail::by<X>);
}
template <detail::ElementwiseOperand X, class... Wrong>
constexpr auto concat(const X&, const Wrong&...) {  // refused
  return detail::axes_refused<"concat", X, Wrong...>::raise(detail::by<X, Wrong...>);
}
/// An axis by type or by number: refused.
template <Axis D, Axis... Ds, class... Xs>
constexpr auto concat(const Xs&...) {
  return detail::types_refused<"concat", axes<D, Ds...>, Xs...>::raise(detail::by<Xs...>);
}
template <std::ptrdiff_t I, std::ptrdiff_t... Is, class... Xs>
constexpr auto concat(const Xs&...) {
  return detail::numbers_refused<"concat", fact::numbers<I, Is...>, Xs...>::raise(detail::by<Xs...>);
}

}  // namespace napkin
