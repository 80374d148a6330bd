// The same elements in the same order, under other axes: rename, as, split, merge, squeeze, unsqueeze,
// view_as. Of tensors and views the result is a view wherever strides can say it.
#pragma once

#include "napkin/ops/broadcast.hpp"
#include "napkin/ops/move.hpp"

namespace napkin {

namespace rule {

/// named<"to">, among<Ds...>
template <class... Facts>
struct new_name_is_taken {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise, "rename: the tensor already has an axis of the new name");
};
/// named<"the axis">
template <class... Facts>
struct rename_lacks_a_name {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "rename: the new name stands behind the axis's: rename<\"seq\", \"key\">(x)");
};
/// named<"to">
template <class... Facts>
struct not_a_name {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "the name of an axis is letters, digits and underscores, and begins with no digit");
};
/// among<Ds...>
template <class... Facts>
struct no_single_composed_axis {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "as: the tensor must have exactly one composed axis; rename<\"(a b)\", \"name\">(x) says "
      "which");
};
/// axis<D>
template <class... Facts>
struct axis_has_no_factors {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "split: the axis was not composed of others, so its parts must be listed: split<\"axis\", "
      "a, b>(x)");
};
/// axis<D>, has_size<N>, but_size<M>, to<Parts...>
template <class... Facts>
struct parts_do_not_multiply {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "split: the sizes of the parts do not multiply to the size of the axis");
};
/// from<Ds...>, has_size<N>, to<Es...>, but_size<M>
template <class... Facts>
struct numbers_of_elements_differ {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise, "view_as: the new axes have another number of elements");
};
/// from<Ds...>, to<Es...>
template <class... Facts>
struct view_as_before_computed {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "view_as: what is not computed yet has no elements to view: view_as<rows, columns>(nk::eval(x)); in a "
      "function of a model split, merge and rename say what becomes of each axis");
};
/// named<"axis">
template <class... Facts>
struct squeeze_of_a_name {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "squeeze: it takes no axis, and drops the nameless ones of size 1; index<\"seq\", 0>(x) drops one "
      "that has a name");
};
/// named<"axis">
template <class... Facts>
struct unsqueeze_of_a_name {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "unsqueeze: it takes a place, counted from 0 at the outermost axis, where a nameless axis of size 1 "
      "comes to lie; repeat<\"seq width -> seq one width\", one>(x) makes one with a name");
};
/// at_index<I>, expected<rank>
template <class... Facts>
struct unsqueeze_out_of_range {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "unsqueeze: the place must be at least 0 and at most the number of axes");
};

}  // namespace rule

namespace detail {

template <class D>
struct unprimed {
  using type = D;
};
template <class D>
struct unprimed<primed<D>> {
  using type = D;
};

/// D under another name: of a composed axis the factors stay; a prime makes the axis's own copy, and back.
template <class D, fixed_string Name>
struct axis_under_name {
  using original = typename unprimed<D>::type;
  template <class... Fs>
  static constexpr auto make(axes<Fs...>) {
    if constexpr (same_text(primed<D>::name.view(), Name.view()))
      return std::type_identity<primed<D>>{};
    else if constexpr (same_text(original::name.view(), Name.view()))
      return std::type_identity<original>{};
    else if constexpr (sizeof...(Fs) == 0)
      return std::type_identity<dim<Name, extent{D::size, D::dynamic}>>{};
    else
      return std::type_identity<product_as<Name, Fs...>>{};
  }
  using type = typename decltype(make(typename D::factors{}))::type;
};

template <class X, std::size_t At, class New>
constexpr auto with_axis(const X& x) {
  return moved<retyped<axes_of<X>, axes_with<axes_of<X>, At, axes<New>>>>(x);
}

}  // namespace detail

/// One axis under another name; its elements and its place stay.
///
/// Shape     rename<"seq", "key">(x): (batch, seq) -> (batch, dim<"key", 128>); "seq'" gives primed<seq>
template <fixed_string From, fixed_string To, detail::ElementwiseOperand X>
constexpr auto rename(const X& x) {
  if constexpr (is_failed<X>) {
    return failed{};
  } else {
    using named = detail::named_axes_of<X, From>;
    if constexpr (!named::good) {
      return named::template mistake<"rename">::raise(detail::by<X>);
    } else if constexpr (!detail::is_axis_name(To.view())) {
      return rule::not_a_name<fact::call<"rename">, fact::named<To>, axes_of<X>>::raise(detail::by<X>);
    } else if constexpr (detail::named_axes<axes_of<X>, To>::good &&
                         !detail::same_text(From.view(), To.view())) {
      return rule::new_name_is_taken<fact::named<To>, axes_of<X>>::raise(detail::by<X>);
    } else {
      constexpr auto at = static_cast<std::size_t>(named::positions[0]);
      using axis = typename detail::axis_under_name<typename named::template at<0>, To>::type;
      return detail::with_axis<X, at, axis>(x);
    }
  }
}

