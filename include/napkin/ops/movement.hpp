// Movement by name: slice, index, flip, transpose, permute, broadcast_to, diagonal. Of tensors and
// views the result is a view, which shares their storage, wherever strides can say it (is_view of its type
// tells); of lazy expressions and traced values it is one of these. Names and shapes:
// reshape.hpp; joining: concat.hpp.
#pragma once

#include "napkin/ops/broadcast.hpp"
#include "napkin/ops/move.hpp"

namespace napkin {

namespace rule {

/// axis<D>, named<"step">
template <class... Facts>
struct slice_step_not_positive {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "slice: the step must be at least 1; flip<\"axis\">(x) reads backwards");
};
/// named<"axis">, type<what was given>...
template <class... Facts>
struct slice_ends_go_in_brackets {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "slice: both ends stand beside the axis, as they are part of the result's type: slice<\"seq\", 0, "
      "4>(x); index<\"seq\">(x, i) takes an index known at run time");
};
/// named<"axis">, type<X>
template <class... Facts>
struct slice_before_computed {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "slice: of what is not computed yet both ends are constants, slice<\"seq\", 0, 4>(x); a "
      "beginning known at run time, slice<\"seq\", 4>(x, begin), needs a tensor or view: nk::eval(x)");
};
/// axis<D>, has_size<N>, at_index<I>
template <class... Facts>
struct index_out_of_range {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "index: the index must be at least 0 and below the size of the axis");
};
/// named<"what was given">...
template <class... Facts>
struct transpose_takes_two_axes {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "transpose: two axes change places, each a string of its own: transpose<\"seq\", \"embed\">(x); "
      "permute<...>(x) and rearrange<\"a b c -> c a b\">(x) bring all into a new order");
};
/// expected<rank>, given<n>, among<Ds...>
template <class... Facts>
struct permute_leaves_axes_out {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "permute: every axis must be named once, in the new order; transpose<\"a\", \"b\">(x) swaps "
      "two");
};
/// from<As...>, to<Bs...>
template <class... Facts>
struct broadcast_loses_an_axis {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise,
                                         "broadcast_to: the new axes must include every axis of the operand");
};
/// type<the number>, to<Bs...>
template <class... Facts>
struct broadcast_of_a_number {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "broadcast_to: a number has no dtype: full<f32, axes...>(2) is a tensor of it, and in a function of a "
      "model broadcast_to<axes...>(number_like(x, 2)), in the dtype of x");
};

}  // namespace rule

namespace detail {

/// So many elements of an axis: as `type` of what it returns. Deduced, so that it is no name made of the list
/// that the axis was found in (see picked).
template <std::size_t Size, class D>
constexpr auto part_of_axis(std::type_identity<D> whole) {
  if constexpr (Size == D::size && !D::dynamic)
    return whole;
  else
    return std::type_identity<dim<D::name, extent{Size}>>{};
}

template <class Axes, std::size_t At, std::size_t Begin, std::size_t Size, std::ptrdiff_t Step, class Part>
struct slice_move_of {
  using to = axes_with<Axes, At, axes<Part>>;
  static constexpr move value = slice_move(shape_over<Axes>, At, Begin, Step, Size);
};

template <class Axes, std::size_t At, std::size_t Index>
struct index_move_of {
  using to = axes_with<Axes, At, axes<>>;
  static constexpr move value = index_move(shape_over<Axes>, At, Index);
};

}  // namespace detail

/// Elements Begin, Begin + Step, ... below End of one axis, which keeps its name.
///
/// Shape     slice<"seq", 2, 6>(x): (batch, seq=8) -> (batch, dim<"seq", 4>)
/// Gradient  zeros around what comes back
/// Errors    input_error where the axis is sized at run time and ends before End
template <fixed_string Name, std::ptrdiff_t Begin, std::ptrdiff_t End, std::ptrdiff_t Step = 1,
          detail::ElementwiseOperand X>
