// What is wrong with the operands of a function of this folder, found at its own door: of the operations that
// it is made of each would say it too, but the user's line would stand further from the error.
#pragma once

#include "napkin/ops/axes.hpp"
#include "napkin/ops/broadcast.hpp"

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
  else
    return detail::first_of(named_axes<axes_of<X>, Names...>::template find_mistake<Call>(),
                            find_composite_mistake(x, others...));
}

/// The rule itself: rule_in<decltype(find...)>.
template <class Found>
using rule_in = typename Found::type;

}  // namespace napkin::detail
