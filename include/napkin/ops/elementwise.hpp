// Elementwise functions by name. Operators (+ - * / < ...) are in tensor/operand.hpp; all broadcast by name.
#pragma once

#include "napkin/ops/axes.hpp"
#include "napkin/ops/broadcast.hpp"

namespace napkin {

/// Shape  any -> the same.  Cost  1 transcendental an element (neg, abs, sign, floor: 1 elementwise FLOP).
/// Gradient  elementwise.  Lowers  fused.
template <detail::ElementwiseOperand X>
requires(detail::unary_of<op::exp, X>::fits) constexpr detail::unary_type<op::exp, X> exp(const X& x) {
  return detail::unary_of<op::exp, X>::of(x);
}
template <detail::ElementwiseOperand X>
constexpr auto exp(const X&) {  // refused
  return detail::mistake_in<op::exp, X>::type::raise(detail::by<X>);
}
template <detail::ElementwiseOperand X>
requires(detail::unary_of<op::log, X>::fits) constexpr detail::unary_type<op::log, X> log(const X& x) {
  return detail::unary_of<op::log, X>::of(x);
}
template <detail::ElementwiseOperand X>
constexpr auto log(const X&) {  // refused
  return detail::mistake_in<op::log, X>::type::raise(detail::by<X>);
}
template <detail::ElementwiseOperand X>
requires(detail::unary_of<op::sqrt, X>::fits) constexpr detail::unary_type<op::sqrt, X> sqrt(const X& x) {
  return detail::unary_of<op::sqrt, X>::of(x);
}
template <detail::ElementwiseOperand X>
constexpr auto sqrt(const X&) {  // refused
  return detail::mistake_in<op::sqrt, X>::type::raise(detail::by<X>);
}
template <detail::ElementwiseOperand X>
requires(detail::unary_of<op::rsqrt, X>::fits) constexpr detail::unary_type<op::rsqrt, X> rsqrt(const X& x) {
  return detail::unary_of<op::rsqrt, X>::of(x);
}
template <detail::ElementwiseOperand X>
constexpr auto rsqrt(const X&) {  // refused
  return detail::mistake_in<op::rsqrt, X>::type::raise(detail::by<X>);
}
template <detail::ElementwiseOperand X>
requires(detail::unary_of<op::sin, X>::fits) constexpr detail::unary_type<op::sin, X> sin(const X& x) {
  return detail::unary_of<op::sin, X>::of(x);
}
template <detail::ElementwiseOperand X>
constexpr auto sin(const X&) {  // refused
  return detail::mistake_in<op::sin, X>::type::raise(detail::by<X>);
}
template <detail::ElementwiseOperand X>
requires(detail::unary_of<op::cos, X>::fits) constexpr detail::unary_type<op::cos, X> cos(const X& x) {
  return detail::unary_of<op::cos, X>::of(x);
}
template <detail::ElementwiseOperand X>
constexpr auto cos(const X&) {  // refused
  return detail::mistake_in<op::cos, X>::type::raise(detail::by<X>);
}
template <detail::ElementwiseOperand X>
requires(detail::unary_of<op::tanh, X>::fits) constexpr detail::unary_type<op::tanh, X> tanh(const X& x) {
  return detail::unary_of<op::tanh, X>::of(x);
}
template <detail::ElementwiseOperand X>
constexpr auto tanh(const X&) {  // refused
  return detail::mistake_in<op::tanh, X>::type::raise(detail::by<X>);
}
template <detail::ElementwiseOperand X>
requires(detail::unary_of<op::erf, X>::fits) constexpr detail::unary_type<op::erf, X> erf(const X& x) {
  return detail::unary_of<op::erf, X>::of(x);
}
template <detail::ElementwiseOperand X>
constexpr auto erf(const X&) {  // refused
  return detail::mistake_in<op::erf, X>::type::raise(detail::by<X>);
}
template <detail::ElementwiseOperand X>
requires(detail::unary_of<op::abs, X>::fits) constexpr detail::unary_type<op::abs, X> abs(const X& x) {
  return detail::unary_of<op::abs, X>::of(x);
}
template <detail::ElementwiseOperand X>
constexpr auto abs(const X&) {  // refused
  return detail::mistake_in<op::abs, X>::type::raise(detail::by<X>);
}
template <detail::ElementwiseOperand X>
requires(detail::unary_of<op::sign, X>::fits) constexpr detail::unary_type<op::sign, X> sign(const X& x) {
  return detail::unary_of<op::sign, X>::of(x);
}
template <detail::ElementwiseOperand X>
constexpr auto sign(const X&) {  // refused
  return detail::mistake_in<op::sign, X>::type::raise(detail::by<X>);
}
template <detail::ElementwiseOperand X>
requires(detail::unary_of<op::floor, X>::fits) constexpr detail::unary_type<op::floor, X> floor(const X& x) {
  return detail::unary_of<op::floor, X>::of(x);
}
template <detail::ElementwiseOperand X>
constexpr auto floor(const X&) {  // refused
  return detail::mistake_in<op::floor, X>::type::raise(detail::by<X>);
}
/// -floor(-x)
template <detail::ElementwiseOperand X>
requires(detail::unary_of<op::floor, X>::fits) constexpr auto ceil(const X& x) { return -floor(-x); }
template <detail::ElementwiseOperand X>
constexpr auto ceil(const X&) {  // refused
  return detail::mistake_in<op::floor, X>::type::raise(detail::by<X>);
}
/// The value, of which nothing is differentiated.
template <detail::ElementwiseOperand X>
requires(detail::unary_of<op::stop_gradient, X>::fits) constexpr detail::unary_type<
    op::stop_gradient, X> stop_gradient(const X& x) {
  return detail::unary_of<op::stop_gradient, X>::of(x);
}
template <detail::ElementwiseOperand X>
constexpr auto stop_gradient(const X&) {  // refused
  return detail::mistake_in<op::stop_gradient, X>::type::raise(detail::by<X>);
}

namespace rule {
/// call<"f">, type<X>
template <class... Facts>
struct extremum_of_one {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "maximum, minimum: they are of two operands, element by element, as maximum(x, 0); along an axis it is "
      "max<\"seq\">(x)");
};
}  // namespace rule

