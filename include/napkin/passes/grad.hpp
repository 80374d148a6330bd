// Gradients of functions, outside any training step: nk::grad(f)(x) and nk::value_and_grad(f)(x).
#pragma once

#include <array>
#include <span>
#include <tuple>
#include <type_traits>

#include "napkin/ops/actual_sizes.hpp"
#include "napkin/ops/function.hpp"
#include "napkin/passes/differentiate.hpp"
#include "napkin/passes/simplify.hpp"
#include "napkin/tensor/lower.hpp"

namespace napkin {

namespace rule {
/// type<F>
template <class... Facts>
struct differentiated_function_has_captures {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "grad: the function must hold nothing, as a lambda without captures does: it is "
      "differentiated in the compiler; pass what it needs as arguments");
};
/// type<axes<Ds...>>
template <class... Facts>
struct value_is_not_a_scalar {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "grad: the function's value has axes; reduce it to a scalar, by sum or mean, first");
};
/// of_type<T>
template <class... Facts>
struct gradient_of_an_integer {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "grad: only floating values have gradients; cast<f32>(x), or choose another argument");
};
/// type<what stands where the function does>..., or of what follows it
template <class... Facts>
struct gradient_of_no_function {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "grad: takes a function, and gives one that is called with the arguments: grad(f)(x), not grad(f, x) "
      "or grad(f(x))");
};
/// named<"name">
template <class... Facts>
struct no_argument_of_this_name {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "grad: no argument bears this name; name them, grad<\"w\">(fn<\"x\", \"w\">(f)), or count "
      "them, grad<1>(f)");
};
/// expected<count>, given<index>
template <class... Facts>
struct no_argument_of_this_number {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "grad: the function is called with fewer arguments (they count from 0)");
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
template <class Number, class X>
using argument_from = decltype(as_argument<Number>(std::declval<const X&>()));
template <class... Xs>
constexpr auto number_type() {
  if constexpr ((std::is_arithmetic_v<Xs> && ...))
    return std::type_identity<void>{};
  else
    return first_element<Xs...>();
}

/// f traced on arguments of these types. Outputs: the value, if it is asked for, then the gradients of the
/// chosen arguments; what no output needs of f is not computed.
template <class F, bool WithValue, class Chosen, class... Xs>
struct gradient_graph;
template <class F, bool WithValue, std::size_t... Chosen, class... Xs>
struct gradient_graph<F, WithValue, std::index_sequence<Chosen...>, Xs...> {
  template <std::size_t... I>
  static constexpr graph forward(std::index_sequence<I...>) {
    builder b;
    const auto value = F{}(typename traced_of<typename Xs::element, axes_of<Xs>>::type(
        &b,
        b.input(static_cast<int>(I), dtype_of<typename Xs::element>, traced_shape_over<axes_of<Xs>>()))...);
    b.output(node_of(b, value));
    return b.take();
  }
  /// Begins with the nodes of `forward`.
  static constexpr graph differentiated() { return differentiate(forward(std::index_sequence_for<Xs...>{})); }
  static constexpr graph make() {
    return passes::simplify(bind_run_time_sizes(differentiated(), true).view());
  }
  /// The same where `Rewrite` makes another graph of the function's first, knowing which nodes' gradients are
  /// wanted; it keeps its arguments.
  template <class Rewrite>
  struct rewritten {
    static constexpr graph make() {
      const graph first = forward(std::index_sequence_for<Xs...>{});
      if (has_run_time_sizes(first.view()))
        return gradient_graph::make();  // no rewriting knows how they are marked
      return passes::simplify(
          bind_run_time_sizes(differentiate(Rewrite::make(first.view(), wanted(first.view()))), true).view());
    }
  };
  /// Which of the arguments' sizes are known at run time.
  static constexpr run_time_slots slots = slots_of_run_time_sizes(differentiated().view());
  /// The nodes of the chosen arguments.
  static constexpr buffer<std::int32_t> wanted(const graph_view& g) {
    buffer<std::int32_t> nodes;
    (nodes.push_back(argument(g, static_cast<int>(Chosen))), ...);
    return nodes;
  }
  /// The node of argument i.
  static constexpr std::int32_t argument(const graph_view& g, int i) {
    for (int id = 0; id < static_cast<int>(g.node_count); ++id)
      if (g[id].kind == op::input && g.attribute(id, 0) == i) return id;
    return -1;
  }

