// The two representations of an operation, and the one door to both. A *lazy expression* is a type: operands
// are tensors, evaluated on assignment. A *traced value* is a number: the node that an operation appended to
// the graph being built. `apply<Op, T, Axes>(x...)` makes whichever its operands call for.
//
// An Op is a stateless struct with `static constexpr int emit(builder&, const std::int32_t* operands)`.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include "napkin/core/rules.hpp"
#include "napkin/core/shape.hpp"
#include "napkin/graph/builder.hpp"
#include "napkin/graph/run_time_sizes.hpp"
#include "napkin/ops/init.hpp"
#include "napkin/tensor/tensor.hpp"

namespace napkin {

namespace rule {

/// call<"f"> or operation<op>, axis<D>, has_size<bound>
template <class... Facts>
struct run_time_axis_does_not_stay_whole {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "an axis that is sized at run time stays one axis: it is not joined with another, not taken apart and "
      "not made anew; slice<\"axis\", 0, n>(x) of a tensor is a view whose size the compiler knows");
};
/// call<"f"> or operation<op>, on_the_host<I>, on_the_device<J>
template <class... Facts>
struct host_and_device_in_one_expression {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "one operand is on the host and another on the GPU: nothing is copied unasked, nk::to_cuda(x) or "
      "nk::to_host(x) copies one over");
};
/// type<Tensor>
template <class... Facts>
struct tensor_from_outside {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "a traced function (a loss, what fn or grad are given) mixes its own values with a tensor from "
      "outside: pass it in as an argument, which in a loss is an input<T, axes...>");
};

/// of_type<T>
template <class... Facts>
struct parameter_says_a_dtype {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "param: parameters are f32, and their type says axes only: param<hidden, out>");
};
/// among<Ds...>
template <class... Facts>
struct parameter_sized_at_run_time {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "param: a parameter's sizes are known to the compiler; inputs alone are sized at run time");
};
/// axis<D>
template <class... Facts>
struct input_lacks_a_dtype {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "input: the dtype stands first, and axes follow: input<f32, batch, hidden>");
};
/// type<number>, of_type<T>
template <class... Facts>
struct traced_value_is_no_number {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "a traced function (a loss, what fn or grad are given) cannot branch on its values, which are "
      "not known yet: where(condition, yes, no) chooses between two");
};

/// from<Ds...>, type<Index>...
template <class... Facts>
struct traced_value_has_no_elements {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "a traced function (a loss, what fn or grad are given) has no elements yet, x[i] and x(i, j) are of "
      "tensors: index<\"batch\", 0>(x), slice<\"seq\", 0, 4>(x) and gather<\"vocab\">(x, indices) choose");
};

}  // namespace rule

namespace detail {
/// In the place of a node: none, and none because of a mistake, whose error is out.
inline constexpr std::int32_t no_node = -1, mistaken_node = -2;

/// What a traced value is declared to be, against what it is given. Asserted there, no rule of its own: from
/// a rule, two steps away for clang, the user's line would stand three lines further down.
template <class X>
inline constexpr bool given_a_traced_value = is_traced_operand<X>;
template <class X, class To>
inline constexpr bool given_its_axes = !is_traced_operand<X> || same_axes<axes_of<X>, axes_of<To>>;
template <class X, class To>
inline constexpr bool given_its_dtype = !is_traced_operand<X> || !given_its_axes<X, To> ||
                                        std::is_same_v<typename X::element, typename To::element>;

#define NAPKIN_NO_TENSOR_HERE                                                                              \
  "a tensor is given where a traced function (a loss, what fn or grad are given) has a value of its own: " \
  "trainer.step(rate, x), trainer.evaluate(x) and fn(f)(x) take the tensors"
#define NAPKIN_OTHER_AXES_HERE \
  "the axes differ from those declared, by name, size or order; rearrange or rename first"
#define NAPKIN_OTHER_DTYPE_HERE \
  "the element type differs from that declared, and none is converted unasked; write cast<T>(x)"
template <class X, class To>
constexpr bool declared_rightly() {
  static_assert(given_a_traced_value<X>, NAPKIN_NO_TENSOR_HERE);
  static_assert(given_its_axes<X, To>, NAPKIN_OTHER_AXES_HERE);
  static_assert(given_its_dtype<X, To>, NAPKIN_OTHER_DTYPE_HERE);
  return true;
}
}  // namespace detail

/// The node of a value inside a traced function: its dtype and axes are in the type.
template <class T, class... Ds>
struct traced : operand {
  using traced_tag = void;
  using element = T;
  using axes_type = axes<Ds...>;
  using checked = decltype(detail::wrong_axes<Ds...>::raise());
  static constexpr bool is_traced = true;

