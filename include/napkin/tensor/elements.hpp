// What tensors and views have in common: elements in shared storage, reached by indices. A handle: copying
// one copies no element, and a const one gives writable elements, as std::span does.
#pragma once

#include <array>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "napkin/core/dim.hpp"
#include "napkin/core/dtype.hpp"
#include "napkin/core/error.hpp"
#include "napkin/core/rules.hpp"
#include "napkin/core/shape.hpp"
#include "napkin/tensor/copy.hpp"
#include "napkin/tensor/layout.hpp"
#include "napkin/tensor/lower.hpp"
#include "napkin/tensor/storage.hpp"

namespace napkin {

template <class T, class Layout, class... Dims>
class view;

/// The actual sizes of the axes that are sized at run time, in order: `sized{3, 17}`.
template <std::size_t N>
struct sized {
  std::array<std::size_t, N> values;
};
template <class... Sizes>
sized(Sizes...) -> sized<sizeof...(Sizes)>;

namespace detail {

[[noreturn]] inline void throw_index(std::string_view axis, const std::string& index, std::size_t size) {
  throw input_error("at: index " + index + " of axis '" + std::string(axis) + "' is not below its size, " +
                    std::to_string(size));
}

[[noreturn]] inline void throw_bound(std::string_view axis, std::size_t size, std::size_t bound) {
  throw input_error("tensor: axis '" + std::string(axis) + "' has at most " + std::to_string(bound) +
                    " elements, not " + std::to_string(size));
}

// Sizes of all axes from those of the dynamic ones; each is checked against its bound.
template <class... Ds, std::size_t N>
std::array<std::size_t, sizeof...(Ds)> actual_sizes(const sized<N>& given) {
  std::array<std::size_t, sizeof...(Ds)> all{Ds::size...};
  std::size_t next = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!axis_infos<Ds...>[i].size.dynamic) continue;
    if (given.values[next] > all[i]) throw_bound(axis_infos<Ds...>[i].name, given.values[next], all[i]);
    all[i] = given.values[next++];
  }
  return all;
}

template <std::size_t Rank>
constexpr std::size_t count(const std::array<std::size_t, Rank>& sizes) {
  std::size_t n = 1;
  for (const std::size_t size : sizes) n *= size;
  return n;
}

// Sizes of one tensor: stored only where the type does not know them. A base, not overloads with constraints:
// g++ 12 calls those ambiguous in a class that a rule has refused.
template <bool Dynamic, class... Ds>
class kept_sizes {
 public:
  /// Actual sizes, outermost first.
  static constexpr const std::array<std::size_t, sizeof...(Ds)>& sizes() { return values_; }
  /// Actual number of elements.
  static constexpr std::size_t numel() { return total_size<Ds...>; }

  constexpr kept_sizes() = default;
  constexpr explicit kept_sizes(const std::array<std::size_t, sizeof...(Ds)>&) {}

 private:
  static constexpr std::array<std::size_t, sizeof...(Ds)> values_{Ds::size...};
};
template <class... Ds>
class kept_sizes<true, Ds...> {
 public:
  const std::array<std::size_t, sizeof...(Ds)>& sizes() const { return values_; }
  std::size_t numel() const { return count(values_); }

  constexpr kept_sizes() = default;
  constexpr explicit kept_sizes(const std::array<std::size_t, sizeof...(Ds)>& given) : values_(given) {}

 private:
  std::array<std::size_t, sizeof...(Ds)> values_{Ds::size...};
};

// Walks the elements of any layout in row-major order of their indices.
template <class T, std::size_t Rank>
class element_iterator {
 public:
  using value_type = T;  // what more there is to say std::iterator_traits finds
  using difference_type = std::ptrdiff_t;

  element_iterator() = default;
  element_iterator(T* first, const std::array<std::ptrdiff_t, Rank>& strides,
                   const std::array<std::size_t, Rank>& sizes, std::size_t position)
      : at_(first), strides_(strides), sizes_(sizes), position_(position) {}

  T& operator*() const { return *at_; }
  T* operator->() const { return at_; }
  element_iterator& operator++() {
    ++position_;
    for (std::size_t i = Rank; i-- > 0;) {
      at_ += strides_[i];
      if (++index_[i] != sizes_[i]) break;
      at_ -= strides_[i] * static_cast<std::ptrdiff_t>(sizes_[i]);
      index_[i] = 0;
    }
    return *this;
  }
  element_iterator operator++(int) {
    element_iterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const element_iterator& a, const element_iterator& b) {
    return a.position_ == b.position_;
  }

 private:
  T* at_ = nullptr;
  std::array<std::ptrdiff_t, Rank> strides_{};
  std::array<std::size_t, Rank> sizes_{}, index_{};
  std::size_t position_ = 0;
};

// Strides and axes without the first: what x[i] has.
template <class T, class Layout, class... Ds>
struct without_first;
template <class T, std::ptrdiff_t S, std::ptrdiff_t... Ss, class D, class... Ds>
struct without_first<T, strides<S, Ss...>, D, Ds...> {
  using type = view<T, strides<Ss...>, Ds...>;
};

template <class... Ds>
constexpr auto find_wrong_axes() {
  if constexpr (sizeof...(Ds) > max_rank) {
    return std::type_identity<
        rule::too_many_axes<fact::expected<max_rank>, fact::given<sizeof...(Ds)>, fact::among<Ds...>>>{};
  } else if constexpr (!all_names_distinct<Ds...>) {
    constexpr axis_pair twice = repeated_name(axis_infos<Ds...>);
    return std::type_identity<rule::two_axes_of_one_name<fact::axis<axis_at<twice.first, Ds...>>,
                                                         fact::and_axis<axis_at<twice.second, Ds...>>>>{};
  } else {
    return std::type_identity<accepted>{};
  }
}
// tensor and view raise it.
template <class... Ds>
using wrong_axes = typename decltype(find_wrong_axes<Ds...>())::type;

}  // namespace detail