/// The same, to an axis that is there already as a type, of the same size: rename<"seq", key>(x).
template <fixed_string From, Axis To, detail::ElementwiseOperand X>
constexpr auto rename(const X& x) {
  if constexpr (is_failed<X>) {
    return failed{};
  } else {
    using named = detail::named_axes_of<X, From>;
    if constexpr (!named::good) {
      return named::template mistake<"rename">::raise(detail::by<X>);
    } else {
      using D = typename named::template at<0>;
      constexpr auto at = static_cast<std::size_t>(named::positions[0]);
      if constexpr (extent{D::size, D::dynamic} != extent{To::size, To::dynamic}) {
        return rule::sizes_differ<fact::call<"rename">, fact::axis<D>, fact::has_size<D::size>, fact::to<To>,
                                  fact::but_size<To::size>>::raise(detail::by<X>);
      } else if constexpr (detail::named_axes<axes_of<X>, To::name>::good &&
                           !detail::same_text(From.view(), To::name.view())) {
        return rule::new_name_is_taken<fact::named<To::name>, axes_of<X>>::raise(detail::by<X>);
      } else {
        return detail::with_axis<X, at, To>(x);
      }
    }
  }
}
/// An axis by type: refused.
template <Axis From, Axis... To, class... Xs>
constexpr auto rename(const Xs&...) {
  return detail::types_refused<"rename", axes<From>, Xs...>::raise(detail::by<Xs...>);
}
template <Axis From, fixed_string To, class... Xs>
constexpr auto rename(const Xs&...) {
  return detail::types_refused<"rename", axes<From>, Xs...>::raise(detail::by<Xs...>);
}
template <fixed_string From, detail::ElementwiseOperand X>
constexpr auto rename(const X&) {  // refused
  return detail::unless_failed<rule::rename_lacks_a_name<fact::named<From>>, X>::raise(detail::by<X>);
}

namespace detail {

/// The position of the only composed axis; -1 if there is none or another.
template <std::size_t Rank>
constexpr int single_composed(const std::array<axis_info, Rank>& list) {
  int at = -1, found = 0;
  for (std::size_t i = 0; i != Rank; ++i) {
    if (list[i].name.empty() || list[i].name.front() != '(') continue;
    at = static_cast<int>(i);
    ++found;
  }
  return found == 1 ? at : -1;
}

}  // namespace detail

/// The composed axis of x becomes a plain one, called Name, and keeps its factors.
///
/// Shape     as<"model">(x): (seq, product<heads, hidden>) -> (seq, product_as<"model", heads, hidden>)
template <fixed_string Name, detail::ElementwiseOperand X>
constexpr auto as(const X& x) {
  if constexpr (is_failed<X>) {
    return failed{};
  } else {
    constexpr int at = detail::single_composed(detail::infos_of<axes_of<X>>::value);
    if constexpr (at < 0) {
      return rule::no_single_composed_axis<fact::named<Name>, axes_of<X>>::raise(detail::by<X>);
    } else if constexpr (!detail::is_axis_name(Name.view())) {
      return rule::not_a_name<fact::call<"as">, fact::named<Name>, axes_of<X>>::raise(detail::by<X>);
    } else if constexpr (detail::named_axes<axes_of<X>, Name>::good) {
      return rule::new_name_is_taken<fact::call<"as">, fact::named<Name>, axes_of<X>>::raise(detail::by<X>);
    } else {
      constexpr auto place = static_cast<std::size_t>(at);
      return []<class D>(const X& y, axes<D>) {
        return detail::with_axis<X, place, typename detail::axis_under_name<D, Name>::type>(y);
      }(x, detail::axes_between<axes_of<X>, place, place + 1>{});
    }
  }
}

namespace detail {

template <class D, class... Parts>
struct parts_of {
  using type = axes<Parts...>;
};
template <class D>
struct parts_of<D> {
  using type = typename D::factors;
};

template <class D, class... Parts>
constexpr auto find_parts_mistake(axes<Parts...>) {
  return std::type_identity<rule::parts_do_not_multiply<
      fact::axis<D>, fact::has_size<D::size>, fact::but_size<total_size<Parts...>>, fact::to<Parts...>>>{};
}
template <class D, class Parts>
using parts_mistake = typename decltype(find_parts_mistake<D>(Parts{}))::type;
}  // namespace detail