  builder* graph = nullptr;
  std::int32_t id = detail::no_node;

  constexpr traced() = default;
  constexpr traced(builder* g, std::int32_t node) : graph(g), id(node) {}
  constexpr traced(failed) : id(detail::mistaken_node) {}
  /// Of the same elements and axes, or a parameter of them: what is declared with its type is checked.
  template <class X>
  requires(detail::is_operand<X> && !std::same_as<X, traced>) constexpr traced(const X& x)
      NAPKIN_ASKED_BY_GCC((detail::declared_rightly<X, traced>())) {
#if defined(__clang__) || defined(__CUDACC__)
    static_assert(detail::given_a_traced_value<X>, NAPKIN_NO_TENSOR_HERE);
    static_assert(detail::given_its_axes<X, traced>, NAPKIN_OTHER_AXES_HERE);
    static_assert(detail::given_its_dtype<X, traced>, NAPKIN_OTHER_DTYPE_HERE);
#endif
    if constexpr (detail::given_a_traced_value<X> && detail::given_its_axes<X, traced> &&
                  detail::given_its_dtype<X, traced>) {
      graph = x.graph;
      id = x.id;
    } else {
      id = detail::mistaken_node;
    }
  }
  /// Stays what it was, x = x + b(x) with a mistake in b: a value of no graph would be the next mistake.
  constexpr traced& operator=(const failed&) { return *this; }

  template <class Number>
  requires(std::is_arithmetic_v<Number>) constexpr explicit(sizeof...(Ds) != 0) operator Number() const
      NAPKIN_ASKED_BY_GCC(
          (rule::traced_value_is_no_number<fact::type<Number>, fact::of_type<dtype_of<T>>>::raise(), true)) {
    using mistake = rule::traced_value_is_no_number<fact::type<Number>, fact::of_type<dtype_of<T>>>;
    using raised [[maybe_unused]] = decltype(mistake::raise());  // not here, where constants are computed
    return {};
  }
  template <std::integral Index>
  constexpr auto operator[](const Index&) const {  // refused
    return rule::traced_value_has_no_elements<fact::from<Ds...>, fact::type<Index>>::raise(inside_function{});
  }
  template <std::integral... Index>
  requires(sizeof...(Index) > 0) constexpr auto operator()(const Index&...) const {  // refused
    return rule::traced_value_has_no_elements<fact::from<Ds...>, fact::type<Index>...>::raise(
        inside_function{});
  }
};
#undef NAPKIN_NO_TENSOR_HERE
#undef NAPKIN_OTHER_AXES_HERE
#undef NAPKIN_OTHER_DTYPE_HERE
// Refused; in all else a number of f32.
template <Axis D, class... Ds>
struct traced<D, Ds...> : traced<f32, D, Ds...> {
  using traced<f32, D, Ds...>::traced;
  using refused = decltype(rule::input_lacks_a_dtype<fact::axis<D>>::raise());
};

namespace detail {
template <class... Ds>
using traced_along = std::conditional_t<(Axis<Ds> && ...), traced<f32, Ds...>, traced<f32>>;
}  // namespace detail

// Refused: the first type is no dtype, or one after it no axis; in all else numbers of f32.
template <class T, class... Ds>
requires(detail::MakesNoTensor<T, Ds...> && !Axis<T>) struct traced<T, Ds...> : detail::traced_along<Ds...> {
  using detail::traced_along<Ds...>::traced_along;
  using refused = decltype(detail::declaration_mistake<T, Ds...>::raise());
};

/// What a model's loss takes: data handed in at every step.
template <class T, class... Ds>
using input = traced<T, Ds...>;

/// A parameter of a model: a member of a struct that BOOST_HANA_DEFINE_STRUCT describes. Traced in f32.
template <class... Ds>
struct param : operand {
  using param_tag = void;
  using element = f32;
  using axes_type = axes<Ds...>;
  using checked = decltype(detail::wrong_axes<Ds...>::raise());
  using sized =
      decltype(std::conditional_t<any_dynamic<Ds...>, rule::parameter_sized_at_run_time<fact::among<Ds...>>,
                                  accepted>::raise());
  static constexpr bool is_traced = true;

  init initial;                       // how it begins
  builder* graph = nullptr;           // while a model is traced
  std::int32_t id = detail::no_node;  // its node there: parameters come first, in order of reflection

