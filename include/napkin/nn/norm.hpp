// Normalisation over named axes: layer norm and RMS norm.
#pragma once

#include "napkin/nn/mistakes.hpp"
#include "napkin/nn/small_floats.hpp"
#include "napkin/ops/composite.hpp"
#include "napkin/ops/elementwise.hpp"
#include "napkin/ops/function.hpp"
#include "napkin/ops/reduce.hpp"

namespace napkin {

namespace rule {
/// call<"f">, given<parameters>
template <class... Facts>
struct norm_lacks_parameters {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "a gain, and in layer_norm a bias, stand behind x: layer_norm<\"embed\">(x, gain, bias), "
      "rms_norm<\"embed\">(x, gain); nn::layer_norm<embed> and nn::rms_norm<embed> are layers that have "
      "their own");
};
}  // namespace rule

namespace detail {

template <fixed_string... Names>
struct layer_norm_function {
  template <class X, class Gain, class Bias, class Eps>
  constexpr auto operator()(const X& x, const Gain& gain, const Bias& bias, const Eps& eps) const {
    const composite_scope in(composite::layer_norm, x);
    const auto wide = widened(x);
    const auto centred = wide - mean<Names...>(wide);
    const auto variance = mean<Names...>(centred * centred);
    const auto normal = centred * rsqrt(variance + number_like(wide, eps));
    const auto scaled = normal * widened(gain);  // in this order: a parameter is the origin of what follows
    return cast<typename X::element>(scaled + widened(bias));
  }
};

template <fixed_string... Names>
struct rms_norm_function {
  template <class X, class Gain, class Eps>
  constexpr auto operator()(const X& x, const Gain& gain, const Eps& eps) const {
    const composite_scope in(composite::rms_norm, x);
    const auto wide = widened(x);
    const auto normal = wide * rsqrt(mean<Names...>(wide * wide) + number_like(wide, eps));
    return cast<typename X::element>(normal * widened(gain));
  }
};

/// How many tensors stand behind x; an eps may follow them.
template <class... Given>
inline constexpr std::size_t norm_parameters = (static_cast<std::size_t>(ElementwiseOperand<Given>) + ... +
                                                0);
template <fixed_string Call, class X, class... Given>
using norm_parameters_mistake =
    unless_failed<rule::norm_lacks_parameters<fact::call<Call>, fact::given<norm_parameters<Given...>>>, X,
                  Given...>;

}  // namespace detail

/// (x - mean) / sqrt(variance + eps) * gain + bias over the named axes, which gain and bias have.
///
/// Shape     layer_norm<"embed">: (batch, seq, embed), (embed), (embed) -> (batch, seq, embed)
/// Gradient  flows through mean and variance
/// Source    Ba, Kiros and Hinton 2016; the variance is the biased one
template <fixed_string... Names, detail::ElementwiseOperand X, detail::ElementwiseOperand Gain,
          detail::ElementwiseOperand Bias>
constexpr auto layer_norm(const X& x, const Gain& gain, const Bias& bias, double eps = 1e-5) {
  using mistake = detail::rule_in<decltype(detail::find_mistake_along<"layer_norm", Names...>(
      std::type_identity<X>{}, std::type_identity<Gain>{}, std::type_identity<Bias>{}))>;
  if constexpr (is_mistake<mistake>)
    return mistake::raise(detail::by<X, Gain, Bias>);
  else
    return fn(detail::spelled<detail::layer_norm_function, Names...>{})(x, gain, bias,
                                                                        detail::number_beside<X>(eps));
}
/// Without its parameters: refused.
template <fixed_string... Names, detail::ElementwiseOperand X, class... Given>
requires(detail::norm_parameters<Given...> < 2) constexpr auto layer_norm(const X&, const Given&...) {
  return detail::norm_parameters_mistake<"layer_norm", X, Given...>::raise(detail::by<X, Given...>);
}
/// An axis by type or by number: refused.
template <Axis D, Axis... Ds, class... Xs>
constexpr auto layer_norm(const Xs&...) {
  return detail::types_refused<"layer_norm", axes<D, Ds...>, Xs...>::raise(detail::by<Xs...>);
}
template <std::ptrdiff_t I, std::ptrdiff_t... Is, class... Xs>
constexpr auto layer_norm(const Xs&...) {
  return detail::numbers_refused<"layer_norm", fact::numbers<I, Is...>, Xs...>::raise(detail::by<Xs...>);
}

/// x / sqrt(mean of squares + eps) * gain over the named axes, which gain has.
///
/// Shape     rms_norm<"embed">: (batch, seq, embed), (embed) -> (batch, seq, embed)
/// Source    Zhang and Sennrich 2019
template <fixed_string... Names, detail::ElementwiseOperand X, detail::ElementwiseOperand Gain>
constexpr auto rms_norm(const X& x, const Gain& gain, double eps = 1e-5) {
  using mistake = detail::rule_in<decltype(detail::find_mistake_along<"rms_norm", Names...>(
      std::type_identity<X>{}, std::type_identity<Gain>{}))>;
  if constexpr (is_mistake<mistake>)
    return mistake::raise(detail::by<X, Gain>);
  else
    return fn(detail::spelled<detail::rms_norm_function, Names...>{})(x, gain, detail::number_beside<X>(eps));
}
/// Without its parameters: refused.
template <fixed_string... Names, detail::ElementwiseOperand X, class... Given>
requires(detail::norm_parameters<Given...> < 1) constexpr auto rms_norm(const X&, const Given&...) {
  return detail::norm_parameters_mistake<"rms_norm", X, Given...>::raise(detail::by<X, Given...>);
}
/// An axis by type or by number: refused.
template <Axis D, Axis... Ds, class... Xs>
constexpr auto rms_norm(const Xs&...) {
  return detail::types_refused<"rms_norm", axes<D, Ds...>, Xs...>::raise(detail::by<Xs...>);
}
template <std::ptrdiff_t I, std::ptrdiff_t... Is, class... Xs>
constexpr auto rms_norm(const Xs&...) {
  return detail::numbers_refused<"rms_norm", fact::numbers<I, Is...>, Xs...>::raise(detail::by<Xs...>);
}

}  // namespace napkin
