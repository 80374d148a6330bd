// Reductions, by name of axis: sum<"hidden">(x), mean<"batch", "seq">(x).
#pragma once

#include "napkin/ops/axes.hpp"
#include "napkin/ops/broadcast.hpp"

namespace napkin {

namespace rule {
/// named<"name">
template <class... Facts>
struct unknown_reduction {
  static_assert(no<Facts...>,
                "reduce: the reduction is none of sum, mean, max, min, prod, any, all, logsumexp");
};
/// of_type<T>
template <class... Facts>
struct mean_of_integers {
  static_assert(no<Facts...>, "mean: the mean of integers is no integer; cast<f32>(x) first");
};
/// of_type<T>
template <class... Facts>
struct quantifier_needs_b8 {
  static_assert(no<Facts...>, "any, all: the operand must be of b8, as comparisons give it");
};
}  // namespace rule

namespace detail {

enum class reduction : std::uint8_t { sum, mean, max, min, prod, any, all, logsumexp, unknown };

constexpr reduction reduction_of(std::string_view name) {
  if (same_text(name, "sum")) return reduction::sum;
  if (same_text(name, "mean")) return reduction::mean;
  if (same_text(name, "max")) return reduction::max;
  if (same_text(name, "min")) return reduction::min;
  if (same_text(name, "prod")) return reduction::prod;
  if (same_text(name, "any")) return reduction::any;
  if (same_text(name, "all")) return reduction::all;
  if (same_text(name, "logsumexp")) return reduction::logsumexp;
  return reduction::unknown;
}

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

/// Sums are kept in the accumulator's dtype; floats come back in their own, integers stay in i64.
constexpr std::int32_t emit_reduction(builder& b, reduction how, std::int32_t x, ids over) {
  if (over.empty()) return x;
  const dtype own = b.type_of(x), wide = accumulator_of(own);
  const shape full = b.shape_of(x);
  const auto sum = [&](std::int32_t v) { return b.reduce(op::sum, b.cast(v, wide), over); };
  const auto narrow = [&](std::int32_t v) { return is_floating(own) ? b.cast(v, own) : v; };
  switch (how) {
    case reduction::sum:
      return narrow(sum(x));
    case reduction::mean: {
      double n = 1;
      for (const std::int32_t a : over) n *= static_cast<double>(full[static_cast<std::size_t>(a)]);
      const std::int32_t total = sum(x);
      return narrow(b.div(total, b.constant(n, b.type_of(total), shape{b.shape_of(total)})));
    }
    case reduction::max:
      return b.reduce(op::max, x, over);
    case reduction::min:
      return b.reduce(op::min, x, over);
    case reduction::prod:
      return narrow(b.reduce(op::product, b.cast(x, wide), over));
    case reduction::any:
      return b.reduce(op::any, x, over);
    case reduction::all:
      return b.reduce(op::all, x, over);
    default: {  // logsumexp: shifted by the largest, which cancels and is not differentiated
      const std::int32_t largest = b.unary(op::stop_gradient, b.reduce(op::max, x, over));
      const std::int32_t shifted = b.sub(x, spread_back(b, largest, full, over));
      return b.add(narrow(b.unary(op::log, sum(b.unary(op::exp, shifted)))), largest);
    }
  }
}

/// A reduction by name on elements of T: the result's dtype, or the complaint.
template <fixed_string How, class T>
struct reduction_named {
  using called = fact::call<How>;
  static constexpr reduction how = reduction_of(How.view());
  static constexpr auto pick() {
    constexpr bool quantifies = how == reduction::any || how == reduction::all;
    if constexpr (how == reduction::unknown) {
      (void)sizeof(rule::unknown_reduction<fact::named<How>>);
      return failed{};
    } else if constexpr ((how == reduction::mean || how == reduction::logsumexp) &&
                         !is_floating(dtype_of<T>)) {
      (void)sizeof(rule::mean_of_integers<fact::of_type<dtype_of<T>>>);
      return failed{};
    } else if constexpr (quantifies && !std::is_same_v<T, b8>) {
      (void)sizeof(rule::quantifier_needs_b8<fact::of_type<dtype_of<T>>>);
      return failed{};
    } else if constexpr ((how == reduction::sum || how == reduction::prod) && !is_floating(dtype_of<T>)) {
      return i64{};
    } else {
      return T{};
    }
  }
  using element = decltype(pick());
  static constexpr std::int32_t emit(builder& b, std::int32_t x, ids over) {
    return emit_reduction(b, how, x, over);
  }
};

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
  if constexpr (is_failed<typename how::element>)
    return failed{};
  else
    return apply<reduce_all_op<how, sizeof...(Ds)>, typename how::element, axes<>>(x);
}

/// No name means every axis. Of Wrong there must be none: axes as PyTorch says them, by number.
template <fixed_string How, fixed_string... Names, class X, class... Wrong>
constexpr auto reduce_over(const X& x, const Wrong&...) {
  if constexpr (is_failed<X>) {
    return failed{};
  } else if constexpr (sizeof...(Wrong) != 0) {
    return refuse_axes<How, X, Wrong...>();
  } else if constexpr (sizeof...(Names) == 0 && axes_of<X>::rank > 0) {
    return reduce_all<How>(x, axes_of<X>{});
  } else {
    using named = named_axes<axes_of<X>, Names...>;
    using how = reduction_named<How, typename X::element>;
    if constexpr (!named::good) {
      named::template complain<How>();
      return failed{};
    } else if constexpr (is_failed<typename how::element>) {
      return failed{};
    } else {
      using chosen = chosen_axes<axes_of<X>, named>;
      return apply<reduce_named_op<chosen, how>, typename how::element, typename chosen::rest>(x);
    }
  }
}

}  // namespace detail

