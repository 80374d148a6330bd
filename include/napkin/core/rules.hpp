// How a mistake that the compiler can see is worded: one class a rule, which holds the sentence and whose
// arguments are the facts. A door (a public function) that finds a rule broken says
//   if constexpr (!same_axes<A, B>) {
//     return rule::axes_differ<fact::from<...>, fact::to<...>>::raise(detail::by<A, B>);  // the one error
//   }
// and begins with `if constexpr (is_failed<X>) return failed{};`, so that one mistake is one error. Some fact
// must depend on a template parameter, or every program is refused. The door itself raises: each function
// between it and the rule takes a line of what the user reads, of clang's three. What finds the rule for
// several doors gives it as a type (detail::mistake_type), `accepted` where none is broken.
#pragma once

#include <cstddef>
#include <type_traits>

#include "napkin/core/dim.hpp"
#include "napkin/core/say.hpp"

namespace napkin {

enum class dtype : unsigned char;
enum class op : unsigned char;

struct operand;
struct failed;

// The compilers' own word, here and in tensor/operand.hpp: it is asked of every operand, and std::is_base_of
// is a class for each.
template <class T>
inline constexpr bool is_failed = __is_base_of(failed, std::remove_reference_t<T>);

namespace detail {
// What the operators of `operand` (tensor/operand.hpp) do not see, since no operand takes part.
template <class A, class B>
concept FailedAmongNumbers = (is_failed<A> || is_failed<B>)&&!std::is_base_of_v<operand, A> &&
                             !std::is_base_of_v<operand, B>;
}  // namespace detail

/// What a door returns after an error. Every other door and operator lets it through in silence, and it
/// converts to anything. Nothing that holds one ever runs.
struct failed {
  // Tensors and traced values have constructors for it.
  template <class T>
  requires(!std::is_base_of_v<operand, T>) operator T() const;

  // What the next lines ask of a tensor or an expression. An element is a float: std::abs(y(i, j)),
  // std::max(0.f, y(i, j)), y(i, j) = 1 and &y(i, j) of another type would be the next error.
  template <class... Index>
  constexpr failed operator()(const Index&...) const {
    return {};
  }
  template <class... Index>
  requires(sizeof...(Index) > 0 && (std::is_integral_v<Index> && ...)) constexpr float& operator()(
      const Index&...) const {
    return no_element;
  }
  template <class Index>
  constexpr failed operator[](const Index&) const {
    return {};
  }
  template <class... Index>
  requires(sizeof...(Index) > 0 &&
           (std::is_integral_v<Index> && ...)) constexpr float& at(const Index&...) const {
    return no_element;
  }
  template <class... Index>
  constexpr failed at(const Index&...) const {
    return {};
  }
  // Of what x[i] gave.
  template <class X>
  requires(!is_failed<X>) constexpr const failed& operator=(const X&) const { return *this; }
  constexpr failed data() const { return {}; }
  constexpr failed sizes() const { return {}; }
  constexpr failed numel() const { return {}; }
  constexpr const failed* begin() const { return nullptr; }
  constexpr const failed* end() const { return nullptr; }
  template <class Stream>
  friend Stream& operator<<(Stream& out, const failed&) {
    return out;
  }
  // Of what a refused operator<< gives: the rest of a line of output.
  template <class X>
  constexpr failed operator<<(const X&) const {
    return {};
  }