/// The base of tensor and view. Made by these two only.
template <class T, class Layout, class... Dims>
class elements : public operand, public detail::kept_sizes<any_dynamic<Dims...>, Dims...> {
  using kept = detail::kept_sizes<any_dynamic<Dims...>, Dims...>;

 public:
  using element = T;
  using layout = Layout;
  using axes_type = axes<Dims...>;
  static constexpr unsigned char places = detail::on_host;
  static constexpr std::size_t rank = sizeof...(Dims);
  /// At the bound, where an axis is sized at run time.
  static constexpr std::array<std::size_t, rank> shape{Dims::size...};
  /// In elements.
  static constexpr std::array<std::ptrdiff_t, rank> strides = Layout::values;
  static constexpr bool dynamic = any_dynamic<Dims...>;
  /// Elements follow each other without gaps, in order, so that data() is an array of numel() elements. An
  /// axis sized at run time leaves gaps unless it is the outermost.
  static constexpr bool dense = is_row_major<Layout, Dims...> && merged_stride_of<Layout, Dims...>.possible;

  /// The first element.
  T* data() const { return data_; }
  const storage& shared_storage() const { return storage_; }

  using kept::numel;
  using kept::sizes;

  /// x(i, j, k): an element. Indices are checked by assert only.
  template <class... Index>
  decltype(auto) operator()(Index... index) const {
    if constexpr (sizeof...(Index) != rank) {
      return rule::wrong_number_of_indices<fact::expected<rank>, fact::given<sizeof...(Index)>>::raise();
    } else if constexpr (!(std::is_integral_v<Index> && ...)) {
      return rule::index_is_no_integer<fact::type<Index>...>::raise();
    } else {
      return data_[offset<false>(index...)];
    }
  }

  /// x.at(i, j, k): the same, throwing input_error for an index outside its axis.
  template <class... Index>
  decltype(auto) at(Index... index) const {
    if constexpr (sizeof...(Index) != rank) {
      return rule::wrong_number_of_indices<fact::expected<rank>, fact::given<sizeof...(Index)>>::raise();
    } else if constexpr (!(std::is_integral_v<Index> && ...)) {
      return rule::index_is_no_integer<fact::type<Index>...>::raise();
    } else {
      return data_[offset<true>(index...)];
    }
  }

  /// x[i]: a view of what has index i on the first axis; the element itself where there is one axis.
  template <class Index>
  decltype(auto) operator[](Index index) const {
    if constexpr (rank == 0) {
      return rule::wrong_number_of_indices<fact::expected<rank>, fact::given<1>>::raise();
    } else if constexpr (!std::is_integral_v<Index>) {
      return rule::index_is_no_integer<fact::type<Index>>::raise();
    } else if constexpr (rank == 1) {
      return (*this)(index);
    } else {
      using rest = typename detail::without_first<T, Layout, Dims...>::type;
      assert(std::cmp_less_equal(0, index) && std::cmp_less(index, sizes()[0]));
      T* first = data_ + static_cast<std::ptrdiff_t>(index) * strides[0];
      if constexpr (!rest::dynamic) {
        return rest(storage_, first);
      } else {
        std::array<std::size_t, rank - 1> rest_sizes{};
        for (std::size_t i = 1; i < rank; ++i) rest_sizes[i - 1] = sizes()[i];
        return rest(storage_, first, rest_sizes);
      }
    }
  }

  /// The elements in row-major order of their indices.
  auto begin() const {
    if constexpr (dense)
      return data_;
    else
      return detail::element_iterator<T, rank>(data_, strides, sizes(), 0);
  }
  auto end() const {
    if constexpr (dense)
      return data_ + numel();
    else
      return detail::element_iterator<T, rank>(data_, strides, sizes(), numel());
  }

  /// Of no axes: its one element.
  operator T() const requires(rank == 0) { return *data_; }
  /// `if (nk::eval(nk::all(x > 0)))`: b8 becomes bool when it is asked to.
  template <std::same_as<bool> Bool>
  operator Bool() const requires(rank == 0 && std::is_same_v<T, b8>) {
    return static_cast<bool>(*data_);
  }

 protected:
  elements() = default;
  elements(storage shared, T* first) : storage_(std::move(shared)), data_(first) {}
  elements(storage shared, T* first, const std::array<std::size_t, rank>& actual) {
    set(std::move(shared), first, actual);
  }

  void set(storage shared, T* first, const std::array<std::size_t, rank>& actual) {
    storage_ = std::move(shared);
    data_ = first;
    static_cast<kept&>(*this) = kept(actual);
  }

  storage storage_;
  T* data_ = nullptr;

 private:
  template <bool Checked, class... Index>
  std::ptrdiff_t offset(Index... index) const {
    std::ptrdiff_t sum = 0;
    std::size_t axis = 0;
    [[maybe_unused]] const auto add = [&](auto i) {
      const bool inside = !std::cmp_less(i, 0) && std::cmp_less(i, sizes()[axis]);
      if constexpr (Checked) {
        if (!inside) detail::throw_index(axis_infos<Dims...>[axis].name, std::to_string(i), sizes()[axis]);
      }
      assert(inside);
      (void)inside;
      sum += static_cast<std::ptrdiff_t>(i) * strides[axis];
      ++axis;
    };
    (add(index), ...);
    return sum;
  }
};

}  // namespace napkin
