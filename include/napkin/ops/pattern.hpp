// rearrange, reduce and repeat: einops's language over tensors, lazy expressions and traced values
// (einsum.hpp has einsum). The pattern is parsed and checked in constant evaluation (pattern/); here its
// meaning becomes the axes of the result and a few primitives.
#pragma once

#include <concepts>

#include "napkin/graph/strides.hpp"
#include "napkin/ops/broadcast.hpp"
#include "napkin/ops/monoid.hpp"
#include "napkin/ops/pattern_rules.hpp"
#include "napkin/ops/reduce.hpp"
#include "napkin/pattern/bind.hpp"
#include "napkin/tensor/axis_view.hpp"

namespace napkin {

namespace detail {

// ---- from a label to the axis that it stands for

template <fixed_string Pattern>
inline constexpr std::string_view text_of = Pattern.view();

template <class Binding, std::size_t Label>
struct fresh_name {
  static constexpr std::string_view text = Binding::value.labels[Label].name;
  static constexpr auto make() {
    fixed_string<text.size() + 1> name;
    for (std::size_t i = 0; i != text.size(); ++i) name.text[i] = text[i];
    return name;
  }
  static constexpr auto value = make();
};

template <class Axes, std::size_t I>
struct nth_axis;
template <class... Ds, std::size_t I>
struct nth_axis<axes<Ds...>, I> : nth_type<I, Ds...> {};

template <class Factors>
struct product_of_factors;
template <class... Ds>
struct product_of_factors<axes<Ds...>> {
  template <fixed_string Name>
  using named = product_as<Name, Ds...>;
};

/// How a label's axis is found.
enum class axis_origin : std::uint8_t { whole, renamed_product, factor, made, made_nameless, made_of_axis };
constexpr axis_origin origin_of(const pattern::label& l) {
  if (l.operand < 0) return l.nameless ? axis_origin::made_nameless : axis_origin::made;
  if (l.from == pattern::source::operand_factor) return axis_origin::factor;
  if (l.from == pattern::source::operand_axis)
    return l.alias ? axis_origin::renamed_product : axis_origin::whole;
  return l.nameless ? axis_origin::made_nameless : axis_origin::made_of_axis;
}

/// Binding has `value` (what its pattern means) and `operand_axes<K>` (those of operand K). Classes, not
/// functions that return auto: those take the compiler twice as long, for each label of each pattern.
template <class Binding, std::size_t Label>
using operand_axis_of =
    typename nth_axis<typename Binding::template operand_axes<static_cast<std::size_t>(
                          Binding::value.labels.items[Label].operand)>,
                      static_cast<std::size_t>(Binding::value.labels.items[Label].axis)>::type;
template <class Binding, std::size_t Label, axis_origin = origin_of(Binding::value.labels.items[Label])>
struct axis_of_label {
  using type = operand_axis_of<Binding, Label>;
};
template <class Binding, std::size_t Label>
struct axis_of_label<Binding, Label, axis_origin::renamed_product> {
  using type = typename product_of_factors<typename operand_axis_of<Binding, Label>::factors>::template named<
      fresh_name<Binding, Label>::value>;
};
template <class Binding, std::size_t Label>
struct axis_of_label<Binding, Label, axis_origin::factor> {
  using type = typename nth_axis<typename operand_axis_of<Binding, Label>::factors,
                                 static_cast<std::size_t>(Binding::value.labels.items[Label].factor)>::type;
};
template <class Binding, std::size_t Label>
struct axis_of_label<Binding, Label, axis_origin::made> {
  using type = dim<fresh_name<Binding, Label>::value, extent{Binding::value.labels.items[Label].size}>;
};
template <class Binding, std::size_t Label>
struct axis_of_label<Binding, Label, axis_origin::made_nameless> {
  using type = unnamed<extent{Binding::value.labels.items[Label].size}>;
};
template <class Binding, std::size_t Label>
struct axis_of_label<Binding, Label, axis_origin::made_of_axis> {
  using axis = operand_axis_of<Binding, Label>;
  static constexpr std::size_t size = Binding::value.labels.items[Label].size;
  static constexpr bool whole = Binding::value.labels.items[Label].factor < 0 && size == axis::size;
  using type = dim<fresh_name<Binding, Label>::value, extent(size, whole&& axis::dynamic)>;
};

template <class Binding, std::size_t Axis, std::size_t I>
using axis_in_result =
    typename axis_of_label<Binding,
                           static_cast<std::size_t>(Binding::value.result.items[Axis].items[I])>::type;
template <class Binding, std::size_t Axis,
          class = std::make_index_sequence<Binding::value.result.items[Axis].count>>
struct result_axis;
template <class Binding, std::size_t Axis>
struct result_axis<Binding, Axis, std::index_sequence<>> {
  using type = unnamed<1>;
};
template <class Binding, std::size_t Axis>
struct result_axis<Binding, Axis, std::index_sequence<0>> {
  using type = axis_in_result<Binding, Axis, 0>;
};
template <class Binding, std::size_t Axis, std::size_t... I>
struct result_axis<Binding, Axis, std::index_sequence<I...>> {
  using type = product<axis_in_result<Binding, Axis, I>...>;
};

template <class Binding, class = std::make_index_sequence<Binding::value.result.count>>
struct result_axes;
template <class Binding, std::size_t... I>
struct result_axes<Binding, std::index_sequence<I...>> {
  using type = axes<typename result_axis<Binding, I>::type...>;
};

/// Of a plain pattern, each axis of whose result is an operand's. Which ones is a constant of its own: nvcc
/// copies the whole of one for each element that is read, and a meaning is large.
struct axis_of_operand {
  std::size_t operand = 0, axis = 0;
};
template <std::size_t Rank, class Meaning>
constexpr std::array<axis_of_operand, Rank> find_result_axes(const Meaning& m) {
  std::array<axis_of_operand, Rank> found{};
  for (std::size_t i = 0; i != Rank; ++i) {
    const auto& l = m.labels.items[static_cast<std::size_t>(m.result.items[i].items[0])];
    found[i] = {static_cast<std::size_t>(l.operand), static_cast<std::size_t>(l.axis)};
  }
  return found;
}
template <class Binding, class = std::make_index_sequence<Binding::plain.value.result.count>>
struct plain_result_axes;
template <class Binding, std::size_t... I>
struct plain_result_axes<Binding, std::index_sequence<I...>> {
  static constexpr auto from = find_result_axes<sizeof...(I)>(Binding::plain.value);
  using type = axes<
      typename nth_axis<typename Binding::template operand_axes<from[I].operand>, from[I].axis>::type...>;
};
/// Of a binding that has `plain` as well, found or not.
template <class Binding, bool Plain = Binding::plain.found>
struct either_result_axes : result_axes<Binding> {};
template <class Binding>
struct either_result_axes<Binding, true> : plain_result_axes<Binding> {};
template <class Binding>
using result_axes_of = typename either_result_axes<Binding>::type;

// ---- from a meaning to primitives

struct label_list {
  inplace_vector<std::int32_t, max_labels> labels;
  shape sizes;
};
/// The elementary labels of a side, in order, and their sizes.
template <class Meaning>
constexpr label_list flatten(const Meaning& m, const typename Meaning::side& side) {
  label_list out;
  for (const auto& axis : side)
    for (const signed char l : axis) {
      out.labels.push_back(l);
      out.sizes.push_back(m.labels[static_cast<std::size_t>(l)].size);
    }
  return out;
}
template <class Meaning>
constexpr shape composed(const Meaning& m, const typename Meaning::side& side) {
  shape s;
  for (const auto& axis : side) s.push_back(m.size_of(axis));
  return s;
}
/// The size of a label in a graph that is being traced, where it is known at run time: its axis's.
template <class Meaning>
constexpr std::size_t traced_size(const builder& b, const std::int32_t* xs, const Meaning& m,
                                  std::int32_t of) {
  const pattern::label& l = m.labels.items[of];
  if (l.operand < 0 || l.axis < 0 || l.factor >= 0) return l.size;
  const shape& s = b.shape_of(xs[l.operand]);
  const auto at = static_cast<std::size_t>(l.axis);
  return at < s.count && is_run_time_size(s.items[at]) && bound_of(s.items[at]) == l.size ? s.items[at]
                                                                                          : l.size;
}
/// As `flatten` and `composed`, with the sizes that a graph has.
template <class Meaning>
constexpr label_list traced_flatten(const builder& b, const std::int32_t* xs, const Meaning& m,
                                    const typename Meaning::side& side) {
  label_list out = flatten(m, side);
  for (std::size_t i = 0; i < out.sizes.count; ++i)
    out.sizes.items[i] = traced_size(b, xs, m, out.labels.items[i]);
  return out;
}
template <class Meaning>
constexpr shape traced_composed(const builder& b, const std::int32_t* xs, const Meaning& m,
                                const typename Meaning::side& side) {
  shape s = composed(m, side);
  for (std::size_t i = 0; i < s.count; ++i)
    if (side.items[i].count == 1) s.items[i] = traced_size(b, xs, m, side.items[i].items[0]);
  return s;
}
constexpr ids view_of(const inplace_vector<std::int32_t, max_labels>& v) { return {v.data(), v.size()}; }
template <std::size_t N>
constexpr ids view_of(const inplace_vector<std::int32_t, N>& v) {
  return {v.data(), v.size()};
}

/// Where each elementary axis of the result comes from in the operand, -1 for a new one.
constexpr inplace_vector<std::int32_t, max_rank> result_map(const label_list& from, const label_list& to) {
  inplace_vector<std::int32_t, max_rank> map;
  for (const std::int32_t l : to.labels) {
    const std::size_t at = from.labels.index_of(l);
    map.push_back(at == from.labels.size() ? -1 : static_cast<std::int32_t>(at));
  }
  return map;
}

/// rearrange and repeat: split, move and repeat, merge.
template <class Binding>
struct rearrange_op {
  using called = typename Binding::called;
  static constexpr std::int32_t emit(builder& b, const std::int32_t* xs) {
    constexpr const auto& m = Binding::value;
    const label_list from = traced_flatten(b, xs, m, m.operand[0]), to = traced_flatten(b, xs, m, m.result);
    const auto map = result_map(from, to);
    const shape result = traced_composed(b, xs, m, m.result);
    const std::int32_t split = b.reshape(xs[0], from.sizes);
    bool moves = from.labels.size() != to.labels.size();
    for (std::size_t i = 0; i < map.size(); ++i) moves = moves || map[i] != static_cast<std::int32_t>(i);
    return b.reshape(moves ? b.expand(split, to.sizes, view_of(map)) : split, result);
  }
};

/// reduce: split, reduce what the result lacks, move, merge. Combine(b, x, axes) emits the reduction.
template <class Binding, class Combine>
struct reduce_op {
  using called = typename Binding::called;
  static constexpr std::int32_t emit(builder& b, const std::int32_t* xs) {
    constexpr const auto& m = Binding::value;
    const label_list from = traced_flatten(b, xs, m, m.operand[0]), to = traced_flatten(b, xs, m, m.result);
    const shape result = traced_composed(b, xs, m, m.result);
    label_list kept;
    inplace_vector<std::int32_t, max_rank> gone;
    for (std::size_t i = 0; i < from.labels.size(); ++i) {
      if (to.labels.contains(from.labels[i]))
        kept.labels.push_back(from.labels[i]);
      else
        gone.push_back(static_cast<std::int32_t>(i));
    }
    const std::int32_t reduced = Combine::emit(b, b.reshape(xs[0], from.sizes), view_of(gone));
    const auto map = result_map(kept, to);
    bool moves = false;
    for (std::size_t i = 0; i < map.size(); ++i) moves = moves || map[i] != static_cast<std::int32_t>(i);
    return b.reshape(moves ? b.expand(reduced, to.sizes, view_of(map)) : reduced, result);
  }
};

/// Some label that is reduced has size 0.
template <class Meaning>
constexpr bool reduces_nothing(const Meaning& m) {
  for (const pattern::label& l : m.labels)
    if (!l.in_result && l.size == 0) return true;
  return false;
}

// ---- bindings: the pattern and the operands' axes, as one type

/// Binding::plain's, in room for it alone, or, where that is not found, what Binding::make() gives.
template <class Binding>
inline constexpr auto any_meaning = pattern::in_room_for<Binding::operand_count>(Binding::make());
template <class Binding>
constexpr const auto& meaning_of() {
  if constexpr (Binding::plain.found)
    return Binding::plain.value;
  else
    return any_meaning<Binding>;
}
template <class... Operands>
using plain_binding_of = pattern::plain_binding<sizeof...(Operands), (Operands::rank + ... + 0)>;

template <class List>
inline constexpr bool lists_axes = false;
template <class... Ds>
inline constexpr bool lists_axes<axes<Ds...>> = (Axis<Ds> && ...);

/// Sizes of labels that a call says; none where they are no axes, which is refused elsewhere.
template <class List, bool Axes = lists_axes<List>>
struct given_in_call {
  static constexpr std::array<pattern::given_size, 0> value{};
};
template <class... Ds>
struct given_in_call<axes<Ds...>, true> {
  static constexpr std::array<pattern::given_size, sizeof...(Ds)> value{
      pattern::given_size{Ds::name.view(), Ds::size}...};
};

template <pattern::form Form, fixed_string Pattern, class Operand, class... Given>
struct unary_binding {
  using called = std::conditional_t<
      Form == pattern::form::repeat, fact::call<"repeat">,
      std::conditional_t<Form == pattern::form::reduce, fact::call<"reduce">, fact::call<"rearrange">>>;
  template <std::size_t>
  using operand_axes = Operand;
  static constexpr std::size_t operand_count = 1;
  static constexpr pattern::operand_view operand{axis_views<Operand>::value};
  static constexpr plain_binding_of<Operand> plain{
      Form, text_of<Pattern>, {&operand, 1}, sizeof...(Given) == 0};
  static constexpr pattern::meaning make() {
    const auto& given = given_in_call<axes<Given...>>::value;
    if (Form == pattern::form::reduce) return pattern::bind_reduce(text_of<Pattern>, operand, given);
    if (Form == pattern::form::repeat) return pattern::bind_repeat(text_of<Pattern>, operand, given);
    return pattern::bind_rearrange(text_of<Pattern>, operand, given);
  }
  static constexpr const auto& value = meaning_of<unary_binding>();
};

template <pattern::form Form, fixed_string Pattern, class Operand, class... Given>
constexpr auto find_unary_binding() {
  return std::type_identity<unary_binding<Form, Pattern, Operand, Given...>>{};
}
/// As core/fixed_string.hpp has it of `spelled`.
template <pattern::form Form, fixed_string Pattern, class X, class... Given>
using unary_binding_of = typename decltype(find_unary_binding<Form, Pattern, axes_of<X>, Given...>())::type;

/// The strides of a rearranged tensor, if strides can say it.
template <class Binding, class X>
struct view_strides {
  struct answer {
    bool possible = false;
    stride_list stride;
  };
  static constexpr answer make() {
    const auto& m = Binding::value;
    answer a;
    stride_list old, split, moved;
    for (const std::ptrdiff_t s : X::layout::values) old.push_back(s);
    const label_list from = flatten(m, m.operand[0]), to = flatten(m, m.result);
    if (!reshape_strides(shape_over<axes_of<X>>, old, from.sizes, split)) return a;
    for (const std::int32_t i : result_map(from, to))
      moved.push_back(i < 0 ? 0 : split[static_cast<std::size_t>(i)]);
    a.possible = reshape_strides(to.sizes, moved, composed(m, m.result), a.stride);
    return a;
  }
  static constexpr answer value = make();
};

template <class Binding, class Strides, class X, class... Ds, std::size_t... I>
auto make_rearranged(const X& x, axes<Ds...>, std::index_sequence<I...>) {
  constexpr const auto& m = Binding::value;
  std::array<std::size_t, sizeof...(Ds)> actual{Ds::size...};
  if constexpr (has_dynamic_axis<X>)
    for (std::size_t i = 0; i < actual.size(); ++i)
      if (axis_infos<Ds...>[i].size.dynamic)
        actual[i] = x.sizes()[static_cast<std::size_t>(m.labels.items[m.result.items[i].items[0]].axis)];
  return make_view<plain_strides<Strides::value.stride[I]...>, Ds...>(x, 0, actual);
}

/// Whether the pattern takes an axis of an operand apart that is sized at run time.
template <class Binding, class... Operands>
constexpr bool takes_run_time_axis_apart() {
  if constexpr (!(facts_of_axes<Operands>::dynamic || ...)) {
    return false;
  } else {
    std::size_t k = 0;
    bool found = false;
    const auto look = [&](const auto& infos) {
      for (std::size_t i = 0; i < infos.size(); ++i)
        found = found || (infos[i].size.dynamic && Binding::value.operand.items[k].items[i].count != 1);
      ++k;
    };
    (look(infos_of<Operands>::value), ...);
    return found;
  }
}
/// A label of a pattern that is sized at run time in one operand and by the compiler in another: where the
/// second of them stands.
struct label_sized_twice {
  bool found = false;
  std::size_t operand = 0, axis = 0;
};
template <class Binding, class... Operands>
constexpr label_sized_twice find_label_sized_twice() {
  label_sized_twice twice;
  if constexpr ((facts_of_axes<Operands>::dynamic || ...)) {
    buffer<signed char> seen(Binding::value.labels.size(), 0);  // 1: by the compiler, 2: at run time
    std::size_t k = 0;
    const auto look = [&](const auto& infos) {
      for (std::size_t i = 0; i < infos.size(); ++i)
        for (const signed char l : Binding::value.operand.items[k].items[i]) {
          signed char& before = seen[static_cast<std::size_t>(l)];
          const signed char now = infos[i].size.dynamic ? 2 : 1;
          if (before != 0 && before != now) twice = {true, k, i};
          before = now;
        }
      ++k;
    };
    (look(infos_of<Operands>::value), ...);
  }
  return twice;
}
template <class Binding, class... Xs>
inline constexpr unsigned char facts_of_pattern =
    takes_run_time_axis_apart<Binding, axes_of<Xs>...>() ||
            find_label_sized_twice<Binding, axes_of<Xs>...>().found
        ? of_broken_axis
        : 0;
/// What is wrong with what a pattern that fits makes of operands.
template <class Binding, class Called, class... Xs>
constexpr auto find_misfit_of_pattern() {
  constexpr label_sized_twice twice = find_label_sized_twice<Binding, axes_of<Xs>...>();
  if constexpr (takes_run_time_axis_apart<Binding, axes_of<Xs>...>()) {
    return find_first_run_time_axis<Called, axes_of<Xs>...>();
  } else if constexpr (twice.found) {
    using D = typename nth_axis<typename Binding::template operand_axes<twice.operand>, twice.axis>::type;
    return std::type_identity<rule::axis_sized_twice<Called, fact::in_operand<twice.operand>, fact::axis<D>,
                                                     fact::named<D::name>, fact::has_size<D::size>>>{};
  } else {
    return find_operation_mistake<Called, result_axes_of<Binding>, Xs...>();
  }
}
template <class Binding, class Called, class... Xs>
using misfit_of_pattern = typename decltype(find_misfit_of_pattern<Binding, Called, Xs...>())::type;

/// The same of a reduction by a user's monoid, a tree over as many elements as the compiler knows.
template <class Binding, class How, class X>
constexpr auto find_misfit_of_reduction() {
  constexpr auto reduces_run_time_axis = [] {
    for (const pattern::label& l : Binding::value.labels)
      if (!l.in_result && l.operand >= 0 && l.axis >= 0 &&
          infos_of<axes_of<X>>::value[static_cast<std::size_t>(l.axis)].size.dynamic)
        return true;
    return false;
  };
  if constexpr (has_dynamic_axis<X>) {
    if constexpr (reduces_run_time_axis())
      return find_first_run_time_axis<fact::call<"reduce">, axes_of<X>>();
    else
      return find_misfit_of_pattern<Binding, fact::call<"reduce">, X>();
  } else {
    return find_misfit_of_pattern<Binding, fact::call<"reduce">, X>();
  }
}
template <class Binding, class How, class X>
using misfit_of_reduction = typename decltype(find_misfit_of_reduction<Binding, How, X>())::type;

template <class Binding, class X>
inline constexpr bool fits_rearranged = fit_together(facts_of<X> | facts_of_sizes<result_axes_of<Binding>> |
                                                     facts_of_pattern<Binding, X>);
template <class Binding, class X>
constexpr auto rearranged(const X& x) {
  using T = typename X::element;
  using To = result_axes_of<Binding>;
  if constexpr (TensorLike<X>) {
    if constexpr (view_strides<Binding, X>::value.possible)
      return make_rearranged<Binding, view_strides<Binding, X>>(x, To{},
                                                                std::make_index_sequence<To::rank>{});
    else
      return apply<rearrange_op<Binding>, T, To>(x);
  } else {
    return apply<rearrange_op<Binding>, T, To>(x);
  }
}

}  // namespace detail

/// Reorder, split and merge axes.
///
/// Shape     "b (h w) c -> b c h w" with dim<"h", 2>: (b, h*w, c) -> (b, c, h, w)
/// Cost      none where the result is a view (is_view<decltype(...)> says), else one copy
/// Gradient  the inverse rearrangement
/// Source    einops.rearrange
/// Example   auto y = nk::rearrange<"batch seq heads hidden -> batch seq (heads hidden)">(x);
template <fixed_string Pattern, class... Given, class X>
constexpr auto rearrange(const X& x) {
  if constexpr (is_failed<X>) {
    return failed{};
  } else if constexpr (!Operand<X>) {
    return rule::argument_is_no_tensor<fact::call<"rearrange">, fact::type<X>>::raise();
  } else if constexpr (!(Axis<Given> && ...)) {
    return rule::sizes_go_in_brackets<fact::call<"rearrange">, fact::type<Given>...>::raise(detail::by<X>);
  } else {
    using binding = detail::unary_binding_of<pattern::form::rearrange, Pattern, X, Given...>;
    if constexpr (binding::value.why) {
      return detail::pattern_mistake<binding, fact::call<"rearrange">>::raise(detail::by<X>);
    } else if constexpr (!detail::fits_rearranged<binding, X>) {
      return detail::misfit_of_pattern<binding, fact::call<"rearrange">, X>::raise(detail::by<X>);
    } else {
      return detail::rearranged<binding>(x);
    }
  }
}

/// As rearrange; labels that only the result has are new axes along which x repeats.
///
/// Shape     "h w -> h (w r)" with dim<"r", 2>: (h, w) -> (h, w*r)
/// Gradient  a sum over the new axes
/// Source    einops.repeat
template <fixed_string Pattern, class... Given, class X>
constexpr auto repeat(const X& x) {
  if constexpr (is_failed<X>) {
    return failed{};
  } else if constexpr (!Operand<X>) {
    return rule::argument_is_no_tensor<fact::call<"repeat">, fact::type<X>>::raise();
  } else if constexpr (!(Axis<Given> && ...)) {
    return rule::sizes_go_in_brackets<fact::call<"repeat">, fact::type<Given>...>::raise(detail::by<X>);
  } else {
    using binding = detail::unary_binding_of<pattern::form::repeat, Pattern, X, Given...>;
    if constexpr (binding::value.why) {
      return detail::pattern_mistake<binding, fact::call<"repeat">>::raise(detail::by<X>);
    } else {
      using to = detail::result_axes_of<binding>;
      using mistake = detail::misfit_of_pattern<binding, fact::call<"repeat">, X>;
      if constexpr (is_mistake<mistake>)
        return mistake::raise(detail::by<X>);
      else
        return apply<detail::rearrange_op<binding>, typename X::element, to>(x);
    }
  }
}

/// As rearrange; labels that the result lacks are reduced by "sum", "mean", "max", "min", "prod", "any",
/// "all", "logsumexp", "argmax" or "argmin".
///
/// Shape     "b c (h 2) (w 2) -> b c h w": (b, c, 2h, 2w) -> (b, c, h, w)
/// Cost      n - 1 reduction FLOPs for each result of n elements (a mean one more)
/// Rules     a mean of integers is refused; sums of integers are i64, of 16- and 8-bit floats kept in f32
/// Source    einops.reduce
template <fixed_string Pattern, fixed_string How, class... Given, class X>
constexpr auto reduce(const X& x) {
  if constexpr (is_failed<X>) {
    return failed{};
  } else if constexpr (!Operand<X>) {
    return rule::argument_is_no_tensor<fact::call<"reduce">, fact::type<X>>::raise();
  } else if constexpr (!(Axis<Given> && ...)) {
    return rule::sizes_go_in_brackets<fact::call<"reduce">, fact::type<Given>...>::raise(detail::by<X>);
  } else {
    using binding = detail::unary_binding_of<pattern::form::reduce, Pattern, X, Given...>;
    using how = detail::spelled_with<detail::reduction_named, How, typename X::element>;
    if constexpr (binding::value.why) {
      return detail::pattern_mistake<binding, fact::call<"reduce">>::raise(detail::by<X>);
    } else if constexpr (is_mistake<typename how::mistake>) {
      return how::mistake::raise(detail::by<X>);
    } else if constexpr (detail::needs_an_element(how::how) && detail::reduces_nothing(binding::value)) {
      return rule::extremum_of_nothing<fact::call<How>, detail::among_axes<axes_of<X>>>::raise(detail::by<X>);
    } else {
      using to = detail::result_axes_of<binding>;
      using mistake = detail::misfit_of_pattern<binding, fact::call<"reduce">, X>;
      if constexpr (is_mistake<mistake>)
        return mistake::raise(detail::by<X>);
      else
        return apply<detail::reduce_op<binding, how>, typename how::element, to>(x);
    }
  }
}

/// The same by a monoid of the user's own: a type that holds nothing, with an identity, a number, and an
/// associative operator() on two values, in operations on tensors, both of them constexpr. Values combine in
/// the order in which they lie, as a tree: neighbours first.
///
/// Cost      n - 1 combinations for each result of n elements
/// Gradient  that of the operations
/// Rules     monoid_...; of no elements the result is the identity
/// Example   struct times {
///             static constexpr int identity = 1;
///             constexpr auto operator()(auto a, auto b) const { return a * b; }
///           };
///           auto y = nk::reduce<"batch seq -> batch", times>(x);
template <fixed_string Pattern, class Monoid, class... Given, class X>
constexpr auto reduce(const X& x) {
  if constexpr (is_failed<X>) {
    return failed{};
  } else if constexpr (!Operand<X>) {
    return rule::argument_is_no_tensor<fact::call<"reduce">, fact::type<X>>::raise();
  } else if constexpr (!(Axis<Given> && ...)) {
    return rule::sizes_go_in_brackets<fact::call<"reduce">, fact::type<Given>...>::raise(detail::by<X>);
  } else {
    using binding = detail::unary_binding_of<pattern::form::reduce, Pattern, X, Given...>;
    using how = detail::reduction_by_monoid<Monoid, typename X::element>;
    if constexpr (is_mistake<typename how::mistake>) {
      return how::mistake::raise(detail::by<X>);
    } else if constexpr (binding::value.why) {
      return detail::pattern_mistake<binding, fact::call<"reduce">>::raise(detail::by<X>);
    } else {
      using to = detail::result_axes_of<binding>;
      using mistake = detail::misfit_of_reduction<binding, how, X>;
      if constexpr (is_mistake<mistake>)
        return mistake::raise(detail::by<X>);
      else
        return apply<detail::reduce_op<binding, how>, typename how::element, to>(x);
    }
  }
}

namespace detail {
template <fixed_string Call, class... Xs>
using arguments_refused =
    unless_failed<rule::pattern_goes_in_brackets<fact::call<Call>, fact::type<Xs>...>, Xs...>;
template <fixed_string Call, class X, class... Sizes>
using sizes_refused = unless_failed<rule::sizes_go_in_brackets<fact::call<Call>, Sizes...>, X>;
}  // namespace detail

// A pattern, or a reduction, as an argument, as in Python: refused.
template <class X, class... Wrong>
constexpr auto rearrange(const X&, const Wrong&...) {
  return detail::arguments_refused<"rearrange", X, Wrong...>::raise(detail::by<X, Wrong...>);
}
template <class X, class... Wrong>
constexpr auto repeat(const X&, const Wrong&...) {
  return detail::arguments_refused<"repeat", X, Wrong...>::raise(detail::by<X, Wrong...>);
}
template <class X, class... Wrong>
constexpr auto reduce(const X&, const Wrong&...) {
  return detail::arguments_refused<"reduce", X, Wrong...>::raise(detail::by<X, Wrong...>);
}
template <fixed_string Pattern, class X, class... Wrong>
constexpr auto reduce(const X&, const Wrong&...) {
  return detail::arguments_refused<"reduce", X, Wrong...>::raise(detail::by<X, Wrong...>);
}

// Sizes without the labels' names, names without sizes, or sizes as arguments, as in Python: refused.
template <fixed_string Pattern, std::integral auto Size, auto... Sizes, class X>
constexpr auto rearrange(const X&) {
  return detail::sizes_refused<"rearrange", X, fact::values<Size, Sizes...>>::raise(detail::by<X>);
}
template <fixed_string Pattern, fixed_string Name, fixed_string... Names, class X>
constexpr auto rearrange(const X&) {
  return detail::sizes_refused<"rearrange", X, fact::named<Name>, fact::named<Names>...>::raise(
      detail::by<X>);
}
template <fixed_string Pattern, class... Given, class X, class Size, class... Sizes>
constexpr auto rearrange(const X&, const Size&, const Sizes&...) {
  return detail::sizes_refused<"rearrange", X, fact::type<Size>, fact::type<Sizes>...>::raise(detail::by<X>);
}
template <fixed_string Pattern, std::integral auto Size, auto... Sizes, class X>
constexpr auto repeat(const X&) {
  return detail::sizes_refused<"repeat", X, fact::values<Size, Sizes...>>::raise(detail::by<X>);
}
template <fixed_string Pattern, fixed_string Name, fixed_string... Names, class X>
constexpr auto repeat(const X&) {
  return detail::sizes_refused<"repeat", X, fact::named<Name>, fact::named<Names>...>::raise(detail::by<X>);
}
template <fixed_string Pattern, class... Given, class X, class Size, class... Sizes>
constexpr auto repeat(const X&, const Size&, const Sizes&...) {
  return detail::sizes_refused<"repeat", X, fact::type<Size>, fact::type<Sizes>...>::raise(detail::by<X>);
}
template <fixed_string Pattern, fixed_string How, std::integral auto Size, auto... Sizes, class X>
constexpr auto reduce(const X&) {
  return detail::sizes_refused<"reduce", X, fact::values<Size, Sizes...>>::raise(detail::by<X>);
}
template <fixed_string Pattern, fixed_string How, fixed_string Name, fixed_string... Names, class X>
constexpr auto reduce(const X&) {
  return detail::sizes_refused<"reduce", X, fact::named<Name>, fact::named<Names>...>::raise(detail::by<X>);
}
template <fixed_string Pattern, fixed_string How, class... Given, class X, class Size, class... Sizes>
constexpr auto reduce(const X&, const Size&, const Sizes&...) {
  return detail::sizes_refused<"reduce", X, fact::type<Size>, fact::type<Sizes>...>::raise(detail::by<X>);
}
template <fixed_string Pattern, class Monoid, class... Given, class X, class Size, class... Sizes>
constexpr auto reduce(const X&, const Size&, const Sizes&...) {
  return detail::sizes_refused<"reduce", X, fact::type<Size>, fact::type<Sizes>...>::raise(detail::by<X>);
}

}  // namespace napkin
