// Reductions, by name of axis: sum<"hidden">(x), mean<"batch", "seq">(x).
#pragma once

#include "napkin/core/finfo.hpp"
#include "napkin/ops/axes.hpp"
#include "napkin/ops/broadcast.hpp"

namespace napkin {

namespace rule {
/// named<"name">
template <class... Facts>
struct unknown_reduction {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "reduce: the reduction is none of sum, mean, max, min, argmax, argmin, prod, any, all, logsumexp");
};
/// of_type<T>
template <class... Facts>
struct mean_of_integers {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise,
                                         "mean: the mean of integers is no integer; cast<f32>(x) first");
};
/// call<"max">, among<Ds...>
template <class... Facts>
struct extremum_of_nothing {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "max, min, argmax, argmin: an axis of size 0 is reduced, and of no elements none is the largest or the "
      "smallest");
};
/// of_type<T>
template <class... Facts>
struct quantifier_needs_b8 {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise,
                                         "any, all: the operand must be of b8, as comparisons give it");
};
}  // namespace rule

namespace detail {

enum class reduction : std::uint8_t {
  sum,
  mean,
  max,
  min,
  argmax,
  argmin,
  prod,
  any,
  all,
  logsumexp,
  unknown
};

constexpr reduction reduction_of(std::string_view name) {
  if (same_text(name, "sum")) return reduction::sum;
  if (same_text(name, "mean")) return reduction::mean;
  if (same_text(name, "max")) return reduction::max;
  if (same_text(name, "min")) return reduction::min;
  if (same_text(name, "argmax")) return reduction::argmax;
  if (same_text(name, "argmin")) return reduction::argmin;
  if (same_text(name, "prod")) return reduction::prod;
  if (same_text(name, "any")) return reduction::any;
  if (same_text(name, "all")) return reduction::all;
  if (same_text(name, "logsumexp")) return reduction::logsumexp;
  return reduction::unknown;
}

constexpr bool gives_a_place(reduction how) { return how == reduction::argmax || how == reduction::argmin; }

/// A value repeated back along the axes that a reduction removed.
constexpr std::int32_t spread_back(builder& b, std::int32_t value, const shape& to, ids removed) {
  inplace_vector<std::int32_t, max_rank> map;
  std::int32_t next = 0;
  for (std::size_t i = 0, r = 0; i < to.size(); ++i) {
    if (r < removed.size() && removed[r] == static_cast<std::int32_t>(i)) {
      map.push_back(-1);
      ++r;
    } else {
      map.push_back(next++);
    }
  }
  return b.expand(value, to, {map.data(), map.size()});
}

constexpr double largest_finite(dtype floating) {
  return dispatch(floating, []<class T>(std::type_identity<T>) {
    if constexpr (is_floating(dtype_of<T>))
      return finfo<T>::max;
    else
      return 0.0;
  });
}

/// `times` the number of elements along the axes of these sizes, some of them known at run time, everywhere.
constexpr std::int32_t counted(builder& b, double times, const shape& sizes, dtype t,
                               const shape& everywhere) {
  shape all = everywhere;
  inplace_vector<std::int32_t, max_rank> axes;
  for (const std::size_t size : sizes) {
    axes.push_back(static_cast<std::int32_t>(all.size()));
    all.push_back(size);
  }
  return b.reduce(op::sum, b.constant(times, t, all), {axes.data(), axes.size()});
}

/// The first place, counted in row-major order along the axes that are reduced, of the largest or the
/// smallest; where one is NaN, of the first NaN.
constexpr std::int32_t emit_place(builder& b, op extremum, std::int32_t x, ids over) {
  const shape full = b.shape_of(x);
  const auto number = [&](double value) { return b.constant(value, dtype::i32, full); };
  double count = 1;  // at the bounds: more than any place
  double known = 1;  // places that a step along the next axis passes: this many, times
  shape open;        // those along axes that are sized at run time
  std::int32_t place = -1;
  for (std::size_t k = over.size(); k-- > 0;) {
    const std::size_t size = full[static_cast<std::size_t>(over[k])];
    const std::int32_t along = b.iota(over[k], dtype::i32, full);
    std::int32_t step = along;
    if (!open.empty())
      step = b.mul(along, b.fill(counted(b, known, open, dtype::i32, {}), full));
    else if (known != 1)
      step = b.mul(along, number(known));
    place = place < 0 ? step : b.add(place, step);
    if (is_run_time_size(size))
      open.push_back(size);
    else
      known *= static_cast<double>(size);
    count *= static_cast<double>(bound_of(size));
  }
  std::int32_t hit = b.binary(op::equal, x, spread_back(b, b.reduce(extremum, x, over), full, over));
  if (is_floating(b.type_of(x)))
    hit = b.binary(op::logical_or, hit, b.unary(op::logical_not, b.binary(op::equal, x, x)));
  return b.reduce(op::min, b.select(hit, place, number(count)), over);
}

/// Sums are kept in the accumulator's dtype; floats come back in their own, integers stay in i64.
constexpr std::int32_t emit_reduction(builder& b, reduction how, std::int32_t x, ids over) {
  if (over.empty()) return gives_a_place(how) ? b.constant(0, dtype::i32, shape{b.shape_of(x)}) : x;
  const dtype own = b.type_of(x), wide = accumulator_of(own);
  const shape full = b.shape_of(x);
  const auto sum = [&](std::int32_t v) { return b.reduce(op::sum, b.cast(v, wide), over); };
  const auto narrow = [&](std::int32_t v) { return is_floating(own) ? b.cast(v, own) : v; };
  switch (how) {
    case reduction::sum:
      return narrow(sum(x));
    case reduction::mean: {
      double n = 1;
      shape open;  // sizes that are known at run time
      for (const std::int32_t a : over) {
        const std::size_t size = full[static_cast<std::size_t>(a)];
        if (is_run_time_size(size))
          open.push_back(size);
        else
          n *= static_cast<double>(size);
      }
      const std::int32_t total = sum(x);
      const shape kept = b.shape_of(total);
      return narrow(b.div(total, open.empty() ? b.constant(n, wide, kept) : counted(b, n, open, wide, kept)));
    }
    case reduction::max:
      return b.reduce(op::max, x, over);
    case reduction::min:
      return b.reduce(op::min, x, over);
    case reduction::argmax:
      return emit_place(b, op::max, x, over);
    case reduction::argmin:
      return emit_place(b, op::min, x, over);
    case reduction::prod:
      return narrow(b.reduce(op::product, b.cast(x, wide), over));
    case reduction::any:
      return b.reduce(op::any, x, over);
    case reduction::all:
      return b.reduce(op::all, x, over);
    default: {  // logsumexp: shifted by the largest, which cancels and is not differentiated
      const std::int32_t each = b.cast(x, wide);
      const std::int32_t largest = b.unary(op::stop_gradient, b.reduce(op::max, each, over));
      const auto bound = [&](double limit) { return b.constant(limit, wide, shape{b.shape_of(largest)}); };
      const double most = largest_finite(wide);  // infinities less infinities would be NaN
      const std::int32_t shift =
          b.binary(op::minimum, b.binary(op::maximum, largest, bound(-most)), bound(most));
      const std::int32_t shifted = b.sub(each, spread_back(b, shift, full, over));
      return b.cast(b.add(b.unary(op::log, b.reduce(op::sum, b.unary(op::exp, shifted), over)), shift), own);
    }
  }
}

/// A reduction by name on elements of T: the rule that it breaks, and the result's dtype.
template <fixed_string How, class T>
struct reduction_named {
  using called = fact::call<How>;
  static constexpr reduction how = reduction_of(How.view());
  static constexpr bool counts = how == reduction::sum || how == reduction::prod;  // of truths too
  static constexpr auto find_mistake() {
    constexpr bool quantifies = how == reduction::any || how == reduction::all;
    constexpr dtype type = dtype_of<T>;
    if constexpr (how == reduction::unknown)
      return std::type_identity<rule::unknown_reduction<fact::named<How>>>{};
    else if constexpr (quantifies && !std::is_same_v<T, b8>)
      return std::type_identity<rule::quantifier_needs_b8<fact::of_type<type>>>{};
    else if constexpr (is_complex(type))
      return find_dtype_mistake<op::add, T>();
    else if constexpr (how == reduction::mean && !is_floating(type))
      return std::type_identity<rule::mean_of_integers<fact::of_type<type>>>{};
    else if constexpr (how == reduction::logsumexp && !is_floating(type))
      return find_dtype_mistake<op::exp, T>();
    else if constexpr (!quantifies && !counts && !dtype_fits(op::max, dtype_of<T>))
      return find_dtype_mistake<op::max, T>();
    else
      return std::type_identity<accepted>{};
  }
  using mistake = typename decltype(find_mistake())::type;
  using element = std::conditional_t<gives_a_place(how), i32,
                                     std::conditional_t<counts && !is_floating(dtype_of<T>), i64, T>>;
  static constexpr std::int32_t emit(builder& b, std::int32_t x, ids over) {
    return emit_reduction(b, how, x, over);
  }
};

constexpr bool needs_an_element(reduction how) {
  return how == reduction::max || how == reduction::min || gives_a_place(how);
}

/// The axes that are reduced, ascending, and those that remain.
template <class Axes, class Named>
struct chosen_axes {
  static constexpr axis_positions select(bool named) {
    axis_positions p;
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(Axes::rank); ++i)
      if (Named::positions.contains(i) == named) p.push_back(i);
    return p;
  }
  static constexpr axis_positions positions = select(true);
  struct others {
    static constexpr axis_positions positions = select(false);
  };
  using rest = picked_axes<Axes, others>;
};

