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

template <class X>
concept OperatorTakes =
    std::is_base_of_v<operand, X> || std::is_arithmetic_v<X> || std::is_base_of_v<failed, X>;

template <class B, class A>
constexpr auto refuse_compound_assignment(const A&) {
  if constexpr (!is_failed<A> && !is_failed<B>)
    (void)sizeof(rule::no_compound_assignment<fact::type<A>, fact::type<B>>);
  return failed{};
}

}  // namespace detail

/// + - * / broadcast by name; comparisons give b8; && || ! are for b8.
struct operand {
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  friend constexpr auto operator+(const A& a, const B& b) {
    return detail::binary<op::add>(a, b);
  }
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  friend constexpr auto operator-(const A& a, const B& b) {
    return detail::binary<op::sub>(a, b);
  }
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  friend constexpr auto operator*(const A& a, const B& b) {
    return detail::binary<op::mul>(a, b);
  }
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  friend constexpr auto operator/(const A& a, const B& b) {
    return detail::binary<op::div>(a, b);
  }
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  friend constexpr auto operator<(const A& a, const B& b) {
    return detail::binary<op::less>(a, b);
  }
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  friend constexpr auto operator>(const A& a, const B& b) {
    return detail::binary<op::less>(b, a);
  }
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  friend constexpr auto operator<=(const A& a, const B& b) {
    return detail::binary<op::less_equal>(a, b);
  }
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  friend constexpr auto operator>=(const A& a, const B& b) {
    return detail::binary<op::less_equal>(b, a);
  }
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  friend constexpr auto operator==(const A& a, const B& b) {
    return detail::binary<op::equal>(a, b);
  }
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  friend constexpr auto operator!=(const A& a, const B& b) {
    return detail::unary<op::logical_not>(detail::binary<op::equal>(a, b));
  }
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  friend constexpr auto operator&&(const A& a, const B& b) {
    return detail::binary<op::logical_and>(a, b);
  }
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  friend constexpr auto operator||(const A& a, const B& b) {
    return detail::binary<op::logical_or>(a, b);
  }
  // Refused: no_compound_assignment.
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  friend constexpr auto operator+=(const A& a, const B&) {
    return detail::refuse_compound_assignment<B>(a);
  }
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  friend constexpr auto operator-=(const A& a, const B&) {
    return detail::refuse_compound_assignment<B>(a);
  }
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  friend constexpr auto operator*=(const A& a, const B&) {
    return detail::refuse_compound_assignment<B>(a);
  }
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  friend constexpr auto operator/=(const A& a, const B&) {
    return detail::refuse_compound_assignment<B>(a);
  }
  template <detail::OperatorTakes A>
  friend constexpr auto operator-(const A& a) {
    return detail::unary<op::neg>(a);
  }
  template <detail::OperatorTakes A>
  friend constexpr auto operator!(const A& a) {
    return detail::unary<op::logical_not>(a);
  }
};

}  // namespace napkin