/// One axis comes apart, the last part running fastest: into the parts listed, or, where none is, into what
/// it was composed of.
///
/// Shape     split<"model", heads, hidden>(x): (seq, model) -> (seq, heads, hidden)
template <fixed_string Name, Axis... Parts, detail::ElementwiseOperand X>
constexpr auto split(const X& x) {
  if constexpr (is_failed<X>) {
    return failed{};
  } else {
    using named = detail::named_axes_of<X, Name>;
    if constexpr (!named::good) {
      return named::template mistake<"split">::raise(detail::by<X>);
    } else {
      using D = typename named::template at<0>;
      using parts = typename detail::parts_of<D, Parts...>::type;
      using to = detail::axes_with<axes_of<X>, static_cast<std::size_t>(named::positions[0]), parts>;
      if constexpr (parts::rank == 0) {
        return rule::axis_has_no_factors<fact::axis<D>>::raise(detail::by<X>);
      } else if constexpr (D::dynamic || detail::some_dynamic(parts{})) {
        return rule::axis_sized_at_run_time<fact::call<"split">, fact::axis<D>>::raise(detail::by<X>);
      } else if constexpr (detail::size_of_all(parts{}) != D::size) {
        return detail::parts_mistake<D, parts>::raise(detail::by<X>);
      } else if constexpr (!detail::distinct<to>) {
        return detail::repetition<"split", to>::raise(detail::by<X>);
      } else {
        return detail::moved<detail::reshaped<axes_of<X>, to>>(x);
      }
    }
  }
}
/// Parts by their sizes or by strings: refused.
template <fixed_string Name, std::size_t Size, std::size_t... Sizes, class... Xs>
constexpr auto split(const Xs&...) {
  return detail::new_sizes_refused<"split", fact::numbers<Size, Sizes...>, Xs...>::raise(detail::by<Xs...>);
}
template <fixed_string Name, fixed_string Part, fixed_string... Parts, class... Xs>
constexpr auto split(const Xs&...) {
  using mistake = rule::new_axes_are_types<fact::call<"split">, fact::named<Part>, fact::named<Parts>...>;
  return detail::unless_failed<mistake, Xs...>::raise(detail::by<Xs...>);
}
/// An axis by type: refused.
template <Axis D, Axis... Ds, class... Xs>
constexpr auto split(const Xs&...) {
  return detail::types_refused<"split", axes<D>, Xs...>::raise(detail::by<Xs...>);
}

namespace detail {

/// The axes of Rest, with those of Named brought together where the first of them stands.
template <class Axes, class Named>
struct brought_together {
  static constexpr std::size_t before() {
    std::size_t n = 0;
    for (std::int32_t i = 0; i < Named::positions[0]; ++i) n += Named::positions.contains(i) ? 0u : 1u;
    return n;
  }
  static constexpr axis_positions make() {
    axis_positions p;
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(Axes::rank); ++i) {
      if (i == Named::positions[0])
        for (const std::int32_t k : Named::positions) p.push_back(k);
      if (!Named::positions.contains(i)) p.push_back(i);
    }
    return p;
  }
  static constexpr axis_positions positions = make();
  template <class... Ds>
  static constexpr auto compose(axes<Ds...>) {
    return axes<product<Ds...>>{};
  }
  using order = picked_axes<Axes, brought_together>;
  using to = joined_axes<axes_between<order, 0, before()>, decltype(compose(typename Named::all{})),
                         axes_between<order, before() + Named::count, Axes::rank>>;
};

}  // namespace detail

/// Axes become one composed axis, the last running fastest, where the first of them stands. A view where
/// they lie behind one another.
///
/// Shape     merge<"heads", "hidden">(x): (seq, heads, hidden) -> (seq, product<heads, hidden>)
template <fixed_string First, fixed_string Second, fixed_string... More, detail::ElementwiseOperand X>
constexpr auto merge(const X& x) {
  if constexpr (is_failed<X>) {
    return failed{};
  } else {
    using named = detail::named_axes_of<X, First, Second, More...>;
    if constexpr (!named::good) {
      return named::template mistake<"merge">::raise(detail::by<X>);
    } else if constexpr (detail::some_dynamic(typename named::all{})) {
      return rule::axis_sized_at_run_time<fact::call<"merge">, typename named::all>::raise(detail::by<X>);
    } else {
      using together = detail::brought_together<axes_of<X>, named>;
      return detail::moved<detail::reshape_move_of<axes_of<X>, typename together::to, together>>(x);
    }
  }
}
/// An axis by type: refused.
template <Axis D, Axis... Ds, class... Xs>
constexpr auto merge(const Xs&...) {
  return detail::types_refused<"merge", axes<D, Ds...>, Xs...>::raise(detail::by<Xs...>);
}