  template <class A, class B>
  requires(detail::FailedAmongNumbers<A, B>) friend constexpr failed operator+(const A&, const B&) {
    return {};
  }
  template <class A, class B>
  requires(detail::FailedAmongNumbers<A, B>) friend constexpr failed operator-(const A&, const B&) {
    return {};
  }
  template <class A, class B>
  requires(detail::FailedAmongNumbers<A, B>) friend constexpr failed operator*(const A&, const B&) {
    return {};
  }
  template <class A, class B>
  requires(detail::FailedAmongNumbers<A, B>) friend constexpr failed operator/(const A&, const B&) {
    return {};
  }
  template <class A, class B>
  requires(detail::FailedAmongNumbers<A, B>) friend constexpr failed operator<(const A&, const B&) {
    return {};
  }
  template <class A, class B>
  requires(detail::FailedAmongNumbers<A, B>) friend constexpr failed operator>(const A&, const B&) {
    return {};
  }
  template <class A, class B>
  requires(detail::FailedAmongNumbers<A, B>) friend constexpr failed operator<=(const A&, const B&) {
    return {};
  }
  template <class A, class B>
  requires(detail::FailedAmongNumbers<A, B>) friend constexpr failed operator>=(const A&, const B&) {
    return {};
  }
  template <class A, class B>
  requires(detail::FailedAmongNumbers<A, B>) friend constexpr failed operator==(const A&, const B&) {
    return {};
  }
  template <class A, class B>
  requires(detail::FailedAmongNumbers<A, B>) friend constexpr failed operator!=(const A&, const B&) {
    return {};
  }
  template <class A, class B>
  requires(detail::FailedAmongNumbers<A, B>) friend constexpr failed operator&&(const A&, const B&) {
    return {};
  }
  template <class A, class B>
  requires(detail::FailedAmongNumbers<A, B>) friend constexpr failed operator||(const A&, const B&) {
    return {};
  }
  template <class A, class B>
  requires(detail::FailedAmongNumbers<A, B>) friend constexpr failed operator+=(const A&, const B&) {
    return {};
  }
  template <class A, class B>
  requires(detail::FailedAmongNumbers<A, B>) friend constexpr failed operator-=(const A&, const B&) {
    return {};
  }
  template <class A, class B>
  requires(detail::FailedAmongNumbers<A, B>) friend constexpr failed operator*=(const A&, const B&) {
    return {};
  }
  template <class A, class B>
  requires(detail::FailedAmongNumbers<A, B>) friend constexpr failed operator/=(const A&, const B&) {
    return {};
  }
  friend constexpr failed operator-(const failed&) { return {}; }
  friend constexpr failed operator!(const failed&) { return {}; }

 private:
  static inline float no_element = 0;
};

/// In the place of a rule: none is broken, or the error is out already.
struct accepted {
  static constexpr void raise(anywhere = {}) {}
};
struct silent {
  static constexpr failed raise(anywhere = {}) { return {}; }
};
/// Whether this is a broken rule, to be raised, or one whose error is out: not `accepted`.
template <class Rule>
inline constexpr bool is_mistake = true;
template <>
inline constexpr bool is_mistake<accepted> = false;
/// The same of what a search returns, std::type_identity of a rule: nvcc 12 misspells `typename Found::type`
/// in a condition.
template <class Found>
inline constexpr bool found_mistake = is_mistake<typename Found::type>;

namespace detail {
// Two classes, where std::conditional_t would be one for each rule.
template <bool So>
struct mistake_if {
  template <class Rule>
  using rule = Rule;
};
template <>
struct mistake_if<false> {
  template <class Rule>
  using rule = accepted;
};
/// Rule, where a thing is not as it says.
template <bool So, class Rule>
using mistake_unless = typename mistake_if<!So>::template rule<Rule>;
/// Rule, but of operands one of which is an error already.
template <class Rule, class... Xs>
using unless_failed = std::conditional_t<(is_failed<Xs> || ...), silent, Rule>;

template <class Rule>
struct raised_there {
  using type = accepted;
};
#if defined(__CUDACC__) && !defined(__clang__)
template <class Rule>
requires requires { typename Rule::refusal; }
struct raised_there<Rule> {
  using type = typename Rule::refusal;
};
#endif
}  // namespace detail
/// The type of a constructor's last argument, whose default raises the mistake on the caller's line, where
/// nvcc would name the constructor's: it has no result that could be destroyed there.
template <class Rule>
using raised_by_caller = typename detail::raised_there<Rule>::type;

namespace detail {
/// Of several answers, each std::type_identity of a rule: the first that is a mistake.
template <class First, class... Rest>
constexpr auto first_of(First first, Rest... rest) {
  if constexpr (sizeof...(Rest) == 0 || is_mistake<typename First::type>)
    return first;
  else
    return detail::first_of(rest...);  // qualified: argument-dependent lookup would instantiate a rule
}
}  // namespace detail

/// What the compiler prints about a mistake, as words. Declared only.
namespace fact {

template <class D>
struct axis;
template <class D>
struct and_axis;
template <class... Ds>
struct among;  // the axes that there are
template <class... Ds>
struct from;
template <class... Ds>
struct to;
template <fixed_string Name>
struct named;  // a name, a label or a word that the user wrote
template <fixed_string Name>
struct perhaps;  // a name that is close
template <std::size_t N>
struct has_size;
template <std::size_t N>
struct but_size;
template <std::size_t I>
struct in_operand;  // counted from 0
template <std::size_t I>
struct on_the_host;  // an operand, counted from 0
template <std::size_t I>
struct on_the_device;
template <std::size_t N>
struct expected;  // a count
template <std::size_t N>
struct given;  // a count
template <std::ptrdiff_t N>
struct begins;
template <std::ptrdiff_t N>
struct ends;
template <dtype T>
struct of_type;
template <dtype T>
struct into_type;
template <class T>
struct type;
template <fixed_string Name>
struct call;  // the function that objects
template <op O>
struct operation;

}  // namespace fact

/// The rules of tensors. Other folders' rules stand in their own files, in this namespace.
namespace rule {

/// named<"axis">
template <class... Facts>
struct size_is_negative {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "dim: the size of an axis is a number of elements: none or more, and fewer than 2^63");
};

/// expected<rank>, given<n>
template <class... Facts>
struct wrong_number_of_indices {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "x(i, j, ...) needs one index for each axis; x[i] takes the first and gives a view of the rest");
};

