// Broadcasting by name: one operand's axes are a subset of the other's, and it repeats along the rest. The
// result has the axes of the larger operand, in its order.
#pragma once

#include <array>

#include "napkin/ops/expression_graph.hpp"
#include "napkin/tensor/number.hpp"

namespace napkin {

namespace rule {

/// from<As...>, to<Bs...>
template <class... Facts>
struct axes_do_not_broadcast {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "elementwise: neither operand's axes are a subset of the other's, so nothing says how they line "
      "up; rename or rearrange lines axes up, broadcast_to<batch, seq>(a) gives one all of them, "
      "outer(a, b) multiplies every element with every other");
};
/// axis<A>, named<"name">, has_size<N>, but_size<M>
template <class... Facts>
struct axis_has_two_sizes {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise, "one axis name has two sizes in one expression");
};
/// call<"f">, axis<A>, named<"name">, has_size<N>
template <class... Facts>
struct axis_sized_twice {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "an axis is sized at run time in one operand, and by the compiler in another: declare both alike, or "
      "take slice<\"axis\", 0, n>(x), a view whose size the compiler knows, of the one");
};
/// of_type<T>, into_type<U>
template <class... Facts>
struct operands_differ_in_dtype {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "the operands differ in dtype and nothing is promoted unasked: write cast<T>(x) on one of them");
};

/// of_type<T>
template <class... Facts>
struct not_floating {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "exp, log, sin, floor and the like are of floating-point numbers: write cast<f32>(x) first");
};
/// of_type<T>
template <class... Facts>
struct not_numbers {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "arithmetic is of numbers, and b8 and complex elements are none here: write cast<i32>(x), or "
      "where(condition, yes, no)");
};
/// of_type<T>
template <class... Facts>
struct not_truths {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "!, && and || are of b8, as comparisons give it: write x != 0 or cast<b8>(x)");
};
/// of_type<T>
template <class... Facts>
struct fraction_beside_integers {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "a floating-point number beside integers would lose its fraction, since a number takes the "
      "tensor's dtype: write cast<f32>(x) first, or an integer");
};

/// type<what was given>
template <class... Facts>
struct no_axes_to_compute_along {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise,
                                         "operations are of tensors, views, expressions and numbers: a "
                                         "std::vector or an array has no named axes, "
                                         "nk::tensor<f32, batch>(v) is a tensor of its values");
};

}  // namespace rule

