// The door: what an expression or a step costs, as constants. A backend's cost.hpp defines `lowering` for
// lazy expressions; what has a sheet of its own (a training step) shows that.
#pragma once

#include <type_traits>

#include "napkin/cost/backend.hpp"
#include "napkin/cost/flops.hpp"
#include "napkin/cost/plan_line.hpp"
#include "napkin/cost/sheet.hpp"
#include "napkin/ops/expression_graph.hpp"

namespace napkin {

/// How a lazy expression E is lowered to a backend: two constexpr functions, `sheet()` gives a cost_sheet and
/// `plan()` a plan_summary. The umbrella brings the CPU's in.
template <class E, class Backend>
struct lowering;

namespace rule {
/// type<E>
template <class... Facts>
struct type_has_no_cost {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "this type has no cost: cost, time_on, mfu and the conventions are asked of an expression's type, "
      "cost<decltype(e)>, of a gradient_of<...> or of a train_step<...>");
};
/// type<E>
template <class... Facts>
struct type_has_no_plan {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "plan_of is asked of an expression's type, plan_of<decltype(e)>, or of a gradient_of<...>; a training "
      "step has several plans, which step_report<step>() shows");
};
}  // namespace rule

namespace detail {
template <class X, bool = HasAxes<X>>
inline constexpr std::size_t element_size = 0;  // after a mistake
template <class X>
inline constexpr std::size_t element_size<X, true> = sizeof(typename std::remove_cvref_t<X>::element);
}  // namespace detail

/// Elements of a tensor, view, expression or traced value, and their bytes: at the bound where an axis is
/// sized at run time.
///
/// Rules  type_has_no_axes
template <class X>
inline constexpr std::uint64_t elements_of =
    detail::facts_asked_for<X, decltype(detail::axes_mistake<X>::raise())>::numel;
template <class X>
inline constexpr std::uint64_t bytes_of = detail::counted_product(
    detail::facts_asked_for<X, decltype(detail::axes_mistake<X>::raise())>::numel, detail::element_size<X>);

namespace detail {

/// Whether a backend lowers this: expressions, tensors, and what else says so.
template <class E>
inline constexpr bool is_lowered = is_untraced<E> || is_failed<E>;
template <class E>
concept CostsItself = requires {
  E::cost;
};

/// What can be said of a type before it is looked into, where the error would be further from the user's
/// line: train/step.hpp says it of train_step.
template <class E>
struct declared {
  using mistake = accepted;
};

template <class E>
constexpr auto find_cost_mistake() {
  using mistake = typename declared<E>::mistake;
  if constexpr (is_mistake<mistake>)
    return std::type_identity<mistake>{};
  else
    return std::type_identity<
        mistake_unless<is_lowered<E> || CostsItself<E>, rule::type_has_no_cost<fact::type<E>>>>{};
}
template <class E>
using cost_mistake_of = typename decltype(find_cost_mistake<E>())::type;
template <class E>
using plan_mistake_of = mistake_unless<is_lowered<E>, rule::type_has_no_plan<fact::type<E>>>;

// Raised is what raising the mistake gave: so that the variable itself raises it.
template <class E, class Backend, class Raised>
constexpr auto cost_asked_for() {
  if constexpr (is_mistake<typename declared<E>::mistake>)
    return declared<E>::cost;
  else if constexpr (CostsItself<E>)
    return E::cost;
  else if constexpr (TensorLike<E> || !is_lowered<E>)
    return cost_sheet{};  // is computed already, or a mistake
  else
    return lowering<E, Backend>::sheet();
}
template <class E, class Backend, class Raised>
constexpr auto plan_asked_for() {
  if constexpr (is_lowered<E>)
    return lowering<E, Backend>::plan();
  else
    return plan_summary<0>{};
}

}  // namespace detail

/// FLOPs, bytes and launches of E: `cost<decltype(s)>.flops.matmul`.
///
/// Rules  type_has_no_cost
template <class E, class Backend = cpu>
inline constexpr auto cost = detail::cost_asked_for<
    std::remove_cvref_t<E>, Backend, decltype(detail::cost_mistake_of<std::remove_cvref_t<E>>::raise())>();

/// The same of operands of the given sizes, where E's have axes that are sized at run time: one for each such
/// axis, in the order in which they come in the operands. Throws `error` above a bound.
///
/// Example  static_assert(nk::cost_at<decltype(y)>(nk::sized{4}).flops.matmul == 1024);
template <class E, class Backend = cpu, std::size_t N>
constexpr cost_sheet cost_at(const sized<N>& sizes) {
  using expression = std::remove_cvref_t<E>;
  constexpr run_time_slots slots = detail::run_time_slots_of<expression>;
  static_assert(N == slots.count, "cost_at: one size for each axis that is sized at run time");
  for (std::size_t k = 0; k < N; ++k)
    if (sizes.values[k] > slots.bounds[k]) throw error("cost_at: a size is above the axis's bound");
  return lowering<expression, Backend>::sheet_at(sizes.values.data());
}

/// How E is lowered: `plan_of<decltype(e), cpu>.launches`, bytes, workspace, peak, instructions.
///
/// Rules  type_has_no_plan
template <class E, class Backend = cpu>
inline constexpr auto plan_of = detail::plan_asked_for<
    std::remove_cvref_t<E>, Backend, decltype(detail::plan_mistake_of<std::remove_cvref_t<E>>::raise())>();

}  // namespace napkin
