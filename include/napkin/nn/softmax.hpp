// Softmax and its logarithm over named axes.
#pragma once

#include "napkin/nn/mistakes.hpp"
#include "napkin/nn/small_floats.hpp"
#include "napkin/ops/composite.hpp"
#include "napkin/ops/elementwise.hpp"
#include "napkin/ops/function.hpp"
#include "napkin/ops/reduce.hpp"

namespace napkin {

namespace detail {

// The maximum cancels in value and in gradient: it only keeps the exponentials from overflowing.
template <fixed_string... Names>
struct softmax_function {
  template <class X>
  constexpr auto operator()(const X& x) const {
    const composite_scope in(composite::softmax, x);
    const auto wide = widened(x);
    const auto weights = exp(wide - stop_gradient(max<Names...>(wide)));
    return cast<typename X::element>(weights / sum<Names...>(weights));
  }
};

template <fixed_string... Names>
struct log_softmax_function {
  template <class X>
  constexpr auto operator()(const X& x) const {
    const composite_scope in(composite::log_softmax, x);
    const auto wide = widened(x);
    const auto shifted = wide - stop_gradient(max<Names...>(wide));
    return cast<typename X::element>(shifted - log(sum<Names...>(exp(shifted))));
  }
};

/// Of several axes some are to be named: over all of them it is hardly ever meant, and no shape would tell.
template <fixed_string Call, fixed_string... Names, class X>
constexpr auto find_softmax_mistake(std::type_identity<X> x) {
  if constexpr (sizeof...(Names) > 0 || is_failed<X>)
    return decltype(find_mistake_along<Call, Names...>(x)){};
  else if constexpr (axes_of<X>::rank > 1)
    return std::type_identity<axes_refused<Call, X>>{};
  else
    return find_mistake_along<Call>(x);
}

}  // namespace detail

/// exp(x), divided by its sum over the named axes; x of one axis may leave it unsaid.
///
/// Shape     any -> the same
/// Cost      per element: exp, 2 elementwise FLOPs, 2 reduction FLOPs
/// Gradient  y * (dy - sum(dy * y))
/// Example   auto p = nk::softmax<"key">(scores);
template <fixed_string... Names, detail::ArgumentBeside<sizeof...(Names)> X>
constexpr auto softmax(const X& x) {
  using mistake =
      detail::rule_in<decltype(detail::find_softmax_mistake<"softmax", Names...>(std::type_identity<X>{}))>;
  if constexpr (is_mistake<mistake>)
    return mistake::raise(detail::by<X>);
  else
    return fn(detail::spelled<detail::softmax_function, Names...>{})(x);
}
/// An axis by number or by type, or one by name and more: refused.
template <fixed_string... Names, detail::ElementwiseOperand X, class Wrong>
constexpr auto softmax(const X&, const Wrong&) {
  return detail::axes_refused<"softmax", X, Wrong>::raise(detail::by<X, Wrong>);
}
template <Axis D, Axis... Ds, detail::ElementwiseOperand X>
constexpr auto softmax(const X&) {
  return detail::axes_refused<"softmax", X, D, Ds...>::raise(detail::by<X>);
}
template <std::ptrdiff_t I, std::ptrdiff_t... Is, detail::ElementwiseOperand X>
constexpr auto softmax(const X&) {
  return detail::numbers_refused<"softmax", fact::numbers<I, Is...>, X>::raise(detail::by<X>);
}

/// log(softmax(x)), right also where softmax underflows.
template <fixed_string... Names, detail::ArgumentBeside<sizeof...(Names)> X>
constexpr auto log_softmax(const X& x) {
  using mistake = detail::rule_in<decltype(detail::find_softmax_mistake<"log_softmax", Names...>(
      std::type_identity<X>{}))>;
  if constexpr (is_mistake<mistake>)
    return mistake::raise(detail::by<X>);
  else
    return fn(detail::spelled<detail::log_softmax_function, Names...>{})(x);
}
/// An axis by number or by type, or one by name and more: refused.
template <fixed_string... Names, detail::ElementwiseOperand X, class Wrong>
constexpr auto log_softmax(const X&, const Wrong&) {
  return detail::axes_refused<"log_softmax", X, Wrong>::raise(detail::by<X, Wrong>);
}
template <Axis D, Axis... Ds, detail::ElementwiseOperand X>
constexpr auto log_softmax(const X&) {
  return detail::axes_refused<"log_softmax", X, D, Ds...>::raise(detail::by<X>);
}
template <std::ptrdiff_t I, std::ptrdiff_t... Is, detail::ElementwiseOperand X>
constexpr auto log_softmax(const X&) {
  return detail::numbers_refused<"log_softmax", fact::numbers<I, Is...>, X>::raise(detail::by<X>);
}

}  // namespace napkin