namespace detail {

/// Whether an operation takes elements of this type; complex numbers are stored only.
constexpr bool dtype_fits(op o, dtype t) {
  if (is_complex(t)) return false;
  switch (o) {
    case op::exp:
    case op::log:
    case op::sqrt:
    case op::rsqrt:
    case op::sin:
    case op::cos:
    case op::tanh:
    case op::erf:
    case op::floor:
    case op::pow:
    case op::fma:
      return is_floating(t);
    case op::logical_not:
    case op::logical_and:
    case op::logical_or:
      return t == dtype::b8;
    case op::equal:
    case op::less:
    case op::less_equal:
    case op::select:
    case op::stop_gradient:
    case op::cast:
      return true;
    default:
      return t != dtype::b8;
  }
}
/// The rule that dtype_fits found broken.
template <op O, class T>
constexpr auto find_dtype_mistake() {
  if constexpr (O == op::logical_not || O == op::logical_and || O == op::logical_or)
    return std::type_identity<rule::not_truths<fact::of_type<dtype_of<T>>>>{};
  else if constexpr (dtype_fits(O, dtype::f32) && !dtype_fits(O, dtype::i32))
    return std::type_identity<rule::not_floating<fact::of_type<dtype_of<T>>>>{};
  else
    return std::type_identity<rule::not_numbers<fact::of_type<dtype_of<T>>>>{};
}
template <op O, class T>
using dtype_mistake = typename decltype(find_dtype_mistake<O, T>())::type;

struct alignment_of_axes {
  bool possible = false;
  std::array<std::int32_t, max_rank> map{};  // larger's axis -> smaller's axis, -1 where it repeats
  int two_sizes = -1;                        // smaller's axis whose name has another size in the larger
  int two_sizes_in_larger = -1;
};

/// How a smaller list of axes lies in a larger one. Nameless axes match by position from the right only.
template <std::size_t N, std::size_t M>
constexpr alignment_of_axes align_axes(const std::array<axis_info, N>& smaller,
                                       const std::array<axis_info, M>& larger) {
  alignment_of_axes a;
  for (auto& m : a.map) m = -1;
  for (std::size_t i = 0; i != N; ++i) {
    bool found = false;
    if (smaller[i].name.empty()) {
      const std::size_t from_right = N - i;
      if (from_right <= M && larger[M - from_right].name.empty() &&
          larger[M - from_right].size == smaller[i].size) {
        a.map[M - from_right] = static_cast<std::int32_t>(i);
        found = true;
      }
    } else {
      for (std::size_t j = 0; j != M && !found; ++j) {
        if (!same_text(smaller[i].name, larger[j].name)) continue;
        if (!same_axis_info(smaller[i], larger[j])) {
          a.two_sizes = static_cast<int>(i);
          a.two_sizes_in_larger = static_cast<int>(j);
          return a;
        }
        a.map[j] = static_cast<std::int32_t>(i);
        found = true;
      }
    }
    if (!found) return a;
  }
  a.possible = true;
  return a;
}

template <class From, class To>
struct axes_alignment;
template <class... As, class... Bs>
struct axes_alignment<axes<As...>, axes<Bs...>> {
  static constexpr alignment_of_axes value = align_axes(axis_infos<As...>, axis_infos<Bs...>);
};

/// Which axis of From each axis of To is, -1 where it repeats; nullptr where they are the same axes.
template <class From, class To, bool Same = same_axes<From, To>>
inline constexpr const std::int32_t* alignment_onto = axes_alignment<From, To>::value.map.data();
template <class From, class To>
inline constexpr const std::int32_t* alignment_onto<From, To, true> = nullptr;

/// An elementwise operation over operands that broadcast.
template <op O, class To, class... From>
struct elementwise_op {
  using called = fact::operation<O>;
  static constexpr std::int32_t emit(builder& b, const std::int32_t* xs) {
    const std::int32_t over[] = {
        expand_to(b, *xs++, !same_axes<From, To>, alignment_onto<From, To>, traced_shape_over<To>())...};
    return emit_elementwise(b, O, over, sizeof...(From));
  }
};
template <op O, class To, class... From, class T, class... Xs>
struct replay_of<expression<elementwise_op<O, To, From...>, T, To, Xs...>> {
  static constexpr replay_step value{.operand_count = sizeof...(Xs),
                                     .operands = replays_of<Xs...>,
                                     .kind = O,
                                     .sizes = traced_shape<To>(),
                                     .alignments = {alignment_onto<From, To>...},
                                     .is_aligned = {!same_axes<From, To>...}};
};

/// Two lists of axes, one of them a subset of the other if `possible`; `type` is the larger, of two as large
/// the first.
// Not specialised on packs under a condition: of axes<> and others nvcc 13 then takes for one order what it has
// found for the other.
template <class A, class B, bool FirstIsLarger = (A::rank >= B::rank)>
struct broadcast {
  using type = A;
  static constexpr bool possible = axes_alignment<B, A>::value.possible;
};
template <class A, class B>
struct broadcast<A, B, false> {
  using type = B;
  static constexpr bool possible = axes_alignment<A, B>::value.possible;
};
template <class A>
struct broadcast<A, A, true> {
  using type = A;
  static constexpr bool possible = true;
};

template <class A, class... Rest>
constexpr auto widest(std::type_identity<A> a, Rest... rest) {
  if constexpr (sizeof...(Rest) == 0) {
    return a;
  } else {
    auto best = widest(rest...);
    if constexpr (A::rank >= decltype(best)::type::rank)
      return a;
    else
      return best;
  }
}

/// A number beside operands of dtype T becomes one of them.
template <class T, class X>
constexpr decltype(auto) as_operand(const X& x) {
  if constexpr (is_number<X>)
    return scalar<T>{element_from<T>(x)};
  else
    return (x);
}

/// Of axes D and E, which bear one name and have other extents; facts that come before.
template <class D, class E, class... Before>
using two_sizes_mistake = std::conditional_t<
    D::size == E::size,
    rule::axis_sized_twice<Before..., fact::axis<D>, fact::named<D::name>, fact::has_size<D::size>>,
    rule::axis_has_two_sizes<Before..., fact::axis<D>, fact::named<D::name>, fact::has_size<E::size>,
                             fact::but_size<D::size>>>;

template <class To, class... From>
struct broadcast_complaint;
template <class... Ds, class... From>
struct broadcast_complaint<axes<Ds...>, From...> {
  template <class... As>
  static constexpr auto find(axes<As...>) {
    constexpr auto a = align_axes(axis_infos<As...>, axis_infos<Ds...>);
    if constexpr (a.possible) {
      return std::type_identity<accepted>{};
    } else if constexpr (a.two_sizes >= 0) {
      using mine = axis_at<static_cast<std::size_t>(a.two_sizes), As...>;
      using other = axis_at<static_cast<std::size_t>(a.two_sizes_in_larger), Ds...>;
      return std::type_identity<two_sizes_mistake<mine, other>>{};
    } else {
      return std::type_identity<rule::axes_do_not_broadcast<fact::from<As...>, fact::to<Ds...>>>{};
    }
  }
};
/// What keeps operands of these axes from broadcasting over To: the rule that the first objection breaks.
template <class To, class First, class... Rest>
constexpr auto find_broadcast_mistake() {
  constexpr auto found = broadcast_complaint<To>::find(First{});
  if constexpr (sizeof...(Rest) == 0 || is_mistake<typename decltype(found)::type>)
    return found;
  else
    return find_broadcast_mistake<To, Rest...>();
}
template <class... Axes>
using widest_axes = typename decltype(widest(std::type_identity<Axes>{}...))::type;
template <class... Axes>
using broadcast_mistake = typename decltype(find_broadcast_mistake<widest_axes<Axes...>, Axes...>())::type;

/// The rules of every elementwise door, then the result. T: dtype of the result; Common: what the operands
/// at positions From.. must have (select's condition is checked by its own door).
template <op O, class T, class... Xs>
constexpr auto elementwise(const Xs&... xs) {
  using To = widest_axes<axes_of<Xs>...>;
  return apply<elementwise_op<O, To, axes_of<Xs>...>, T, To>(xs...);
}

template <class X>
inline constexpr bool is_fraction = is_number<X>&& std::is_floating_point_v<X>;

template <class A, class B>
struct element_of_either {
  using type = typename A::element;
};
template <class A, class B>
requires(is_number<A>) struct element_of_either<A, B> {
  using type = typename B::element;
};

/// Two operands are of one dtype, or one is a number that has no fraction to lose.
template <class A, class B>
inline constexpr bool operands_agree =
    std::is_same_v<typename element_of_either<A, B>::type, typename element_of_either<B, A>::type> &&
    !((is_fraction<A> || is_fraction<B>)&&is_integer(dtype_of<typename element_of_either<A, B>::type>));
template <class A, class B>
constexpr auto find_operand_mistake() {
  using T = typename element_of_either<A, B>::type;
  using U = typename element_of_either<B, A>::type;
  if constexpr (!std::is_same_v<T, U>)
    return std::type_identity<
        rule::operands_differ_in_dtype<fact::of_type<dtype_of<T>>, fact::into_type<dtype_of<U>>>>{};
  else
    return std::type_identity<rule::fraction_beside_integers<fact::of_type<dtype_of<T>>>>{};
}
template <class A, class B>
using operand_mistake = typename decltype(find_operand_mistake<A, B>())::type;

/// Axes, where a number has none.
template <class X>
struct axes_or_none {
  using type = axes_of<X>;
};
template <class X>
requires(is_number<X>) struct axes_or_none<X> {
  using type = axes<>;
};

/// What can be wrong with an elementwise operation, the first of these that is.
enum class objection : unsigned char { none, dtypes, dtype, axes, operands };

constexpr objection find_objection(op o, dtype a, dtype b, bool fraction, bool broadcasts, int facts) {
  if (a != b || (fraction && is_integer(a))) return objection::dtypes;
  if (!dtype_fits(o, a)) return objection::dtype;
  if (!broadcasts) return objection::axes;
  return fit_together(facts) ? objection::none : objection::operands;
}
/// Comparisons give b8.
template <op O, class T>
using element_of_result =
    std::conditional_t<O == op::equal || O == op::less || O == op::less_equal || O == op::logical_not, b8, T>;

// A failed operand or a container among them.
template <op O, class A, class B, form OfA, form OfB>
struct binary_of {
  static constexpr bool fits = false;
};
template <op O, class A, class B>
struct binary_of<O, A, B, form::operand, form::operand> {
  using element = typename A::element;
  using from_a = typename A::axes_type;
  using from_b = typename B::axes_type;
  using lines = broadcast<from_a, from_b>;
  using to = typename lines::type;
  static constexpr int facts = facts_of<A> | facts_of<B>;
  static constexpr objection found =
      find_objection(O, dtype_of<element>, dtype_of<typename B::element>, false, lines::possible, facts);
  static constexpr bool fits = found == objection::none;

