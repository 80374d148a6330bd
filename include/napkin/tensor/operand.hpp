// What everything that operators take derives from: tensors, views, lazy expressions, traced values. The
// operators are friends of this one class that is no template: as friends of every node's own template they
// are looked up anew for each, which takes minutes where this takes a moment (docs/design.md).
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include "napkin/core/rules.hpp"
#include "napkin/graph/op.hpp"

namespace napkin {

struct operand;

namespace detail {

/// What may stand beside an operator, and what may not. A container of numbers, which no axis names, may not
/// either, but is told so where the other is an operand.
enum class form : unsigned char { operand, number, failed, container, other };

/// Whether X is one of C++'s own numbers. Of a class std::is_arithmetic_v makes six more.
template <class X, bool Class = __is_class(X)>
inline constexpr bool is_number = std::is_arithmetic_v<X>;
template <class X>
inline constexpr bool is_number<X, true> = false;

template <class X>
inline constexpr bool is_operand = __is_base_of(operand, X);
/// Numbers behind one another in one of these. Not other classes: they may have operators of their own.
template <class X>
inline constexpr bool is_container = false;
template <class T, std::size_t N>
inline constexpr bool is_container<T[N]> = is_number<T> && !std::is_same_v<T, char>;
template <class T, class Allocator>
inline constexpr bool is_container<std::vector<T, Allocator>> = is_number<T>;
template <class T, std::size_t N>
inline constexpr bool is_container<std::array<T, N>> = is_number<T>;
template <class T, std::size_t N>
inline constexpr bool is_container<std::span<T, N>> = is_number<std::remove_cv_t<T>>;
template <class X>
inline constexpr form form_of = is_operand<X>     ? form::operand
                                : is_number<X>    ? form::number
                                : is_failed<X>    ? form::failed
                                : is_container<X> ? form::container
                                                  : form::other;
template <class X>
concept OperatorTakes = form_of<X>
!= form::other&& form_of<X> != form::container;
/// The same, and a container beside an operand, for the overloads that say what is wrong.
template <class A, class B>
concept OperatorRefuses = (OperatorTakes<A> && OperatorTakes<B>) ||
                          (form_of<A> == form::operand && form_of<B> == form::container) ||
                          (form_of<A> == form::container && form_of<B> == form::operand);

// An operation on operands of these types: whether it `fits`, its result's `type`, and what it is `of` them.
// Defined in ops/broadcast.hpp.
template <op O, class A, class B, form OfA = form_of<A>, form OfB = form_of<B>>
struct binary_of;
template <op O, class A, form OfA = form_of<A>>
struct unary_of;
template <op O, class A, class... B>
struct mistake_in;

template <class X, bool Operand = is_operand<X>>
inline constexpr bool is_traced_operand = false;
template <class X>
inline constexpr bool is_traced_operand<X, true> = X::is_traced;

// Where a rule is raised by an operation on operands of these types (core/say.hpp).
template <class... Xs>
inline constexpr std::conditional_t<(is_traced_operand<Xs> || ...), inside_function, anywhere> by{};

// Where elements lie, or those that an expression is computed from: a set.
inline constexpr unsigned char on_host = 1, on_device = 2;

template <class A, class B>
using compound_assignment = unless_failed<rule::no_compound_assignment<fact::type<A>, fact::type<B>>, A, B>;

}  // namespace detail

/// + - * / broadcast by name; comparisons give b8; && || ! are for b8.
///
/// Each twice: where nothing is wrong its type is said beforehand, so that to ask for the type takes no
/// function's body; else the second one raises the mistake.
struct operand {
  static constexpr unsigned char places = 0;
  /// A value inside a traced function, or a parameter of a model.
  static constexpr bool is_traced = false;