 private:
  static constexpr graph differentiate(const graph& f) {
    graph g = passes::differentiate(f.view(), wanted(f.view()));
    if (WithValue) return g;
    const buffer<std::int32_t> all = g.outputs;
    g.outputs.clear();
    for (std::size_t i = 1; i < all.size(); ++i) g.outputs.push_back(all[i]);
    return g;
  }
};

/// Where a gradient is computed, which is where its arguments are: what its tensors are, and how a graph of
/// it is run. Of tensors on the device: cuda/gradient.hpp.
template <unsigned char Place>
struct gradient_place {
  template <class X>
  using tensor_like = typename tensor_of<typename X::element, axes_of<X>>::type;
  template <class Graph, class X>
  static constexpr auto find_mistake() {
    return std::type_identity<accepted>{};
  }

  template <class X>
  static const void* leaf(const X& x) {
    if constexpr (Scalar<X>)
      return &x.value;
    else
      return x.data();
  }
  static const void* size(const run_time_sizes& sizes, std::size_t k) { return sizes.address(k); }
  /// Room for a gradient of x.
  template <class X>
  static auto like(const X& x) {
    if constexpr (Scalar<X>)
      return tensor_like<X>(uninitialized);
    else
      return x.uninitialized_like();
  }
  template <class Graph>
  static void run(std::span<const void* const> inputs, std::span<void* const> outputs) {
    run_graph<Graph>(inputs, outputs);
  }
};

/// The number of the argument of this name; the number of arguments if there is none.
template <std::size_t N>
constexpr std::size_t argument_named(const std::array<std::string_view, N>& names, std::string_view name) {
  std::size_t i = 0;
  while (i < N && !same_text(names[i], name)) ++i;
  return i;
}

/// After a mistake: as many results as there would be, so that what takes them apart is no second one.
template <std::size_t Results>
constexpr auto failed_results(const failed& one) {
  return std::tuple_cat(std::tuple(one), failed_results<Results - 1>(one));
}
template <>
constexpr auto failed_results<0>(const failed&) {
  return std::tuple();
}
/// What takes the call of a gradient that is none.
template <std::size_t Results>
struct failed_gradient : failed {
  constexpr explicit failed_gradient(const failed&) {}
  template <class... Xs>
  constexpr auto operator()(const Xs&...) const {
    return failed_results<Results>(failed{});
  }
};

template <class F, bool WithValue, class Chosen>
struct gradient_function;
template <class F, bool WithValue, std::size_t... Chosen>
struct gradient_function<F, WithValue, std::index_sequence<Chosen...>> {
  using gradient_tag = void;
  /// What a call gives: one tensor, or a tuple.
  static constexpr std::size_t result_count = WithValue + sizeof...(Chosen);

  template <class... Xs>
  auto operator()(const Xs&... xs) const {
    using refused = typename decltype(find_argument_mistake<Xs...>())::type;
    if constexpr (is_mistake<refused>) {
      if constexpr (result_count == 1)
        return refused::raise(detail::by<Xs...>);
      else
        return failed_results<result_count>(refused::raise());
    } else {
      using number = typename decltype(number_type<Xs...>())::type;
      // Asked here, not in a function of its own: each between a mistake in F and the user takes clang 3
      // lines.
      using value = decltype(
          calls_of<F>{}(std::declval<typename traced_argument<argument_from<number, Xs>>::type>()...));
      using mistake = typename decltype(find_value_mistake<value, argument_from<number, Xs>...>())::type;
      if constexpr (is_mistake<mistake> && result_count == 1)
        return mistake::raise(detail::by<Xs...>);
      else if constexpr (is_mistake<mistake>)
        return failed_results<result_count>(mistake::raise());
      else
        return call(as_argument<number>(xs)...);
    }
  }
  // Refused: of traced values.
  template <class... Xs>
  requires((is_traced_operand<Xs> || ...)) constexpr auto operator()(const Xs&...) const {
    using mistake = unless_failed<rule::gradient_inside_a_function<fact::type<Xs>...>, Xs...>;
    if constexpr (result_count == 1)
      return mistake::raise(detail::by<Xs...>);
    else
      return failed_results<result_count>(mistake::raise());
  }