  template <std::integral Index>
  constexpr auto operator[](const Index&) const {  // refused
    return rule::traced_value_has_no_elements<fact::from<Ds...>, fact::type<Index>>::raise(inside_function{});
  }
  template <std::integral... Index>
  requires(sizeof...(Index) > 0) constexpr auto operator()(const Index&...) const {  // refused
    return rule::traced_value_has_no_elements<fact::from<Ds...>, fact::type<Index>...>::raise(
        inside_function{});
  }
};

namespace detail {
/// In the place of a layer's parameter whose axes are a mistake: the layer raises it, nearer to the user.
template <class... Ds>
struct mistaken_param : param<> {
  using axes_type = axes<Ds...>;
};
template <class... Ds>
using layer_param = std::conditional_t<is_mistake<wrong_axes<Ds...>>, mistaken_param<Ds...>, param<Ds...>>;
}  // namespace detail

template <ElementType T, class... Ds>
struct param<T, Ds...> : param<Ds...> {
  using refused = decltype(rule::parameter_says_a_dtype<fact::of_type<dtype_of<T>>>::raise());
};

template <class X>
concept Traced = requires {
  typename X::traced_tag;
};
template <class X>
concept Parameter = requires {
  typename X::param_tag;
};
/// What an operation may be applied to, numbers aside.
template <class X>
concept Operand = TensorLike<X> || LazyExpression<X> || Traced<X> || Parameter<X>;

/// A number among lazy operands: a tensor without axes.
template <ElementType T>
struct scalar {
  using scalar_tag = void;
  using element = T;
  using axes_type = axes<>;
  T value;
};
template <class X>
concept Scalar = requires {
  typename X::scalar_tag;
};

template <class Op, class T, class Axes, class... Xs>
struct expression;

namespace detail {

template <class E>
std::array<std::size_t, axes_of<E>::rank> actual_sizes_of(const E& e);

/// An expression's operands. Not a std::tuple, whose constructors take the compiler longer than all else
/// about an expression's type together.
template <class... Xs>
struct held;
template <>
struct held<> {
  template <class See>
  constexpr void each(const See&) const {}
};
template <class X>
struct held<X> {
  X first;

  constexpr explicit held(const X& x) : first(x) {}
  template <class See>
  constexpr void each(const See& see) const {
    see(first);
  }
};
template <class X, class Y, class... More>
struct held<X, Y, More...> {
  X first;
  Y second;
  [[no_unique_address]] held<More...> more;

  constexpr explicit held(const X& x, const Y& y, const More&... others)
      : first(x), second(y), more(others...) {}
  /// see(x) for each, in order.
  template <class See>
  constexpr void each(const See& see) const {
    see(first);
    see(second);
    more.each(see);
  }
};

}  // namespace detail

/// A lazy expression: what Op makes of the operands, which it holds (tensors share their storage).
template <class Op, class T, class... Ds, class... Xs>
struct expression<Op, T, axes<Ds...>, Xs...> : lazy_expression<T, Ds...> {
  static constexpr unsigned char places = static_cast<unsigned char>((detail::places_of<Xs> | ... | 0));

  detail::held<Xs...> operands;
  constexpr explicit expression(const Xs&... xs) : operands{xs...} {}

  /// Actual sizes of the axes, outermost first. Throws input_error where operands have two sizes of one axis.
  std::array<std::size_t, sizeof...(Ds)> sizes() const {
    if constexpr ((Ds::dynamic || ...))
      return detail::actual_sizes_of(*this);
    else
      return {Ds::size...};
  }
};

