// fn: a function of tensors as one operation. Its inside is traced, so that what it uses twice is computed
// once, where a lazy expression would hold, and compute, two copies.
#pragma once

#include "napkin/ops/broadcast.hpp"

namespace napkin {

namespace rule {
/// type<F>
template <class... Facts>
struct function_is_not_captureless {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "fn: the function must hold nothing, as a lambda without captures does: it is called in the "
      "compiler; pass what it needs as arguments");
};
/// call<"f">, type<what it returns>
template <class... Facts>
struct function_returns_no_operand {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "the function that fn or grad is given must return what operations on its arguments give");
};
/// type<F>, expected<parameters>, given<arguments>
template <class... Facts>
struct function_takes_other_arguments {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "the function that fn or grad is given takes another number of arguments than there are");
};
/// type<F>, given<arguments>
template <class... Facts>
struct function_cannot_be_called {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "the function that fn or grad is given cannot be called with these arguments: it takes more or fewer "
      "than there are, or asks something else of them");
};
/// in_operand<I>, type<parameter>, type<argument>
template <class... Facts>
struct parameter_declared_otherwise {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "a parameter of the function that fn or grad is given is declared as something else than its argument "
      "is: its type is auto, or input<T, axes...> with the argument's dtype and axes in their order");
};
/// type<what it is called with>...
template <class... Facts>
struct gradient_inside_a_function {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "grad: gradients of gradients are not supported: grad and value_and_grad are called with tensors and "
      "numbers, and not within a traced function (a loss, what fn or grad are given)");
};
}  // namespace rule

namespace detail {

/// What grad or value_and_grad gave.
template <class F>
concept GradientFunction = requires {
  typename F::gradient_tag;
};

template <class Call>
struct parameters_of_call;
template <class F, class Result, class... Ps>
struct parameters_of_call<Result (F::*)(Ps...) const> {
  static constexpr std::size_t count = sizeof...(Ps);
  template <std::size_t I>
  using at = std::remove_cvref_t<std::tuple_element_t<I, std::tuple<Ps...>>>;
};
template <class F, class Result, class... Ps>
struct parameters_of_call<Result (F::*)(Ps...) const noexcept>
    : parameters_of_call<Result (F::*)(Ps...) const> {};
/// Whose parameters have types of their own, as those of a lambda with auto have not.
template <class F>
concept DeclaresParameters = requires {
  parameters_of_call<decltype(&F::operator())>::count;
};
template <class P, class X>
constexpr bool declared_as() {
  if constexpr (!is_operand<P> || !is_operand<X>)
    return true;
  else if constexpr (!Traced<P>)
    return std::is_same_v<P, X>;
  else
    return std::is_same_v<typename P::element, typename X::element> && same_axes<axes_of<P>, axes_of<X>>;
}

template <class Parameters, std::size_t I, class X, class... Rest>
constexpr auto find_parameter_mistake() {
  using P = typename Parameters::template at<I>;
  if constexpr (!declared_as<P, X>())
    return std::type_identity<
        rule::parameter_declared_otherwise<fact::in_operand<I>, fact::type<P>, fact::type<X>>>{};
  else if constexpr (sizeof...(Rest) == 0)
    return std::type_identity<accepted>{};
  else
    return find_parameter_mistake<Parameters, I + 1, Rest...>();
}
/// What is wrong with calling F with traced values of these types: asked before its body is compiled.
template <class F, class... Xs>
constexpr auto find_parameters_mistake() {
  if constexpr (GradientFunction<F>) {
    return std::type_identity<rule::gradient_inside_a_function<fact::type<Xs>...>>{};
  } else if constexpr (!DeclaresParameters<F>) {
    return std::type_identity<accepted>{};
  } else {
    using parameters = parameters_of_call<decltype(&F::operator())>;
    if constexpr (parameters::count != sizeof...(Xs))
      return std::type_identity<rule::function_takes_other_arguments<
          fact::type<F>, fact::expected<parameters::count>, fact::given<sizeof...(Xs)>>>{};
    else
      return find_parameter_mistake<parameters, 0, Xs...>();
  }
}
template <class F, class... Xs>
using parameters_mistake = typename decltype(find_parameters_mistake<F, Xs...>())::type;

template <class X>
struct traced_argument {
  using type = typename traced_of<typename X::element, axes_of<X>>::type;
};
/// X as as_operand gives it: a number is one of T.
template <class T, class X>
using operand_from = std::remove_cvref_t<decltype(as_operand<T>(std::declval<const X&>()))>;

struct no_call {};
/// F, and what every call is that it has not: its result is asked for without a word from the compiler.
template <class F>
struct call_of : F {
  using F::operator();
  no_call operator()(...) const;
};
template <class F>
using calls_of = std::conditional_t<std::is_final_v<F>, F, call_of<F>>;

/// F applied to operands of these traced types.
template <class F, class... Arguments>
struct fn_op {
  using called = fact::call<"fn">;
  static constexpr std::int32_t emit(builder& b, const std::int32_t* xs) {
    return run(b, xs, std::index_sequence_for<Arguments...>{});
  }
  template <std::size_t... I>
  static constexpr std::int32_t run(builder& b, const std::int32_t* xs, std::index_sequence<I...>) {
    return node_of(b, F{}(Arguments(&b, xs[I])...));
  }
};

/// The dtype that numbers among the arguments take: that of the first which is none.
template <class X, class... Rest>
constexpr auto first_element() {
  if constexpr (!is_number<X>)
    return std::type_identity<typename X::element>{};
  else if constexpr (sizeof...(Rest) == 0)
    return std::type_identity<X>{};
  else
    return first_element<Rest...>();
}

/// The same of what is to be traced.
template <class F, class... Xs>
constexpr auto find_traced_parameters_mistake() {
  using T = typename decltype(first_element<Xs...>())::type;
  return find_parameters_mistake<F, typename traced_argument<operand_from<T, Xs>>::type...>();
}
template <class F, class... Xs>
using traced_parameters_mistake = typename decltype(find_traced_parameters_mistake<F, Xs...>())::type;

template <class F, fixed_string... Names>
struct named_function {
  using function = F;
  using called = fact::call<"fn">;
  static constexpr std::array<std::string_view, sizeof...(Names)> names{Names.view()...};