  template <detail::OperatorTakes A, detail::OperatorTakes B>
  requires(detail::binary_of<op::add, A, B>::fits) friend constexpr
      typename detail::binary_of<op::add, A, B>::type
      operator+(const A& a, const B& b) {
    return detail::binary_of<op::add, A, B>::of(a, b);
  }
  template <class A, class B>
  requires(detail::OperatorRefuses<A, B>) friend constexpr auto operator+(const A&, const B&) {
    return detail::mistake_in<op::add, A, B>::type::raise(detail::by<A, B>);
  }
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  requires(detail::binary_of<op::sub, A, B>::fits) friend constexpr
      typename detail::binary_of<op::sub, A, B>::type
      operator-(const A& a, const B& b) {
    return detail::binary_of<op::sub, A, B>::of(a, b);
  }
  template <class A, class B>
  requires(detail::OperatorRefuses<A, B>) friend constexpr auto operator-(const A&, const B&) {
    return detail::mistake_in<op::sub, A, B>::type::raise(detail::by<A, B>);
  }
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  requires(detail::binary_of<op::mul, A, B>::fits) friend constexpr
      typename detail::binary_of<op::mul, A, B>::type
      operator*(const A& a, const B& b) {
    return detail::binary_of<op::mul, A, B>::of(a, b);
  }
  template <class A, class B>
  requires(detail::OperatorRefuses<A, B>) friend constexpr auto operator*(const A&, const B&) {
    return detail::mistake_in<op::mul, A, B>::type::raise(detail::by<A, B>);
  }
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  requires(detail::binary_of<op::div, A, B>::fits) friend constexpr
      typename detail::binary_of<op::div, A, B>::type
      operator/(const A& a, const B& b) {
    return detail::binary_of<op::div, A, B>::of(a, b);
  }
  template <class A, class B>
  requires(detail::OperatorRefuses<A, B>) friend constexpr auto operator/(const A&, const B&) {
    return detail::mistake_in<op::div, A, B>::type::raise(detail::by<A, B>);
  }
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  requires(detail::binary_of<op::less, A, B>::fits) friend constexpr
      typename detail::binary_of<op::less, A, B>::type
      operator<(const A& a, const B& b) {
    return detail::binary_of<op::less, A, B>::of(a, b);
  }
  template <class A, class B>
  requires(detail::OperatorRefuses<A, B>) friend constexpr auto operator<(const A&, const B&) {
    return detail::mistake_in<op::less, A, B>::type::raise(detail::by<A, B>);
  }
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  requires(detail::binary_of<op::less, B, A>::fits) friend constexpr
      typename detail::binary_of<op::less, B, A>::type
      operator>(const A& a, const B& b) {
    return detail::binary_of<op::less, B, A>::of(b, a);
  }
  template <class A, class B>
  requires(detail::OperatorRefuses<A, B>) friend constexpr auto operator>(const A&, const B&) {
    return detail::mistake_in<op::less, B, A>::type::raise(detail::by<A, B>);
  }
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  requires(detail::binary_of<op::less_equal, A, B>::fits) friend constexpr
      typename detail::binary_of<op::less_equal, A, B>::type
      operator<=(const A& a, const B& b) {
    return detail::binary_of<op::less_equal, A, B>::of(a, b);
  }
  template <class A, class B>
  requires(detail::OperatorRefuses<A, B>) friend constexpr auto operator<=(const A&, const B&) {
    return detail::mistake_in<op::less_equal, A, B>::type::raise(detail::by<A, B>);
  }
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  requires(detail::binary_of<op::less_equal, B, A>::fits) friend constexpr
      typename detail::binary_of<op::less_equal, B, A>::type
      operator>=(const A& a, const B& b) {
    return detail::binary_of<op::less_equal, B, A>::of(b, a);
  }
  template <class A, class B>
  requires(detail::OperatorRefuses<A, B>) friend constexpr auto operator>=(const A&, const B&) {
    return detail::mistake_in<op::less_equal, B, A>::type::raise(detail::by<A, B>);
  }
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  requires(detail::binary_of<op::equal, A, B>::fits) friend constexpr
      typename detail::binary_of<op::equal, A, B>::type
      operator==(const A& a, const B& b) {
    return detail::binary_of<op::equal, A, B>::of(a, b);
  }
  template <class A, class B>
  requires(detail::OperatorRefuses<A, B>) friend constexpr auto operator==(const A&, const B&) {
    return detail::mistake_in<op::equal, A, B>::type::raise(detail::by<A, B>);
  }
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  requires(detail::binary_of<op::equal, A, B>::fits) friend constexpr
      typename detail::unary_of<op::logical_not, typename detail::binary_of<op::equal, A, B>::type>::type
      operator!=(const A& a, const B& b) {
    return !(a == b);
  }
  template <class A, class B>
  requires(detail::OperatorRefuses<A, B>) friend constexpr auto operator!=(const A&, const B&) {
    return detail::mistake_in<op::equal, A, B>::type::raise(detail::by<A, B>);
  }
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  requires(detail::binary_of<op::logical_and, A, B>::fits) friend constexpr
      typename detail::binary_of<op::logical_and, A, B>::type
      operator&&(const A& a, const B& b) {
    return detail::binary_of<op::logical_and, A, B>::of(a, b);
  }
  template <class A, class B>
  requires(detail::OperatorRefuses<A, B>) friend constexpr auto operator&&(const A&, const B&) {
    return detail::mistake_in<op::logical_and, A, B>::type::raise(detail::by<A, B>);
  }
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  requires(detail::binary_of<op::logical_or, A, B>::fits) friend constexpr
      typename detail::binary_of<op::logical_or, A, B>::type
      operator||(const A& a, const B& b) {
    return detail::binary_of<op::logical_or, A, B>::of(a, b);
  }
  template <class A, class B>
  requires(detail::OperatorRefuses<A, B>) friend constexpr auto operator||(const A&, const B&) {
    return detail::mistake_in<op::logical_or, A, B>::type::raise(detail::by<A, B>);
  }
  // Refused: no_compound_assignment.
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  friend constexpr auto operator+=(const A&, const B&) {
    return detail::compound_assignment<A, B>::raise(detail::by<A, B>);
  }
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  friend constexpr auto operator-=(const A&, const B&) {
    return detail::compound_assignment<A, B>::raise(detail::by<A, B>);
  }
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  friend constexpr auto operator*=(const A&, const B&) {
    return detail::compound_assignment<A, B>::raise(detail::by<A, B>);
  }
  template <detail::OperatorTakes A, detail::OperatorTakes B>
  friend constexpr auto operator/=(const A&, const B&) {
    return detail::compound_assignment<A, B>::raise(detail::by<A, B>);
  }
  template <detail::OperatorTakes A>
  requires(detail::unary_of<op::neg, A>::fits) friend constexpr typename detail::unary_of<op::neg, A>::type
  operator-(const A& a) {
    return detail::unary_of<op::neg, A>::of(a);
  }
  template <detail::OperatorTakes A>
  friend constexpr auto operator-(const A&) {
    return detail::mistake_in<op::neg, A>::type::raise(detail::by<A>);
  }
  template <detail::OperatorTakes A>
  requires(detail::unary_of<op::logical_not, A>::fits) friend constexpr
      typename detail::unary_of<op::logical_not, A>::type
      operator!(const A& a) {
    return detail::unary_of<op::logical_not, A>::of(a);
  }
  template <detail::OperatorTakes A>
  friend constexpr auto operator!(const A&) {
    return detail::mistake_in<op::logical_not, A>::type::raise(detail::by<A>);
  }
};

}  // namespace napkin
