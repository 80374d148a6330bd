// Rotary positions: pairs of coordinates turned by an angle that grows with the position.
#pragma once

#include "napkin/core/math.hpp"
#include "napkin/nn/mistakes.hpp"
#include "napkin/ops/composite.hpp"
#include "napkin/ops/elementwise.hpp"
#include "napkin/ops/function.hpp"
#include "napkin/ops/matmul.hpp"
#include "napkin/ops/movement.hpp"
#include "napkin/ops/reshape.hpp"

namespace napkin {

namespace rule {
/// axis<D>, has_size<N>
template <class... Facts>
struct rotary_axis_is_odd {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise,
                                         "rotary: the axis is turned in pairs, so its size must be even");
};
/// named<"the axis">
template <class... Facts>
struct rotary_lacks_an_axis {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "rotary: it takes the axis of positions, and the one that is turned: rotary<\"seq\", \"hidden\">(x)");
};
}  // namespace rule

namespace detail {

/// Angles a position, of the pairs of x's axis Hidden.
template <fixed_string Hidden, std::size_t Base, class X>
constexpr auto rotary_frequency(const X& x) {
  using pair = dim<"rotary_pair", named_axes<axes_of<X>, Hidden>::template at<0>::size / 2>;
  constexpr double step = -math::log(static_cast<double>(Base)) / static_cast<double>(pair::size);
  const auto index = cast<accumulator_type<typename X::element>>(positions<pair>(x));  // [pair]
  return exp(index * number_like(index, step));                                        // [pair]
}

/// x turned by the angles of its pairs, which may differ along other axes of x.
template <fixed_string Hidden, class X, class Angle>
constexpr auto turned_by(const X& x, const Angle& angle) {
  using T = typename X::element;
  using half = dim<"rotary_half", 2>;
  using pair = dim<"rotary_pair", named_axes<axes_of<X>, Hidden>::template at<0>::size / 2>;
  const auto sign = cast<T>(2 * positions<half>(x) - 1);                            // [half]: -1, 1
  const auto halves = split<Hidden, half, pair>(x);                                 // [..., half, pair]
  const auto across = flip<"rotary_half">(halves) * sign;                           // [..., half, pair]
  const auto turned = halves * cast<T>(cos(angle)) + across * cast<T>(sin(angle));  // [..., half, pair]
  return moved<reshaped<axes_of<decltype(turned)>, axes_of<X>>>(turned);            // [..., hidden]
}

template <fixed_string Seq, fixed_string Hidden, std::size_t Base>
struct rotary_function {
  template <class X>
  constexpr auto operator()(const X& x) const {
    using seq = typename named_axes<axes_of<X>, Seq>::template at<0>;
    using A = accumulator_type<typename X::element>;  // a position is no number of 8 bits
    const composite_scope in(composite::rotary, x);
    const auto frequency = rotary_frequency<Hidden, Base>(x);
    return turned_by<Hidden>(x, outer(cast<A>(positions<seq>(x)), frequency));  // [seq, pair]
  }
};

template <fixed_string Seq, fixed_string Hidden, std::size_t Base>
constexpr auto find_rotary() {
  return std::type_identity<rotary_function<Seq, Hidden, Base>>{};
}
/// As `spelled` is (core/fixed_string.hpp).
template <fixed_string Seq, fixed_string Hidden, std::size_t Base>
using rotary_along = typename decltype(find_rotary<Seq, Hidden, Base>())::type;

template <fixed_string Seq, fixed_string Hidden, class X>
constexpr auto find_rotary_mistake() {
  using along = decltype(find_mistake_along<"rotary", Seq, Hidden>(std::type_identity<X>{}));
  if constexpr (found_mistake<along>) {
    return along{};
  } else {
    using hidden = typename named_axes<axes_of<X>, Seq, Hidden>::template at<1>;
    if constexpr (hidden::size % 2 != 0)
      return std::type_identity<rule::rotary_axis_is_odd<fact::axis<hidden>, fact::has_size<hidden::size>>>{};
    else
      return std::type_identity<accepted>{};
  }
}

}  // namespace detail

/// Coordinates i and i + n/2 of axis Hidden, of size n, turned together by position * Base^(-2i/n), where
/// position counts along axis Seq.
///
/// Shape     any -> the same
/// Rules     rotary_axis_is_odd
/// Gradient  turned back
/// Source    Su et al. 2021, with halves paired as Hugging Face's Llama does
/// Example   auto q = nk::rotary<"seq", "hidden">(query);
template <fixed_string Seq, fixed_string Hidden, std::size_t Base = 10000, detail::ElementwiseOperand X>
constexpr auto rotary(const X& x) {
  using mistake = typename decltype(detail::find_rotary_mistake<Seq, Hidden, X>())::type;
  if constexpr (is_mistake<mistake>)
    return mistake::raise(detail::by<X>);
  else
    return fn(detail::rotary_along<Seq, Hidden, Base>{})(x);
}
/// An axis by type: refused.
template <Axis A, Axis B, auto... Base, class... Xs>
constexpr auto rotary(const Xs&...) {
  return detail::types_refused<"rotary", axes<A, B>, Xs...>::raise(detail::by<Xs...>);
}
template <fixed_string A, Axis B, auto... Base, class... Xs>
constexpr auto rotary(const Xs&...) {
  return detail::types_refused<"rotary", axes<B>, Xs...>::raise(detail::by<Xs...>);
}
template <Axis A, fixed_string B, auto... Base, class... Xs>
constexpr auto rotary(const Xs&...) {
  return detail::types_refused<"rotary", axes<A>, Xs...>::raise(detail::by<Xs...>);
}
template <fixed_string A, detail::ElementwiseOperand X>
constexpr auto rotary(const X&) {  // refused
  return detail::unless_failed<rule::rotary_lacks_an_axis<fact::named<A>>, X>::raise(detail::by<X>);
}

}  // namespace napkin