namespace detail {

constexpr shape shape_from(std::size_t const* sizes, std::size_t rank) {
  shape s;
  for (std::size_t i = 0; i < rank && i < max_rank; ++i) s.items[i] = sizes[i];
  s.count = rank < max_rank ? rank : max_rank;  // more is an error that is out
  return s;
}
template <class Axes>
inline constexpr shape shape_over = shape_from(facts_of_axes<Axes>::shape.data(), Axes::rank);
template <class... Ds>
constexpr shape run_time_shape_from(axes<Ds...>) {
  constexpr std::size_t sizes[] = {(Ds::dynamic ? run_time_size(Ds::size, Ds::name.view()) : Ds::size)..., 0};
  return shape_from(sizes, sizeof...(Ds));
}
template <class Axes>
inline constexpr shape run_time_shape_over = run_time_shape_from(Axes{});
/// The same in a graph that is being traced: sizes that are known at run time are marked.
template <class Axes>
constexpr const shape* traced_shape() {  // a pointer: nvcc 13 takes no address of what a reference is to
  if constexpr (facts_of_axes<Axes>::dynamic)
    return &run_time_shape_over<Axes>;
  else
    return &shape_over<Axes>;
}
template <class Axes>
constexpr const shape& traced_shape_over() {
  return *traced_shape<Axes>();
}

template <class T, class Axes>
struct traced_of;
template <class T, class... Ds>
struct traced_of<T, axes<Ds...>> {
  using type = traced<T, Ds...>;
};
template <class T, class Axes>
struct tensor_of;
template <class T, class... Ds>
struct tensor_of<T, axes<Ds...>> {
  using type = tensor<T, Ds...>;
};

/// The graph that is being built; null where all that is traced among the operands came of mistakes.
template <class... Xs>
constexpr builder* builder_of(const Xs&... xs) {
  builder* found = nullptr;
  bool mistaken = false;
  const auto look = [&]<class X>(const X& x) {
    if constexpr (Traced<X> || Parameter<X>) {
      if (x.graph != nullptr) found = x.graph;
      mistaken = mistaken || x.id == mistaken_node;
    }
  };
  (look(xs), ...);
  if (found == nullptr && !mistaken)
    throw "not reflected: a parameter is no member of a BOOST_HANA_DEFINE_STRUCT reached from the model";
  return found;
}

/// The node of a number. A constant is a double: an i64 that is none becomes the sum of its halves.
template <class T>
constexpr std::int32_t number_node(builder& b, T value) {
  const auto as_double = static_cast<double>(value);
  if constexpr (std::is_same_v<T, i64>) {
    if (!(as_double < 0x1p63 && static_cast<i64>(as_double) == value)) {
      const i64 low = value & 0xffff'ffff;
      const std::int32_t high = b.constant(static_cast<double>(value - low), dtype::i64, {});
      return b.add(high, b.constant(static_cast<double>(low), dtype::i64, {}));
    }
  }
  return b.constant(as_double, dtype_of<T>, {});
}

/// The node of an operand in b; of one that came of a mistake, zeros. A parameter marks its layer as the
/// origin of what is built next.
template <class X>
constexpr std::int32_t node_of(builder& b, const X& x) {
  if constexpr (Scalar<X>) {
    return number_node(b, x.value);
  } else {
    if constexpr (Parameter<X>) {
      if (x.id < 0)
        throw "not reflected: a parameter is no member of a BOOST_HANA_DEFINE_STRUCT reached from the model";
      b.origin = x.id;
    } else if (x.id == mistaken_node) {
      return b.constant(0, dtype_of<typename X::element>, traced_shape_over<axes_of<X>>());
    }
    return x.id;
  }
}

/// What a rule calls an operation: `Op::called`, where it says that.
template <class Op>
struct called {
  using type = fact::type<Op>;
};
template <class Op>
requires requires { typename Op::called; }
struct called<Op> {
  using type = typename Op::called;
};

template <class Called, class... Ds>
constexpr auto find_run_time_axis(axes<Ds...>) {
  constexpr std::size_t at = first_dynamic(axis_infos<Ds...>);
  using D = axis_at<at, Ds...>;
  return std::type_identity<
      rule::run_time_axis_does_not_stay_whole<Called, fact::axis<D>, fact::has_size<D::size>>>{};
}
/// Of the first list that has one: by preference the operands', as they are written.
template <class Called, class Axes, class... Rest>
constexpr auto find_first_run_time_axis() {
  if constexpr (facts_of_axes<Axes>::dynamic)
    return find_run_time_axis<Called>(Axes{});
  else
    return find_first_run_time_axis<Called, Rest...>();
}

/// What is wrong with an operation that makes an axis: of one that is sized at run time only what is traced
/// can know elsewhere how long it is.
template <class Called, class D, bool Traced>
using new_axis_mistake = std::conditional_t<
    D::dynamic && !Traced,
    rule::run_time_axis_does_not_stay_whole<Called, fact::axis<D>, fact::has_size<D::size>>, accepted>;

template <class X>
inline constexpr bool is_untraced = is_operand<X> && !is_traced_operand<X>;

/// What an operation asks of its operands, whatever it does: a set, beside on_host and on_device.
inline constexpr unsigned char of_traced = 4, of_untraced = 8, of_broken_axis = 16, of_high_rank = 32;
/// An axis that is sized at run time, joined with another.
template <class... Ds>
constexpr bool joins_run_time_axis(axes<Ds...>) {
  return ((Ds::dynamic && Ds::factors::rank > 0) || ...);
}
template <class Axes>
constexpr unsigned char find_facts_of_sizes() {
  if constexpr (Axes::rank > max_rank)
    return of_high_rank;
  else if constexpr (facts_of_axes<Axes>::dynamic)
    return joins_run_time_axis(Axes{}) ? of_broken_axis : 0;
  else
    return 0;
}
template <class Axes>
inline constexpr unsigned char facts_of_sizes = find_facts_of_sizes<Axes>();
template <class X, bool Operand = is_operand<X>>
inline constexpr unsigned char facts_of = 0;
template <class X>
inline constexpr unsigned char facts_of<X, true> =
    X::places | (X::is_traced ? of_traced : of_untraced) | facts_of_sizes<typename X::axes_type>;

/// Whether operands with these facts together can be an operation's.
constexpr bool fit_together(int facts) {
  constexpr int places = on_host | on_device, tracing = of_traced | of_untraced;
  return (facts & places) != places && (facts & tracing) != tracing &&
         (facts & (of_broken_axis | of_high_rank)) == 0;
}
/// The first operand from outside.
template <class X, class... Rest>
constexpr auto find_tensor_from_outside() {
  if constexpr (is_untraced<X>)
    return std::type_identity<rule::tensor_from_outside<fact::type<X>>>{};
  else
    return find_tensor_from_outside<Rest...>();
}

/// The first operand that lies there.
template <class... Xs>
constexpr std::size_t find_place(unsigned char place) {
  const unsigned char places[] = {places_of<Xs>...};
  std::size_t i = 0;
  while (!(places[i] & place)) ++i;
  return i;
}

template <class Called, class Axes, class... Xs>
constexpr auto find_misfit_of_operands() {
  if constexpr ((is_traced_operand<Xs> || ...) && (is_untraced<Xs> || ...))
    return find_tensor_from_outside<Xs...>();
  else if constexpr (((places_of<Xs> & on_host) || ...) && ((places_of<Xs> & on_device) || ...))
    return std::type_identity<
        rule::host_and_device_in_one_expression<Called, fact::on_the_host<find_place<Xs...>(on_host)>,
                                                fact::on_the_device<find_place<Xs...>(on_device)>>>{};
  else if constexpr (Axes::rank > max_rank)
    return std::type_identity<
        rule::too_many_axes<Called, fact::expected<max_rank>, fact::given<Axes::rank>>>{};
  else if constexpr (((axes_of<Xs>::rank > max_rank) || ...))
    return std::type_identity<silent>{};
  else
    return find_first_run_time_axis<Called, axes_of<Xs>..., Axes>();
}
/// What is wrong with an operation of these operands, whatever it does; Axes are the result's.
template <class Called, class Axes, class... Xs>
constexpr auto find_operation_mistake() {
  if constexpr (fit_together((facts_of<Xs> | ... | facts_of_sizes<Axes>)))
    return std::type_identity<accepted>{};
  else
    return find_misfit_of_operands<Called, Axes, Xs...>();
}
template <class Called, class Axes, class... Xs>
using operation_mistake = typename decltype(find_operation_mistake<Called, Axes, Xs...>())::type;

/// What an operation of operands that fit makes of them. What is traced is returned as the type that it is,
/// not as `type`: cudafe++ walks a type by the names that it was written with and by all that these names are
/// members of, here the operands once more, so that each operation of a chain multiplied the work (four
/// convolutions: more than 30 s, of which 0.2 s remain).
template <bool Traced, class Op, class T, class Axes, class... Xs>
struct result_of {
  using type = expression<Op, T, Axes, Xs...>;
  static constexpr type of(const Xs&... xs) { return type(xs...); }
};
template <class Op, class T, class... Ds, class... Xs>
struct result_of<true, Op, T, axes<Ds...>, Xs...> {
  using type = traced<T, Ds...>;
  static constexpr traced<T, Ds...> of(const Xs&... xs) {
    builder* const b = builder_of(xs...);
    if (b == nullptr) return traced<T, Ds...>(failed{});
    const std::int32_t ids[] = {node_of(*b, xs)..., 0};
    return traced<T, Ds...>(b, Op::emit(*b, ids));
  }
};

}  // namespace detail

/// What operation Op makes of these operands: elements of T over Axes.
///
/// Rules  run_time_axis_does_not_stay_whole, tensor_from_outside, host_and_device_in_one_expression
template <class Op, class T, class Axes, class... Xs>
constexpr auto apply(const Xs&... xs) {
  constexpr int facts = (detail::facts_of<Xs> | ... | detail::facts_of_sizes<Axes>);
  if constexpr (!detail::fit_together(facts))
    return detail::operation_mistake<typename detail::called<Op>::type, Axes, Xs...>::raise(
        detail::by<Xs...>);
  else
    return detail::result_of<(facts & detail::of_traced) != 0, Op, T, Axes, Xs...>::of(xs...);
}

}  // namespace napkin
