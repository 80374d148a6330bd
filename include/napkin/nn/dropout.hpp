// Dropout, whose mask is a function of a number and of places: it is stored nowhere, and is the same in the
// forward pass, in the backward pass and wherever values are computed again.
#pragma once

#include "napkin/nn/mistakes.hpp"
#include "napkin/ops/composite.hpp"
#include "napkin/ops/elementwise.hpp"
#include "napkin/ops/function.hpp"

namespace napkin {

namespace rule {
/// of_type<T>, axes<Ds...>
template <class... Facts>
struct noise_is_no_number {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "dropout: the noise is one number of i64, an input<i64> of the loss: the step's, and -1 in evaluation, "
      "where nothing is dropped");
};
/// type<X>, type<what stands in its place>...
template <class... Facts>
struct dropout_without_noise {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "dropout(x, rate, noise): the noise says what is dropped, and is an input<i64> of the loss: another "
      "number at every step, and -1 in evaluation, where nothing is dropped");
};
/// none
template <class... Facts>
struct dropout_outside_a_function {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "dropout: it belongs in a model's loss, or in what fn, grad or value_and_grad are given");
};
}  // namespace rule

namespace detail {

/// The number of an element, counted through all axes of a shape in row-major order, at the bounds of those
/// that are sized at run time: it is the same whatever the actual sizes are.
constexpr std::int32_t element_numbers(builder& b, const shape& s) {
  if (s.empty()) return b.constant(0, dtype::i64, s);
  std::int32_t number = b.iota(0, dtype::i64, s);
  for (std::size_t i = 1; i < s.size(); ++i) {
    const std::int32_t before =
        b.scale(number, static_cast<double>(bound_of(s[i])));  // nodes are in this order
    number = b.add(before, b.iota(static_cast<int>(i), dtype::i64, s));
  }
  return number;
}

/// Bits for each element of x, by a key.
struct random_bits_op {
  using called = fact::call<"dropout">;
  static constexpr std::int32_t emit(builder& b, const std::int32_t* xs) {
    const shape s = b.shape_of(xs[0]);
    const std::int32_t numbers = element_numbers(b, s);
    return b.binary(op::random_bits, numbers, b.expand(xs[1], s, axis_positions(s.size(), -1)));
  }
};

struct dropout_function {
  template <class X, class Noise>
  constexpr auto operator()(const X& x, double rate, const Noise& noise) const {
    if (!(rate >= 0 && rate <= 1)) throw "dropout: the rate is a probability, from 0 to 1";
    const composite_scope in(composite::dropout, x);
    const builder* const b = builder_of(x, noise);
    // Keys of a step lie side by side: no graph has 2^20 nodes, and no two dropouts of one graph are one
    // node.
    const auto site = b == nullptr ? 0.0 : static_cast<double>(b->size());
    const auto key = noise * number_like(noise, 0x1p20) + number_like(noise, site);
    const auto bits = apply<random_bits_op, i64, axes_of<X>>(x, key);
    const auto kept = bits < number_like(bits, 0x1p32 * (1 - rate)) || noise < 0;
    const double share = rate < 1 ? 1 - rate : 1;  // where all are dropped, none is scaled by an infinity
    const auto scale = where(noise < 0, number_like(x, 1), number_like(x, 1 / share));
    return where(kept, x * scale, 0);
  }
};

template <class X, class Noise>
constexpr auto find_dropout_mistake() {
  if constexpr (is_failed<X> || is_failed<Noise>) {
    return std::type_identity<silent>{};
  } else {
    using found = decltype(find_composite_mistake(std::type_identity<X>{}));
    if constexpr (found_mistake<found>)
      return found{};
    else if constexpr (!std::is_same_v<typename Noise::element, i64> || axes_of<Noise>::rank != 0)
      return std::type_identity<
          rule::noise_is_no_number<fact::of_type<dtype_of<typename Noise::element>>, axes_of<Noise>>>{};
    else if constexpr (!is_traced_operand<X> || !is_traced_operand<Noise>)
      return std::type_identity<rule::dropout_outside_a_function<fact::type<X>>>{};
    else
      return std::type_identity<accepted>{};
  }
}

}  // namespace detail

/// Each element is 0 with probability `rate`, from 0 to 1, else divided by 1 - rate. `noise` is a number:
/// equal numbers, equal masks; below 0 nothing is dropped. Dropouts of one function differ from each other,
/// and so do those of two noises. It is at least 0 and below 2^33.
///
/// Shape     any -> the same
/// Cost      1 elementwise FLOP an element, 3 comparisons and choices; the mask is computed where needed
/// Gradient  the same mask
/// Rules     noise_is_no_number, dropout_without_noise, dropout_outside_a_function; a rate that is no
///           probability does not compile
/// Source    Srivastava et al. 2014, scaled in training; bits are words of Philox (core/philox.hpp)
/// Example   constexpr auto loss(nk::input<nk::f32, batch, hidden> x, nk::input<nk::i64> noise) const {
///             return nk::mean(nk::dropout(x, 0.1, noise));
///           }
template <detail::ElementwiseOperand X, detail::ElementwiseOperand Noise>
constexpr auto dropout(const X& x, double rate, const Noise& noise) {
  using mistake = detail::rule_in<decltype(detail::find_dropout_mistake<X, Noise>())>;
  if constexpr (is_mistake<mistake>)
    return mistake::raise(detail::by<X, Noise>);
  else
    return detail::dropout_function{}(x, rate, noise);
}
/// Without noise, or with a number of the program's for it: refused.
template <detail::ElementwiseOperand X, class... Wrong>
requires(detail::is_number<Wrong>&&...) constexpr auto dropout(const X&, double, const Wrong&...) {
  using mistake = detail::unless_failed<rule::dropout_without_noise<fact::type<X>, fact::type<Wrong>...>, X>;
  return mistake::raise(detail::by<X, Wrong...>);
}

}  // namespace napkin
