// What there is to ask of anything with axes: tensors, views, lazy expressions, traced values. A type has
// axes when it says so: `using axes_type = axes<...>`.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include "napkin/core/rules.hpp"

namespace napkin {

namespace rule {
/// type<X>
template <class... Facts>
struct type_has_no_axes {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "this type has no axes: shape_of, names_of, bytes_of and the like are asked of the type of a tensor "
      "or an expression, shape_of<decltype(x)>");
};
}  // namespace rule

template <class X>
using axes_of = typename std::remove_cvref_t<X>::axes_type;
/// Of a tensor's or an expression's type: float, bf16, std::int32_t and the like.
template <class X>
using element_of = typename std::remove_cvref_t<X>::element;

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

template <class X, bool = HasAxes<X>>
struct axes_if_any {  // none after a mistake
  using type = axes<>;
};
template <class X>
struct axes_if_any<X, true> {
  using type = axes_of<X>;
};
template <class X>
using axes_mistake = mistake_unless<HasAxes<X> || is_failed<X>, rule::type_has_no_axes<fact::type<X>>>;
/// Raised is what raising the mistake gave: so that the variable itself raises it.
template <class X, class Raised>
using facts_asked_for = facts_of_axes<typename axes_if_any<X>::type>;

}  // namespace detail

/// The sizes of the axes, outermost first; the bound where an axis is sized at run time (`sizes(x)` has the
/// actual ones).
///
/// Rules  type_has_no_axes
template <class X>
inline constexpr auto shape_of =
    detail::facts_asked_for<X, decltype(detail::axes_mistake<X>::raise())>::shape;

/// The names of the axes, outermost first; "" for the nameless.
template <class X>
inline constexpr auto names_of =
    detail::facts_asked_for<X, decltype(detail::axes_mistake<X>::raise())>::names;

template <class X>
inline constexpr std::size_t rank_of =
    detail::facts_asked_for<X, decltype(detail::axes_mistake<X>::raise())>::shape.size();

/// Some axis is sized at run time.
template <class X>
inline constexpr bool has_dynamic_axis =
    detail::facts_asked_for<X, decltype(detail::axes_mistake<X>::raise())>::dynamic;

}  // namespace napkin
