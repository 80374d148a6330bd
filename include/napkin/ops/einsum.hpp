// einsum of any number of operands, over tensors, lazy expressions and traced values: the pattern language of
// pattern.hpp, whose meaning becomes one contraction here. In which order it is done in pairs the plan decides
// (passes/contract.hpp).
#pragma once

#include <concepts>

#include "napkin/ops/pattern.hpp"

namespace napkin {

namespace rule {
/// call<"einsum">, type<axes<argument...>>
template <class... Facts>
struct no_size_of_a_label {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "sizes of labels follow the pattern, einsum<\"...\", dim<\"h\", 4>>(x, y); labels that one operand has "
      "alone and that are summed are listed in einsum_summing<\"...\", summed<\"m\">>(x, y)");
};
/// type<what was given> or named<"label">...
template <class... Facts>
struct no_list_of_summed_labels {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "einsum_summing, einsum_least_flops: behind the pattern goes a list of the labels that one operand "
      "has alone and that are summed, einsum_summing<\"b m, b n -> b n\", summed<\"m\">>(x, y), or an empty "
      "one, summed<>; sizes follow it, dim<\"h\", 4>");
};
}  // namespace rule

/// Labels of an einsum that are summed although they stand in one operand only: summed<"a", "b">.
template <fixed_string... Names>
struct summed {
  static constexpr std::array<std::string_view, sizeof...(Names)> names{Names.view()...};
};