/// type<Index>..., or named<"axis">, type<Index>
template <class... Facts>
struct index_is_no_integer {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "x(i, j, ...), x[i], index: indices are integers; slice<\"seq\", 2, 5>(x) takes a range of an axis, "
      "gather<\"seq\">(x, i) what a tensor of integers says, where(x > 0, x, 0) chooses elements");
};

/// named<"axis">, type<X>
template <class... Facts>
struct index_before_computed {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "index: what is not computed yet is indexed by a constant, index<\"seq\", 3>(x), or once it is, "
      "eval(x); "
      "in a function of a model a loop over a std::index_sequence has constants");
};

/// named<"name">, among<Ds...>
template <class... Facts>
struct axis_not_in_tensor {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise,
                                         "the tensor has no axis of this name; its axes stand in among<...>");
};
/// named<"name">, perhaps<"name">, among<Ds...>
template <class... Facts>
struct axis_is_misspelt {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "the tensor has no axis of this name: the likely one stands in perhaps<...>, all in among<...>");
};

/// axis<A>, and_axis<B>
template <class... Facts>
struct two_axes_of_one_name {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "tensor: two axes bear one name; primed<axis>, written axis' in patterns, is a second copy of one");
};

/// call<"f"> of an operation, expected<most>, given<n>
template <class... Facts>
struct too_many_axes {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "a tensor has at most 12 axes; what an operation gives has no more either");
};

/// from<As...>, to<Bs...>
template <class... Facts>
struct axes_differ {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "assignment: the axes differ, by name, size or order; rearrange or rename before assigning");
};

/// of_type<T>, into_type<U>
template <class... Facts>
struct dtypes_differ {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "assignment: the element types differ, and none is converted unasked; write cast<T>(x)");
};

/// from<Ds...>
template <class... Facts>
struct device_value_into_a_host_tensor {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "assignment: the value is on the GPU and the tensor on the host: nothing is copied unasked, write "
      "nk::to_host(x), or nk::cuda::tensor y = x for a tensor there");
};

/// axis<D>, has_size<N>, begins<I>, ends<J>
template <class... Facts>
struct slice_out_of_range {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise,
                                         "slice: its ends must be 0 <= begin <= end <= the size of the axis");
};

/// from<Ds...>
template <class... Facts>
struct not_a_view {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "a view was asked for, but no strides say this: it has to be copied; call contiguous(x) first");
};

/// expected<n>, given<m>
template <class... Facts>
struct wrong_number_of_sizes {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "sized{...} needs one size for each axis that is sized at run time, in order");
};

/// from<Ds...>
template <class... Facts>
struct not_computed_yet {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "an expression is not computed before it is assigned, and has no elements to print, index or "
      "branch on: write nk::tensor y = x, or nk::eval(x)");
};
/// from<Ds...>
template <class... Facts>
struct no_compound_assignment {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "there is no +=, -=, *= or /=, which would write elements that other tensors share: write "
      "x = x + y, and where x is a view, its elements are written");
};

}  // namespace rule

/// The half-open range [begin, end) lies in an axis of this size.
constexpr bool slice_in_range(std::ptrdiff_t begin, std::ptrdiff_t end, std::size_t size) {
  return 0 <= begin && begin <= end && static_cast<std::size_t>(end) <= size;
}

}  // namespace napkin
