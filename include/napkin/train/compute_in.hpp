// Precision as a policy of a training step: the dtype that models are computed in while parameters, their
// gradients and what the optimizer keeps are f32. What is computed in which: passes/precision.hpp.
#pragma once

#include <type_traits>

#include "napkin/core/rules.hpp"
#include "napkin/ops/reflect.hpp"
#include "napkin/passes/product_options.hpp"
#include "napkin/passes/quantize.hpp"
#include "napkin/passes/scaled_gradients.hpp"

namespace napkin {

/// Of compute_in: the 8-bit floats that training uses, e4m3 for what the forward pass multiplies and e5m2 for
/// what comes back.
struct f8;
/// Of compute_in: f32, of which products on a GPU read 19 bits: its range, and 11 bits of precision.
struct tf32;
/// Behind f8 in compute_in: products of the forward pass are added up on a GPU in fewer bits than f32 has.
struct fast_accumulation;

/// A policy of train_step: contractions and most arithmetic in T. Each parameter stays the f32 master of the
/// copy that is computed with; statistics, sums and the loss are f32, and so are the gradients that arrive.
///
///   f32    as without the policy
///   tf32   f32's graph and memory; cuBLASLt's products of it are TF32's, their sums f32. All else, such as
///          attention's kernels, and all of it on the CPU, stays f32
///   bf16   f32's range, 8 bits: needs no scaling
///   f16    11 bits, but nothing above 65504: the loss is scaled, which trainer::options says how
///          (train/loss_scale.hpp); a step that overflows changes no parameter
///   f8     as bf16, and products with a parameter, forward and backward, of 8-bit floats: each tensor is
///          scaled by what it held before (passes/quantize.hpp, train/delayed_scaling.hpp). A GPU has such
///          products from compute capability 8.9 on; the CPU emulates them. With fast_accumulation a GPU adds
///          up the forward pass's at its full rate, which on Hopper keeps some 14 bits of a sum; gradients,
///          and all on the CPU, are added up in f32 as without it
///
/// Memory   in 16 and 8 bits what is kept for the backward pass halves; a parameter's copy lives while a
///          product reads it, but on a GPU in bf16 and f16 all the time, as the update writes it
/// Rules    not_a_compute_dtype, not_added_fast
/// Source   NVIDIA A100 Tensor Core GPU Architecture, 2020, for tf32;
///          Micikevicius et al. 2018; Kalamkar et al. 2019 for bf16; Micikevicius et al. 2022 for f8;
///          DeepSeek-V3 Technical Report, 2024, 3.3.2, for what fast accumulation rounds
/// Example  using step = nk::train_step<model, nk::adamw, nk::compute_in<nk::bf16>>;
template <class T, class Accumulation = void>
struct compute_in {
  using compute_type = T;
  using accumulation = Accumulation;
};

namespace rule {
/// type<T>
template <class... Facts>
struct not_a_compute_dtype {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "compute_in: a model is computed in f32, tf32, bf16, f16 or f8, while its parameters stay f32");
};
/// type<T>, type<what stands behind it>
template <class... Facts>
struct not_added_fast {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise,
                                         "compute_in: behind the dtype stands nothing, or, of f8 alone, "
                                         "fast_accumulation: products of the others are "
                                         "added up in f32");
};
}  // namespace rule

