// Gradients of functions, outside any training step: nk::grad(f)(x) and nk::value_and_grad(f)(x).
#pragma once

#include <array>
#include <span>
#include <tuple>
#include <type_traits>

#include "napkin/ops/function.hpp"
#include "napkin/passes/differentiate.hpp"
#include "napkin/passes/simplify.hpp"
#include "napkin/tensor/lower.hpp"

namespace napkin {

namespace rule {
/// type<F>
template <class... Facts>
struct differentiated_function_has_captures {
  static_assert(no<Facts...>,
                "grad: the function must hold nothing, as a lambda without captures does: it is "
                "differentiated in the compiler; pass what it needs as arguments");
};
/// type<axes<Ds...>>
template <class... Facts>
struct value_is_not_a_scalar {
  static_assert(no<Facts...>,
                "grad: the function's value has axes; reduce it to a scalar, by sum or mean, first");
};
/// of_type<T>
template <class... Facts>
struct gradient_of_an_integer {
  static_assert(no<Facts...>,
                "grad: only floating values have gradients; cast<f32>(x), or choose another argument");
};
/// named<"name">
template <class... Facts>
struct no_argument_of_this_name {
  static_assert(no<Facts...>,
                "grad: no argument bears this name; name them, grad<\"w\">(fn<\"x\", \"w\">(f)), or count "
                "them, grad<1>(f)");
};
/// expected<count>, given<index>
template <class... Facts>
struct no_argument_of_this_number {
  static_assert(no<Facts...>, "grad: the function is called with fewer arguments (they count from 0)");
};
}  // namespace rule

namespace detail {

/// What a function is called with: numbers become scalars, of the dtype of the first tensor if there is one.
template <class Number, class X>
constexpr auto as_argument(const X& x) {
  if constexpr (!std::is_arithmetic_v<X>)
    return x;
  else if constexpr (std::is_void_v<Number>)
    return scalar<X>{x};
  else
    return scalar<Number>{static_cast<Number>(x)};
}
template <class... Xs>
constexpr auto number_type() {
  if constexpr ((std::is_arithmetic_v<Xs> && ...))
    return std::type_identity<void>{};
  else
    return first_element<Xs...>();
}

/// f traced on arguments of these types. Outputs: the value, then the gradients of the chosen arguments.
template <class F, class Chosen, class... Xs>
struct gradient_graph;
template <class F, std::size_t... Chosen, class... Xs>
struct gradient_graph<F, std::index_sequence<Chosen...>, Xs...> {
  template <std::size_t... I>
  static constexpr graph forward(std::index_sequence<I...>) {
    builder b;
    const auto value = F{}(typename traced_of<typename Xs::element, axes_of<Xs>>::type(
        &b, b.input(static_cast<int>(I), dtype_of<typename Xs::element>, graph_shape<axes_of<Xs>>()))...);
    b.output(value.id);
    return b.take();
  }
  static constexpr graph make() {
    const graph f = forward(std::index_sequence_for<Xs...>{});
    const std::int32_t wanted[] = {argument(f.view(), static_cast<int>(Chosen))...};
    return passes::simplify(passes::differentiate(f.view(), wanted).view());
  }
  /// The node of argument i.
  static constexpr std::int32_t argument(const graph_view& g, int i) {
    for (int id = 0; id < static_cast<int>(g.size()); ++id)
      if (g[id].kind == op::input && g.attribute(id, 0) == i) return id;
    return -1;
  }
};

/// The number of the argument of this name; the number of arguments if there is none.
template <std::size_t N>
constexpr std::size_t argument_named(const std::array<std::string_view, N>& names, std::string_view name) {
  std::size_t i = 0;
  while (i < N && !same_text(names[i], name)) ++i;
  return i;
}

template <class F, bool WithValue, class Chosen>
struct gradient_function;
template <class F, bool WithValue, std::size_t... Chosen>
struct gradient_function<F, WithValue, std::index_sequence<Chosen...>> {
  template <class... Xs>
  auto operator()(const Xs&... xs) const {
    if constexpr ((is_failed<Xs> || ...)) {
      return failed{};
    } else if constexpr (!std::is_empty_v<F> || !std::is_default_constructible_v<F>) {
      (void)sizeof(rule::differentiated_function_has_captures<fact::type<F>>);
      return failed{};
    } else if constexpr (!((Chosen < sizeof...(Xs)) && ...)) {
      (void)sizeof(rule::no_argument_of_this_number<fact::expected<sizeof...(Xs)>, fact::given<Chosen>...>);
      return failed{};
    } else {
      return call(as_argument<typename decltype(number_type<Xs...>())::type>(xs)...);
    }
  }

 private:
  template <class... Xs>
  using value_of =
      std::invoke_result_t<const F&, typename traced_of<typename Xs::element, axes_of<Xs>>::type...>;