  /// The rule that a call with arguments of these types breaks.
  template <class... Xs>
  static constexpr auto find_call_mistake() {
    using refused = decltype(find_argument_mistake<Xs...>());
    if constexpr (found_mistake<refused>) {
      return refused{};
    } else {
      using number = typename decltype(number_type<Xs...>())::type;
      return find_value_mistake<value_of<argument_from<number, Xs>...>, argument_from<number, Xs>...>();
    }
  }

 private:
  /// The same, whatever the function's value.
  template <class... Xs>
  static constexpr auto find_argument_mistake() {
    if constexpr ((is_failed<Xs> || ...)) {
      return std::type_identity<silent>{};
    } else if constexpr (!std::is_empty_v<F> || !std::is_default_constructible_v<F>) {
      return std::type_identity<rule::differentiated_function_has_captures<fact::type<F>>>{};
    } else if constexpr (!((Chosen < sizeof...(Xs)) && ...)) {
      return std::type_identity<
          rule::no_argument_of_this_number<fact::expected<sizeof...(Xs)>, fact::given<Chosen>...>>{};
    } else if constexpr (is_mistake<container_among<Xs...>>) {
      return std::type_identity<container_among<Xs...>>{};
    } else if constexpr (((places_of<Xs> & on_host) || ...) && ((places_of<Xs> & on_device) || ...)) {
      return std::type_identity<rule::host_and_device_in_one_expression<
          fact::call<"grad">, fact::on_the_host<find_place<Xs...>(on_host)>,
          fact::on_the_device<find_place<Xs...>(on_device)>>>{};
    } else {
      using number = typename decltype(number_type<Xs...>())::type;
      return find_parameters_mistake<F, typename traced_argument<argument_from<number, Xs>>::type...>();
    }
  }
  /// That a value of this type, of arguments of those, breaks.
  template <class Value, class... Xs>
  static constexpr auto find_value_mistake() {
    using types = std::tuple<typename Xs::element...>;
    if constexpr (is_failed<Value>)
      return std::type_identity<silent>{};
    else if constexpr (std::is_same_v<Value, no_call>)
      return std::type_identity<rule::function_cannot_be_called<fact::type<F>, fact::given<sizeof...(Xs)>>>{};
    else if constexpr (!Traced<Value>)
      return std::type_identity<rule::function_returns_no_operand<fact::call<"grad">, fact::type<Value>>>{};
    else if constexpr (Value::axes_type::rank != 0)
      return std::type_identity<rule::value_is_not_a_scalar<fact::type<typename Value::axes_type>>>{};
    else if constexpr (!is_floating(dtype_of<typename Value::element>))
      return std::type_identity<
          rule::gradient_of_an_integer<fact::of_type<dtype_of<typename Value::element>>>>{};
    else if constexpr (!(is_floating(dtype_of<std::tuple_element_t<Chosen, types>>) && ...))
      return std::type_identity<
          rule::gradient_of_an_integer<fact::of_type<dtype_of<std::tuple_element_t<Chosen, types>>>...>>{};
    else
      return place_of<Xs...>::template find_mistake<
          gradient_graph<F, WithValue, std::index_sequence<Chosen...>, Xs...>,
          std::tuple_element_t<0, std::tuple<Xs...>>>();
  }

  template <class... Xs>
  using value_of = std::invoke_result_t<const calls_of<F>&,
                                        typename traced_of<typename Xs::element, axes_of<Xs>>::type...>;
  template <class... Xs>
  using place_of = gradient_place<static_cast<unsigned char>((places_of<Xs> | ... | 0))>;

