// How a column's sum comes of the parts that a fused kernel's teams leave (cuda/fused.hpp). Compiled for the
// host as well, where tests join them.
#pragma once

#include <cstddef>

#include "napkin/cuda/device_function.hpp"
#include "napkin/passes/fusion.hpp"
#include "napkin/plan/scalar.hpp"

namespace napkin::on_cuda {

using namespace planning;

/// How the teams' sums of a column are joined: slice i of `column_slices` takes teams i, i + column_slices,
/// ... in order; then the slices are joined by halves.
inline constexpr unsigned column_slices = 32;
template <op Kind, dtype Type>
NAPKIN_DEVICE register_type<Type> join_slice(const std::byte* partials, std::size_t per_team,
                                             std::size_t teams, std::size_t column, unsigned slice) {
  register_type<Type> sum = identity_of<Kind, Type>();
  NAPKIN_UNROLL_8 for (std::size_t t = slice; t < teams; t += column_slices) sum = combined<Kind, Type>(
      sum, reinterpret_cast<const register_type<Type>*>(partials + t * per_team)[column]);
  return sum;
}
/// What is stored of a column's joined sum.
template <dtype Type>
NAPKIN_DEVICE type_of<Type> joined(register_type<Type> sum, [[maybe_unused]] const type_of<Type>* added,
                                   [[maybe_unused]] std::size_t column) {
  if constexpr (passes::can_add_to_column(Type))
    if (added != nullptr) sum = evaluate<op::add, Type>(sum, added[column]);
  return stored<Type>(rounded<Type>(sum));
}

}  // namespace napkin::on_cuda