constexpr auto slice(const X& x) {
  if constexpr (is_failed<X>) {
    return failed{};
  } else {
    using named = detail::named_axes_of<X, Name>;
    if constexpr (!named::good) {
      return named::template mistake<"slice">::raise(detail::by<X>);
    } else {
      using D = typename named::template at<0>;
      constexpr auto at = static_cast<std::size_t>(named::positions[0]);
      if constexpr (Step < 1) {
        return rule::slice_step_not_positive<fact::axis<D>, fact::at_index<Step>>::raise(detail::by<X>);
      } else if constexpr (!slice_in_range(Begin, End, D::size)) {
        return rule::slice_out_of_range<fact::axis<D>, fact::has_size<D::size>, fact::begins<Begin>,
                                        fact::ends<End>>::raise(detail::by<X>);
      } else if constexpr (!detail::ends_known<X, D>) {
        return rule::axis_sized_at_run_time<fact::call<"slice">, fact::axis<D>>::raise(detail::by<X>);
      } else {
        constexpr auto size = static_cast<std::size_t>((End - Begin + Step - 1) / Step);
        if constexpr (detail::is_composed<D> && size != D::size) {
          return rule::axis_is_composed<fact::call<"slice">, fact::axis<D>>::raise(detail::by<X>);
        } else {
          if constexpr (D::dynamic)
            if (x.sizes()[at] < static_cast<std::size_t>(End))
              detail::throw_range("slice", D::name.view(), std::to_string(End), x.sizes()[at]);
          using part = typename decltype(detail::part_of_axis<size>(std::type_identity<D>{}))::type;
          return detail::moved<
              detail::slice_move_of<axes_of<X>, at, static_cast<std::size_t>(Begin), size, Step, part>>(x);
        }
      }
    }
  }
}
/// Size elements from an index known at run time on: a view, of tensors and views only. input_error where the
/// axis ends before that many.
///
/// Example   for (std::size_t at = 0; at + 64 <= images.sizes()[0]; at += 64)
///             train(nk::slice<"image", 64>(images, at));
template <fixed_string Name, std::size_t Size, class X, std::integral Begin>
requires(TensorLike<X> || is_failed<X>) auto slice(const X& x, Begin begin) {
  if constexpr (is_failed<X>) {
    return failed{};
  } else {
    using named = detail::named_axes_of<X, Name>;
    if constexpr (!named::good) {
      return named::template mistake<"slice">::raise(detail::by<X>);
    } else {
      using D = typename named::template at<0>;
      constexpr auto at = static_cast<std::size_t>(named::positions[0]);
      if constexpr (!slice_in_range(0, static_cast<std::ptrdiff_t>(Size), D::size)) {
        return rule::slice_out_of_range<fact::axis<D>, fact::has_size<D::size>, fact::begins<0>,
                                        fact::ends<static_cast<std::ptrdiff_t>(Size)>>::raise(detail::by<X>);
      } else if constexpr (detail::is_composed<D> && Size != D::size) {
        return rule::axis_is_composed<fact::call<"slice">, fact::axis<D>>::raise(detail::by<X>);
      } else {
        if (std::cmp_less(begin, 0) || x.sizes()[at] < Size || std::cmp_greater(begin, x.sizes()[at] - Size))
          detail::throw_range("slice", D::name.view(),
                              std::to_string(Size) + " from " + std::to_string(begin) + " on", x.sizes()[at]);
        using part = typename decltype(detail::part_of_axis<Size>(std::type_identity<D>{}))::type;
        return detail::view_from<detail::slice_move_of<axes_of<X>, at, 0, Size, 1, part>>(
            x, Size == 0 ? 0 : static_cast<std::ptrdiff_t>(begin) * X::strides[at]);
      }
    }
  }
}
template <fixed_string Name, detail::ElementwiseOperand X, class... Wrong>
constexpr auto slice(const X&, const Wrong&...) {  // refused
  if constexpr (is_failed<X>)
    return failed{};
  else
    return rule::slice_ends_go_in_brackets<fact::named<Name>, fact::type<X>, fact::type<Wrong>...>::raise(
        detail::by<X, Wrong...>);
}
/// One end, of what has no place yet or with no place to begin at: refused.
template <fixed_string Name, std::ptrdiff_t Size, detail::ElementwiseOperand X, class... Begin>
requires(!is_failed<X> && !(TensorLike<X> && sizeof...(Begin) == 1 &&
                            (std::integral<Begin> && ...))) constexpr auto slice(const X&, const Begin&...) {
  if constexpr ((is_failed<Begin> || ...))
    return failed{};
  else if constexpr (sizeof...(Begin) == 1 && (std::integral<Begin> && ...))
    return rule::slice_before_computed<fact::named<Name>, fact::type<X>>::raise(detail::by<X>);
  else
    return rule::slice_ends_go_in_brackets<fact::named<Name>, fact::type<X>, fact::type<Begin>...>::raise(
        detail::by<X, Begin...>);
}
/// An axis by type: refused.
template <Axis D, auto... Ends, class... Xs>
constexpr auto slice(const Xs&...) {
  return detail::types_refused<"slice", axes<D>, Xs...>::raise(detail::by<Xs...>);
}