/// Of two operands, or an operand and a number; at least one is no number.
template <class A, class B>
requires(detail::binary_of<op::maximum, A, B>::fits) constexpr detail::binary_type<op::maximum, A, B> maximum(
    const A& a, const B& b) {
  return detail::binary_of<op::maximum, A, B>::of(a, b);
}
template <class A, class B>
requires((detail::ElementwiseOperand<A> || detail::ElementwiseOperand<B>)&&!detail::binary_of<
         op::maximum, A, B>::fits) constexpr auto maximum(const A&, const B&) {  // refused
  return detail::mistake_in<op::maximum, A, B>::type::raise(detail::by<A, B>);
}
template <detail::ElementwiseOperand X>
constexpr auto maximum(const X&) {  // refused
  using mistake = detail::unless_failed<rule::extremum_of_one<fact::call<"maximum">, fact::type<X>>, X>;
  return mistake::raise(detail::by<X>);
}
template <class A, class B>
requires(detail::binary_of<op::minimum, A, B>::fits) constexpr detail::binary_type<op::minimum, A, B> minimum(
    const A& a, const B& b) {
  return detail::binary_of<op::minimum, A, B>::of(a, b);
}
template <class A, class B>
requires((detail::ElementwiseOperand<A> || detail::ElementwiseOperand<B>)&&!detail::binary_of<
         op::minimum, A, B>::fits) constexpr auto minimum(const A&, const B&) {  // refused
  return detail::mistake_in<op::minimum, A, B>::type::raise(detail::by<A, B>);
}
template <detail::ElementwiseOperand X>
constexpr auto minimum(const X&) {  // refused
  using mistake = detail::unless_failed<rule::extremum_of_one<fact::call<"minimum">, fact::type<X>>, X>;
  return mistake::raise(detail::by<X>);
}
template <class A, class B>
requires(detail::binary_of<op::pow, A, B>::fits) constexpr detail::binary_type<op::pow, A, B> pow(
    const A& a, const B& b) {
  return detail::binary_of<op::pow, A, B>::of(a, b);
}
template <class A, class B>
requires((detail::ElementwiseOperand<A> || detail::ElementwiseOperand<B>)&&!detail::binary_of<
         op::pow, A, B>::fits) constexpr auto pow(const A&, const B&) {  // refused
  return detail::mistake_in<op::pow, A, B>::type::raise(detail::by<A, B>);
}
/// a * b + c, rounded once; all broadcast. Some may be numbers, but not all.
template <class A, class B, class C>
requires(detail::ElementwiseOperand<A> || detail::ElementwiseOperand<B> ||
         detail::ElementwiseOperand<C>) constexpr auto fma(const A& a, const B& b, const C& c) {
  if constexpr (is_failed<A> || is_failed<B> || is_failed<C>) {
    return failed{};
  } else if constexpr (!detail::computable<A>) {
    return detail::not_an_operand<A>::raise(detail::by<A, B, C>);
  } else if constexpr (!detail::computable<B>) {
    return detail::not_an_operand<B>::raise(detail::by<A, B, C>);
  } else if constexpr (!detail::computable<C>) {
    return detail::not_an_operand<C>::raise(detail::by<A, B, C>);
  } else {
    using given =
        std::conditional_t<!detail::is_number<A>, A, std::conditional_t<!detail::is_number<B>, B, C>>;
    using T = typename given::element;
    using mistake = detail::broadcast_mistake<typename detail::axes_or_none<A>::type,
                                              typename detail::axes_or_none<B>::type,
                                              typename detail::axes_or_none<C>::type>;
    if constexpr (!detail::operands_agree<given, A>) {
      return detail::operand_mistake<given, A>::raise(detail::by<A, B, C>);
    } else if constexpr (!detail::operands_agree<given, B>) {
      return detail::operand_mistake<given, B>::raise(detail::by<A, B, C>);
    } else if constexpr (!detail::operands_agree<given, C>) {
      return detail::operand_mistake<given, C>::raise(detail::by<A, B, C>);
    } else if constexpr (!detail::dtype_fits(op::fma, dtype_of<T>)) {
      return detail::dtype_mistake<op::fma, T>::raise(detail::by<A, B, C>);
    } else if constexpr (is_mistake<mistake>) {
      return mistake::raise(detail::by<A, B, C>);
    } else {
      return detail::elementwise<op::fma, T>(detail::as_operand<T>(a), detail::as_operand<T>(b),
                                             detail::as_operand<T>(c));
    }
  }
}

