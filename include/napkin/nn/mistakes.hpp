// What is wrong with the operands of a function or a layer of this folder, found at its own door: of the
// operations that it is made of each would say it too, but the user's line would stand further from the error.
#pragma once

#include "napkin/ops/axes.hpp"
#include "napkin/ops/broadcast.hpp"
#include "napkin/ops/matmul.hpp"

namespace napkin::detail {

/// Of X, floating-point numbers, and others that broadcast over it and are of its dtype. Operands stand in as
/// std::type_identity.
template <class X, class... Others>
constexpr auto find_composite_mistake(std::type_identity<X>, std::type_identity<Others>...) {
  if constexpr (is_failed<X> || (is_failed<Others> || ...))
    return std::type_identity<silent>{};
  else
    return detail::first_of(find_unary_mistake<op::exp, X>(), find_binary_mistake<op::mul, X, Others>()...);
}

/// The same along axes of X called Names.
template <fixed_string Call, fixed_string... Names, class X, class... Others>
constexpr auto find_mistake_along(std::type_identity<X> x, std::type_identity<Others>... others) {
  if constexpr (is_failed<X>)
    return std::type_identity<silent>{};
  else if constexpr (is_mistake<non_operand<X>>)
    return find_non_operand<X>();
  else
    return detail::first_of(named_axes<axes_of<X>, Names...>::template find_mistake<Call>(),
                            find_composite_mistake(x, others...));
}

/// The rule itself: rule_in<decltype(find...)>.
template <class Found>
using rule_in = typename Found::type;

// Of layers, which say mistake<X>: what is wrong with a call on an X.

/// Of one that sums X times a weight over the axes Summed.
template <fixed_string Call, class X, class Weight, class... Summed>
using product_layer_mistake = dot_mistake<Call, X, Weight, Summed::name...>;

/// Of one that normalises X along Axis, with parameters of these types.
template <fixed_string Call, class X, class Axis, class... Parameters>
using norm_layer_mistake = rule_in<decltype(find_mistake_along<Call, Axis::name>(
    std::type_identity<X>{}, std::type_identity<Parameters>{}...))>;

/// Of one that sums X times a weight over the axis Embed, and then attends along Seq.
template <fixed_string Call, class X, class Weight, class Embed, class Seq>
constexpr auto find_attention_layer_mistake() {
  using product = product_layer_mistake<Call, X, Weight, Embed>;
  if constexpr (is_mistake<product>)
    return std::type_identity<product>{};
  else
    return named_axes<axes_of<X>, Seq::name>::template find_mistake<Call>();
}
template <fixed_string Call, class X, class Weight, class Embed, class Seq>
using attention_layer_mistake =
    rule_in<decltype(find_attention_layer_mistake<Call, X, Weight, Embed, Seq>())>;

/// Of one that hands X to others: the first to object, where they say what is wrong; a user's may not.
template <class X, class Layer>
constexpr auto ask_layer() {
  if constexpr (requires { typename Layer::template mistake<X>; })
    return std::type_identity<typename Layer::template mistake<X>>{};
  else
    return std::type_identity<accepted>{};
}
template <class X, class... Layers>
using mistake_of_layers = rule_in<decltype(detail::first_of(ask_layer<X, Layers>()...))>;

}  // namespace napkin::detail
