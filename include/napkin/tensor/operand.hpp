// What everything that operators take derives from: tensors, views, lazy expressions, traced values. The
// operators are friends of this one class that is no template: as friends of every node's own template they
// are looked up anew for each, which takes minutes where this takes a moment (docs/design.md).
#pragma once

#include <type_traits>

#include "napkin/core/rules.hpp"
#include "napkin/graph/op.hpp"

namespace napkin {

struct operand;

namespace detail {

// Defined in ops/broadcast.hpp.
template <op O, class A, class B>
constexpr auto binary(const A& a, const B& b);
template <op O, class A>
constexpr auto unary(const A& a);
template <op O, class A, class... B>
struct mistake_in;

template <class X>
concept OperatorTakes =
    std::is_base_of_v<operand, X> || std::is_arithmetic_v<X> || std::is_base_of_v<failed, X>;

template <class A, class B>
using compound_assignment = std::conditional_t<is_failed<A> || is_failed<B>, silent,
                                               rule::no_compound_assignment<fact::type<A>, fact::type<B>>>;

}  // namespace detail

/// + - * / broadcast by name; comparisons give b8; && || ! are for b8.
struct operand {
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  friend constexpr auto operator+(const A& a, const B& b) {
    using mistake = typename detail::mistake_in<op::add, A, B>::type;
    if constexpr (is_mistake<mistake>)
      return mistake::raise();
    else
      return detail::binary<op::add>(a, b);
  }
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  friend constexpr auto operator-(const A& a, const B& b) {
    using mistake = typename detail::mistake_in<op::sub, A, B>::type;
    if constexpr (is_mistake<mistake>)
      return mistake::raise();
    else
      return detail::binary<op::sub>(a, b);
  }
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  friend constexpr auto operator*(const A& a, const B& b) {
    using mistake = typename detail::mistake_in<op::mul, A, B>::type;
    if constexpr (is_mistake<mistake>)
      return mistake::raise();
    else
      return detail::binary<op::mul>(a, b);
  }
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  friend constexpr auto operator/(const A& a, const B& b) {
    using mistake = typename detail::mistake_in<op::div, A, B>::type;
    if constexpr (is_mistake<mistake>)
      return mistake::raise();
    else
      return detail::binary<op::div>(a, b);
  }
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  friend constexpr auto operator<(const A& a, const B& b) {
    using mistake = typename detail::mistake_in<op::less, A, B>::type;
    if constexpr (is_mistake<mistake>)
      return mistake::raise();
    else
      return detail::binary<op::less>(a, b);
  }
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  friend constexpr auto operator>(const A& a, const B& b) {
    using mistake = typename detail::mistake_in<op::less, B, A>::type;
    if constexpr (is_mistake<mistake>)
      return mistake::raise();
    else
      return detail::binary<op::less>(b, a);
  }
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  friend constexpr auto operator<=(const A& a, const B& b) {
    using mistake = typename detail::mistake_in<op::less_equal, A, B>::type;
    if constexpr (is_mistake<mistake>)
      return mistake::raise();
    else
      return detail::binary<op::less_equal>(a, b);
  }
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  friend constexpr auto operator>=(const A& a, const B& b) {
    using mistake = typename detail::mistake_in<op::less_equal, B, A>::type;
    if constexpr (is_mistake<mistake>)
      return mistake::raise();
    else
      return detail::binary<op::less_equal>(b, a);
  }
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  friend constexpr auto operator==(const A& a, const B& b) {
    using mistake = typename detail::mistake_in<op::equal, A, B>::type;
    if constexpr (is_mistake<mistake>)
      return mistake::raise();
    else
      return detail::binary<op::equal>(a, b);
  }
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  friend constexpr auto operator!=(const A& a, const B& b) {
    using mistake = typename detail::mistake_in<op::equal, A, B>::type;
    if constexpr (is_mistake<mistake>)
      return mistake::raise();
    else
      return detail::unary<op::logical_not>(detail::binary<op::equal>(a, b));
  }
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  friend constexpr auto operator&&(const A& a, const B& b) {
    using mistake = typename detail::mistake_in<op::logical_and, A, B>::type;
    if constexpr (is_mistake<mistake>)
      return mistake::raise();
    else
      return detail::binary<op::logical_and>(a, b);
  }
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  friend constexpr auto operator||(const A& a, const B& b) {
    using mistake = typename detail::mistake_in<op::logical_or, A, B>::type;
    if constexpr (is_mistake<mistake>)
      return mistake::raise();
    else
      return detail::binary<op::logical_or>(a, b);
  }
  // Refused: no_compound_assignment.
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  friend constexpr auto operator+=(const A&, const B&) {
    return detail::compound_assignment<A, B>::raise();
  }
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  friend constexpr auto operator-=(const A&, const B&) {
    return detail::compound_assignment<A, B>::raise();
  }
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  friend constexpr auto operator*=(const A&, const B&) {
    return detail::compound_assignment<A, B>::raise();
  }
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  friend constexpr auto operator/=(const A&, const B&) {
    return detail::compound_assignment<A, B>::raise();
  }
  template <detail::OperatorTakes A>
  friend constexpr auto operator-(const A& a) {
    using mistake = typename detail::mistake_in<op::neg, A>::type;
    if constexpr (is_mistake<mistake>)
      return mistake::raise();
    else
      return detail::unary<op::neg>(a);
  }
  template <detail::OperatorTakes A>
  friend constexpr auto operator!(const A& a) {
    using mistake = typename detail::mistake_in<op::logical_not, A>::type;
    if constexpr (is_mistake<mistake>)
      return mistake::raise();
    else
      return detail::unary<op::logical_not>(a);
  }
};

}  // namespace napkin
