// Where elements lie: strides in elements, as a type, one for each axis. Sizes are the axes' own (at the
// bound where an axis is sized at run time); the offset of the first element is a run-time value of views.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "napkin/core/dim.hpp"

namespace napkin {

/// Elements from one index to the next along each axis. 0 repeats an element, a negative one runs backwards.
template <std::ptrdiff_t... Strides>
struct strides {
  static constexpr std::size_t rank = sizeof...(Strides);
  static constexpr std::array<std::ptrdiff_t, rank> values{Strides...};
};

namespace detail {

// nvcc hands the host's compiler a number of a type as the expression that it was computed from, and misspells
// that where a text is an argument of a template in it (a pattern, an axis's name); what is an argument of a
// variable it spells as a number.
template <std::ptrdiff_t Stride>
inline constexpr std::ptrdiff_t plain_stride = Stride;
/// strides<...> that a program may name by decltype.
template <std::ptrdiff_t... Strides>
using plain_strides = strides<plain_stride<Strides>...>;

template <std::size_t Rank>
constexpr std::array<std::ptrdiff_t, Rank> row_major_strides(const std::array<std::size_t, Rank>& sizes) {
  std::array<std::ptrdiff_t, Rank> result{};
  std::size_t stride = 1;
  for (std::size_t i = Rank; i-- > 0;) {
    result[i] = static_cast<std::ptrdiff_t>(stride);
    stride *= sizes[i];
  }
  return result;
}

template <class Places, class... Ds>
struct row_major_of;
template <std::size_t... I, class... Ds>
struct row_major_of<std::index_sequence<I...>, Ds...> {
  static constexpr auto values = row_major_strides(std::array<std::size_t, sizeof...(Ds)>{Ds::size...});
  using type = strides<values[I]...>;
};

template <std::size_t Rank>
constexpr bool strides_agree(const std::array<axis_info, Rank>& list,
                             const std::array<std::ptrdiff_t, Rank>& a,
                             const std::array<std::ptrdiff_t, Rank>& b) {
  if constexpr (Rank > 0)  // or nvcc warns of a comparison with zero
    for (std::size_t i = 0; i < Rank; ++i)
      if (a[i] != b[i] && list[i].size != extent{1}) return false;
  return true;
}

}  // namespace detail

/// The last axis running fastest, without gaps.
template <class... Ds>
using row_major = typename detail::row_major_of<std::make_index_sequence<sizeof...(Ds)>, Ds...>::type;

/// Row-major without gaps, whatever is said of axes of size 1.
template <class Layout, class... Ds>
inline constexpr bool is_row_major = detail::strides_agree(axis_infos<Ds...>, Layout::values,
                                                           row_major<Ds...>::values);

/// The stride of several neighbouring axes seen as one, if a single one can say it.
struct merged_stride {
  bool possible;
  std::ptrdiff_t stride;
};

/// Merge `count` axes, outermost first. An axis sized at run time leaves gaps up to its bound, so that only
/// the outermost may be one.
constexpr merged_stride merge_axes(const axis_info* list, const std::ptrdiff_t* stride, std::size_t count) {
  bool first = true;
  bool gaps = false;
  std::ptrdiff_t inner = 1;
  std::ptrdiff_t span = 1;
  for (std::size_t i = count; i-- > 0;) {
    if (list[i].size == extent{1}) continue;
    if (first) inner = stride[i];
    if (!first && (gaps || stride[i] != inner * span)) return {false, 0};
    first = false;
    gaps = list[i].size.dynamic;
    span *= static_cast<std::ptrdiff_t>(list[i].size.bound);
  }
  return {true, inner};
}

/// The whole layout merges into one axis: its elements are equally spaced.
template <class Layout, class... Ds>
inline constexpr merged_stride merged_stride_of = merge_axes(axis_infos<Ds...>.data(), Layout::values.data(),
                                                             sizeof...(Ds));

}  // namespace napkin