namespace detail {

struct nothing_listed;
/// The labels that a call lists as summed; none where it lists something else, which is refused elsewhere.
template <class Summed>
inline constexpr bool lists_labels = requires {
  Summed::names;
};
template <class Summed, bool Labels = lists_labels<Summed>>
struct summed_in_call {
  static constexpr std::array<std::string_view, 0> names{};
};
template <class Summed>
struct summed_in_call<Summed, true> {
  static constexpr const auto& names = Summed::names;
};

/// The labels of a side, appended to a list; whether each axis is one of them.
template <class Side>
constexpr bool append_labels(const Side& side, buffer<std::int32_t>& list) {
  bool whole = true;
  const auto* axis = side.items;
  for (const auto* const end = axis + side.count; axis != end; ++axis) {
    whole = whole && axis->count == 1;
    for (std::size_t i = 0; i < axis->count; ++i) list.push_back(axis->items[i]);
  }
  return whole;
}
/// Split, contract, merge.
template <class Meaning>
constexpr std::int32_t emit_einsum(builder& b, const std::int32_t* xs, const Meaning& m, objective order) {
  buffer<std::int32_t> operands, labels;
  for (std::size_t k = 0; k < m.operand.count; ++k) {
    const bool whole = append_labels(m.operand.items[k], labels);
    operands.push_back(whole ? xs[k] : b.reshape(xs[k], traced_flatten(b, xs, m, m.operand.items[k]).sizes));
  }
  const std::size_t of_operands = labels.size();
  const bool whole = append_labels(m.result, labels);
  const shape result = whole ? shape{} : traced_composed(b, xs, m, m.result);
  const std::int32_t contracted = b.einsum({operands.data(), operands.size()}, {labels.data(), of_operands},
                                           {labels.data() + of_operands, labels.size() - of_operands}, order);
  return whole ? contracted : b.reshape(contracted, result);
}
template <class Binding, objective Order>
struct einsum_op {
  using binding = Binding;
  using called = typename Binding::called;
  static constexpr objective order = Order;
  static constexpr std::int32_t emit(builder& b, const std::int32_t* xs) {
    return emit_einsum(b, xs, Binding::value, Order);
  }
};

/// Given: a list of axes<...>.
template <fixed_string Pattern, class Summed, class Given, class... Operands>
struct einsum_binding {
  using called = fact::call<"einsum">;
  static constexpr std::string_view text = text_of<Pattern>;
  template <std::size_t K>
  using operand_axes = typename nth_type<K, Operands...>::type;
  static constexpr std::size_t operand_count = sizeof...(Operands);
  static constexpr std::array<pattern::operand_view, sizeof...(Operands)> operands{
      pattern::operand_view(axis_views<Operands>::value)...};
  static constexpr plain_binding_of<Operands...> plain{
      pattern::form::einsum, text_of<Pattern>, operands,
      summed_in_call<Summed>::names.empty() && Given::rank == 0};
  static constexpr pattern::meaning make() {
    return pattern::bind_einsum(text_of<Pattern>, operands, summed_in_call<Summed>::names,
                                given_in_call<Given>::value);
  }
  static constexpr const auto& value = meaning_of<einsum_binding>();
};

template <class Binding, class X, class... Xs>
constexpr auto find_mistake_of_einsum() {
  using T = typename X::element;
  if constexpr (Binding::value.why)
    return find_pattern_mistake<Binding, fact::call<"einsum">>();
  else if constexpr (!(std::is_same_v<T, typename Xs::element> && ...))
    return std::type_identity<
        rule::operands_differ_in_dtype<fact::call<"einsum">, fact::of_type<dtype_of<T>>,
                                       fact::of_type<dtype_of<typename Xs::element>>...>>{};
  else if constexpr (!dtype_fits(op::einsum, dtype_of<T>))
    return find_dtype_mistake<op::einsum, T>();
  else
    return find_misfit_of_pattern<Binding, fact::call<"einsum">, X, Xs...>();
}

template <fixed_string Pattern, class Summed, class Given, class... Xs>
using einsum_binding_of = einsum_binding<Pattern, Summed, Given, axes_of<Xs>...>;

template <class Binding, class... Xs>
inline constexpr bool einsum_fits = false;
template <class Binding, class X, class... Xs>
inline constexpr bool einsum_fits<Binding, X, Xs...> =
    !Binding::value.why && (std::is_same_v<typename X::element, typename Xs::element> && ...) &&
    dtype_fits(op::einsum, dtype_of<typename X::element>) &&
    fit_together((facts_of<X> | ... | facts_of<Xs>) | facts_of_pattern<Binding, X, Xs...>);

/// Of operands that fit: the result's `type`, and what it is `of` them.
template <bool Fits, class Binding, objective Order, class... Xs>
struct einsum_result {};
template <class Binding, objective Order, class X, class... Xs>
struct einsum_result<true, Binding, Order, X, Xs...>
    : result_of<((facts_of<X> | ... | facts_of<Xs>)&of_traced) != 0, einsum_op<Binding, Order>,
                typename X::element, result_axes_of<Binding>, X, Xs...> {};
template <class Binding, objective Order, class... Xs>
using einsum_of = einsum_result<einsum_fits<Binding, Xs...>, Binding, Order, Xs...>;

/// What is wrong where they do not.
template <fixed_string Pattern, class Summed, class Given, class... Xs>
constexpr auto find_einsum_mistake() {
  if constexpr ((is_failed<Xs> || ...))
    return std::type_identity<silent>{};
  else if constexpr (!lists_labels<Summed>)
    return std::type_identity<rule::no_list_of_summed_labels<fact::type<Summed>>>{};
  else if constexpr (!lists_axes<Given>)
    return std::type_identity<rule::no_size_of_a_label<fact::call<"einsum">, fact::type<Given>>>{};
  else if constexpr (!(is_operand<Xs> && ...))
    return std::type_identity<rule::argument_is_no_tensor<fact::call<"einsum">, fact::type<Xs>...>>{};
  else if constexpr (sizeof...(Xs) == 0)
    return find_pattern_mistake<einsum_binding<Pattern, Summed, Given>, fact::call<"einsum">>();
  else
    return find_mistake_of_einsum<einsum_binding_of<Pattern, Summed, Given, Xs...>, Xs...>();
}
template <fixed_string Pattern, class Summed, class Given, class... Xs>
using einsum_mistake = typename decltype(find_einsum_mistake<Pattern, Summed, Given, Xs...>())::type;
template <fixed_string Pattern, class Summed, class Given, objective Order, class... Xs>
using einsum_by = einsum_of<einsum_binding_of<Pattern, Summed, Given, Xs...>, Order, Xs...>;

}  // namespace detail

