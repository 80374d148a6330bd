// Cross entropy of logits against the index of the right class.
#pragma once

#include "napkin/nn/mistakes.hpp"
#include "napkin/ops/composite.hpp"
#include "napkin/ops/elementwise.hpp"
#include "napkin/ops/function.hpp"
#include "napkin/ops/indexing.hpp"
#include "napkin/ops/reduce.hpp"

namespace napkin {

namespace detail {

// The right class's logit is picked by comparing positions: elementwise, so that it fuses with the rest.
template <fixed_string Name>
struct cross_entropies_function {
  template <class X, class I>
  constexpr auto operator()(const X& logits, const I& targets) const {
    using named = named_axes<axes_of<X>, Name>;
    const composite_scope in(composite::cross_entropy, logits);
    const auto hit = one_hot<typename named::template at<0>>(targets);
    return logsumexp<Name>(logits) - sum<Name>(where(hit, logits, 0));
  }
};

template <fixed_string Name>
struct cross_entropy_function {
  template <class X, class I>
  constexpr auto operator()(const X& logits, const I& targets) const {
    const composite_scope in(composite::cross_entropy, logits);
    return mean(cross_entropies_function<Name>{}(logits, targets));
  }
};

/// Targets are integers along axes of the logits other than Name.
template <fixed_string Call, class X, class I, class D>
constexpr auto find_target_mistake() {
  using hit = joined_axes<axes_of<I>, axes<D>>;
  if constexpr (!is_integer(dtype_of<typename I::element>))
    return std::type_identity<
        rule::indices_are_no_integers<fact::call<Call>, fact::of_type<dtype_of<typename I::element>>>>{};
  else if constexpr (!distinct<hit>)
    return find_repetition<Call>(hit{});
  else
    return std::type_identity<broadcast_mistake<hit, axes_of<X>>>{};
}
template <fixed_string Call, fixed_string Name, class X, class I>
constexpr auto find_cross_entropy_mistake() {
  if constexpr (is_failed<I>) {
    return std::type_identity<silent>{};
  } else {
    using found = decltype(find_mistake_along<Call, Name>(std::type_identity<X>{}));
    if constexpr (is_mistake<typename found::type>)
      return found{};
    else
      return find_target_mistake<Call, X, I, typename named_axes<axes_of<X>, Name>::template at<0>>();
  }
}

}  // namespace detail

/// -log of the probability that softmax<Name>(logits) gives to each target.
///
/// Shape     cross_entropies<"vocab">: (batch, seq, vocab) and (batch, seq) of integers -> (batch, seq)
/// Gradient  (softmax(logits) - one_hot(targets)) * dy
/// Errors    none: a target outside the axis picks no logit; whoever reads tokens checks them
template <fixed_string Name, detail::ElementwiseOperand X, detail::ElementwiseOperand I>
constexpr auto cross_entropies(const X& logits, const I& targets) {
  using mistake =
      detail::rule_in<decltype(detail::find_cross_entropy_mistake<"cross_entropies", Name, X, I>())>;
  if constexpr (is_mistake<mistake>)
    return mistake::raise();
  else
    return fn(detail::cross_entropies_function<Name>{})(logits, targets);
}
/// The classes not named: refused.
template <detail::ElementwiseOperand X, detail::ElementwiseOperand I>
constexpr auto cross_entropies(const X&, const I&) {
  return detail::axes_refused<"cross_entropies", X>::raise();
}

/// Their mean, over all axes: a scalar, in nats.
template <fixed_string Name, detail::ElementwiseOperand X, detail::ElementwiseOperand I>
constexpr auto cross_entropy(const X& logits, const I& targets) {
  using mistake =
      detail::rule_in<decltype(detail::find_cross_entropy_mistake<"cross_entropy", Name, X, I>())>;
  if constexpr (is_mistake<mistake>)
    return mistake::raise();
  else
    return fn(detail::cross_entropy_function<Name>{})(logits, targets);
}
/// The classes not named: refused.
template <detail::ElementwiseOperand X, detail::ElementwiseOperand I>
constexpr auto cross_entropy(const X&, const I&) {
  return detail::axes_refused<"cross_entropy", X>::raise();
}

}  // namespace napkin
