// Lists of axes taken apart and put together, as types; and the rules of naming axes that the operations by
// name share. The questions themselves are loops over arrays in constant evaluation, not instantiations.
#pragma once

#include "napkin/core/inplace_vector.hpp"
#include "napkin/ops/expression.hpp"
#include "napkin/pattern/text.hpp"

namespace napkin {

namespace fact {
template <std::ptrdiff_t I>
struct at_index;
template <class... Ds>
struct types;  // where names were asked for
template <std::ptrdiff_t... Is>
struct numbers;  // the same
}  // namespace fact

namespace rule {

/// call<"f">, named<"name">
template <class... Facts>
struct axis_named_twice {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise, "one axis is named twice in one call");
};
/// call<"f">, axis<A>, and_axis<B>
template <class... Facts>
struct result_has_axis_twice {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "the result would have two axes of one name; rename<\"old\", \"new\">(x) one of them first");
};
/// call<"f">, axis<D>
template <class... Facts>
struct axis_sized_at_run_time {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "this axis is sized at run time, so that the compiler does not know where it ends: a tensor or a view "
      "can be sliced, indexed and flipped along it, and slice<\"axis\", 0, n>(x) of one has a size that it "
      "knows");
};
/// call<"f">, axis<D>
template <class... Facts>
struct axis_is_composed {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "a part of a composed axis, or several of them joined, has no name: give it one with "
      "as<\"name\">(x) first");
};
/// call<"f">, type<what was given>... or types<Ds...> or numbers<Is...>
template <class... Facts>
struct axes_go_in_brackets {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "an axis is said by its name, a string between angle brackets, as in sum<\"seq\">(x): not by a "
      "number, nor by a type");
};
/// call<"f">, named<"axis">..., numbers<size>
template <class... Facts>
struct new_axes_are_types {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "a new axis is said by its type, which has its size, as in one_hot<vocab>(x), not by a string or a "
      "number");
};
/// call<"f">, axis<A>, has_size<N>, but_size<M>
template <class... Facts>
struct sizes_differ {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise, "an axis would change its size: these sizes must be equal");
};

}  // namespace rule

namespace detail {

using axis_positions = inplace_vector<std::int32_t, max_rank>;

template <class... Lists>
struct chained;
template <>
struct chained<> {
  using type = axes<>;
};
template <class... As>
struct chained<axes<As...>> {
  using type = axes<As...>;
};
template <class... As, class... Bs, class... Rest>
struct chained<axes<As...>, axes<Bs...>, Rest...> : chained<axes<As..., Bs...>, Rest...> {};
template <class... Lists>
using joined_axes = typename chained<Lists...>::type;

/// Axes with their positions, so that overload resolution finds one. As axis_at its type would be a name that
/// has the whole list among its arguments, which cudafe++ walks again for each axis (see result_of).
template <std::size_t I, class D>
struct numbered {};
template <class Numbers, class... Ds>
struct all_numbered;
template <std::size_t... I, class... Ds>
struct all_numbered<std::index_sequence<I...>, Ds...> : numbered<I, Ds>... {};
template <std::size_t I, class D>
std::type_identity<D> find_numbered(const numbered<I, D>*);

/// The axes at Choice::positions, in that order.
template <class Axes, class Choice>
struct picked;
template <class... Ds, class Choice>
struct picked<axes<Ds...>, Choice> {
  using all = all_numbered<std::make_index_sequence<sizeof...(Ds)>, Ds...>;
  template <std::size_t... I>
  static constexpr auto pick_all(std::index_sequence<I...>) {
    return axes<typename decltype(find_numbered<static_cast<std::size_t>(Choice::positions[I])>(
        static_cast<all*>(nullptr)))::type...>{};
  }
  using type = decltype(pick_all(std::make_index_sequence<Choice::positions.size()>{}));
};
template <class Axes, class Choice>
using picked_axes = typename picked<Axes, Choice>::type;

template <std::size_t First, std::size_t Last>
struct position_range {
  static constexpr axis_positions make() {
    axis_positions p;
    for (std::size_t i = First; i != Last; ++i) p.push_back(static_cast<std::int32_t>(i));
    return p;
  }
  static constexpr axis_positions positions = make();
};
/// Axes First to Last (exclusive) of a list.
template <class Axes, std::size_t First, std::size_t Last>
using axes_between = picked_axes<Axes, position_range<First, Last>>;

template <class Axes>
struct sole_axis;
template <class D>
struct sole_axis<axes<D>> {
  using type = D;
};

/// Axes with the one at position At replaced by a list.
template <class Axes, std::size_t At, class New>
using axes_with = joined_axes<axes_between<Axes, 0, At>, New, axes_between<Axes, At + 1, Axes::rank>>;

template <class Axes>
struct infos_of;
template <class... Ds>
struct infos_of<axes<Ds...>> {
  static constexpr const auto& value = axis_infos<Ds...>;
};

template <template <class...> class Fact, class Axes>
struct fact_about;
template <template <class...> class Fact, class... Ds>
struct fact_about<Fact, axes<Ds...>> {
  using type = Fact<Ds...>;
};
template <class Axes>
using among_axes = typename fact_about<fact::among, Axes>::type;

/// The one error of a call that names no axis where one is to be named.
template <fixed_string Call, class X, class... Wrong>
using axes_refused =
    unless_failed<rule::axes_go_in_brackets<fact::call<Call>, fact::type<X>, fact::type<Wrong>...>, X>;
template <fixed_string Call, class X, class... Wrong>
constexpr auto refuse_axes() {
  return axes_refused<Call, X, Wrong...>::raise();
}

/// The same of a call on operands Xs that gives the axes of Given as types.
template <fixed_string Call, class Given, class... Xs>
using types_refused =
    unless_failed<rule::axes_go_in_brackets<fact::call<Call>, typename fact_about<fact::types, Given>::type>,
                  Xs...>;

/// The same of numbers in the place of names, fact::numbers<Is...>: axes as PyTorch counts them.
template <fixed_string Call, class Given, class... Xs>
using numbers_refused = unless_failed<rule::axes_go_in_brackets<fact::call<Call>, Given>, Xs...>;

/// The same of sizes in the place of new axes.
template <fixed_string Call, class Given, class... Xs>
using new_sizes_refused = unless_failed<rule::new_axes_are_types<fact::call<Call>, Given>, Xs...>;

/// The axis that a name which none bears is likely to mean, if one is close.
template <class Axes, fixed_string Name>
struct nearest_axis {
  static constexpr std::string_view find() {
    pattern::nearest_name nearest(Name.view());
    for (const axis_info& axis : infos_of<Axes>::value) nearest.consider(axis.name);
    return nearest.best();
  }
  static constexpr std::string_view text = find();
  static constexpr auto spell() {
    fixed_string<text.size() + 1> name;
    for (std::size_t i = 0; i != text.size(); ++i) name.text[i] = text[i];
    return name;
  }
  static constexpr auto value = spell();
};

/// Where axes of these names stand in a list.
struct axes_by_name {
  axis_positions positions;
  int missing = -1;  // the first name that no axis bears
  int twice = -1;    // the first name that an earlier one repeats
};
template <std::size_t Rank, std::size_t Count>
constexpr axes_by_name find_axes(const std::array<axis_info, Rank>& list,
                                 const std::array<std::string_view, Count>& names) {
  axes_by_name a;
  for (std::size_t k = 0; k != Count; ++k) {
    const int at = names[k].empty() ? -1 : find_axis(list, names[k]);
    if (at < 0) {
      a.missing = static_cast<int>(k);
      return a;
    }
    if (a.positions.contains(at)) {
      a.twice = static_cast<int>(k);
      return a;
    }
    a.positions.push_back(at);
  }
  return a;
}

/// The same as a type. Not specialised on axes<Ds...>: nvcc 13 matches no partial specialisation with a pack
/// of strings.
template <class Axes, fixed_string... Names>
struct named_axes {
  static constexpr std::size_t count = sizeof...(Names);
  static constexpr axes_by_name found =
      find_axes(infos_of<Axes>::value, std::array<std::string_view, count>{Names.view()...});
  static constexpr bool good = found.missing < 0 && found.twice < 0;
  static constexpr axis_positions positions = found.positions;
  template <std::size_t K>
  using at = typename sole_axis<axes_between<Axes, static_cast<std::size_t>(positions[K]),
                                             static_cast<std::size_t>(positions[K]) + 1>>::type;
  using all = picked_axes<Axes, named_axes>;