/// minimum(maximum(x, low), high); low and high are numbers, or broadcast.
template <detail::ElementwiseOperand X, class Low, class High>
constexpr auto clamp(const X& x, const Low& low, const High& high) {
  return minimum(maximum(x, low), high);
}

template <detail::ElementwiseOperand X>
requires(detail::binary_of<op::maximum, X, int>::fits) constexpr detail::binary_type<op::maximum, X,
                                                                                     int> relu(const X& x) {
  return detail::binary_of<op::maximum, X, int>::of(x, 0);
}
template <detail::ElementwiseOperand X>
constexpr auto relu(const X&) {  // refused
  return detail::mistake_in<op::maximum, X, int>::type::raise(detail::by<X>);
}

namespace rule {
/// of_type<T>
template <class... Facts>
struct condition_is_not_b8 {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise, "where: the condition must be of b8, as comparisons give it");
};
/// type<the condition>, type<what follows>...
template <class... Facts>
struct where_takes_both {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "where: takes a condition, what is where it holds, and what is elsewhere: where(x > 0, x, 0) has "
      "x's axes whatever holds, as sizes are part of its type");
};
/// type<A>, type<B>
template <class... Facts>
struct where_of_two_numbers {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "where: two numbers say no dtype; cast<f32>(condition) is 1 and 0, and one of the two may be a "
      "tensor, full<f32>(1)");
};
}  // namespace rule

namespace detail {
template <class C, class A, class B>
using where_mistake =
    broadcast_mistake<axes_of<C>, typename axes_or_none<A>::type, typename axes_or_none<B>::type>;
template <class C, class A, class B>
using where_misfit = operation_mistake<fact::call<"where">, widest_axes<axes_of<C>, axes_of<A>, axes_of<B>>,
                                       C, std::remove_cvref_t<A>, std::remove_cvref_t<B>>;
}  // namespace detail

/// yes where the condition holds, else no; a number takes the other's dtype.
template <detail::ElementwiseOperand C, class A, class B>
requires(detail::ElementwiseOperand<A> ||
         detail::ElementwiseOperand<B>) constexpr auto where(const C& condition, const A& yes, const B& no_) {
  if constexpr (is_failed<A> || is_failed<B> || is_failed<C>) {
    return failed{};
  } else if constexpr (!detail::computable<A>) {
    return detail::not_an_operand<A>::raise(detail::by<C, A, B>);
  } else if constexpr (!detail::computable<B>) {
    return detail::not_an_operand<B>::raise(detail::by<C, A, B>);
  } else if constexpr (!std::is_same_v<typename C::element, b8>) {
    return rule::condition_is_not_b8<fact::of_type<dtype_of<typename C::element>>>::raise(
        detail::by<C, A, B>);
  } else if constexpr (!detail::operands_agree<A, B>) {
    return detail::operand_mistake<A, B>::raise(detail::by<C, A, B>);
  } else if constexpr (is_mistake<detail::where_mistake<C, A, B>>) {
    return detail::where_mistake<C, A, B>::raise(detail::by<C, A, B>);
  } else {
    using T = typename detail::element_of_either<A, B>::type;
    using mistake =
        detail::where_misfit<C, decltype(detail::as_operand<T>(yes)), decltype(detail::as_operand<T>(no_))>;
    if constexpr (is_mistake<mistake>)
      return mistake::raise(detail::by<C, A, B>);
    else
      return detail::elementwise<op::select, T>(condition, detail::as_operand<T>(yes),
                                                detail::as_operand<T>(no_));
  }
}