/// Over the named axes, or over all where none is named; they vanish. Numbers and types name none: those
/// overloads say so.
///
/// Rules     axes_go_in_brackets, axis_not_in_tensor, axis_named_twice, mean_of_integers, quantifier_needs_b8
/// Cost      n - 1 reduction FLOPs for each result of n elements; a mean one more; logsumexp: exp and log
/// Gradient  repeats back; max and min share among ties, as PyTorch's amax
template <fixed_string... Names, detail::ElementwiseOperand X, class... Wrong>
constexpr auto sum(const X& x, const Wrong&... wrong) {
  return detail::reduce_over<"sum", Names...>(x, wrong...);
}
template <Axis D, Axis... Ds, detail::ElementwiseOperand X>
constexpr auto sum(const X&) {
  return detail::refuse_axes<"sum", X, D, Ds...>();
}
template <fixed_string... Names, detail::ElementwiseOperand X, class... Wrong>
constexpr auto mean(const X& x, const Wrong&... wrong) {
  return detail::reduce_over<"mean", Names...>(x, wrong...);
}
template <Axis D, Axis... Ds, detail::ElementwiseOperand X>
constexpr auto mean(const X&) {
  return detail::refuse_axes<"mean", X, D, Ds...>();
}
template <fixed_string... Names, detail::ElementwiseOperand X, class... Wrong>
constexpr auto max(const X& x, const Wrong&... wrong) {
  return detail::reduce_over<"max", Names...>(x, wrong...);
}
template <Axis D, Axis... Ds, detail::ElementwiseOperand X>
constexpr auto max(const X&) {
  return detail::refuse_axes<"max", X, D, Ds...>();
}
template <fixed_string... Names, detail::ElementwiseOperand X, class... Wrong>
constexpr auto min(const X& x, const Wrong&... wrong) {
  return detail::reduce_over<"min", Names...>(x, wrong...);
}
template <Axis D, Axis... Ds, detail::ElementwiseOperand X>
constexpr auto min(const X&) {
  return detail::refuse_axes<"min", X, D, Ds...>();
}
template <fixed_string... Names, detail::ElementwiseOperand X, class... Wrong>
constexpr auto prod(const X& x, const Wrong&... wrong) {
  return detail::reduce_over<"prod", Names...>(x, wrong...);
}
template <Axis D, Axis... Ds, detail::ElementwiseOperand X>
constexpr auto prod(const X&) {
  return detail::refuse_axes<"prod", X, D, Ds...>();
}
template <fixed_string... Names, detail::ElementwiseOperand X, class... Wrong>
constexpr auto any(const X& x, const Wrong&... wrong) {
  return detail::reduce_over<"any", Names...>(x, wrong...);
}
template <Axis D, Axis... Ds, detail::ElementwiseOperand X>
constexpr auto any(const X&) {
  return detail::refuse_axes<"any", X, D, Ds...>();
}
template <fixed_string... Names, detail::ElementwiseOperand X, class... Wrong>
constexpr auto all(const X& x, const Wrong&... wrong) {
  return detail::reduce_over<"all", Names...>(x, wrong...);
}
template <Axis D, Axis... Ds, detail::ElementwiseOperand X>
constexpr auto all(const X&) {
  return detail::refuse_axes<"all", X, D, Ds...>();
}
template <fixed_string... Names, detail::ElementwiseOperand X, class... Wrong>
constexpr auto logsumexp(const X& x, const Wrong&... wrong) {
  return detail::reduce_over<"logsumexp", Names...>(x, wrong...);
}
template <Axis D, Axis... Ds, detail::ElementwiseOperand X>
constexpr auto logsumexp(const X&) {
  return detail::refuse_axes<"logsumexp", X, D, Ds...>();
}

}  // namespace napkin