/// What has index I on one axis, which vanishes.
///
/// Shape     index<"seq", 3>(x): (batch, seq) -> (batch)
/// Errors    input_error where the axis is sized at run time and ends before I
template <fixed_string Name, std::ptrdiff_t I, detail::ElementwiseOperand X>
constexpr auto index(const X& x) {
  if constexpr (is_failed<X>) {
    return failed{};
  } else {
    using named = detail::named_axes_of<X, Name>;
    if constexpr (!named::good) {
      return named::template mistake<"index">::raise(detail::by<X>);
    } else {
      using D = typename named::template at<0>;
      constexpr auto at = static_cast<std::size_t>(named::positions[0]);
      if constexpr (I < 0 || static_cast<std::size_t>(I) >= D::size) {
        return rule::index_out_of_range<fact::axis<D>, fact::has_size<D::size>, fact::at_index<I>>::raise(
            detail::by<X>);
      } else if constexpr (!detail::ends_known<X, D>) {
        return rule::axis_sized_at_run_time<fact::call<"index">, fact::axis<D>>::raise(detail::by<X>);
      } else {
        if constexpr (D::dynamic)
          if (x.sizes()[at] <= static_cast<std::size_t>(I))
            detail::throw_range("index", D::name.view(), "index " + std::to_string(I), x.sizes()[at]);
        return detail::moved<detail::index_move_of<axes_of<X>, at, static_cast<std::size_t>(I)>>(x);
      }
    }
  }
}

/// The same at an index known at run time: a view, of tensors and views only. input_error outside the axis.
template <fixed_string Name, class X, std::integral Index>
requires(TensorLike<X> || is_failed<X>) auto index(const X& x, Index i) {
  if constexpr (is_failed<X>) {
    return failed{};
  } else {
    using named = detail::named_axes_of<X, Name>;
    if constexpr (!named::good) {
      return named::template mistake<"index">::raise(detail::by<X>);
    } else {
      using D = typename named::template at<0>;
      constexpr auto at = static_cast<std::size_t>(named::positions[0]);
      if (std::cmp_less(i, 0) || std::cmp_greater_equal(i, x.sizes()[at]))
        detail::throw_range("index", D::name.view(), "index " + std::to_string(i), x.sizes()[at]);
      return detail::view_from<detail::index_move_of<axes_of<X>, at, 0>>(
          x, static_cast<std::ptrdiff_t>(i) * X::strides[at]);
    }
  }
}
template <fixed_string Name, detail::ElementwiseOperand X, std::integral Index>
requires(!TensorLike<X> && !is_failed<X>) constexpr auto index(const X&, Index) {  // refused
  return rule::index_before_computed<fact::named<Name>, fact::type<X>>::raise(detail::by<X>);
}
template <fixed_string Name, detail::ElementwiseOperand X, class Index>
requires(!std::integral<Index>) constexpr auto index(const X&, const Index&) {  // refused
  return detail::unless_failed<rule::index_is_no_integer<fact::named<Name>, fact::type<Index>>, X,
                               Index>::raise(detail::by<X, Index>);
}
/// An axis by type: refused.
template <Axis D, auto... At, class... Xs>
constexpr auto index(const Xs&...) {
  return detail::types_refused<"index", axes<D>, Xs...>::raise(detail::by<Xs...>);
}

