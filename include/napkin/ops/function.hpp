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
}  // namespace rule

namespace detail {

template <class X>
struct traced_argument {
  using type = typename traced_of<typename X::element, axes_of<X>>::type;
};
/// X as as_operand gives it: a number is one of T.
template <class T, class X>
using operand_from = std::remove_cvref_t<decltype(as_operand<T>(std::declval<const X&>()))>;

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
    } else if constexpr ((is_traced_operand<Xs> || ...)) {
      return F{}(xs...);
    } else if constexpr ((run_time_sized<Xs> || ...)) {
      using found = decltype(find_first_run_time_axis<called, typename axes_or_none<Xs>::type...>());
      return found::type::raise(detail::by<Xs...>);
    } else {
      using T = typename decltype(first_element<Xs...>())::type;
      // Asked here, not in a function of its own: each between a mistake in F and the user takes clang 3
      // lines.
      using result = decltype(F{}(std::declval<typename traced_argument<operand_from<T, Xs>>::type>()...));
      if constexpr (is_failed<result>)
        return failed{};
      else if constexpr (!Traced<result>)
        return rule::function_returns_no_operand<called, fact::type<result>>::raise(detail::by<Xs...>);
      else
        return apply<fn_op<F, typename traced_argument<operand_from<T, Xs>>::type...>,
                     typename result::element, typename result::axes_type>(as_operand<T>(xs)...);
    }
  }
};

}  // namespace detail

/// A captureless function of tensors as one operation: fn(f)(x, y) is a lazy expression whose inside shares
/// what it uses twice; of traced values it is f itself. Numbers take the dtype of the first tensor. Names, if
/// any, are what grad and value_and_grad may call the arguments by: fn<"x", "w">(f).
///
/// Rules    function_is_not_captureless, function_returns_no_operand
/// Example  nk::tensor y = nk::fn([](auto x) { auto e = nk::exp(x); return e / nk::sum<"key">(e); })(x);
template <fixed_string... Names, class F>
constexpr auto fn(const F&) {
  return detail::named_function<F, Names...>{};
}

}  // namespace napkin
