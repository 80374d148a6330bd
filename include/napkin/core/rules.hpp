// How a mistake that the compiler can see is worded: one class a rule, whose static_assert holds the sentence
// and whose arguments are the facts. A door (a public function) that finds a rule broken says
//   if constexpr (!same_axes<A, B>) {
//     (void)sizeof(rule::axes_differ<fact::from<...>, fact::to<...>>);   // the one error
//     return failed{};
//   }
// and begins with `if constexpr (is_failed<X>) return failed{};`, so that one mistake is one error. Some fact
// must depend on a template parameter (or every program is refused), and the sizeof must not stand in what
// is constant-evaluated (clang adds a second error).
// A helper that raises a rule returns auto: g++ leaves a function whose type it knows to the end, and errors
// of the lines below come first.
#pragma once

#include <cstddef>
#include <type_traits>

#include "napkin/core/dim.hpp"

namespace napkin {

enum class dtype : unsigned char;
enum class op : unsigned char;

struct operand;
struct failed;

template <class T>
inline constexpr bool is_failed = std::is_base_of_v<failed, std::remove_cvref_t<T>>;

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

  // What the next lines ask of a tensor or an expression.
  template <class... Index>
  constexpr failed operator()(const Index&...) const {
    return {};
  }
  template <class Index>
  constexpr failed operator[](const Index&) const {
    return {};
  }
  template <class... Index>
  constexpr failed at(const Index&...) const {
    return {};
  }
  constexpr failed data() const { return {}; }
  constexpr failed sizes() const { return {}; }
  constexpr failed numel() const { return {}; }
  constexpr const failed* begin() const { return nullptr; }
  constexpr const failed* end() const { return nullptr; }
  template <class Stream>
  friend Stream& operator<<(Stream& out, const failed&) {
    return out;
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
  friend constexpr failed operator-(const failed&) { return {}; }
  friend constexpr failed operator!(const failed&) { return {}; }
};

/// False, in a way that depends on the facts, so that clang prints them in an error's first line.
template <class... Facts>
inline constexpr bool no = false;

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
template <std::size_t N>
struct has_size;
template <std::size_t N>
struct but_size;
template <std::size_t I>
struct in_operand;  // counted from 0
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

/// expected<rank>, given<n>
template <class... Facts>
struct wrong_number_of_indices {
  static_assert(
      no<Facts...>,
      "x(i, j, ...) needs one index for each axis; x[i] takes the first and gives a view of the rest");
};

/// named<"name">, among<Ds...>
template <class... Facts>
struct axis_not_in_tensor {
  static_assert(no<Facts...>, "the tensor has no axis of this name; its axes stand in among<...>");
};

/// axis<A>, and_axis<B>
template <class... Facts>
struct two_axes_of_one_name {
  static_assert(
      no<Facts...>,
      "tensor: two axes bear one name; primed<axis>, written axis' in patterns, is a second copy of one");
};

/// from<As...>, to<Bs...>
template <class... Facts>
struct axes_differ {
  static_assert(no<Facts...>,
                "assignment: the axes differ, by name, size or order; rearrange or rename before assigning");
};

/// of_type<T>, into_type<U>
template <class... Facts>
struct dtypes_differ {
  static_assert(no<Facts...>,
                "assignment: the element types differ, and none is converted unasked; write cast<T>(x)");
};

/// axis<D>, has_size<N>, begins<I>, ends<J>
template <class... Facts>
struct slice_out_of_range {
  static_assert(no<Facts...>, "slice: its ends must be 0 <= begin <= end <= the size of the axis");
};

/// from<Ds...>
template <class... Facts>
struct not_a_view {
  static_assert(
      no<Facts...>,
      "a view was asked for, but no strides say this: it has to be copied; call contiguous(x) first");
};

/// expected<n>, given<m>
template <class... Facts>
struct wrong_number_of_sizes {
  static_assert(no<Facts...>, "sized{...} needs one size for each axis that is sized at run time, in order");
};

/// from<Ds...>
template <class... Facts>
struct not_computed_yet {
  static_assert(no<Facts...>,
                "an expression is not computed before it is assigned, and has no elements to print, index or "
                "branch on: write nk::tensor y = x, or nk::eval(x)");
};
/// from<Ds...>
template <class... Facts>
struct no_compound_assignment {
  static_assert(no<Facts...>,
                "there is no +=, -=, *= or /=, which would write elements that other tensors share: write "
                "x = x + y, and where x is a view, its elements are written");
};

}  // namespace rule

/// The half-open range [begin, end) lies in an axis of this size.
constexpr bool slice_in_range(std::ptrdiff_t begin, std::ptrdiff_t end, std::size_t size) {
  return 0 <= begin && begin <= end && static_cast<std::size_t>(end) <= size;
}

}  // namespace napkin
