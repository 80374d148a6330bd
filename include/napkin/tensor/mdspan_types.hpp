// std::mdspan's types, the standard library's where it has them (C++23) and else the part of them that a view
// of a tensor needs: the same members, so that code written for one compiles with the other. No slices of
// views and no accessors; elements are read as v(i, j) or v[std::array{i, j}], and v[i, j] where the language
// has it. Source: ISO C++23, [views.multidim]
#pragma once

#include <version>

#ifdef __cpp_lib_mdspan

#include <mdspan>
namespace napkin::md {
using std::dynamic_extent;
using std::extents;
using std::layout_right;
using std::mdspan;
}  // namespace napkin::md

#else

#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

namespace napkin::md {

using std::dynamic_extent;

/// Sizes; dynamic_extent: known at run time.
template <class Index, std::size_t... Sizes>
class extents {
 public:
  using index_type = Index;
  using size_type = std::make_unsigned_t<Index>;
  using rank_type = std::size_t;

  static constexpr rank_type rank() noexcept { return sizeof...(Sizes); }
  static constexpr rank_type rank_dynamic() noexcept {
    return (static_cast<rank_type>(Sizes == dynamic_extent) + ... + 0);
  }
  static constexpr std::size_t static_extent(rank_type r) noexcept { return fixed[r]; }
  constexpr index_type extent(rank_type r) const noexcept { return sizes_[r]; }

  constexpr extents() {
    for (std::size_t r = 0; r < rank(); ++r)
      sizes_[r] = fixed[r] == dynamic_extent ? Index{0} : static_cast<Index>(fixed[r]);
  }
  /// Those of all axes.
  template <class Other, std::size_t N>
  requires(std::convertible_to<const Other&, Index>&& N ==
           sizeof...(Sizes)) constexpr explicit(rank_dynamic() != N)
      extents(const std::array<Other, N>& all) {
    for (std::size_t r = 0; r < rank(); ++r) sizes_[r] = static_cast<Index>(all[r]);
  }

  template <class Other, std::size_t... Others>
  friend constexpr bool operator==(const extents& a, const extents<Other, Others...>& b) noexcept {
    if (sizeof...(Sizes) != sizeof...(Others)) return false;
    for (std::size_t r = 0; r < rank(); ++r)
      if (!std::cmp_equal(a.extent(r), b.extent(r))) return false;
    return true;
  }

 private:
  static constexpr std::array<std::size_t, sizeof...(Sizes)> fixed{Sizes...};
  std::array<Index, sizeof...(Sizes)> sizes_{};
};

/// The last index running fastest, without gaps.
struct layout_right {
  template <class Extents>
  class mapping {
   public:
    using extents_type = Extents;
    using index_type = typename Extents::index_type;
    using size_type = typename Extents::size_type;
    using rank_type = typename Extents::rank_type;
    using layout_type = layout_right;

    constexpr mapping() noexcept = default;
    constexpr mapping(const Extents& sizes) noexcept : sizes_(sizes) {}
    constexpr const Extents& extents() const noexcept { return sizes_; }
    constexpr index_type required_span_size() const noexcept { return product(0); }
    constexpr index_type stride(rank_type r) const noexcept { return product(r + 1); }
    template <class... Indices>
    requires(sizeof...(Indices) == Extents::rank()) constexpr index_type operator()(
        Indices... indices) const noexcept {
      index_type at = 0;
      [[maybe_unused]] rank_type r = 0;
      ((at = at * sizes_.extent(r++) + static_cast<index_type>(indices)), ...);
      return at;
    }
    static constexpr bool is_always_unique() noexcept { return true; }
    static constexpr bool is_always_exhaustive() noexcept { return true; }
    static constexpr bool is_always_strided() noexcept { return true; }
    static constexpr bool is_unique() noexcept { return true; }
    static constexpr bool is_exhaustive() noexcept { return true; }
    static constexpr bool is_strided() noexcept { return true; }
    friend constexpr bool operator==(const mapping& a, const mapping& b) noexcept {
      return a.sizes_ == b.sizes_;
    }

   private:
    constexpr index_type product(rank_type from) const noexcept {
      index_type n = 1;
      for (rank_type r = from; r < Extents::rank(); ++r) n *= sizes_.extent(r);
      return n;
    }
    Extents sizes_{};
  };
};

/// Elements that someone else keeps, reached by indices.
template <class T, class Extents, class Layout = layout_right>
class mdspan {
 public:
  using extents_type = Extents;
  using layout_type = Layout;
  using mapping_type = typename Layout::template mapping<Extents>;
  using element_type = T;
  using value_type = std::remove_cv_t<T>;
  using index_type = typename Extents::index_type;
  using size_type = typename Extents::size_type;
  using rank_type = typename Extents::rank_type;
  using data_handle_type = T*;
  using reference = T&;

  constexpr mdspan(T* first, const mapping_type& mapping) : first_(first), mapping_(mapping) {}
  /// Elements that are not const become const.
  template <class Other>
  requires(!std::same_as<Other, T> && std::is_convertible_v<Other (*)[], T (*)[]>) constexpr mdspan(
      const mdspan<Other, Extents, Layout>& other)
      : first_(other.data_handle()), mapping_(other.mapping()) {}

  static constexpr rank_type rank() noexcept { return Extents::rank(); }
  static constexpr rank_type rank_dynamic() noexcept { return Extents::rank_dynamic(); }
  static constexpr std::size_t static_extent(rank_type r) noexcept { return Extents::static_extent(r); }
  constexpr index_type extent(rank_type r) const noexcept { return extents().extent(r); }
  constexpr const Extents& extents() const noexcept { return mapping_.extents(); }
  constexpr const mapping_type& mapping() const noexcept { return mapping_; }
  constexpr index_type stride(rank_type r) const { return mapping_.stride(r); }
  constexpr T* data_handle() const noexcept { return first_; }
  constexpr size_type size() const noexcept {
    size_type n = 1;
    for (rank_type r = 0; r < rank(); ++r) n *= static_cast<size_type>(extent(r));
    return n;
  }
  constexpr bool empty() const noexcept { return size() == 0; }
  constexpr bool is_unique() const { return mapping_.is_unique(); }
  constexpr bool is_exhaustive() const { return mapping_.is_exhaustive(); }
  constexpr bool is_strided() const { return mapping_.is_strided(); }

  template <std::convertible_to<index_type>... Indices>
  requires(sizeof...(Indices) == Extents::rank()) constexpr T& operator()(Indices... indices) const {
    return first_[mapping_(static_cast<index_type>(indices)...)];
  }
#ifdef __cpp_multidimensional_subscript
  template <std::convertible_to<index_type>... Indices>
  requires(sizeof...(Indices) == Extents::rank()) constexpr T& operator[](Indices... indices) const {
    return first_[mapping_(static_cast<index_type>(indices)...)];
  }
#endif
  template <class Index>
  constexpr T& operator[](const std::array<Index, Extents::rank()>& indices) const {
    return [&]<std::size_t... R>(std::index_sequence<R...>)->T& { return (*this)(indices[R]...); }
    (std::make_index_sequence<Extents::rank()>{});
  }

 private:
  T* first_;
  mapping_type mapping_;
};

}  // namespace napkin::md

#endif