template <detail::ElementwiseOperand C, class A, class B>
requires(std::is_arithmetic_v<A>&& std::is_arithmetic_v<B>) constexpr auto where(const C&, A, B) {
  if constexpr (is_failed<C>)
    return failed{};
  else
    return rule::where_of_two_numbers<fact::type<C>, fact::type<A>, fact::type<B>>::raise(detail::by<C>);
}
/// Of the condition alone, or of that and one side: refused.
template <detail::ElementwiseOperand C, class... Side>
requires(sizeof...(Side) < 2) constexpr auto where(const C&, const Side&...) {
  return detail::unless_failed<rule::where_takes_both<fact::type<C>, fact::type<Side>...>, C, Side...>::raise(
      detail::by<C, Side...>);
}

namespace rule {
/// type<what was given>, named<"what was given"> or of_type<what was given>; type<X> where nothing was
template <class... Facts>
struct cast_to_no_dtype {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "cast: this is no element type; they are f64 f32 f16 bf16 f8e4m3 f8e5m2 i64 i32 i16 i8 u32 u16 u8 b8, "
      "and stand between angle brackets, cast<bf16>(x)");
};
}  // namespace rule

namespace detail {
template <class T>
struct cast_op {
  using called = fact::call<"cast">;
  static constexpr std::int32_t emit(builder& b, const std::int32_t* xs) {
    return b.cast(xs[0], dtype_of<T>);
  }
};
}  // namespace detail

/// The values in another dtype, rounded to nearest even; floats as integers are truncated, beyond the
/// integer's range its nearer end, and NaN is 0. Integers and truth values as integers keep their low bits.
/// No cost of its own: it is fused.
template <ElementType T, detail::ElementwiseOperand X>
constexpr auto cast(const X& x) {
  if constexpr (is_failed<X>)
    return failed{};
  else if constexpr (std::is_same_v<typename X::element, T> && !Parameter<X>)
    return x;
  else if constexpr (is_mistake<detail::operation_mistake<fact::call<"cast">, axes_of<X>, X>>)
    return detail::operation_mistake<fact::call<"cast">, axes_of<X>, X>::raise(detail::by<X>);
  else
    return apply<detail::cast_op<T>, T, axes_of<X>>(x);
}
template <class T, detail::ElementwiseOperand X>
requires(!ElementType<T>) constexpr auto cast(const X&) {  // refused
  return rule::cast_to_no_dtype<fact::type<T>>::raise(detail::by<X>);
}
template <detail::ElementwiseOperand X>
constexpr auto cast(const X&) {  // refused
  return detail::unless_failed<rule::cast_to_no_dtype<fact::type<X>>, X>::raise(detail::by<X>);
}
template <fixed_string Name, class X>
constexpr auto cast(const X&) {  // refused
  return detail::unless_failed<rule::cast_to_no_dtype<fact::named<Name>>, X>::raise(detail::by<X>);
}
template <dtype T, class X>
constexpr auto cast(const X&) {  // refused
  return detail::unless_failed<rule::cast_to_no_dtype<fact::of_type<T>>, X>::raise(detail::by<X>);
}
template <detail::ElementwiseOperand X>
constexpr auto cast(const X&, dtype) {  // refused
  return detail::unless_failed<rule::cast_to_no_dtype<fact::type<dtype>>, X>::raise(detail::by<X>);
}

namespace detail {
template <class Axes, std::size_t Axis>
struct iota_op {
  using called = fact::call<"positions">;
  static constexpr std::int32_t emit(builder& b, const std::int32_t*) {
    return b.iota(static_cast<int>(Axis), dtype::i32, traced_shape_over<Axes>());
  }
};
}  // namespace detail

/// The coordinate along axis D, as i32, wherever x's graph is: positions<seq>(x) has the one axis seq.
template <Axis D, Operand X>
constexpr auto positions(const X& x) {
  using iota = detail::iota_op<axes<D>, 0>;
  if constexpr (detail::is_traced_operand<X>) {
    builder* const b = detail::builder_of(x);
    return b == nullptr ? traced<i32, D>(failed{}) : traced<i32, D>(b, iota::emit(*b, nullptr));
  } else {
    using mistake = detail::new_axis_mistake<fact::call<"positions">, D, false>;
    if constexpr (is_mistake<mistake>)
      return mistake::raise(detail::by<X>);
    else
      return apply<iota, i32, axes<D>>();
  }
}

template <fixed_string Name, class X>
constexpr auto positions(const X&) {  // refused
  return rule::new_axes_are_types<fact::call<"positions">, fact::named<Name>>::raise(detail::by<X>);
}

}  // namespace napkin