  template <class... Xs>
  static auto call(const Xs&... xs) {
    using value = value_of<Xs...>;
    using types = std::tuple<typename Xs::element...>;
    if constexpr (is_failed<value>) {
      return failed{};
    } else if constexpr (!Traced<value>) {
      (void)sizeof(rule::function_returns_no_operand<fact::type<value>>);
      return failed{};
    } else if constexpr (value::axes_type::rank != 0) {
      (void)sizeof(rule::value_is_not_a_scalar<fact::type<typename value::axes_type>>);
      return failed{};
    } else if constexpr (!is_floating(dtype_of<typename value::element>)) {
      (void)sizeof(rule::gradient_of_an_integer<fact::of_type<dtype_of<typename value::element>>>);
      return failed{};
    } else if constexpr (!(is_floating(dtype_of<std::tuple_element_t<Chosen, types>>) && ...)) {
      (void)sizeof(
          rule::gradient_of_an_integer<fact::of_type<dtype_of<std::tuple_element_t<Chosen, types>>>...>);
      return failed{};
    } else {
      using graph = gradient_graph<F, std::index_sequence<Chosen...>, Xs...>;
      return run<graph>(std::tuple(in_memory(xs)...), std::index_sequence_for<Xs...>{});
    }
  }
  /// Expressions are evaluated, views made contiguous.
  template <class X>
  static auto in_memory(const X& x) {
    if constexpr (Scalar<X>)
      return x;
    else
      return typename tensor_of<typename X::element, axes_of<X>>::type(x);
  }
  template <class X>
  static const void* address(const X& x) {
    if constexpr (Scalar<X>)
      return &x.value;
    else
      return x.data();
  }
  template <class X>
  using result_for = typename tensor_of<typename X::element, axes_of<X>>::type;

  template <class Graph, class Arguments, std::size_t... I>
  static auto run(const Arguments& xs, std::index_sequence<I...>) {
    using value_type = value_of<std::tuple_element_t<I, Arguments>...>;
    std::tuple<tensor<typename value_type::element>, result_for<std::tuple_element_t<Chosen, Arguments>>...>
        results;
    const void* const inputs[] = {address(std::get<I>(xs))...};
    std::apply(
        [&](auto&... out) {
          void* const outputs[] = {out.data()...};
          run_graph<Graph>(inputs, outputs);
        },
        results);
    if constexpr (WithValue)
      return results;
    else if constexpr (sizeof...(Chosen) == 1)
      return std::get<1>(results);
    else
      return std::apply([](const auto&, const auto&... g) { return std::tuple(g...); }, results);
  }
};

/// After an error: to be called, so that the call is no second one.
struct failed_gradient {
  template <class... Xs>
  constexpr failed operator()(const Xs&...) const {
    return {};
  }
};

// Names are asked of the function's type: nvcc 13 deduces no strings from one.
template <class N>
concept NamedFunction = requires {
  typename N::function;
  N::names;
};

template <bool WithValue, class F, std::size_t... Which>
constexpr auto gradient_by_number() {
  if constexpr (sizeof...(Which) == 0)
    return gradient_function<F, WithValue, std::index_sequence<0>>{};
  else
    return gradient_function<F, WithValue, std::index_sequence<Which...>>{};
}
template <bool WithValue, class N, fixed_string... Which>
constexpr auto gradient_by_name() {
  if constexpr (((argument_named(N::names, Which.view()) == N::names.size()) || ...)) {
    (void)sizeof(rule::no_argument_of_this_name<fact::named<Which>...>);
    return failed_gradient{};
  } else {
    return gradient_by_number<WithValue, typename N::function, argument_named(N::names, Which.view())...>();
  }
}
/// A function without names is asked for one.
struct no_names {
  static constexpr std::array<std::string_view, 0> names{};
};

}  // namespace detail

/// The gradient of f, a captureless function of tensors with a scalar value: grad(f)(x) has x's axes.
///
/// By default of the first argument; grad<1>(f) of the second; grad<0, 1>(f) a tuple of both. With named
/// arguments, grad<"w">(fn<"x", "w">(f)).
///
/// Cost     reverse mode: what the value costs, and twice its contractions for each argument asked for
/// Rules    value_is_not_a_scalar, gradient_of_an_integer, no_argument_of_this_name,
///          no_argument_of_this_number, differentiated_function_has_captures
/// Example  nk::grad([](auto x) { return x * x + 3 * x; })(2.0) is 7
template <std::size_t... Which, class F>
constexpr auto grad(const F&) {
  return detail::gradient_by_number<false, F, Which...>();
}
template <fixed_string First, fixed_string... Which, class F>
constexpr auto grad(const F&) {
  if constexpr (detail::NamedFunction<F>)
    return detail::gradient_by_name<false, F, First, Which...>();
  else
    return detail::gradient_by_name<false, detail::no_names, First, Which...>();
}

/// A tuple: the value, then the gradients.
template <std::size_t... Which, class F>
constexpr auto value_and_grad(const F&) {
  return detail::gradient_by_number<true, F, Which...>();
}
template <fixed_string First, fixed_string... Which, class F>
constexpr auto value_and_grad(const F&) {
  if constexpr (detail::NamedFunction<F>)
    return detail::gradient_by_name<true, F, First, Which...>();
  else
    return detail::gradient_by_name<true, detail::no_names, First, Which...>();
}

}  // namespace napkin
