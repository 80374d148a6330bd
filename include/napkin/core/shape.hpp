// What there is to ask of anything with axes: tensors, views, lazy expressions, traced values. A type has
// axes when it says so: `using axes_type = axes<...>`.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include "napkin/core/dim.hpp"

namespace napkin {

template <class X>
using axes_of = typename std::remove_cvref_t<X>::axes_type;

template <class X>
concept HasAxes = requires {
  typename axes_of<X>;
};

namespace detail {

template <class Axes>
struct facts_of_axes;
template <class... Ds>
struct facts_of_axes<axes<Ds...>> {
  static constexpr std::array<std::size_t, sizeof...(Ds)> shape{Ds::size...};
  static constexpr std::array<std::string_view, sizeof...(Ds)> names{Ds::name.view()...};
  static constexpr std::size_t numel = total_size<Ds...>;
  static constexpr bool dynamic = any_dynamic<Ds...>;
};

}  // namespace detail

/// The sizes of the axes, outermost first; the bound where an axis is sized at run time (`sizes(x)` has the
/// actual ones).
template <HasAxes X>
inline constexpr auto shape_of = detail::facts_of_axes<axes_of<X>>::shape;

/// The names of the axes, outermost first; "" for the nameless.
template <HasAxes X>
inline constexpr auto names_of = detail::facts_of_axes<axes_of<X>>::names;

template <HasAxes X>
inline constexpr std::size_t rank_of = axes_of<X>::rank;

/// Some axis is sized at run time.
template <HasAxes X>
inline constexpr bool has_dynamic_axis = detail::facts_of_axes<axes_of<X>>::dynamic;

}  // namespace napkin