/// One axis backwards.
///
/// Gradient  flipped back
template <fixed_string Name, detail::ElementwiseOperand X>
constexpr auto flip(const X& x) {
  if constexpr (is_failed<X>) {
    return failed{};
  } else {
    using named = detail::named_axes_of<X, Name>;
    if constexpr (!named::good) {
      return named::template mistake<"flip">::raise(detail::by<X>);
    } else {
      using D = typename named::template at<0>;
      if constexpr (!detail::ends_known<X, D>) {
        return rule::axis_sized_at_run_time<fact::call<"flip">, fact::axis<D>>::raise(detail::by<X>);
      } else {
        constexpr auto at = static_cast<std::size_t>(named::positions[0]);
        constexpr std::size_t last = D::size == 0 ? 0 : D::size - 1;
        return detail::moved<detail::slice_move_of<axes_of<X>, at, last, D::size, -1, D>>(x);
      }
    }
  }
}
template <detail::ElementwiseOperand X, class... Wrong>
constexpr auto flip(const X&, const Wrong&...) {  // refused
  return detail::axes_refused<"flip", X, Wrong...>::raise(detail::by<X, Wrong...>);
}
/// An axis by type or by number: refused.
template <Axis D, Axis... Ds, class... Xs>
constexpr auto flip(const Xs&...) {
  return detail::types_refused<"flip", axes<D, Ds...>, Xs...>::raise(detail::by<Xs...>);
}
template <std::ptrdiff_t I, std::ptrdiff_t... Is, class... Xs>
constexpr auto flip(const Xs&...) {
  return detail::numbers_refused<"flip", fact::numbers<I, Is...>, Xs...>::raise(detail::by<Xs...>);
}

namespace detail {

template <class Axes, class Two>
struct swapped_positions {
  static constexpr axis_positions make() {
    axis_positions p = position_range<0, Axes::rank>::positions;
    p[static_cast<std::size_t>(Two::positions[0])] = Two::positions[1];
    p[static_cast<std::size_t>(Two::positions[1])] = Two::positions[0];
    return p;
  }
  static constexpr axis_positions positions = make();
};

}  // namespace detail

/// Two axes change places.
///
/// Shape     transpose<"batch", "hidden">(x): (batch, seq, hidden) -> (hidden, seq, batch)
template <fixed_string A, fixed_string B, detail::ElementwiseOperand X>
constexpr auto transpose(const X& x) {
  if constexpr (is_failed<X>) {
    return failed{};
  } else {
    using named = detail::named_axes_of<X, A, B>;
    if constexpr (!named::good) {
      return named::template mistake<"transpose">::raise(detail::by<X>);
    } else {
      using order = detail::swapped_positions<axes_of<X>, named>;
      return detail::moved<detail::expand_move_of<axes_of<X>, detail::picked_axes<axes_of<X>, order>, order>>(
          x);
    }
  }
}

/// Not two: refused.
template <fixed_string A, fixed_string... More, detail::ElementwiseOperand X>
requires(sizeof...(More) != 1) constexpr auto transpose(const X&) {
  return detail::unless_failed<rule::transpose_takes_two_axes<fact::named<A>, fact::named<More>...>,
                               X>::raise(detail::by<X>);
}
template <detail::ElementwiseOperand X, class... Wrong>
constexpr auto transpose(const X&, const Wrong&...) {  // refused
  return detail::axes_refused<"transpose", X, Wrong...>::raise(detail::by<X, Wrong...>);
}
/// An axis by type: refused.
template <Axis A, Axis B, class... Xs>
constexpr auto transpose(const Xs&...) {
  return detail::types_refused<"transpose", axes<A, B>, Xs...>::raise(detail::by<Xs...>);
}
template <fixed_string A, Axis B, class... Xs>
constexpr auto transpose(const Xs&...) {
  return detail::types_refused<"transpose", axes<B>, Xs...>::raise(detail::by<Xs...>);
}
template <Axis A, fixed_string B, class... Xs>
constexpr auto transpose(const Xs&...) {
  return detail::types_refused<"transpose", axes<A>, Xs...>::raise(detail::by<Xs...>);
}
/// By number: the same.
template <std::ptrdiff_t A, std::ptrdiff_t B, class... Xs>
constexpr auto transpose(const Xs&...) {
  return detail::numbers_refused<"transpose", fact::numbers<A, B>, Xs...>::raise(detail::by<Xs...>);
}