  template <class... Xs>
  static auto call(const Xs&... xs) {
    using graph = gradient_graph<F, WithValue, std::index_sequence<Chosen...>, Xs...>;
    using place = place_of<Xs...>;
    return run<graph, place>(std::tuple(in_memory<place>(xs)...), std::index_sequence_for<Xs...>{});
  }
  /// Expressions are evaluated, views made contiguous.
  template <class Place, class X>
  static auto in_memory(const X& x) {
    if constexpr (Scalar<X>)
      return x;
    else
      return typename Place::template tensor_like<X>(x);
  }

  template <class Graph, class Place, class Arguments, std::size_t... I>
  static auto run(const Arguments& xs, std::index_sequence<I...>) {
    auto results = make_results<Place>(xs, std::index_sequence<I...>{});
    using leaf = decltype(Place::leaf(std::get<0>(xs)));
    constexpr bool sized = (has_dynamic_axis<std::tuple_element_t<I, Arguments>> || ...);
    std::array<leaf, sizeof...(I) + (sized ? max_run_time_sizes : 0)> all{Place::leaf(std::get<I>(xs))...};
    std::size_t count = sizeof...(I);
    [[maybe_unused]] run_time_sizes sizes;
    if constexpr (sized) {
      (sizes.add(std::get<I>(xs)), ...);
      sizes.agree(Graph::slots);
      for (std::size_t k = 0; k < sizes.size(); ++k) all[count++] = Place::size(sizes, k);
    }
    const std::span<const leaf> inputs(all.data(), count);
    std::apply(
        [&](auto&... out) {
          void* const outputs[] = {out.data()...};
          Place::template run<Graph>(inputs, outputs);
        },
        results);
    if constexpr (result_count == 1)
      return std::get<0>(results);
    else
      return results;
  }

  // No default: nvcc 12 finds no end to a std::tuple's, of what asks for a std::source_location by one.
  template <class Place, class Arguments, std::size_t... I>
  static auto make_results(const Arguments& xs, std::index_sequence<I...>) {
    if constexpr (WithValue) {
      using value_type = value_of<std::tuple_element_t<I, Arguments>...>;
      return std::make_tuple(typename Place::template tensor_like<value_type>(uninitialized),
                             Place::like(std::get<Chosen>(xs))...);
    } else {
      return std::make_tuple(Place::like(std::get<Chosen>(xs))...);
    }
  }
};

// Names are asked of the function's type: nvcc 13 deduces no strings from one.
template <class N>
concept NamedFunction = requires {
  typename N::function;
  N::names;
};

/// Results of a gradient by the arguments that are named: of the first, if none is.
template <bool WithValue, std::size_t Named>
inline constexpr std::size_t results_for = WithValue + (Named == 0 ? 1 : Named);

/// Of what stands where a function should: the value of one, say.
template <class F>
using no_function_mistake = std::conditional_t<
    is_failed<F>, silent,
    std::conditional_t<is_operand<F>, rule::gradient_of_no_function<fact::type<F>>, accepted>>;

/// Of a function with what it is called with behind it.
template <class F, class X, class... Xs>
using called_at_once =
    unless_failed<rule::gradient_of_no_function<fact::type<X>, fact::type<Xs>...>, F, X, Xs...>;

template <bool WithValue, class F, std::size_t... Which>
constexpr auto gradient_by_number() {
  if constexpr (sizeof...(Which) == 0)
    return gradient_function<F, WithValue, std::index_sequence<0>>{};
  else
    return gradient_function<F, WithValue, std::index_sequence<Which...>>{};
}
template <bool WithValue, class N, fixed_string... Which>
constexpr auto gradient_by_name() {
  return gradient_by_number<WithValue, typename N::function, argument_named(N::names, Which.view())...>();
}
/// A function without names has no argument of any name.
template <class F, fixed_string... Which>
constexpr auto find_name_mistake() {
  using mistake = rule::no_argument_of_this_name<fact::named<Which>...>;
  if constexpr (!NamedFunction<F>)
    return std::type_identity<mistake>{};
  else if constexpr (((argument_named(F::names, Which.view()) == F::names.size()) || ...))
    return std::type_identity<mistake>{};
  else
    return std::type_identity<accepted>{};
}

}  // namespace detail

