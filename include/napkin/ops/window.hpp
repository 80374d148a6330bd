// A window that slides along an axis: what convolution and pooling are made of. Padding is zeros.
#pragma once

#include "napkin/ops/axes.hpp"
#include "napkin/ops/broadcast.hpp"
#include "napkin/ops/movement.hpp"

namespace napkin {

namespace rule {
/// axis<D>, has_size<size with its padding>, but_size<what one window takes>
template <class... Facts>
struct window_exceeds_axis {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "window: not one window lies within the axis: its taps, dilation apart, take more than the axis has "
      "with its padding");
};
/// axis<D>, at_index<step>, at_index<dilation>
template <class... Facts>
struct window_does_not_advance {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise, "window: step and dilation must be at least 1");
};
}  // namespace rule

/// How a window moves: positions are `step` apart, its taps `dilation`; the axis gets `before` and `after`
/// zeros at its ends first.
struct window_steps {
  std::size_t step = 1, before = 0, after = 0, dilation = 1;

  constexpr std::size_t reach(std::size_t taps) const { return (taps - 1) * dilation + 1; }
  constexpr std::size_t positions(std::size_t size, std::size_t taps) const {
    return (size + before + after - reach(taps)) / step + 1;
  }
};

namespace detail {

template <class Axes, std::size_t At, class Taps, class Positions, std::size_t Step, std::size_t Before,
          std::size_t After, std::size_t Dilation>
struct window_op {
  using called = fact::call<"window">;
  using to = axes_with<Axes, At, axes<Positions, Taps>>;
  static constexpr std::int32_t emit(builder& b, const std::int32_t* xs) {
    std::int32_t x = xs[0];
    if constexpr (Before + After > 0) {
      shape padded = traced_shape_over<Axes>();
      padded[At] += Before + After;
      axis_positions start(Axes::rank, 0), step(Axes::rank, 1);
      start[At] = place_attribute(static_cast<std::ptrdiff_t>(Before));
      x = b.pad(x, padded, {start.data(), start.size()}, {step.data(), step.size()});
    }
    return b.window(x, static_cast<int>(At), Positions::size, Taps::size, 0,
                    place_attribute(static_cast<std::ptrdiff_t>(Step)),
                    place_attribute(static_cast<std::ptrdiff_t>(Dilation)));
  }
};

/// What window(x) is made of where it is right, and what is wrong with it where it is not.
template <fixed_string Call, fixed_string Name, class Taps, class X, std::size_t Step, std::size_t Before,
          std::size_t After, std::size_t Dilation>
struct windowed {
  static constexpr window_steps walk{Step, Before, After, Dilation};
  using named = named_axes<axes_of<X>, Name>;

  template <class D>
  using op_along = window_op<axes_of<X>, static_cast<std::size_t>(named::positions[0]), Taps,
                             typename decltype(part_of_axis<walk.positions(D::size, Taps::size)>(
                                 std::type_identity<D>{}))::type,
                             Step, Before, After, Dilation>;

  static constexpr auto find_mistake() {
    if constexpr (!named::good) {
      return named::template find_mistake<Call>();
    } else {
      using D = typename named::template at<0>;
      if constexpr (Step < 1 || Dilation < 1)
        return std::type_identity<
            rule::window_does_not_advance<fact::axis<D>, fact::at_index<static_cast<std::ptrdiff_t>(Step)>,
                                          fact::at_index<static_cast<std::ptrdiff_t>(Dilation)>>>{};
      else if constexpr (D::dynamic)
        return std::type_identity<rule::axis_sized_at_run_time<fact::call<Call>, fact::axis<D>>>{};
      else if constexpr (Taps::size < 1 || walk.reach(Taps::size) > D::size + Before + After)
        return std::type_identity<
            rule::window_exceeds_axis<fact::axis<D>, fact::has_size<D::size + Before + After>,
                                      fact::but_size<walk.reach(Taps::size)>>>{};
      else if constexpr (is_composed<D> && walk.positions(D::size, Taps::size) != D::size)
        return std::type_identity<rule::axis_is_composed<fact::call<Call>, fact::axis<D>>>{};
      else if constexpr (!distinct<typename op_along<D>::to>)
        return find_repetition<Call>(typename op_along<D>::to{});
      else
        return find_operation_mistake<fact::call<Call>, typename op_along<D>::to, X>();
    }
  }
  using mistake = typename decltype(find_mistake())::type;
};

}  // namespace detail

/// One axis seen through a window: the axis, which keeps its name, counts the window's positions, and the new
/// axis Taps next to it what is seen from each. A view: to contract, or reduce, over the taps reads the
/// operand where it lies, and no copy of every window is made. Padding is written once, with the axis.
///
/// Shape     window<"height", kernel>(x): (batch, height=28, width) -> (batch, height=26, kernel=3, width)
/// Gradient  each element's is the sum of those of the taps that saw it
/// Rules     window_exceeds_axis, window_does_not_advance
/// Example   auto y = nk::dot<"kernel">(nk::window<"seq", kernel>(x), weight);  // a 1-D convolution
///           auto z = nk::max<"kernel">(nk::window<"seq", kernel, 2>(x));       // pooling, every second
///           position
template <fixed_string Name, Axis Taps, std::size_t Step = 1, std::size_t Before = 0,
          std::size_t After = Before, std::size_t Dilation = 1, detail::ElementwiseOperand X>
constexpr auto window(const X& x) {
  if constexpr (is_failed<X>) {
    return failed{};
  } else {
    using seen = detail::windowed<"window", Name, Taps, X, Step, Before, After, Dilation>;
    if constexpr (is_mistake<typename seen::mistake>) {
      return seen::mistake::raise(detail::by<X>);
    } else {
      using moved = typename seen::template op_along<typename seen::named::template at<0>>;
      return apply<moved, typename X::element, typename moved::to>(x);
    }
  }
}
template <fixed_string Name, fixed_string Taps, class... Xs>
constexpr auto window(const Xs&...) {  // refused
  return rule::new_axes_are_types<fact::call<"window">, fact::named<Name>, fact::named<Taps>>::raise(
      detail::by<Xs...>);
}
template <fixed_string Name, std::ptrdiff_t Taps, auto... Steps, class... Xs>
constexpr auto window(const Xs&...) {  // refused
  return rule::new_axes_are_types<fact::call<"window">, fact::named<Name>, fact::numbers<Taps>>::raise(
      detail::by<Xs...>);
}
/// An axis by type or by number: refused.
template <std::ptrdiff_t I, Axis Taps, auto... Steps, class... Xs>
constexpr auto window(const Xs&...) {
  return detail::numbers_refused<"window", fact::numbers<I>, Xs...>::raise(detail::by<Xs...>);
}
template <Axis D, Axis Taps, auto... Steps, class... Xs>
constexpr auto window(const Xs&...) {
  return detail::types_refused<"window", axes<D>, Xs...>::raise(detail::by<Xs...>);
}
template <Axis D, fixed_string Taps, auto... Steps, class... Xs>
constexpr auto window(const Xs&...) {
  return detail::types_refused<"window", axes<D>, Xs...>::raise(detail::by<Xs...>);
}

}  // namespace napkin