namespace detail {

template <class Policy>
inline constexpr bool is_compute_in = requires {
  typename Policy::compute_type;
};
template <class T>
inline constexpr bool is_compute_dtype =
    std::is_same_v<T, f32> || std::is_same_v<T, tf32> || std::is_same_v<T, bf16> || std::is_same_v<T, f16> ||
    std::is_same_v<T, f8>;
/// Whose gradients are too small to be kept unscaled.
template <class T>
inline constexpr bool needs_scaled_loss = std::is_same_v<T, f16>;
/// Whose tensors have a scale each.
template <class T>
inline constexpr bool is_quantized = std::is_same_v<T, f8>;
/// What is not multiplied in T, where that is f8.
template <class T>
using wider_than = std::conditional_t<is_quantized<T>, bf16, T>;

/// What the policy that says so names; f32 if none does.
template <class... Policies>
struct compute_among {
  using type = f32;
  using accumulation = void;
};
template <class Policy, class... Rest>
struct compute_among<Policy, Rest...> : compute_among<Rest...> {};
template <class Policy, class... Rest>
requires(is_compute_in<Policy>) struct compute_among<Policy, Rest...> {
  using type = typename Policy::compute_type;
  using accumulation = typename Policy::accumulation;
};
template <class... Policies>
inline constexpr bool asks_for_tf32 = std::is_same_v<typename compute_among<Policies...>::type, tf32>;
template <class... Policies>
inline constexpr bool adds_fast =
    std::is_same_v<typename compute_among<Policies...>::accumulation, fast_accumulation>;
template <class... Policies>
inline constexpr bool is_accumulation = std::is_void_v<typename compute_among<Policies...>::accumulation> ||
                                        (adds_fast<Policies...> &&
                                         is_quantized<typename compute_among<Policies...>::type>);
// A function: nvcc 12.4 ends in an error of its own over a variable of these.
template <class... Policies>
constexpr passes::product_options products_among() {
  passes::product_options may;
  may.tf32 = asks_for_tf32<Policies...>;
  may.adds_fast = adds_fast<Policies...>;
  return may;
}
/// The same, f32 in the place of what a rule refuses, and of tf32, whose graph is f32's.
template <class... Policies>
using compute_dtype_among = std::conditional_t<is_compute_dtype<typename compute_among<Policies...>::type> &&
                                                   !asks_for_tf32<Policies...>,
                                               typename compute_among<Policies...>::type, f32>;

/// The graph of a loss (a model's, whole or shortened) with its values computed in T. Parameters are its
/// first nodes.
template <class Loss, class T, std::size_t Parameters>
struct narrow_loss {
  static constexpr graph_sizes capacity = room_for(frozen<Loss>::view().sizes(), 2, 1);
  static constexpr graph make() {
    if constexpr (is_quantized<T>)
      return passes::mark_quantized(passes::compute_narrow(frozen<Loss>::view(), dtype_of<wider_than<T>>),
                                    Parameters);
    else
      return passes::compute_narrow(frozen<Loss>::view(), dtype_of<T>);
  }
};
template <class Loss, class T, std::size_t Parameters>
using loss_computed_in = std::conditional_t<std::is_same_v<T, f32>, Loss, narrow_loss<Loss, T, Parameters>>;

/// Such a loss, then the gradients of share times it to the wanted nodes, then, of f8, what
/// passes::quantize_products adds.
template <class T>
constexpr graph gradients_in(const graph_view& loss, ids wanted, double share = 1) {
  if constexpr (needs_scaled_loss<T>) {
    const graph scaled = passes::differentiate_scaled(loss, wanted, share);
    return passes::keep_narrow(scaled.view(), loss.size(), dtype_of<T>);
  } else {
    graph gradients = passes::differentiate_share(loss, wanted, share);
    if constexpr (std::is_same_v<T, f32>)
      return gradients;
    else if constexpr (is_quantized<T>)
      return passes::quantize_products(gradients.view(), loss.size(), dtype_of<wider_than<T>>);
    else
      return passes::keep_narrow(gradients.view(), loss.size(), dtype_of<T>);
  }
}

/// Room for a graph of gradients_in to so many wanted nodes; of several batches, with their sums. A tensor
/// that is rounded to 8 bits takes a dozen nodes.
template <class T>
constexpr graph_sizes room_for_gradients(const graph_view& loss, std::size_t wanted, std::size_t batches) {
  graph_sizes room = room_for(loss.sizes(), batches > 1 ? 4 : 3, wanted + 1);
  if constexpr (is_quantized<T>)
    for (std::size_t id = 0; id < loss.node_count; ++id)
      if (is_quantized_product(loss.nodes[id])) {
        room.outputs += passes::tensors_of_product;
        room.nodes += 16 * passes::tensors_of_product;
        room.pool += 32 * passes::tensors_of_product;
      }
  return room;
}

}  // namespace detail

}  // namespace napkin
