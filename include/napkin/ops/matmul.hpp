// Products of two operands by the names of their axes: matmul and dot, an einsum whose labels are the axes
// themselves, and outer.
#pragma once

#include "napkin/ops/axes.hpp"
#include "napkin/ops/broadcast.hpp"

namespace napkin {

namespace rule {

/// from<As...>, to<Bs...>
template <class... Facts>
struct matmul_without_axis {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "matmul: the first operand's last axis is what is summed, so it must have a name; "
      "dot<\"axis\">(a, b) says which axis");
};
/// named<"axis">...
template <class... Facts>
struct matmul_sums_the_last_axis {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "matmul: it sums over the first operand's last axis; dot<\"hidden\">(a, b) sums over axes by name");
};
/// axis<D>, among<Bs...>
template <class... Facts>
struct summed_axis_not_in_second {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "matmul: the second operand has no axis of the name of the first one's last axis, which is "
      "summed; dot<\"axis\">(a, b) says which, rename lines names up");
};
/// from<As...>, to<Bs...>
template <class... Facts>
struct dot_names_no_axis {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "dot: name the axes to sum, dot<\"hidden\">(a, b); outer(a, b) sums none");
};
/// call<"f">, type<what was given>...
template <class... Facts>
struct product_is_of_two {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise,
                                         "matmul, dot, outer: they are of two operands; of more it is "
                                         "einsum<\"a, b, c -> result\">(x, y, z), and "
                                         "sum<\"hidden\">(x * x) of one with itself");
};
/// axis<D>
template <class... Facts>
struct outer_shares_an_axis {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "outer: both operands have this axis; a * b lines it up, rename<\"seq\", \"seq'\">(x) makes "
      "a second copy of it");
};

}  // namespace rule

namespace detail {

/// Labels of a product: an axis of the first operand is its own label, one of the second bears the label of
/// the first's axis of its name, if there is one. The nameless match nothing.
struct product_labels {
  axis_positions first, second, result;
  axis_positions only_second;  // positions in the second of what it adds to the result
  axis_positions kept;         // positions in the first of what is not summed
  int two_sizes_first = -1, two_sizes_second = -1;
};
template <std::size_t N, std::size_t M>
constexpr product_labels label_product(const std::array<axis_info, N>& a, const std::array<axis_info, M>& b,
                                       const axis_positions& summed_in_first) {
  product_labels p;
  for (std::size_t i = 0; i != N; ++i) {
    const auto label = static_cast<std::int32_t>(i);
    p.first.push_back(label);
    if (summed_in_first.contains(label)) continue;
    p.kept.push_back(label);
    p.result.push_back(label);
  }
  for (std::size_t j = 0; j != M; ++j) {
    const int shared = b[j].name.empty() ? -1 : find_axis(a, b[j].name);
    if (shared >= 0) {
      if (!same_axis_info(a[static_cast<std::size_t>(shared)], b[j])) {
        p.two_sizes_first = shared;
        p.two_sizes_second = static_cast<int>(j);
      }
      p.second.push_back(shared);
    } else {
      p.only_second.push_back(static_cast<std::int32_t>(j));
      p.second.push_back(static_cast<std::int32_t>(N + j));
      p.result.push_back(static_cast<std::int32_t>(N + j));
    }
  }
  return p;
}

template <fixed_string Call, class A, class B, class Summed>
struct product_op {
  using called = fact::call<Call>;
  static constexpr product_labels labels =
      label_product(infos_of<A>::value, infos_of<B>::value, Summed::positions);
  struct kept {
    static constexpr axis_positions positions = labels.kept;
  };
  struct added {
    static constexpr axis_positions positions = labels.only_second;
  };
  using to = joined_axes<picked_axes<A, kept>, picked_axes<B, added>>;