  using result = result_of<(facts & of_traced) != 0, elementwise_op<O, to, from_a, from_b>,
                           element_of_result<O, element>, to, A, B>;
  using type = typename result::type;
  static constexpr type of(const A& a, const B& b) { return result::of(a, b); }
};
// Numbers take the operand's dtype.
template <op O, class A, class B>
struct binary_of<O, A, B, form::operand, form::number> {
  using element = typename A::element;
  using to = typename A::axes_type;
  static constexpr objection found =
      find_objection(O, dtype_of<element>, dtype_of<element>, is_fraction<B>, true, facts_of<A>);
  static constexpr bool fits = found == objection::none;

  using result = result_of<A::is_traced, elementwise_op<O, to, to, axes<>>, element_of_result<O, element>, to,
                           A, scalar<element>>;
  using type = typename result::type;
  static constexpr type of(const A& a, const B& b) {
    return result::of(a, scalar<element>{element_from<element>(b)});
  }
};
template <op O, class A, class B>
struct binary_of<O, A, B, form::number, form::operand> {
  using element = typename B::element;
  using to = typename B::axes_type;
  static constexpr objection found =
      find_objection(O, dtype_of<element>, dtype_of<element>, is_fraction<A>, true, facts_of<B>);
  static constexpr bool fits = found == objection::none;