  template <fixed_string Call, class... Facts>
  static constexpr auto find_mistake() {
    if constexpr (found.missing >= 0) {
      constexpr auto name = std::get<static_cast<std::size_t>(found.missing)>(std::make_tuple(Names...));
      using near = nearest_axis<Axes, name>;
      if constexpr (near::text.empty())
        return std::type_identity<
            rule::axis_not_in_tensor<fact::call<Call>, fact::named<name>, among_axes<Axes>, Facts...>>{};
      else
        return std::type_identity<rule::axis_is_misspelt<
            fact::call<Call>, fact::named<name>, fact::perhaps<near::value>, among_axes<Axes>, Facts...>>{};
    } else if constexpr (found.twice >= 0) {
      constexpr auto name = std::get<static_cast<std::size_t>(found.twice)>(std::make_tuple(Names...));
      return std::type_identity<
          rule::axis_named_twice<fact::call<Call>, fact::named<name>, among_axes<Axes>>>{};
    } else {
      return std::type_identity<accepted>{};
    }
  }
  /// Where not good: the broken rule, for the door to raise.
  template <fixed_string Call, class... Facts>
  using mistake = typename decltype(find_mistake<Call, Facts...>())::type;
  /// Raises it, one line further from the user's.
  template <fixed_string Call, class... Facts>
  static constexpr auto complain() {
    return mistake<Call, Facts...>::raise();
  }
};

template <class X, fixed_string... Names>
constexpr auto find_named_axes() {
  return std::type_identity<named_axes<axes_of<X>, Names...>>{};
}
/// Of a function's argument, in its body; as `spelled` is (core/fixed_string.hpp).
template <class X, fixed_string... Names>
using named_axes_of = typename decltype(find_named_axes<X, Names...>())::type;

/// No two axes of a result bear one name; and the broken rule otherwise.
template <class Axes>
inline constexpr bool distinct = repeated_name(infos_of<Axes>::value).first == Axes::rank;
template <fixed_string Call, class... Ds>
constexpr auto find_repetition(axes<Ds...>) {
  constexpr axis_pair pair = repeated_name(axis_infos<Ds...>);
  return std::type_identity<
      rule::result_has_axis_twice<fact::call<Call>, fact::axis<axis_at<pair.first, Ds...>>,
                                  fact::and_axis<axis_at<pair.second, Ds...>>>>{};
}
template <fixed_string Call, class Axes>
using repetition = typename decltype(find_repetition<Call>(Axes{}))::type;

template <class... Ds>
constexpr std::size_t size_of_all(axes<Ds...>) {
  return total_size<Ds...>;
}
template <class... Ds>
constexpr bool some_dynamic(axes<Ds...>) {
  return any_dynamic<Ds...>;
}
template <class D>
inline constexpr bool is_composed = D::name.size() != 0 && D::name.text[0] == '(';

}  // namespace detail

}  // namespace napkin