template <class Chosen, class How>
struct reduce_named_op {
  using called = typename How::called;
  static constexpr std::int32_t emit(builder& b, const std::int32_t* xs) {
    return How::emit(b, xs[0], {Chosen::positions.data(), Chosen::positions.size()});
  }
};

template <class How, std::size_t Rank>
struct reduce_all_op {
  using called = typename How::called;
  static constexpr std::int32_t emit(builder& b, const std::int32_t* xs) {
    std::int32_t all[Rank + 1]{};
    for (std::size_t i = 0; i < Rank; ++i) all[i] = static_cast<std::int32_t>(i);
    return How::emit(b, xs[0], {all, Rank});
  }
};
template <fixed_string How, class X, class... Ds>
constexpr auto reduce_all(const X& x, axes<Ds...>) {
  using how = reduction_named<How, typename X::element>;
  return apply<reduce_all_op<how, sizeof...(Ds)>, typename how::element, axes<>>(x);
}

/// What is wrong with a reduction over the axes called Names, or over all where none is. Of Wrong there must
/// be none: axes as PyTorch says them, by number.
template <fixed_string How, class X, fixed_string... Names, class... Wrong>
constexpr auto find_reduce_mistake(std::type_identity<Wrong>...) {
  if constexpr (is_failed<X>) {
    return std::type_identity<silent>{};
  } else if constexpr (!computable<X>) {
    return std::type_identity<not_an_operand<X>>{};
  } else if constexpr (sizeof...(Wrong) != 0) {
    return std::type_identity<axes_refused<How, X, Wrong...>>{};
  } else {
    using named = named_axes<axes_of<X>, Names...>;
    using how = reduction_named<How, typename X::element>;
    if constexpr (!named::good)
      return named::template find_mistake<How>();
    else if constexpr (is_mistake<typename how::mistake>)
      return std::type_identity<typename how::mistake>{};
    else if constexpr (needs_an_element(how::how) &&
                       (sizeof...(Names) == 0 ? facts_of_axes<axes_of<X>>::numel
                                              : size_of_all(typename named::all{})) == 0)
      return std::type_identity<rule::extremum_of_nothing<fact::call<How>, among_axes<axes_of<X>>>>{};
    else
      return find_operation_mistake<fact::call<How>, axes<>, X>();
  }
}
template <fixed_string How, fixed_string... Names, class X>
constexpr auto reduce_over(const X& x) {
  if constexpr (sizeof...(Names) == 0 && axes_of<X>::rank > 0) {
    return reduce_all<How>(x, axes_of<X>{});
  } else {
    using how = reduction_named<How, typename X::element>;
    using chosen = chosen_axes<axes_of<X>, named_axes<axes_of<X>, Names...>>;
    return apply<reduce_named_op<chosen, how>, typename how::element, typename chosen::rest>(x);
  }
}

}  // namespace detail