/// All axes, in the order in which they are named.
///
/// Shape     permute<"hidden", "batch", "seq">(x): (batch, seq, hidden) -> (hidden, batch, seq)
template <fixed_string... Names, detail::ElementwiseOperand X>
constexpr auto permute(const X& x) {
  if constexpr (is_failed<X>) {
    return failed{};
  } else {
    using named = detail::named_axes_of<X, Names...>;
    if constexpr (!named::good) {
      return named::template mistake<"permute">::raise(detail::by<X>);
    } else if constexpr (sizeof...(Names) != rank_of<X>) {
      return rule::permute_leaves_axes_out<fact::expected<rank_of<X>>, fact::given<sizeof...(Names)>,
                                           axes_of<X>>::raise(detail::by<X>);
    } else {
      return detail::moved<detail::expand_move_of<axes_of<X>, typename named::all, named>>(x);
    }
  }
}
template <detail::ElementwiseOperand X, class Wrong, class... Wrongs>
constexpr auto permute(const X&, const Wrong&, const Wrongs&...) {  // refused
  return detail::axes_refused<"permute", X, Wrong, Wrongs...>::raise(detail::by<X, Wrong, Wrongs...>);
}
/// An axis by type or by number: refused.
template <Axis D, Axis... Ds, class... Xs>
constexpr auto permute(const Xs&...) {
  return detail::types_refused<"permute", axes<D, Ds...>, Xs...>::raise(detail::by<Xs...>);
}
template <std::ptrdiff_t I, std::ptrdiff_t... Is, class... Xs>
constexpr auto permute(const Xs&...) {
  return detail::numbers_refused<"permute", fact::numbers<I, Is...>, Xs...>::raise(detail::by<Xs...>);
}

namespace detail {

template <class From, class To>
struct broadcast_positions {
  static constexpr axis_positions make() {
    axis_positions p;
    for (std::size_t i = 0; i < To::rank; ++i) p.push_back(axes_alignment<From, To>::value.map[i]);
    return p;
  }
  static constexpr axis_positions positions = make();
};
template <class From, class... Ds>
constexpr bool sizes_known_after(axes<Ds...>) {
  std::size_t i = 0;
  bool known = true;
  ((known = known && !(Ds::dynamic && axes_alignment<From, axes<Ds...>>::value.map[i] < 0), ++i), ...);
  return known;
}
template <class... As, class... Bs>
constexpr auto find_expansion_mistake(axes<As...> from, axes<Bs...>) {
  if constexpr (axes_alignment<axes<As...>, axes<Bs...>>::value.two_sizes >= 0)
    return broadcast_complaint<axes<Bs...>>::find(from);
  else
    return std::type_identity<rule::broadcast_loses_an_axis<fact::from<As...>, fact::to<Bs...>>>{};
}
template <class From, class To>
using expansion_mistake = typename decltype(find_expansion_mistake(From{}, To{}))::type;

}  // namespace detail

/// x repeated along the axes that it lacks. A view of a tensor has stride 0 there.
///
/// Shape     broadcast_to<batch, seq, hidden>(x): (seq) -> (batch, seq, hidden)
/// Gradient  a sum over the new axes
template <Axis... Dims, detail::ElementwiseOperand X>
constexpr auto broadcast_to(const X& x) {
  if constexpr (is_failed<X>) {
    return failed{};
  } else {
    using to = axes<Dims...>;
    if constexpr (!all_names_distinct<Dims...>) {
      return detail::repetition<"broadcast_to", to>::raise(detail::by<X>);
    } else if constexpr (!detail::axes_alignment<axes_of<X>, to>::value.possible) {
      return detail::expansion_mistake<axes_of<X>, to>::raise(detail::by<X>);
    } else if constexpr (!detail::is_traced_operand<X> && !detail::sizes_known_after<axes_of<X>>(to{})) {
      return rule::axis_sized_at_run_time<fact::call<"broadcast_to">, to>::raise(detail::by<X>);
    } else {
      return detail::moved<
          detail::expand_move_of<axes_of<X>, to, detail::broadcast_positions<axes_of<X>, to>>>(x);
    }
  }
}
template <Axis... Dims, class X>
requires(detail::is_number<X>) constexpr auto broadcast_to(const X&) {  // refused
  return rule::broadcast_of_a_number<fact::type<X>, fact::to<Dims...>>::raise();
}
template <std::size_t Size, std::size_t... Sizes, class... Xs>
constexpr auto broadcast_to(const Xs&...) {  // refused
  return detail::new_sizes_refused<"broadcast_to", fact::numbers<Size, Sizes...>, Xs...>::raise(
      detail::by<Xs...>);
}
template <fixed_string Name, fixed_string... Names, class... Xs>
constexpr auto broadcast_to(const Xs&...) {  // refused
  return rule::new_axes_are_types<fact::call<"broadcast_to">, fact::named<Name>,
                                  fact::named<Names>...>::raise(detail::by<Xs...>);
}