  template <class... Xs>
  requires(sizeof...(Xs) > 0) constexpr auto operator()(const Xs&... xs) const {
    if constexpr ((is_failed<Xs> || ...)) {
      return failed{};
    } else if constexpr (!std::is_empty_v<F> || !std::is_default_constructible_v<F>) {
      return rule::function_is_not_captureless<fact::type<F>>::raise(detail::by<Xs...>);
    } else if constexpr (is_mistake<container_among<Xs...>>) {
      return container_among<Xs...>::raise(detail::by<Xs...>);
    } else if constexpr ((is_traced_operand<Xs> || ...)) {
      if constexpr (is_mistake<parameters_mistake<F, Xs...>>)
        return parameters_mistake<F, Xs...>::raise(detail::by<Xs...>);
      else
        return F{}(xs...);
    } else if constexpr (is_mistake<traced_parameters_mistake<F, Xs...>>) {
      return traced_parameters_mistake<F, Xs...>::raise(detail::by<Xs...>);
    } else {
      using T = typename decltype(first_element<Xs...>())::type;
      // Asked here, not in a function of its own: each between a mistake in F and the user takes clang 3
      // lines.
      using result =
          decltype(calls_of<F>{}(std::declval<typename traced_argument<operand_from<T, Xs>>::type>()...));
      if constexpr (is_failed<result>)
        return failed{};
      else if constexpr (std::is_same_v<result, no_call>)
        return rule::function_cannot_be_called<fact::type<F>, fact::given<sizeof...(Xs)>>::raise(
            detail::by<Xs...>);
      else if constexpr (!Traced<result>)
        return rule::function_returns_no_operand<called, fact::type<result>>::raise(detail::by<Xs...>);
      else
        return apply<fn_op<F, typename traced_argument<operand_from<T, Xs>>::type...>, element_of<result>,
                     axes_of<result>>(as_operand<T>(xs)...);
    }
  }
  constexpr auto operator()() const {  // refused
    return rule::function_cannot_be_called<fact::type<F>, fact::given<0>>::raise();
  }
};

}  // namespace detail

/// A captureless function of tensors as one operation: fn(f)(x, y) is a lazy expression whose inside shares
/// what it uses twice; of traced values it is f itself. Numbers take the dtype of the first tensor. Names, if
/// any, are what grad and value_and_grad may call the arguments by: fn<"x", "w">(f).
///
/// Rules    function_is_not_captureless, function_cannot_be_called, function_returns_no_operand,
///          function_takes_other_arguments, parameter_declared_otherwise
/// Example  nk::tensor y = nk::fn([](auto x) { auto e = nk::exp(x); return e / nk::sum<"key">(e); })(x);
template <fixed_string... Names, class F>
constexpr auto fn(const F&) {
  return detail::named_function<F, Names...>{};
}

}  // namespace napkin