namespace detail {

template <class Axes>
struct without_units;
template <class... Ds>
struct without_units<axes<Ds...>> {
  template <class D>
  using kept = std::conditional_t<D::name.size() == 0 && D::size == 1, axes<>, axes<D>>;
  using type = joined_axes<kept<Ds>...>;
};

}  // namespace detail

/// Without its nameless axes of size 1.
template <detail::ElementwiseOperand X>
constexpr auto squeeze(const X& x) {
  if constexpr (is_failed<X>)
    return failed{};
  else
    return detail::moved<detail::reshaped<axes_of<X>, typename detail::without_units<axes_of<X>>::type>>(x);
}

template <fixed_string Name, class X>
constexpr auto squeeze(const X&) {  // refused
  return rule::squeeze_of_a_name<fact::named<Name>>::raise(detail::by<X>);
}

/// A nameless axis of size 1 at place At, counted from the outermost.
template <std::size_t At, detail::ElementwiseOperand X>
constexpr auto unsqueeze(const X& x) {
  if constexpr (is_failed<X>) {
    return failed{};
  } else if constexpr (At > rank_of<X>) {
    return rule::unsqueeze_out_of_range<fact::at_index<static_cast<std::ptrdiff_t>(At)>, axes_of<X>>::raise(
        detail::by<X>);
  } else {
    using to = detail::joined_axes<detail::axes_between<axes_of<X>, 0, At>, axes<unnamed<1>>,
                                   detail::axes_between<axes_of<X>, At, rank_of<X>>>;
    return detail::moved<detail::reshaped<axes_of<X>, to>>(x);
  }
}

template <fixed_string Name, class X>
constexpr auto unsqueeze(const X&) {  // refused
  return rule::unsqueeze_of_a_name<fact::named<Name>>::raise(detail::by<X>);
}

/// The elements of a tensor or view, in order, under other axes: nothing is copied, or it does not compile.
///
/// Shape     view_as<rows, columns>(x): (rows*columns) -> (rows, columns)
template <Axis... Dims, class X>
requires(TensorLike<X> || is_failed<X>) auto view_as(const X& x) {
  if constexpr (is_failed<X>) {
    return failed{};
  } else {
    using move = detail::reshaped<axes_of<X>, axes<Dims...>>;
    if constexpr (!all_names_distinct<Dims...>) {
      return detail::repetition<"view_as", axes<Dims...>>::raise(detail::by<X>);
    } else if constexpr (has_dynamic_axis<X> || any_dynamic<Dims...>) {
      return rule::axis_sized_at_run_time<fact::call<"view_as">, axes_of<X>, axes<Dims...>>::raise(
          detail::by<X>);
    } else if constexpr (total_size<Dims...> != X::numel()) {
      return rule::numbers_of_elements_differ<axes_of<X>, fact::has_size<X::numel()>, fact::to<Dims...>,
                                              fact::but_size<total_size<Dims...>>>::raise(detail::by<X>);
    } else if constexpr (!detail::layout_of_move<move, typename X::layout>::value.possible) {
      return rule::not_a_view<fact::call<"view_as">, axes_of<X>, fact::to<Dims...>>::raise(detail::by<X>);
    } else {
      return detail::moved<move>(x);
    }
  }
}
template <Axis... Dims, detail::ElementwiseOperand X>
requires(!TensorLike<X> && !is_failed<X>) constexpr auto view_as(const X&) {  // refused
  return rule::view_as_before_computed<axes_of<X>, fact::to<Dims...>>::raise(detail::by<X>);
}
template <std::size_t Size, std::size_t... Sizes, class... Xs>
constexpr auto view_as(const Xs&...) {  // refused
  return detail::new_sizes_refused<"view_as", fact::numbers<Size, Sizes...>, Xs...>::raise(detail::by<Xs...>);
}
template <fixed_string Name, fixed_string... Names, class... Xs>
constexpr auto view_as(const Xs&...) {  // refused
  return rule::new_axes_are_types<fact::call<"view_as">, fact::named<Name>, fact::named<Names>...>::raise(
      detail::by<Xs...>);
}

}  // namespace napkin
