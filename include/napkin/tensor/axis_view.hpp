// Axes as the pattern language sees them: the bridge from types to pattern/, which knows no types.
#pragma once

#include <array>
#include <cstddef>

#include "napkin/core/dim.hpp"
#include "napkin/core/shape.hpp"
#include "napkin/pattern/letters.hpp"
#include "napkin/pattern/meaning.hpp"

namespace napkin {

namespace detail {

constexpr pattern::axis_view to_axis_view(const axis_info& axis) {
  pattern::axis_view result{axis.name, axis.size.bound, {}, false};
  result.plain = !axis.name.empty() && pattern::detail::is_plain_name(axis.name.data(), axis.name.size());
  for (std::size_t i = 0; i < axis.factor_count; ++i)
    result.factors.push_back({axis.factors[i].name, axis.factors[i].size.bound});
  return result;
}

template <std::size_t Rank>
constexpr auto to_axis_views(const std::array<axis_info, Rank>& list) {
  std::array<pattern::axis_view, Rank> result{};
  for (std::size_t i = 0; i != Rank; ++i) result[i] = to_axis_view(list[i]);
  return result;
}

template <class Axes>
struct axis_views;
template <class... Ds>
struct axis_views<axes<Ds...>> {
  static constexpr auto value = to_axis_views(axis_infos<Ds...>);
};

}  // namespace detail

/// One axis.
template <class D>
inline constexpr pattern::axis_view axis_view_of = detail::to_axis_view(axis_info_of<D>);

/// All axes of a tensor, a lazy expression or a traced value: a std::array, which converts to operand_view.
template <HasAxes X>
inline constexpr const auto& axis_views_of = detail::axis_views<axes_of<X>>::value;

}  // namespace napkin
