// Losses: cross entropy of logits against the index of the right class, the z-loss beside it, and the mean
// squared error.
#pragma once

#include <cstdint>

#include "napkin/nn/mistakes.hpp"
#include "napkin/nn/small_floats.hpp"
#include "napkin/ops/composite.hpp"
#include "napkin/ops/elementwise.hpp"
#include "napkin/ops/function.hpp"
#include "napkin/ops/indexing.hpp"
#include "napkin/ops/reduce.hpp"

namespace napkin {

namespace detail {

// The right class's logit is picked by comparing positions: elementwise, so that it fuses with the rest.
/// For every target, of logits of f64 or f32.
template <fixed_string Name, class X, class I>
constexpr auto entropies_of(const X& logits, const I& targets) {
  using named = named_axes<axes_of<X>, Name>;
  const auto hit = one_hot<typename named::template at<0>>(targets);
  return logsumexp<Name>(logits) - sum<Name>(where(hit, logits, 0));
}
template <fixed_string Name, class X, class I, class S>
constexpr auto entropies_of(const X& logits, const I& targets, const S& smoothing) {
  using named = named_axes<axes_of<X>, Name>;
  // Without smoothing a class that is ruled out, by a logit of -infinity, counts nothing, not 0 times that.
  if constexpr (is_number<S>)
    if (smoothing == 0) return entropies_of<Name>(logits, targets);
  const auto share = number_like(logits, smoothing);
  const auto hit = one_hot<typename named::template at<0>>(targets);
  const auto right = sum<Name>(where(hit, logits, 0));
  const auto spread = [&] { return share * (mean<Name>(logits) - right); };
  if constexpr (is_number<S>)
    return logsumexp<Name>(logits) - (right + spread());
  else
    return logsumexp<Name>(logits) - (right + where(share == 0, 0, spread()));
}

template <fixed_string Name>
struct cross_entropies_function {
  template <class X, class I, class... S>
  constexpr auto operator()(const X& logits, const I& targets, const S&... smoothing) const {
    const composite_scope in(composite::cross_entropy, logits);
    return cast<typename X::element>(entropies_of<Name>(widened(logits), targets, smoothing...));
  }
};

template <fixed_string Name>
struct cross_entropy_function {
  template <class X, class I, class... S>
  constexpr auto operator()(const X& logits, const I& targets, const S&... smoothing) const {
    const composite_scope in(composite::cross_entropy, logits);
    return cast<typename X::element>(mean(entropies_of<Name>(widened(logits), targets, smoothing...)));
  }
};

/// The mean over targets other than Ignored; 0 where there are none.
template <fixed_string Name, std::int64_t Ignored>
struct counted_cross_entropy_function {
  template <class X, class I, class... S>
  constexpr auto operator()(const X& logits, const I& targets, const S&... smoothing) const {
    const composite_scope in(composite::cross_entropy, logits);
    const auto entropies = entropies_of<Name>(widened(logits), targets, smoothing...);
    const auto counts = cast<i64>(targets) != Ignored;
    const auto number = sum(cast<accumulator_type<typename X::element>>(counts));
    return cast<typename X::element>(sum(where(counts, entropies, 0)) / maximum(number, 1));
  }
};

template <fixed_string Name>
struct z_loss_function {
  template <class X>
  constexpr auto operator()(const X& logits) const {
    const auto z = logsumexp<Name>(widened(logits));
    return cast<typename X::element>(mean(z * z));
  }
};

struct mse_function {
  template <class X, class Y>
  constexpr auto operator()(const X& x, const Y& y) const {
    const auto error = widened(x) - widened(y);
    return cast<typename X::element>(mean(error * error));
  }
};

/// For every z: log(1 + exp(z)) - z y, which of large z would be an infinity less another.
struct binary_cross_entropy_function {
  template <class Z, class Y>
  constexpr auto operator()(const Z& logits, const Y& targets) const {
    const auto z = widened(logits);
    return cast<typename Z::element>(mean(relu(z) - z * widened(targets) + log(1 + exp(-abs(z)))));
  }
};

template <fixed_string Name, std::int64_t Ignored>
constexpr auto find_counted_cross_entropy() {
  return std::type_identity<counted_cross_entropy_function<Name, Ignored>>{};
}
/// As `spelled` is (core/fixed_string.hpp).
template <fixed_string Name, std::int64_t Ignored>
using counted_cross_entropy = typename decltype(find_counted_cross_entropy<Name, Ignored>())::type;

/// Targets are integers along axes of the logits other than Name.
template <fixed_string Call, class X, class I, class D>
constexpr auto find_target_mistake() {
  using hit = joined_axes<axes_of<I>, axes<D>>;
  if constexpr (!is_integer(dtype_of<typename I::element>))
    return std::type_identity<
        rule::indices_are_no_integers<fact::call<Call>, fact::of_type<dtype_of<typename I::element>>>>{};
  else if constexpr (!distinct<hit>)
    return find_repetition<Call>(hit{});
  else if constexpr (is_mistake<broadcast_mistake<hit, axes_of<X>>>)
    return std::type_identity<broadcast_mistake<hit, axes_of<X>>>{};
  else
    return find_operation_mistake<fact::call<Call>, axes_of<X>, X, I>();
}
template <fixed_string Call, fixed_string Name, class X, class I>
constexpr auto find_cross_entropy_mistake() {
  if constexpr (is_failed<I>) {
    return std::type_identity<silent>{};
  } else if constexpr (is_mistake<non_operand<I>>) {
    return find_non_operand<I>();
  } else {
    using found = decltype(find_mistake_along<Call, Name>(std::type_identity<X>{}));
    if constexpr (found_mistake<found>)
      return found{};
    else
      return find_target_mistake<Call, X, I, typename named_axes<axes_of<X>, Name>::template at<0>>();
  }
}

}  // namespace detail

/// -log of the probability that softmax<Name>(logits) gives to each target. With smoothing s the right class
/// counts 1 - s, and each class s over their number besides.
///
/// Shape     cross_entropies<"vocab">: (batch, seq, vocab) and (batch, seq) of integers -> (batch, seq)
/// Gradient  (softmax(logits) - one_hot(targets)) * dy
/// Errors    none: a target outside the axis picks no logit. A trainer looks at the labels that it is given
///           (train/labels.hpp), and throws
/// Source    smoothing: Szegedy et al. 2016, section 7, as torch.nn.functional.cross_entropy has it
template <fixed_string Name, detail::ElementwiseArgument X, detail::ElementwiseArgument I>
constexpr auto cross_entropies(const X& logits, const I& targets) {
  using mistake =
      detail::rule_in<decltype(detail::find_cross_entropy_mistake<"cross_entropies", Name, X, I>())>;
  if constexpr (is_mistake<mistake>)
    return mistake::raise(detail::by<X, I>);
  else
    return fn(detail::spelled<detail::cross_entropies_function, Name>{})(logits, targets);
}
template <fixed_string Name, detail::ElementwiseArgument X, detail::ElementwiseArgument I>
constexpr auto cross_entropies(const X& logits, const I& targets, double smoothing) {
  using mistake =
      detail::rule_in<decltype(detail::find_cross_entropy_mistake<"cross_entropies", Name, X, I>())>;
  if constexpr (is_mistake<mistake>)
    return mistake::raise(detail::by<X, I>);
  else
    return fn(detail::spelled<detail::cross_entropies_function, Name>{})(logits, targets,
                                                                         detail::number_beside<X>(smoothing));
}
/// The classes not named: refused.
template <detail::ElementwiseOperand X, detail::ElementwiseOperand I>
constexpr auto cross_entropies(const X&, const I&) {
  return detail::axes_refused<"cross_entropies", X>::raise(detail::by<X, I>);
}
/// An axis by type or by number: refused.
template <Axis D, auto... Ignored, class... Xs>
constexpr auto cross_entropies(const Xs&...) {
  return detail::types_refused<"cross_entropies", axes<D>, Xs...>::raise(detail::by<Xs...>);
}
template <std::ptrdiff_t I, std::ptrdiff_t... Ignored, class... Xs>
constexpr auto cross_entropies(const Xs&...) {
  return detail::numbers_refused<"cross_entropies", fact::numbers<I>, Xs...>::raise(detail::by<Xs...>);
}

/// Their mean, over all axes: a scalar, in nats.
template <fixed_string Name, detail::ElementwiseArgument X, detail::ElementwiseArgument I>
constexpr auto cross_entropy(const X& logits, const I& targets) {
  using mistake =
      detail::rule_in<decltype(detail::find_cross_entropy_mistake<"cross_entropy", Name, X, I>())>;
  if constexpr (is_mistake<mistake>)
    return mistake::raise(detail::by<X, I>);
  else
    return fn(detail::spelled<detail::cross_entropy_function, Name>{})(logits, targets);
}
template <fixed_string Name, detail::ElementwiseArgument X, detail::ElementwiseArgument I>
constexpr auto cross_entropy(const X& logits, const I& targets, double smoothing) {
  using mistake =
      detail::rule_in<decltype(detail::find_cross_entropy_mistake<"cross_entropy", Name, X, I>())>;
  if constexpr (is_mistake<mistake>)
    return mistake::raise(detail::by<X, I>);
  else
    return fn(detail::spelled<detail::cross_entropy_function, Name>{})(logits, targets,
                                                                       detail::number_beside<X>(smoothing));
}
template <fixed_string Name, detail::ElementwiseOperand X, class I>
requires(detail::is_number<I>) constexpr auto cross_entropy(const X&, const I&) {  // refused
  return detail::number_as_index<"cross_entropy", X, I>::raise(detail::by<X, I>);
}
/// The mean over those targets that are not Ignored, such as padding; 0 where all are.
///
/// Example  auto loss = nk::cross_entropy<"vocab", 65535>(logits, targets);
template <fixed_string Name, std::int64_t Ignored, detail::ElementwiseArgument X,
          detail::ElementwiseArgument I>
constexpr auto cross_entropy(const X& logits, const I& targets) {
  using mistake =
      detail::rule_in<decltype(detail::find_cross_entropy_mistake<"cross_entropy", Name, X, I>())>;
  if constexpr (is_mistake<mistake>)
    return mistake::raise(detail::by<X, I>);
  else
    return fn(detail::counted_cross_entropy<Name, Ignored>{})(logits, targets);
}
template <fixed_string Name, std::int64_t Ignored, detail::ElementwiseArgument X,
          detail::ElementwiseArgument I>
constexpr auto cross_entropy(const X& logits, const I& targets, double smoothing) {
  using mistake =
      detail::rule_in<decltype(detail::find_cross_entropy_mistake<"cross_entropy", Name, X, I>())>;
  if constexpr (is_mistake<mistake>)
    return mistake::raise(detail::by<X, I>);
  else
    return fn(detail::counted_cross_entropy<Name, Ignored>{})(logits, targets,
                                                              detail::number_beside<X>(smoothing));
}
/// The classes not named: refused.
template <detail::ElementwiseOperand X, detail::ElementwiseOperand I>
constexpr auto cross_entropy(const X&, const I&) {
  return detail::axes_refused<"cross_entropy", X>::raise(detail::by<X, I>);
}
/// An axis by type or by number: refused.
template <Axis D, auto... Ignored, class... Xs>
constexpr auto cross_entropy(const Xs&...) {
  return detail::types_refused<"cross_entropy", axes<D>, Xs...>::raise(detail::by<Xs...>);
}
template <std::ptrdiff_t I, std::ptrdiff_t... Ignored, class... Xs>
constexpr auto cross_entropy(const Xs&...) {
  return detail::numbers_refused<"cross_entropy", fact::numbers<I>, Xs...>::raise(detail::by<Xs...>);
}

/// The mean of log(sum(exp(logits)))^2: added to a cross entropy, times 1e-4 or so, it keeps logits from
/// drifting away together.
///
/// Source   Chowdhery et al. 2022, "PaLM", section 5
/// Example  auto loss = nk::cross_entropy<"vocab">(logits, targets) + 1e-4 * nk::z_loss<"vocab">(logits);
template <fixed_string Name, detail::ElementwiseArgument X>
constexpr auto z_loss(const X& logits) {
  using mistake =
      detail::rule_in<decltype(detail::find_mistake_along<"z_loss", Name>(std::type_identity<X>{}))>;
  if constexpr (is_mistake<mistake>)
    return mistake::raise(detail::by<X>);
  else
    return fn(detail::spelled<detail::z_loss_function, Name>{})(logits);
}
/// An axis by type: refused.
template <Axis D, class... Xs>
constexpr auto z_loss(const Xs&...) {
  return detail::types_refused<"z_loss", axes<D>, Xs...>::raise(detail::by<Xs...>);
}

/// -log of the probability that sigmoid(logits) gives to targets, which lie in [0, 1] and broadcast over the
/// logits; the mean over all axes, in nats.
///
/// Gradient  (sigmoid(logits) - targets) * dy / n, in the logits
/// Source    torch.nn.functional.binary_cross_entropy_with_logits
template <detail::ElementwiseOperand X, detail::ElementwiseOperand Y>
constexpr auto binary_cross_entropy(const X& logits, const Y& targets) {
  using mistake = detail::rule_in<decltype(detail::find_composite_mistake(std::type_identity<X>{},
                                                                          std::type_identity<Y>{}))>;
  if constexpr (is_mistake<mistake>)
    return mistake::raise(detail::by<X, Y>);
  else
    return fn(detail::binary_cross_entropy_function{})(logits, targets);
}
/// The same target for all.
template <detail::ElementwiseOperand X>
constexpr auto binary_cross_entropy(const X& logits, double target) {
  using mistake = detail::rule_in<decltype(detail::find_composite_mistake(std::type_identity<X>{}))>;
  if constexpr (is_mistake<mistake>)
    return mistake::raise(detail::by<X>);
  else
    return fn(detail::binary_cross_entropy_function{})(logits, detail::number_beside<X>(target));
}

/// The mean squared error, over all axes: mean((x - y)^2), where y broadcasts over x.
template <detail::ElementwiseOperand X, detail::ElementwiseOperand Y>
constexpr auto mse(const X& x, const Y& y) {
  using mistake = detail::rule_in<decltype(detail::find_composite_mistake(std::type_identity<X>{},
                                                                          std::type_identity<Y>{}))>;
  if constexpr (is_mistake<mistake>)
    return mistake::raise(detail::by<X, Y>);
  else
    return fn(detail::mse_function{})(x, y);
}
/// From a number.
template <detail::ElementwiseOperand X>
constexpr auto mse(const X& x, double y) {
  using mistake = detail::rule_in<decltype(detail::find_composite_mistake(std::type_identity<X>{}))>;
  if constexpr (is_mistake<mistake>)
    return mistake::raise(detail::by<X>);
  else
    return fn(detail::mse_function{})(x, detail::number_beside<X>(y));
}

}  // namespace napkin