namespace detail {

/// Axis Two::positions[1] walked together with Two::positions[0].
template <class Axes, class Two>
struct diagonal_op {
  using called = fact::call<"diagonal">;
  static constexpr std::size_t kept = static_cast<std::size_t>(Two::positions[0]);
  static constexpr std::size_t gone = static_cast<std::size_t>(Two::positions[1]);
  using to = axes_with<Axes, gone, axes<>>;
  static constexpr axis_positions map() {
    axis_positions m;
    for (std::size_t i = 0; i < Axes::rank; ++i) {
      const std::size_t from = i == gone ? kept : i;
      m.push_back(static_cast<std::int32_t>(from > gone ? from - 1 : from));
    }
    return m;
  }
  static constexpr std::int32_t emit(builder& b, const std::int32_t* xs) {
    const axis_positions m = map();
    return b.diagonal(xs[0], traced_shape_over<to>(), {m.data(), m.size()});
  }
  template <class Layout>
  struct seen {
    static constexpr moved_layout make() {
      moved_layout l;
      for (std::size_t i = 0; i < Axes::rank; ++i)
        if (i != gone) l.stride.push_back(Layout::values[i] + (i == kept ? Layout::values[gone] : 0));
      return l;
    }
    static constexpr moved_layout value = make();
  };
  /// Only the run-time sizes are read of it.
  static constexpr move sizes = index_move(shape_over<Axes>, gone, 0);
};

}  // namespace detail

/// The elements whose coordinates on two axes of one size are equal; the first axis stays.
///
/// Shape     diagonal<"seq", "seq'">(x): (batch, seq, seq') -> (batch, seq)
/// Gradient  zeros off the diagonal
template <fixed_string A, fixed_string B, detail::ElementwiseOperand X>
constexpr auto diagonal(const X& x) {
  if constexpr (is_failed<X>) {
    return failed{};
  } else {
    using named = detail::named_axes_of<X, A, B>;
    if constexpr (!named::good) {
      return named::template mistake<"diagonal">::raise(detail::by<X>);
    } else {
      using D = typename named::template at<0>;
      using E = typename named::template at<1>;
      using walk = detail::diagonal_op<axes_of<X>, named>;
      if constexpr (extent{D::size, D::dynamic} != extent{E::size, E::dynamic}) {
        return rule::sizes_differ<fact::call<"diagonal">, fact::axis<D>, fact::has_size<D::size>,
                                  fact::and_axis<E>, fact::but_size<E::size>>::raise(detail::by<X>);
      } else if constexpr (TensorLike<X>) {
        if constexpr (D::dynamic)
          if (x.sizes()[walk::kept] != x.sizes()[walk::gone])
            detail::throw_range("diagonal", E::name.view(),
                                "the other's " + std::to_string(x.sizes()[walk::kept]),
                                x.sizes()[walk::gone]);
        return detail::view_after<typename walk::template seen<typename X::layout>>(
            x, 0, walk::sizes, typename walk::to{}, std::make_index_sequence<X::rank - 1>{});
      } else {
        return apply<walk, typename X::element, typename walk::to>(x);
      }
    }
  }
}
/// An axis by type: refused.
template <Axis A, Axis B, class... Xs>
constexpr auto diagonal(const Xs&...) {
  return detail::types_refused<"diagonal", axes<A, B>, Xs...>::raise(detail::by<Xs...>);
}
template <fixed_string A, Axis B, class... Xs>
constexpr auto diagonal(const Xs&...) {
  return detail::types_refused<"diagonal", axes<B>, Xs...>::raise(detail::by<Xs...>);
}
template <Axis A, fixed_string B, class... Xs>
constexpr auto diagonal(const Xs&...) {
  return detail::types_refused<"diagonal", axes<A>, Xs...>::raise(detail::by<Xs...>);
}

}  // namespace napkin
