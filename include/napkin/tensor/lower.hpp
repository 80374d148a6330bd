// Where expressions meet tensors: what a lazy expression has, and the two functions that a backend defines
// for it. Knows no operation and no backend.
#pragma once

#include <concepts>
#include <span>
#include <type_traits>

#include "napkin/core/dim.hpp"
#include "napkin/tensor/operand.hpp"
#include "napkin/tensor/storage.hpp"

namespace napkin {

namespace rule {
/// type<X>
template <class... Facts>
struct nothing_to_evaluate {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "eval: this is no expression: a number has its value already, and values in memory become a tensor, "
      "nk::tensor<float, batch, seq>(values)");
};
/// type<X>
template <class... Facts>
struct no_backend_to_evaluate {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "eval: nothing included so far computes expressions: napkin/napkin.hpp does, or napkin/cpu/lower.hpp");
};
/// type<X>
template <class... Facts>
struct evaluated_in_a_function {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "eval: a traced function (a loss, what fn or grad are given) is computed as a whole, later: inside it "
      "the value is used as it is, without eval");
};
}  // namespace rule

/// What a lazy expression derives from: elements of T over these axes, not computed yet. Where an axis is
/// sized at run time, e.sizes() has the actual sizes of all, as a std::array.
///
/// Rules  not_computed_yet, of whoever uses one as a tensor or a number
template <class T, class... Ds>
struct lazy_expression : operand {
  using lazy_expression_tag = void;
  using element = T;
  using axes_type = axes<Ds...>;

  template <class... Index>
  constexpr auto operator()(const Index&...) const {
    return rule::not_computed_yet<fact::from<Ds...>, fact::type<Index>...>::raise();
  }
  template <class Index>
  constexpr auto operator[](const Index&) const {
    return rule::not_computed_yet<fact::from<Ds...>, fact::type<Index>>::raise();
  }
  /// Explicit, but for a single number: a list of numbers must not take an expression for one of them.
  template <class Number>
  requires(std::is_arithmetic_v<Number>) explicit(sizeof...(Ds) != 0) operator Number() const {
    (void)rule::not_computed_yet<fact::from<Ds...>, fact::type<Number>>::raise();
    return {};
  }
};

template <class E>
concept LazyExpression = requires {
  typename E::lazy_expression_tag;
  typename E::element;
  typename E::axes_type;
};

/// Compute e into `destination`: row-major, laid out for the bounds of its axes, aligned as an element is,
/// and read by no leaf of e. A backend defines it; without one a program that assigns expressions does not
/// link.
template <class E>
void lower(const E& e, void* destination);

/// Whether a leaf of e lies in this storage. A backend defines it.
template <class E>
bool reads_storage(const E& e, const storage& s);

/// Run the graph that Graph::make() gives, once: its inputs by slot, its outputs in order, each row-major. A
/// backend defines it.
template <class Graph>
void run_graph(std::span<const void* const> inputs, std::span<void* const> outputs);

/// Of what no backend's `eval` takes: refused, but for what is an error already.
template <class X>
constexpr auto eval(const X&) {
  if constexpr (is_failed<X>)
    return failed{};
  else if constexpr (detail::is_operand<X>)
    return rule::no_backend_to_evaluate<fact::type<X>>::raise();
  else
    return rule::nothing_to_evaluate<fact::type<X>>::raise();
}

}  // namespace napkin