  static constexpr std::int32_t emit(builder& b, const std::int32_t* xs) {
    inplace_vector<std::int32_t, 2 * max_rank> all;
    for (const std::int32_t l : labels.first) all.push_back(l);
    for (const std::int32_t l : labels.second) all.push_back(l);
    return b.einsum({xs, 2}, {all.data(), all.size()}, {labels.result.data(), labels.result.size()});
  }
};

/// The rules of matmul and dot that remain when the summed axes are known.
template <fixed_string Call, class Summed, class A, class B>
constexpr auto find_product_mistake() {
  using labelled = spelled_with<product_op, Call, axes_of<A>, axes_of<B>, Summed>;
  if constexpr (labelled::labels.two_sizes_first >= 0) {
    constexpr auto i = static_cast<std::size_t>(labelled::labels.two_sizes_first);
    constexpr auto j = static_cast<std::size_t>(labelled::labels.two_sizes_second);
    using D = typename sole_axis<axes_between<axes_of<A>, i, i + 1>>::type;
    using E = typename sole_axis<axes_between<axes_of<B>, j, j + 1>>::type;
    return std::type_identity<two_sizes_mistake<E, D, fact::call<Call>>>{};
  } else if constexpr (!std::is_same_v<typename A::element, typename B::element>) {
    return std::type_identity<
        rule::operands_differ_in_dtype<fact::call<Call>, fact::of_type<dtype_of<typename A::element>>,
                                       fact::into_type<dtype_of<typename B::element>>>>{};
  } else if constexpr (!dtype_fits(op::einsum, dtype_of<typename A::element>)) {
    return find_dtype_mistake<op::einsum, typename A::element>();
  } else {
    return find_operation_mistake<fact::call<Call>, typename labelled::to, A, B>();
  }
}
template <fixed_string Call, class Summed, class A, class B>
using product_mistake = typename decltype(find_product_mistake<Call, Summed, A, B>())::type;

/// What is wrong with summing over axes of these names, which both operands have.
template <fixed_string Call, class A, class B, fixed_string... Names>
constexpr auto find_dot_mistake() {
  if constexpr (is_failed<A> || is_failed<B>) {
    return std::type_identity<silent>{};
  } else if constexpr (is_mistake<non_operand<A, B>>) {
    return find_non_operand<A, B>();
  } else if constexpr (!distinct<axes_of<A>> || !distinct<axes_of<B>>) {
    return std::type_identity<silent>{};  // a parameter or an input whose type is an error
  } else if constexpr (sizeof...(Names) == 0) {
    return std::type_identity<rule::dot_names_no_axis<axes_of<A>, axes_of<B>>>{};
  } else {
    using first = named_axes<axes_of<A>, Names...>;
    using second = named_axes<axes_of<B>, Names...>;
    if constexpr (!first::good)
      return first::template find_mistake<Call, fact::in_operand<0>>();
    else if constexpr (!second::good)
      return second::template find_mistake<Call, fact::in_operand<1>>();
    else
      return find_product_mistake<Call, first, A, B>();
  }
}
template <fixed_string Call, class A, class B, fixed_string... Names>
using dot_mistake = typename decltype(find_dot_mistake<Call, A, B, Names...>())::type;

template <fixed_string Call, class... Xs>
using product_misfit = misfit_of_two<rule::product_is_of_two<fact::call<Call>, fact::type<Xs>...>, Xs...>;

template <fixed_string Call, class Summed, class A, class B>
constexpr auto product_over(const A& a, const B& b) {
  using labelled = spelled_with<product_op, Call, axes_of<A>, axes_of<B>, Summed>;
  return apply<labelled, typename A::element, typename labelled::to>(a, b);
}

}  // namespace detail

/// Sums over the named axes, which both operands have. Other axes of one name go along with each other, as
/// batches do.
///
/// Shape     dot<"hidden">(q, k): (batch, query, hidden) x (batch, key, hidden) -> (batch, query, key)
/// Cost      2*batch*query*key*hidden FLOPs (matmul)
/// Gradient  two contractions of the same cost
/// Example   auto scores = nk::dot<"hidden">(q, k);
template <fixed_string... Names, detail::ArgumentBeside<sizeof...(Names)> A,
          detail::ArgumentBeside<sizeof...(Names)> B>
constexpr auto dot(const A& a, const B& b) {
  using mistake = detail::dot_mistake<"dot", A, B, Names...>;
  if constexpr (is_mistake<mistake>)
    return mistake::raise(detail::by<A, B>);
  else
    return detail::product_over<"dot", detail::named_axes_of<A, Names...>>(a, b);
}
/// Not of two operands: refused.
template <fixed_string... Names, class X, class... More>
requires detail::MisfitOfTwo<X, More...>
constexpr auto dot(const X&, const More&...) {
  return detail::product_misfit<"dot", X, More...>::raise(detail::by<X, More...>);
}
/// An axis by type: refused.
template <Axis D, Axis... Ds, class... Xs>
constexpr auto dot(const Xs&...) {
  return detail::types_refused<"dot", axes<D, Ds...>, Xs...>::raise(detail::by<Xs...>);
}