/// The gradient of f, a captureless function of tensors with a scalar value: grad(f)(x) has x's axes.
///
/// By default of the first argument; grad<1>(f) of the second; grad<0, 1>(f) a tuple of both. With named
/// arguments, grad<"w">(fn<"x", "w">(f)).
///
/// Cost     reverse mode: what the gradient needs of the value, and twice its contractions for each argument
///          asked for; cost<gradient_of<...>> counts it
/// Rules    value_is_not_a_scalar, gradient_of_an_integer, no_argument_of_this_name,
///          no_argument_of_this_number, differentiated_function_has_captures,
///          function_returns_no_operand, gradient_inside_a_function, host_and_device_in_one_expression,
///          gradient_needs_kernels, gradient_of_no_function
/// Lowers   where its arguments are: tensors on the device have gradients there
/// Example  nk::grad([](auto x) { return x * x + 3 * x; })(2.0) is 7
template <std::size_t... Which, class F>
constexpr auto grad(const F&) {
  using mistake = detail::no_function_mistake<F>;
  if constexpr (is_mistake<mistake>)
    return detail::failed_gradient<detail::results_for<false, sizeof...(Which)>>(mistake::raise());
  else
    return detail::gradient_by_number<false, F, Which...>();
}
template <fixed_string First, fixed_string... Which, class F>
constexpr auto grad(const F&) {
  using mistake = typename decltype(detail::find_name_mistake<F, First, Which...>())::type;
  if constexpr (is_mistake<mistake> && sizeof...(Which) == 0)
    return mistake::raise();  // failed, which takes the call
  else if constexpr (is_mistake<mistake>)
    return detail::failed_gradient<1 + sizeof...(Which)>(mistake::raise());
  else
    return detail::gradient_by_name<false, F, First, Which...>();
}

/// Refused: what the function is called with stands behind it.
template <std::size_t... Which, class F, class X, class... Xs>
constexpr auto grad(const F&, const X&, const Xs&...) {
  using mistake = detail::called_at_once<F, X, Xs...>;
  if constexpr (sizeof...(Which) <= 1)
    return mistake::raise(detail::by<Xs...>);
  else
    return detail::failed_results<sizeof...(Which)>(mistake::raise());
}
template <fixed_string First, fixed_string... Which, class F, class X, class... Xs>
constexpr auto grad(const F&, const X&, const Xs&...) {
  using mistake = detail::called_at_once<F, X, Xs...>;
  if constexpr (sizeof...(Which) == 0)
    return mistake::raise(detail::by<Xs...>);
  else
    return detail::failed_results<1 + sizeof...(Which)>(mistake::raise());
}

/// A tuple: the value, then the gradients.
template <std::size_t... Which, class F>
constexpr auto value_and_grad(const F&) {
  using mistake = detail::no_function_mistake<F>;
  if constexpr (is_mistake<mistake>)
    return detail::failed_gradient<detail::results_for<true, sizeof...(Which)>>(mistake::raise());
  else
    return detail::gradient_by_number<true, F, Which...>();
}
template <fixed_string First, fixed_string... Which, class F>
constexpr auto value_and_grad(const F&) {
  using mistake = typename decltype(detail::find_name_mistake<F, First, Which...>())::type;
  if constexpr (is_mistake<mistake>)
    return detail::failed_gradient<2 + sizeof...(Which)>(mistake::raise());
  else
    return detail::gradient_by_name<true, F, First, Which...>();
}
/// Refused, as grad's.
template <std::size_t... Which, class F, class X, class... Xs>
constexpr auto value_and_grad(const F&, const X&, const Xs&...) {
  using mistake = detail::called_at_once<F, X, Xs...>;
  return detail::failed_results<detail::results_for<true, sizeof...(Which)>>(mistake::raise());
}
template <fixed_string First, fixed_string... Which, class F, class X, class... Xs>
constexpr auto value_and_grad(const F&, const X&, const Xs&...) {
  using mistake = detail::called_at_once<F, X, Xs...>;
  return detail::failed_results<2 + sizeof...(Which)>(mistake::raise());
}

}  // namespace napkin
