// Which function of several primitives made a node: stamped on the nodes, so that a pass finds the whole
// again, backward included, without guessing.
#pragma once

#include <string_view>

#include "napkin/ops/expression.hpp"

namespace napkin {

enum class composite : std::uint16_t {
  none,  // no composite: what node::composite holds by default
  softmax,
  log_softmax,
  layer_norm,
  rms_norm,
  sigmoid,
  silu,
  gelu,
  gelu_exact,
  rotary,
  attention,
  cross_entropy,
  dropout,
  quantized_product,  // of no function: passes/quantize.hpp marks it
  accumulation,       // nor this: passes/accumulate.hpp does
};
constexpr std::string_view name_of(composite c) {
  constexpr std::string_view names[] = {
      "none",      "softmax",       "log_softmax", "layer_norm",        "rms_norm",
      "sigmoid",   "silu",          "gelu",        "gelu_exact",        "rotary",
      "attention", "cross_entropy", "dropout",     "quantized_product", "accumulation"};
  return names[static_cast<std::size_t>(c)];
}

/// Of two operands that passes/quantize.hpp rounds to 8-bit floats, or has rounded.
constexpr bool is_quantized_product(const node& n) {
  return n.kind == op::einsum && n.arity == 2 &&
         n.composite == static_cast<std::uint16_t>(composite::quantized_product);
}

/// What rounds such an operand, or undoes the scales of a result; the scales themselves, which are inputs.
constexpr bool rounds_to_8_bits(const node& n) {
  return n.kind != op::einsum && n.arity > 0 &&
         n.composite == static_cast<std::uint16_t>(composite::quantized_product);
}
constexpr bool is_scale(const node& n) {
  return n.kind == op::input && n.composite == static_cast<std::uint16_t>(composite::quantized_product);
}

/// While it lives, nodes that are added to the operands' graph carry the id. Within another composite they
/// carry that one's: the outermost is what a kernel would replace.
class composite_scope {
 public:
  template <class... Xs>
  constexpr explicit composite_scope(composite id, const Xs&... operands)
      : graph_(detail::builder_of(operands...)) {
    if (graph_ == nullptr) return;  // after a mistake
    before_ = graph_->composite;
    if (before_ == 0) graph_->composite = static_cast<std::uint16_t>(id);
  }
  composite_scope(const composite_scope&) = delete;
  composite_scope& operator=(const composite_scope&) = delete;
  constexpr ~composite_scope() {
    if (graph_ != nullptr) graph_->composite = before_;
  }

 private:
  builder* graph_;
  std::uint16_t before_ = 0;
};

/// A number among traced values, of x's dtype. It enters the graph unrounded, which a float literal would
/// not.
template <class X>
constexpr auto number_like(const X& x, double value) {
  if constexpr (is_failed<X>) {
    return failed{};
  } else {
    using T = typename X::element;
    builder* const b = detail::builder_of(x);
    return b == nullptr ? traced<T>(failed{}) : traced<T>(b, b->constant(value, dtype_of<T>, {}));
  }
}
/// Already one.
template <class X, class T>
constexpr traced<T> number_like(const X&, const traced<T>& value) {
  return value;
}

}  // namespace napkin
