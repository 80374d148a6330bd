// Activations: elementwise functions over primitives, lowered as one kernel each.
#pragma once

#include "napkin/nn/mistakes.hpp"
#include "napkin/nn/small_floats.hpp"
#include "napkin/ops/composite.hpp"
#include "napkin/ops/elementwise.hpp"
#include "napkin/ops/function.hpp"

namespace napkin {

namespace rule {
/// type<X>, type<what was given beside it>...
template <class... Facts>
struct gelu_has_two_names {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise,
                                         "gelu: it takes one operand and has two names, gelu(x) for the tanh "
                                         "form and gelu_exact(x) for the other");
};
/// type<gate>, type<up>
template <class... Facts>
struct swiglu_is_of_two {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "swiglu: it is of two operands, what a gate's and another product gave; of one it is silu(x)");
};
}  // namespace rule

namespace detail {

/// The largest argument whose exponential and its reciprocal are ordinary numbers of f64 or f32.
template <class T>
inline constexpr double exp_limit = std::is_same_v<T, f64> ? 700 : 80;

/// x of f64 or f32, but not so low that exp(-x) is infinite: 1 / (1 + exp(-x)) would be right there, its
/// gradient 0 * infinity.
template <class X>
constexpr auto ended_below(const X& x) {
  return maximum(x, -exp_limit<typename X::element>);
}
/// 1 / (1 + exp(-x)) of an x that is.
template <class X>
constexpr auto sigmoid_of(const X& x) {
  return 1 / (1 + exp(-x));
}

struct sigmoid_function {
  template <class X>
  constexpr auto operator()(const X& x) const {
    const composite_scope in(composite::sigmoid, x);
    return cast<typename X::element>(sigmoid_of(ended_below(widened(x))));
  }
};

struct silu_function {
  template <class X>
  constexpr auto operator()(const X& x) const {
    const composite_scope in(composite::silu, x);
    const auto z = ended_below(widened(x));  // x itself times the sigmoid, 1e-35 there, would not go to 0
    return cast<typename X::element>(z * sigmoid_of(z));
  }
};

struct swiglu_function {
  template <class G, class U>
  constexpr auto operator()(const G& gate, const U& up) const {
    return cast<typename G::element>(silu_function{}(widened(gate)) * widened(up));
  }
};

struct gelu_function {
  template <class X>
  constexpr auto operator()(const X& x) const {
    const composite_scope in(composite::gelu, x);
    const auto z = widened(x);
    const auto inner = z * (1 + z * z * number_like(z, 0.044715));
    return cast<typename X::element>(
        0.5 * z * (1 + tanh(inner * number_like(z, 0.797884560802865355879892119868763737))));  // sqrt(2/pi)
  }
};

struct gelu_exact_function {
  template <class X>
  constexpr auto operator()(const X& x) const {
    const composite_scope in(composite::gelu_exact, x);
    const auto z = widened(x);
    return cast<typename X::element>(
        0.5 * z * (1 + erf(z * number_like(z, 0.707106781186547524400844362104849039))));  // sqrt(1/2)
  }
};

}  // namespace detail

/// 1 / (1 + exp(-x)), whose value and gradient stay finite.
template <detail::ElementwiseOperand X>
constexpr auto sigmoid(const X& x) {
  using mistake = detail::rule_in<decltype(detail::find_composite_mistake(std::type_identity<X>{}))>;
  if constexpr (is_mistake<mistake>)
    return mistake::raise(detail::by<X>);
  else
    return fn(detail::sigmoid_function{})(x);
}

/// x * sigmoid(x).  Source  Elfwing et al. 2017, "swish" in Ramachandran et al. 2017
template <detail::ElementwiseOperand X>
constexpr auto silu(const X& x) {
  using mistake = detail::rule_in<decltype(detail::find_composite_mistake(std::type_identity<X>{}))>;
  if constexpr (is_mistake<mistake>)
    return mistake::raise(detail::by<X>);
  else
    return fn(detail::silu_function{})(x);
}

/// The tanh form, as GPT-2 has it.  Source  Hendrycks and Gimpel 2016, section 2
template <detail::ElementwiseOperand X>
constexpr auto gelu(const X& x) {
  using mistake = detail::rule_in<decltype(detail::find_composite_mistake(std::type_identity<X>{}))>;
  if constexpr (is_mistake<mistake>)
    return mistake::raise(detail::by<X>);
  else
    return fn(detail::gelu_function{})(x);
}

template <detail::ElementwiseOperand X, class... Form>
requires(sizeof...(Form) > 0) constexpr auto gelu(const X&, const Form&...) {  // refused
  using mistake = detail::unless_failed<rule::gelu_has_two_names<fact::type<X>, fact::type<Form>...>, X>;
  return mistake::raise(detail::by<X, Form...>);
}

/// x times the standard normal distribution function.  Source  the same
template <detail::ElementwiseOperand X>
constexpr auto gelu_exact(const X& x) {
  using mistake = detail::rule_in<decltype(detail::find_composite_mistake(std::type_identity<X>{}))>;
  if constexpr (is_mistake<mistake>)
    return mistake::raise(detail::by<X>);
  else
    return fn(detail::gelu_exact_function{})(x);
}

/// silu(gate) * up: what stands between the matrices of a Llama block's MLP.  Source  Shazeer 2020
template <detail::ElementwiseOperand G, detail::ElementwiseOperand U>
constexpr auto swiglu(const G& gate, const U& up) {
  using mistake = detail::rule_in<decltype(detail::find_composite_mistake(std::type_identity<G>{},
                                                                          std::type_identity<U>{}))>;
  if constexpr (is_mistake<mistake>)
    return mistake::raise(detail::by<G, U>);
  else
    return fn(detail::swiglu_function{})(gate, up);
}
template <class G, class... U>
requires detail::MisfitOfTwo<G, U...>
constexpr auto swiglu(const G&, const U&...) {  // refused
  using mistake = detail::misfit_of_two<rule::swiglu_is_of_two<fact::type<G>, fact::type<U>...>, G, U...>;
  return mistake::raise(detail::by<G, U...>);
}

}  // namespace napkin
