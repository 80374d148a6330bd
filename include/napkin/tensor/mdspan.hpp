// Tensors and views seen as std::mdspan, for functions that take one and know no names.
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>

#include "napkin/tensor/copy.hpp"
#include "napkin/tensor/mdspan_types.hpp"
#include "napkin/tensor/tensor.hpp"

namespace napkin {

/// A layout of std::mdspan whose strides are constants: any view's. A negative one counts from the end, so
/// that the first element of memory has offset 0.
template <std::ptrdiff_t... Strides>
struct layout_of_strides {
  template <class Extents>
  class mapping {
   public:
    using extents_type = Extents;
    using index_type = typename Extents::index_type;
    using size_type = typename Extents::size_type;
    using rank_type = typename Extents::rank_type;
    using layout_type = layout_of_strides;
    static_assert(Extents::rank() == sizeof...(Strides));

    constexpr mapping() noexcept = default;
    constexpr mapping(const Extents& sizes) noexcept : sizes_(sizes) {}

    constexpr const Extents& extents() const noexcept { return sizes_; }
    constexpr index_type stride(rank_type r) const noexcept { return static_cast<index_type>(values[r]); }
    template <class... Indices>
    requires(sizeof...(Indices) == sizeof...(Strides)) constexpr index_type operator()(
        Indices... indices) const noexcept {
      return static_cast<index_type>(-all().lowest +
                                     ((static_cast<std::ptrdiff_t>(indices) * Strides) + ... + 0));
    }
    constexpr index_type required_span_size() const noexcept {
      const detail::reach r = all();
      return static_cast<index_type>(r.highest - r.lowest + 1);
    }

    static constexpr bool is_always_unique() noexcept { return false; }
    static constexpr bool is_always_exhaustive() noexcept { return false; }
    static constexpr bool is_always_strided() noexcept { return true; }
    static constexpr bool is_strided() noexcept { return true; }
    /// Every axis steps over all that the axes of smaller strides reach.
    constexpr bool is_unique() const noexcept {
      for (std::size_t i = 0; i < sizeof...(Strides); ++i) {
        if (sizes_.extent(i) <= 1) continue;
        std::ptrdiff_t inner = 0;
        for (std::size_t k = 0; k < sizeof...(Strides); ++k) {
          if (k == i || sizes_.extent(k) <= 1 || distance(k) > distance(i)) continue;
          inner += distance(k) * (static_cast<std::ptrdiff_t>(sizes_.extent(k)) - 1);
        }
        if (inner >= distance(i)) return false;
      }
      return true;
    }
    constexpr bool is_exhaustive() const noexcept {
      std::ptrdiff_t count = 1;
      for (std::size_t i = 0; i < sizeof...(Strides); ++i)
        count *= static_cast<std::ptrdiff_t>(sizes_.extent(i));
      return is_unique() && static_cast<std::ptrdiff_t>(required_span_size()) == count;
    }
    friend constexpr bool operator==(const mapping& a, const mapping& b) noexcept {
      return a.sizes_ == b.sizes_;
    }

   private:
    static constexpr std::array<std::ptrdiff_t, sizeof...(Strides)> values{Strides...};
    static constexpr std::ptrdiff_t distance(std::size_t i) { return values[i] < 0 ? -values[i] : values[i]; }
    constexpr detail::reach all() const noexcept {
      std::array<std::size_t, sizeof...(Strides)> sizes{};
      for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] = static_cast<std::size_t>(sizes_.extent(i));
      return detail::reach_of(values, sizes);
    }
    Extents sizes_{};
  };
};

namespace detail {

template <class X>
struct mdspan_of;
template <class T, std::ptrdiff_t... Strides, class... Ds>
struct mdspan_of<elements<T, strides<Strides...>, Ds...>> {
  static constexpr bool backwards = ((Strides < 0) || ...);
  using extents = md::extents<std::conditional_t<backwards, std::ptrdiff_t, std::size_t>,
                              (Ds::dynamic ? md::dynamic_extent : Ds::size)...>;
  using layout = std::conditional_t<elements<T, strides<Strides...>, Ds...>::dense, md::layout_right,
                                    layout_of_strides<Strides...>>;
  using type = md::mdspan<T, extents, layout>;
};
template <class T, class Layout, class... Ds>
mdspan_of<elements<T, Layout, Ds...>> find_mdspan(const elements<T, Layout, Ds...>&);

}  // namespace detail

/// The type that as_mdspan gives.
template <TensorLike X>
using mdspan_of = typename decltype(detail::find_mdspan(std::declval<const X&>()))::type;

/// The elements of a tensor or a view as a std::mdspan (where the standard library has none, as md::mdspan,
/// which has its members): sizes that the type knows are static extents, and so are the strides. layout_right
/// where the elements lie without gaps. Valid as long as the storage is; nothing is copied, and writing
/// writes.
///
/// Rules    not_computed_yet
/// Example  const auto m = nk::as_mdspan(x);  m(2, 3) = 1;
template <TensorLike X>
auto as_mdspan(const X& x) {
  using result = mdspan_of<X>;
  using extents = typename result::extents_type;
  const detail::reach r = detail::reach_of(X::strides, x.sizes());
  std::array<typename extents::index_type, X::rank> sizes{};
  for (std::size_t i = 0; i < X::rank; ++i)
    sizes[i] = static_cast<typename extents::index_type>(x.sizes()[i]);
  return result(x.data() + r.lowest, typename result::mapping_type(extents(sizes)));
}
template <LazyExpression X>
auto as_mdspan(const X&) {
  return rule::not_computed_yet<axes_of<X>, fact::call<"as_mdspan">>::raise(detail::by<X>);
}

}  // namespace napkin