/// Contract tensors over the labels that the pattern's result leaves out. Any number of operands; they are
/// contracted in pairs, in an order chosen in constant evaluation. Given: sizes of labels, dim<"h", 4>, where
/// an axis is split and its type does not tell them.
///
/// Shape     "b s h, b t h -> b s t": (b, s, h) x (b, t, h) -> (b, s, t)
/// Cost      2*b*s*t*h FLOPs (matmul); reads b*s*h + b*t*h, writes b*s*t elements
/// Gradient  one contraction of the same cost for each operand
/// Lowers    cpu: GEMM where strides allow, else loops; accumulates in f32
/// Source    numpy.einsum, einops.einsum; axes may be composed in the pattern, "b s (h d), h d e -> b s e"
/// Example   auto scores = nk::einsum<"batch query hidden, batch key hidden -> batch query key">(q, k);
template <fixed_string Pattern, class... Given, class... Xs>
requires(
    (Axis<Given> && ...) &&
    detail::einsum_fits<detail::einsum_binding_of<Pattern, summed<>, axes<Given...>, Xs...>, Xs...>) constexpr
    typename detail::einsum_by<Pattern, summed<>, axes<Given...>, objective::least_time, Xs...>::type
    einsum(const Xs&... xs) {
  return detail::einsum_by<Pattern, summed<>, axes<Given...>, objective::least_time, Xs...>::of(xs...);
}
// Refused: what is left for an overload that asks nothing. To ask the opposite takes nvcc as long again.
template <fixed_string Pattern, class... Given, class... Xs>
constexpr auto einsum(const Xs&...) {
  return detail::einsum_mistake<Pattern, summed<>, axes<Given...>, Xs...>::raise(detail::by<Xs...>);
}
/// The same; Summed lists labels that stand in one operand only and are meant to vanish.
template <fixed_string Pattern, class Summed, class... Given, class... Xs>
requires(
    detail::lists_labels<Summed> && (Axis<Given> && ...) &&
    detail::einsum_fits<detail::einsum_binding_of<Pattern, Summed, axes<Given...>, Xs...>, Xs...>) constexpr
    typename detail::einsum_by<Pattern, Summed, axes<Given...>, objective::least_time, Xs...>::type
    einsum_summing(const Xs&... xs) {
  return detail::einsum_by<Pattern, Summed, axes<Given...>, objective::least_time, Xs...>::of(xs...);
}
// Refused.
template <fixed_string Pattern, class Summed = detail::nothing_listed, class... Given, class... Xs>
constexpr auto einsum_summing(const Xs&...) {
  return detail::einsum_mistake<Pattern, Summed, axes<Given...>, Xs...>::raise(detail::by<Xs...>);
}
template <fixed_string Pattern, fixed_string Label, fixed_string... Labels, class... Xs>
constexpr auto einsum_summing(const Xs&...) {
  using mistake = rule::no_list_of_summed_labels<fact::named<Label>, fact::named<Labels>...>;
  return detail::unless_failed<mistake, Xs...>::raise(detail::by<Xs...>);
}
/// The same in the order of fewest FLOPs, whatever its intermediates cost to write and read; so are its
/// gradients. contraction_of shows what is chosen.
template <fixed_string Pattern, class Summed = summed<>, class... Given, class... Xs>
requires(
    detail::lists_labels<Summed> && (Axis<Given> && ...) &&
    detail::einsum_fits<detail::einsum_binding_of<Pattern, Summed, axes<Given...>, Xs...>, Xs...>) constexpr
    typename detail::einsum_by<Pattern, Summed, axes<Given...>, objective::least_flops, Xs...>::type
    einsum_least_flops(const Xs&... xs) {
  return detail::einsum_by<Pattern, Summed, axes<Given...>, objective::least_flops, Xs...>::of(xs...);
}
// Refused.
template <fixed_string Pattern, class Summed = summed<>, class... Given, class... Xs>
constexpr auto einsum_least_flops(const Xs&...) {
  return detail::einsum_mistake<Pattern, Summed, axes<Given...>, Xs...>::raise(detail::by<Xs...>);
}
template <fixed_string Pattern, fixed_string Label, fixed_string... Labels, class... Xs>
constexpr auto einsum_least_flops(const Xs&...) {
  using mistake = rule::no_list_of_summed_labels<fact::named<Label>, fact::named<Labels>...>;
  return detail::unless_failed<mistake, Xs...>::raise(detail::by<Xs...>);
}
// Sizes without the labels' names: refused.
template <fixed_string Pattern, std::integral auto Size, auto... Sizes, class... Xs>
constexpr auto einsum(const Xs&...) {
  using mistake = rule::sizes_go_in_brackets<fact::call<"einsum">, fact::values<Size, Sizes...>>;
  return detail::unless_failed<mistake, Xs...>::raise(detail::by<Xs...>);
}
template <fixed_string Pattern, fixed_string Name, fixed_string... Names, class... Xs>
constexpr auto einsum(const Xs&...) {
  using mistake = rule::sizes_go_in_brackets<fact::call<"einsum">, fact::named<Name>, fact::named<Names>...>;
  return detail::unless_failed<mistake, Xs...>::raise(detail::by<Xs...>);
}
// The pattern as an argument, as in Python: refused.
template <class... Xs>
constexpr auto einsum(const Xs&...) {
  return detail::arguments_refused<"einsum", Xs...>::raise(detail::by<Xs...>);
}

}  // namespace napkin
