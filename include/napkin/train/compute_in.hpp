// Precision as a policy of a training step: the dtype that models are computed in while parameters, their
// gradients and what the optimizer keeps are f32. What is computed in which: passes/precision.hpp.
#pragma once

#include <type_traits>

#include "napkin/core/rules.hpp"
#include "napkin/ops/reflect.hpp"
#include "napkin/passes/precision.hpp"
#include "napkin/passes/scaled_gradients.hpp"

namespace napkin {

/// A policy of train_step: contractions and most arithmetic in T. Each parameter stays the f32 master of the
/// copy that is computed with; statistics, sums and the loss are f32, and so are the gradients that arrive.
///
///   f32    as without the policy
///   bf16   f32's range, 8 bits: needs no scaling
///   f16    11 bits, but nothing above 65504: the loss is scaled, which trainer::options says how
///          (train/loss_scale.hpp); a step that overflows changes no parameter
///
/// Memory   what is kept for the backward pass halves; a parameter's copy lives while a product reads it
/// Rules    not_a_compute_dtype
/// Source   Micikevicius et al. 2018; Kalamkar et al. 2019 for bf16
/// Example  using step = nk::train_step<model, nk::adamw, nk::compute_in<nk::bf16>>;
template <class T>
struct compute_in {
  using compute_type = T;
};

namespace rule {
/// type<T>
template <class... Facts>
struct not_a_compute_dtype {
  NAPKIN_SAYS("compute_in: a model is computed in f32, bf16 or f16, while its parameters stay f32")
  auto raise() { return refusal{}; }
};
}  // namespace rule

namespace detail {

template <class Policy>
inline constexpr bool is_compute_in = requires {
  typename Policy::compute_type;
};
template <class T>
inline constexpr bool is_compute_dtype =
    std::is_same_v<T, f32> || std::is_same_v<T, bf16> || std::is_same_v<T, f16>;
/// Whose gradients are too small to be kept unscaled.
template <class T>
inline constexpr bool needs_scaled_loss = std::is_same_v<T, f16>;

/// What the policy that says so names; f32 if none does.
template <class... Policies>
struct compute_among {
  using type = f32;
};
template <class Policy, class... Rest>
struct compute_among<Policy, Rest...> : compute_among<Rest...> {};
template <class Policy, class... Rest>
requires(is_compute_in<Policy>) struct compute_among<Policy, Rest...> {
  using type = typename Policy::compute_type;
};
/// The same, f32 in the place of what a rule refuses.
template <class... Policies>
using compute_dtype_among = std::conditional_t<is_compute_dtype<typename compute_among<Policies...>::type>,
                                               typename compute_among<Policies...>::type, f32>;

/// The graph of a loss (a model's, whole or shortened) with its values computed in T.
template <class Loss, class T>
struct narrow_loss {
  static constexpr graph_sizes capacity = room_for(frozen<Loss>::view().sizes(), 2, 1);
  static constexpr graph make() { return passes::compute_narrow(frozen<Loss>::view(), dtype_of<T>); }
};
template <class Loss, class T>
using loss_computed_in = std::conditional_t<std::is_same_v<T, f32>, Loss, narrow_loss<Loss, T>>;

/// Such a loss, then the gradients of the wanted nodes.
template <class T>
constexpr graph gradients_in(const graph_view& loss, ids wanted) {
  if constexpr (std::is_same_v<T, f32>)
    return passes::differentiate(loss, wanted);
  else if constexpr (needs_scaled_loss<T>)
    return passes::keep_narrow(passes::differentiate_scaled(loss, wanted).view(), loss.size(), dtype_of<T>);
  else
    return passes::keep_narrow(passes::differentiate(loss, wanted).view(), loss.size(), dtype_of<T>);
}

}  // namespace detail

}  // namespace napkin