/// Over the named axes, or over all where none is named; they vanish. Numbers and types name none: those
/// overloads say so.
///
/// Rules     axes_go_in_brackets, axis_not_in_tensor, axis_named_twice, mean_of_integers,
/// quantifier_needs_b8,
///           extremum_of_nothing, not_floating, not_numbers
/// Cost      n - 1 reduction FLOPs for each result of n elements; a mean one more; logsumexp: exp and log
/// Gradient  repeats back; max and min share among ties, as PyTorch's amax
template <fixed_string... Names, detail::ArgumentBeside<sizeof...(Names)> X, class... Wrong>
constexpr auto sum(const X& x, const Wrong&...) {
  using mistake = typename decltype(detail::find_reduce_mistake<"sum", X, Names...>(
      std::type_identity<Wrong>{}...))::type;
  if constexpr (is_mistake<mistake>)
    return mistake::raise(detail::by<X, Wrong...>);
  else
    return detail::reduce_over<"sum", Names...>(x);
}
template <Axis D, Axis... Ds, detail::ElementwiseOperand X>
constexpr auto sum(const X&) {
  return detail::axes_refused<"sum", X, D, Ds...>::raise(detail::by<X>);
}
template <std::ptrdiff_t I, std::ptrdiff_t... Is, detail::ElementwiseOperand X>
constexpr auto sum(const X&) {
  return detail::numbers_refused<"sum", fact::numbers<I, Is...>, X>::raise(detail::by<X>);
}
template <fixed_string... Names, detail::ArgumentBeside<sizeof...(Names)> X, class... Wrong>
constexpr auto mean(const X& x, const Wrong&...) {
  using mistake = typename decltype(detail::find_reduce_mistake<"mean", X, Names...>(
      std::type_identity<Wrong>{}...))::type;
  if constexpr (is_mistake<mistake>)
    return mistake::raise(detail::by<X, Wrong...>);
  else
    return detail::reduce_over<"mean", Names...>(x);
}
template <Axis D, Axis... Ds, detail::ElementwiseOperand X>
constexpr auto mean(const X&) {
  return detail::axes_refused<"mean", X, D, Ds...>::raise(detail::by<X>);
}
template <std::ptrdiff_t I, std::ptrdiff_t... Is, detail::ElementwiseOperand X>
constexpr auto mean(const X&) {
  return detail::numbers_refused<"mean", fact::numbers<I, Is...>, X>::raise(detail::by<X>);
}
template <fixed_string... Names, detail::ArgumentBeside<sizeof...(Names)> X, class... Wrong>
constexpr auto max(const X& x, const Wrong&...) {
  using mistake = typename decltype(detail::find_reduce_mistake<"max", X, Names...>(
      std::type_identity<Wrong>{}...))::type;
  if constexpr (is_mistake<mistake>)
    return mistake::raise(detail::by<X, Wrong...>);
  else
    return detail::reduce_over<"max", Names...>(x);
}
template <Axis D, Axis... Ds, detail::ElementwiseOperand X>
constexpr auto max(const X&) {
  return detail::axes_refused<"max", X, D, Ds...>::raise(detail::by<X>);
}
template <std::ptrdiff_t I, std::ptrdiff_t... Is, detail::ElementwiseOperand X>
constexpr auto max(const X&) {
  return detail::numbers_refused<"max", fact::numbers<I, Is...>, X>::raise(detail::by<X>);
}
template <fixed_string... Names, detail::ArgumentBeside<sizeof...(Names)> X, class... Wrong>
constexpr auto min(const X& x, const Wrong&...) {
  using mistake = typename decltype(detail::find_reduce_mistake<"min", X, Names...>(
      std::type_identity<Wrong>{}...))::type;
  if constexpr (is_mistake<mistake>)
    return mistake::raise(detail::by<X, Wrong...>);
  else
    return detail::reduce_over<"min", Names...>(x);
}
template <Axis D, Axis... Ds, detail::ElementwiseOperand X>
constexpr auto min(const X&) {
  return detail::axes_refused<"min", X, D, Ds...>::raise(detail::by<X>);
}
template <std::ptrdiff_t I, std::ptrdiff_t... Is, detail::ElementwiseOperand X>
constexpr auto min(const X&) {
  return detail::numbers_refused<"min", fact::numbers<I, Is...>, X>::raise(detail::by<X>);
}
/// The first place of the largest along the named axes, or of all: of one axis the index along it, i32; of
/// several, and of all, in row-major order. NaN counts as the largest, and as the smallest, as numpy's.
///
/// Shape     argmax<"class">: (batch, class) -> (batch) of i32
/// Cost      2 (n - 1) reduction FLOPs; of each element a comparison and a choice, of floats three FLOPs more
/// Gradient  none
template <fixed_string... Names, detail::ArgumentBeside<sizeof...(Names)> X, class... Wrong>
constexpr auto argmax(const X& x, const Wrong&...) {
  using mistake = typename decltype(detail::find_reduce_mistake<"argmax", X, Names...>(
      std::type_identity<Wrong>{}...))::type;
  if constexpr (is_mistake<mistake>)
    return mistake::raise(detail::by<X, Wrong...>);
  else
    return detail::reduce_over<"argmax", Names...>(x);
}
template <Axis D, Axis... Ds, detail::ElementwiseOperand X>
constexpr auto argmax(const X&) {
  return detail::axes_refused<"argmax", X, D, Ds...>::raise(detail::by<X>);
}
template <std::ptrdiff_t I, std::ptrdiff_t... Is, detail::ElementwiseOperand X>
constexpr auto argmax(const X&) {
  return detail::numbers_refused<"argmax", fact::numbers<I, Is...>, X>::raise(detail::by<X>);
}
template <fixed_string... Names, detail::ArgumentBeside<sizeof...(Names)> X, class... Wrong>
constexpr auto argmin(const X& x, const Wrong&...) {
  using mistake = typename decltype(detail::find_reduce_mistake<"argmin", X, Names...>(
      std::type_identity<Wrong>{}...))::type;
  if constexpr (is_mistake<mistake>)
    return mistake::raise(detail::by<X, Wrong...>);
  else
    return detail::reduce_over<"argmin", Names...>(x);
}
template <Axis D, Axis... Ds, detail::ElementwiseOperand X>
constexpr auto argmin(const X&) {
  return detail::axes_refused<"argmin", X, D, Ds...>::raise(detail::by<X>);
}
template <std::ptrdiff_t I, std::ptrdiff_t... Is, detail::ElementwiseOperand X>
constexpr auto argmin(const X&) {
  return detail::numbers_refused<"argmin", fact::numbers<I, Is...>, X>::raise(detail::by<X>);
}
template <fixed_string... Names, detail::ArgumentBeside<sizeof...(Names)> X, class... Wrong>
constexpr auto prod(const X& x, const Wrong&...) {
  using mistake = typename decltype(detail::find_reduce_mistake<"prod", X, Names...>(
      std::type_identity<Wrong>{}...))::type;
  if constexpr (is_mistake<mistake>)
    return mistake::raise(detail::by<X, Wrong...>);
  else
    return detail::reduce_over<"prod", Names...>(x);
}
template <Axis D, Axis... Ds, detail::ElementwiseOperand X>
constexpr auto prod(const X&) {
  return detail::axes_refused<"prod", X, D, Ds...>::raise(detail::by<X>);
}
template <std::ptrdiff_t I, std::ptrdiff_t... Is, detail::ElementwiseOperand X>
constexpr auto prod(const X&) {
  return detail::numbers_refused<"prod", fact::numbers<I, Is...>, X>::raise(detail::by<X>);
}
template <fixed_string... Names, detail::ArgumentBeside<sizeof...(Names)> X, class... Wrong>
constexpr auto any(const X& x, const Wrong&...) {
  using mistake = typename decltype(detail::find_reduce_mistake<"any", X, Names...>(
      std::type_identity<Wrong>{}...))::type;
  if constexpr (is_mistake<mistake>)
    return mistake::raise(detail::by<X, Wrong...>);
  else
    return detail::reduce_over<"any", Names...>(x);
}
template <Axis D, Axis... Ds, detail::ElementwiseOperand X>
constexpr auto any(const X&) {
  return detail::axes_refused<"any", X, D, Ds...>::raise(detail::by<X>);
}
template <std::ptrdiff_t I, std::ptrdiff_t... Is, detail::ElementwiseOperand X>
constexpr auto any(const X&) {
  return detail::numbers_refused<"any", fact::numbers<I, Is...>, X>::raise(detail::by<X>);
}
template <fixed_string... Names, detail::ArgumentBeside<sizeof...(Names)> X, class... Wrong>
constexpr auto all(const X& x, const Wrong&...) {
  using mistake = typename decltype(detail::find_reduce_mistake<"all", X, Names...>(
      std::type_identity<Wrong>{}...))::type;
  if constexpr (is_mistake<mistake>)
    return mistake::raise(detail::by<X, Wrong...>);
  else
    return detail::reduce_over<"all", Names...>(x);
}
template <Axis D, Axis... Ds, detail::ElementwiseOperand X>
constexpr auto all(const X&) {
  return detail::axes_refused<"all", X, D, Ds...>::raise(detail::by<X>);
}
template <std::ptrdiff_t I, std::ptrdiff_t... Is, detail::ElementwiseOperand X>
constexpr auto all(const X&) {
  return detail::numbers_refused<"all", fact::numbers<I, Is...>, X>::raise(detail::by<X>);
}
template <fixed_string... Names, detail::ArgumentBeside<sizeof...(Names)> X, class... Wrong>
constexpr auto logsumexp(const X& x, const Wrong&...) {
  using mistake = typename decltype(detail::find_reduce_mistake<"logsumexp", X, Names...>(
      std::type_identity<Wrong>{}...))::type;
  if constexpr (is_mistake<mistake>)
    return mistake::raise(detail::by<X, Wrong...>);
  else
    return detail::reduce_over<"logsumexp", Names...>(x);
}
template <Axis D, Axis... Ds, detail::ElementwiseOperand X>
constexpr auto logsumexp(const X&) {
  return detail::axes_refused<"logsumexp", X, D, Ds...>::raise(detail::by<X>);
}
template <std::ptrdiff_t I, std::ptrdiff_t... Is, detail::ElementwiseOperand X>
constexpr auto logsumexp(const X&) {
  return detail::numbers_refused<"logsumexp", fact::numbers<I, Is...>, X>::raise(detail::by<X>);
}

}  // namespace napkin