  using result = result_of<B::is_traced, elementwise_op<O, to, axes<>, to>, element_of_result<O, element>, to,
                           scalar<element>, B>;
  using type = typename result::type;
  static constexpr type of(const A& a, const B& b) {
    return result::of(scalar<element>{element_from<element>(a)}, b);
  }
};

template <op O, class A, form OfA>
struct unary_of {
  static constexpr bool fits = false;
};
template <op O, class A>
struct unary_of<O, A, form::operand> {
  using element = typename A::element;
  using to = typename A::axes_type;
  static constexpr objection found =
      find_objection(O, dtype_of<element>, dtype_of<element>, false, true, facts_of<A>);
  static constexpr bool fits = found == objection::none;

  using result = result_of<A::is_traced, elementwise_op<O, to, to>, element_of_result<O, element>, to, A>;
  using type = typename result::type;
  static constexpr type of(const A& a) { return result::of(a); }
};

/// Of what is neither operand nor number.
template <class X>
using not_an_operand = rule::no_axes_to_compute_along<fact::type<X>>;
template <class X>
inline constexpr bool computable = form_of<X> == form::operand || form_of<X> == form::number;
template <class X, class... Rest>
constexpr auto find_non_operand() {
  if constexpr (form_of<X> != form::operand && form_of<X> != form::failed)
    return std::type_identity<not_an_operand<X>>{};
  else if constexpr (sizeof...(Rest) == 0)
    return std::type_identity<accepted>{};
  else
    return find_non_operand<Rest...>();
}
/// The first of these that is no operand.
template <class... Xs>
using non_operand = typename decltype(find_non_operand<Xs...>())::type;
/// The first of these that people take for an operand, as a std::vector.
template <class X, class... Rest>
constexpr auto find_container() {
  if constexpr (form_of<X> == form::container)
    return std::type_identity<not_an_operand<X>>{};
  else if constexpr (sizeof...(Rest) == 0)
    return std::type_identity<accepted>{};
  else
    return find_container<Rest...>();
}
template <class... Xs>
using container_among = typename decltype(find_container<Xs...>())::type;

/// What is wrong with a binary operation on these operands.
template <op O, class A, class B>
constexpr auto find_binary_mistake() {
  if constexpr (is_failed<A> || is_failed<B>) {
    return std::type_identity<silent>{};
  } else if constexpr (!computable<A>) {
    return std::type_identity<not_an_operand<A>>{};
  } else if constexpr (!computable<B>) {
    return std::type_identity<not_an_operand<B>>{};
  } else {
    constexpr objection found = binary_of<O, A, B>::found;
    if constexpr (found == objection::none)
      return std::type_identity<accepted>{};
    else if constexpr (found == objection::dtypes)
      return find_operand_mistake<A, B>();
    else if constexpr (found == objection::dtype)
      return find_dtype_mistake<O, typename element_of_either<A, B>::type>();
    else if constexpr (found == objection::axes)
      return std::type_identity<broadcast_mistake<axes_of<A>, axes_of<B>>>{};
    else if constexpr (is_number<A>)
      return find_operation_mistake<fact::operation<O>, axes_of<B>, B>();
    else if constexpr (is_number<B>)
      return find_operation_mistake<fact::operation<O>, axes_of<A>, A>();
    else
      return find_operation_mistake<fact::operation<O>, axes_of<A>, A, B>();
  }
}
template <op O, class A>
constexpr auto find_unary_mistake() {
  if constexpr (is_failed<A>) {
    return std::type_identity<silent>{};
  } else if constexpr (!computable<A>) {
    return std::type_identity<not_an_operand<A>>{};
  } else {
    constexpr objection found = unary_of<O, A>::found;
    if constexpr (found == objection::none)
      return std::type_identity<accepted>{};
    else if constexpr (found == objection::dtype)
      return find_dtype_mistake<O, typename A::element>();
    else
      return find_operation_mistake<fact::operation<O>, axes_of<A>, A>();
  }
}
template <op O, class A, class... B>
struct mistake_in : decltype(find_binary_mistake<O, A, B...>()) {};
template <op O, class A>
struct mistake_in<O, A> : decltype(find_unary_mistake<O, A>()) {};

template <op O, class A, class B>
using binary_type = typename binary_of<O, A, B>::type;
template <op O, class A>
using unary_type = typename unary_of<O, A>::type;

template <class X>
concept ElementwiseOperand = form_of<X>
== form::operand || form_of<X> == form::failed;
/// The same and what people take for one, to be told so. For functions that are called with a name in
/// brackets alone: a user's own mean(v) or exp(v) is not to be found to be ours.
template <class X>
concept ElementwiseArgument = ElementwiseOperand<X> || form_of<X>
== form::container;
/// The same where so many names are given.
template <class X, std::size_t Names>
concept ArgumentBeside = ElementwiseOperand<X> ||(Names > 0 && form_of<X> == form::container);

// Functions of two operands called with others: X and More.
template <class X, class... More>
concept MisfitOfTwo = ElementwiseOperand<X> &&(sizeof...(More) != 1 || !(ElementwiseOperand<More> && ...));
template <class Rule, class... Xs>
constexpr auto find_misfit_of_two() {
  if constexpr ((is_failed<Xs> || ...))
    return std::type_identity<silent>{};
  else if constexpr (sizeof...(Xs) == 2 && !(is_number<Xs> || ...))
    return find_non_operand<Xs...>();
  else
    return std::type_identity<Rule>{};
}
/// Rule, which says that there are to be two; or what is no operand.
template <class Rule, class... Xs>
using misfit_of_two = typename decltype(find_misfit_of_two<Rule, Xs...>())::type;

}  // namespace detail
}  // namespace napkin