/// Sums over the first operand's last axis, which is found in the second by name, wherever it stands. Other
/// axes of one name go along with each other, as batches do.
///
/// Shape     (batch, m, k) x (batch, k, n) -> (batch, m, n); (m, k) x (k) -> (m)
/// Cost      2*batch*m*k*n FLOPs (matmul)
/// Gradient  two contractions of the same cost
/// Source    numpy.matmul, by name instead of by position
template <detail::ElementwiseOperand A, detail::ElementwiseOperand B>
constexpr auto matmul(const A& a, const B& b) {
  if constexpr (is_failed<A> || is_failed<B>) {
    return failed{};
  } else if constexpr (rank_of<A> == 0) {
    return rule::matmul_without_axis<axes_of<A>, axes_of<B>>::raise(detail::by<A, B>);
  } else {
    using last = detail::position_range<rank_of<A> - 1, rank_of<A>>;
    constexpr auto axis = detail::infos_of<axes_of<A>>::value[rank_of<A> - 1];
    if constexpr (axis.name.empty()) {
      return rule::matmul_without_axis<axes_of<A>, axes_of<B>>::raise(detail::by<A, B>);
    } else if constexpr (detail::find_axis(detail::infos_of<axes_of<B>>::value, axis.name) < 0) {
      return rule::summed_axis_not_in_second<detail::picked_axes<axes_of<A>, last>, axes_of<B>>::raise(
          detail::by<A, B>);
    } else if constexpr (is_mistake<detail::product_mistake<"matmul", last, A, B>>) {
      return detail::product_mistake<"matmul", last, A, B>::raise(detail::by<A, B>);
    } else {
      return detail::product_over<"matmul", last>(a, b);
    }
  }
}
/// Not of two operands, or along an axis by name: refused.
template <class X, class... More>
requires detail::MisfitOfTwo<X, More...>
constexpr auto matmul(const X&, const More&...) {
  return detail::product_misfit<"matmul", X, More...>::raise(detail::by<X, More...>);
}
template <fixed_string Name, fixed_string... Names, class... Xs>
constexpr auto matmul(const Xs&...) {
  using mistake = rule::matmul_sums_the_last_axis<fact::named<Name>, fact::named<Names>...>;
  return detail::unless_failed<mistake, Xs...>::raise(detail::by<Xs...>);
}

namespace detail {

template <class A, class B>
struct shared_axis {
  static constexpr int look() {
    for (std::size_t i = 0; i < A::rank; ++i) {
      const std::string_view name = infos_of<A>::value[i].name;
      if (!name.empty() && find_axis(infos_of<B>::value, name) >= 0) return static_cast<int>(i);
    }
    return -1;
  }
  static constexpr int value = look();
};

template <class A, class B>
struct outer_op {
  using called = fact::call<"outer">;
  using to = joined_axes<A, B>;
  static constexpr std::int32_t emit(builder& b, const std::int32_t* xs) {
    axis_positions first(to::rank, -1), second(to::rank, -1);
    for (std::size_t i = 0; i < to::rank; ++i)
      (i < A::rank ? first : second)[i] = static_cast<std::int32_t>(i < A::rank ? i : i - A::rank);
    const shape s = traced_shape_over<to>();
    const std::int32_t x = b.expand(xs[0], s, {first.data(), first.size()});
    return b.mul(x, b.expand(xs[1], s, {second.data(), second.size()}));
  }
};

}  // namespace detail

/// Every element of one times every element of the other.
///
/// Shape     (batch, seq) x (hidden) -> (batch, seq, hidden)
/// Cost      1 elementwise FLOP for each element of the result
template <detail::ElementwiseOperand A, detail::ElementwiseOperand B>
constexpr auto outer(const A& a, const B& b) {
  if constexpr (is_failed<A> || is_failed<B>) {
    return failed{};
  } else {
    constexpr int shared = detail::shared_axis<axes_of<A>, axes_of<B>>::value;
    if constexpr (shared >= 0) {
      constexpr auto at = static_cast<std::size_t>(shared);
      return rule::outer_shares_an_axis<detail::axes_between<axes_of<A>, at, at + 1>>::raise(
          detail::by<A, B>);
    } else {
      using T = typename A::element;
      if constexpr (!std::is_same_v<T, typename B::element>) {
        return rule::operands_differ_in_dtype<
            fact::call<"outer">, fact::of_type<dtype_of<T>>,
            fact::into_type<dtype_of<typename B::element>>>::raise(detail::by<A, B>);
      } else if constexpr (!detail::dtype_fits(op::mul, dtype_of<T>)) {
        return detail::dtype_mistake<op::mul, T>::raise(detail::by<A, B>);
      } else {
        using outer = detail::outer_op<axes_of<A>, axes_of<B>>;
        using mistake = detail::operation_mistake<fact::call<"outer">, typename outer::to, A, B>;
        if constexpr (is_mistake<mistake>)
          return mistake::raise(detail::by<A, B>);
        else
          return apply<outer, T, typename outer::to>(a, b);
      }
    }
  }
}
/// Not of two operands: refused.
template <class X, class... More>
requires detail::MisfitOfTwo<X, More...>
constexpr auto outer(const X&, const More&...) {
  return detail::product_misfit<"outer", X, More...>::raise(detail::by<X, More...>);
}

}  // namespace napkin
