// The door: what an expression or a step costs, as constants. A backend's cost.hpp defines `lowering` for
// lazy expressions; what has a sheet of its own (a training step) shows that.
#pragma once

#include <type_traits>

#include "napkin/cost/backend.hpp"
#include "napkin/cost/flops.hpp"
#include "napkin/cost/plan_line.hpp"
#include "napkin/cost/sheet.hpp"
#include "napkin/ops/expression.hpp"

namespace napkin {

/// How a lazy expression E is lowered to a backend: two constexpr functions, `sheet()` gives a cost_sheet and
/// `plan()` a plan_summary. The umbrella brings the CPU's in.
template <class E, class Backend>
struct lowering;

/// Elements of a tensor, view, expression or traced value, and their bytes: at the bound where an axis is
/// sized at run time.
template <HasAxes X>
inline constexpr std::uint64_t elements_of = detail::facts_of_axes<axes_of<X>>::numel;
template <HasAxes X>
inline constexpr std::uint64_t bytes_of =
    detail::counted_product(elements_of<X>, sizeof(typename std::remove_cvref_t<X>::element));

namespace detail {
template <class E, class Backend>
constexpr auto cost_of_type() {
  if constexpr (requires { E::cost; })
    return E::cost;
  else if constexpr (TensorLike<E>)
    return cost_sheet{};  // is computed already
  else
    return lowering<E, Backend>::sheet();
}
}  // namespace detail

/// FLOPs, bytes and launches of E: `cost<decltype(s)>.flops.matmul`.
template <class E, class Backend = cpu>
inline constexpr auto cost = detail::cost_of_type<std::remove_cvref_t<E>, Backend>();

/// How E is lowered: `plan_of<decltype(e), cpu>.launches`, bytes, workspace, peak, instructions.
template <class E, class Backend = cpu>
inline constexpr auto plan_of = lowering<std::remove_cvref_t<E>, Backend>::plan();

}  // namespace napkin
