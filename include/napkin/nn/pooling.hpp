// Pooling: axes cut into windows side by side, and of each window the largest element or the mean. Windows
// that overlap are napkin::window's, of which this is one use: max<"kernel">(window<"height", kernel, 2>(x)).
#pragma once

#include <utility>

#include "napkin/nn/mistakes.hpp"
#include "napkin/ops/reduce.hpp"
#include "napkin/ops/window.hpp"

namespace napkin {

namespace rule {
/// call<"f">, named<"the axes">...
template <class... Facts>
struct pool_lacks_a_size {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "max_pool, mean_pool: the window's size stands before the axes: max_pool<2, \"height\", "
      "\"width\">(x)");
};
}  // namespace rule

namespace detail {

template <fixed_string Call, class X, fixed_string... Names>
using pool_misfit = unless_failed<rule::pool_lacks_a_size<fact::call<Call>, fact::named<Names>...>, X>;

/// The taps along the I-th of the pooled axes: pool, pool', pool'', ...
template <std::size_t Taps, std::size_t I>
struct pool_taps {
  using type = primed<typename pool_taps<Taps, I - 1>::type>;
};
template <std::size_t Taps>
struct pool_taps<Taps, 0> {
  using type = dim<"pool", Taps>;
};

/// x seen through windows along each of the axes.
template <std::size_t Taps, std::size_t I, class X>
constexpr auto pooled(const X& x) {
  return x;
}
template <std::size_t Taps, std::size_t I, fixed_string Name, fixed_string... Names, class X>
constexpr auto pooled(const X& x) {
  return pooled<Taps, I + 1, Names...>(window<Name, typename pool_taps<Taps, I>::type, Taps>(x));
}

/// The first axis that is shorter than a window.
template <std::size_t Taps, class D, class... Ds>
constexpr auto find_short_axis(axes<D, Ds...>) {
  if constexpr (D::size < Taps)
    return std::type_identity<
        rule::window_exceeds_axis<fact::axis<D>, fact::has_size<D::size>, fact::but_size<Taps>>>{};
  else if constexpr (sizeof...(Ds) == 0)
    return std::type_identity<accepted>{};
  else
    return find_short_axis<Taps>(axes<Ds...>{});
}
template <fixed_string Call, std::size_t Taps, class X, fixed_string... Names>
constexpr auto find_pool_mistake() {
  using along = decltype(find_mistake_along<Call, Names...>(std::type_identity<X>{}));
  if constexpr (found_mistake<along>)
    return along{};
  else
    return find_short_axis<Taps>(typename named_axes<axes_of<X>, Names...>::all{});
}

template <std::size_t Taps, fixed_string... Names, class X, std::size_t... I>
constexpr auto largest_in_windows(const X& x, std::index_sequence<I...>) {
  return max<pool_taps<Taps, I>::type::name...>(pooled<Taps, 0, Names...>(x));
}
template <std::size_t Taps, fixed_string... Names, class X, std::size_t... I>
constexpr auto mean_of_windows(const X& x, std::index_sequence<I...>) {
  return mean<pool_taps<Taps, I>::type::name...>(pooled<Taps, 0, Names...>(x));
}

}  // namespace detail

/// The largest of every Taps elements along each of the named axes; what does not fill a window at an axis's
/// end is left out.
///
/// Shape     max_pool<2, "height", "width">(x): (batch, height=28, width=28) -> (batch, height=14, width=14)
/// Gradient  to the largest
/// Rules     window_exceeds_axis
template <std::size_t Taps, fixed_string... Names, detail::ElementwiseOperand X>
requires(Taps > 0 && sizeof...(Names) > 0) constexpr auto max_pool(const X& x) {
  using mistake = detail::rule_in<decltype(detail::find_pool_mistake<"max_pool", Taps, X, Names...>())>;
  if constexpr (is_mistake<mistake>)
    return mistake::raise(detail::by<X>);
  else
    return detail::largest_in_windows<Taps, Names...>(x, std::make_index_sequence<sizeof...(Names)>{});
}
/// An axis by type: refused.
template <std::size_t Taps, Axis D, Axis... Ds, class... Xs>
constexpr auto max_pool(const Xs&...) {
  return detail::types_refused<"max_pool", axes<D, Ds...>, Xs...>::raise(detail::by<Xs...>);
}
/// Without the window's size: refused.
template <fixed_string... Names, detail::ElementwiseOperand X>
constexpr auto max_pool(const X&) {
  return detail::pool_misfit<"max_pool", X, Names...>::raise(detail::by<X>);
}

/// The mean of the same.
template <std::size_t Taps, fixed_string... Names, detail::ElementwiseOperand X>
requires(Taps > 0 && sizeof...(Names) > 0) constexpr auto mean_pool(const X& x) {
  using mistake = detail::rule_in<decltype(detail::find_pool_mistake<"mean_pool", Taps, X, Names...>())>;
  if constexpr (is_mistake<mistake>)
    return mistake::raise(detail::by<X>);
  else
    return detail::mean_of_windows<Taps, Names...>(x, std::make_index_sequence<sizeof...(Names)>{});
}
/// An axis by type: refused.
template <std::size_t Taps, Axis D, Axis... Ds, class... Xs>
constexpr auto mean_pool(const Xs&...) {
  return detail::types_refused<"mean_pool", axes<D, Ds...>, Xs...>::raise(detail::by<Xs...>);
}
/// Without the window's size: refused.
template <fixed_string... Names, detail::ElementwiseOperand X>
constexpr auto mean_pool(const X&) {
  return detail::pool_misfit<"mean_pool", X, Names...>::raise(detail::by<X>);
}

}  // namespace napkin
