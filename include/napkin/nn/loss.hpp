// Cross entropy of logits against the index of the right class.
#pragma once

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
    if constexpr (!named::good) {
      named::template complain<"cross_entropy">();
      return failed{};
    } else {
      const composite_scope in(composite::cross_entropy, logits);
      const auto hit = one_hot<typename named::template at<0>>(targets);
      return logsumexp<Name>(logits) - sum<Name>(where(hit, logits, 0));
    }
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

}  // namespace detail

/// -log of the probability that softmax<Name>(logits) gives to each target.
///
/// Shape     cross_entropies<"vocab">: (batch, seq, vocab) and (batch, seq) of integers -> (batch, seq)
/// Gradient  (softmax(logits) - one_hot(targets)) * dy
/// Errors    none: a target outside the axis picks no logit; whoever reads tokens checks them
template <fixed_string Name, detail::ElementwiseOperand X, detail::ElementwiseOperand I>
constexpr auto cross_entropies(const X& logits, const I& targets) {
  return fn(detail::cross_entropies_function<Name>{})(logits, targets);
}
/// The classes not named: refused.
template <detail::ElementwiseOperand X, detail::ElementwiseOperand I>
constexpr auto cross_entropies(const X&, const I&) {
  return detail::refuse_axes<"cross_entropies", X>();
}

/// Their mean, over all axes: a scalar, in nats.
template <fixed_string Name, detail::ElementwiseOperand X, detail::ElementwiseOperand I>
constexpr auto cross_entropy(const X& logits, const I& targets) {
  return fn(detail::cross_entropy_function<Name>{})(logits, targets);
}
/// The classes not named: refused.
template <detail::ElementwiseOperand X, detail::ElementwiseOperand I>
constexpr auto cross_entropy(const X&, const I&) {
  return detail::refuse_axes<"cross_entropy", X>();
}

}  // namespace napkin
