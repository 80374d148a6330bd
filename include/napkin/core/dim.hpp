// What an axis is: a name and an extent, carried by a type. Plain, primed, composed and nameless axes, and
// what there is to ask of a list of them. Axes compare by name and extent, never by the C++ type.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>

#include "napkin/core/fixed_string.hpp"

namespace napkin {

/// Axes of a tensor, at most.
inline constexpr std::size_t max_rank = 12;

/// How long an axis is: exactly `bound` elements, or, if dynamic, at most so many, known at run time. Any
/// integer converts to it, so that 4 and 4ul are one template argument.
struct extent {
  std::size_t bound;
  bool dynamic;

  template <std::integral Integer>
  requires(!std::same_as<Integer, bool>) constexpr extent(Integer n)
      : bound(static_cast<std::size_t>(n)), dynamic(false) {
    if constexpr (std::signed_integral<Integer>)  // dim says it in the compiler
      if (n < 0 && !std::is_constant_evaluated())
        throw std::out_of_range("napkin: an axis cannot have a negative size");
  }
  constexpr extent(std::size_t n, bool is_dynamic) : bound(n), dynamic(is_dynamic) {}

  constexpr bool operator==(const extent&) const = default;
};

/// The extent of an axis that is sized at run time: at most N.
template <std::size_t N>
inline constexpr extent up_to{N, true};

/// A list of axes, outermost first.
template <class... Ds>
struct axes {
  static constexpr std::size_t rank = sizeof...(Ds);
};

// Of core/rules.hpp, which needs what is here.
namespace fact {
template <fixed_string Name>
struct named;
}  // namespace fact
namespace rule {
template <class... Facts>
struct size_is_negative;
}  // namespace rule

namespace detail {

// A negative one is a large one by now.
constexpr bool is_axis_size(std::size_t n) { return n <= static_cast<std::size_t>(-1) / 2; }
struct sound_axis {
  static constexpr void raise() {}
};

// Names are identifiers; primes may follow. Bytes above 127 pass, so that names may be in any script.
constexpr bool is_axis_name(std::string_view name) {
  while (!name.empty() && name.back() == '\'') name.remove_suffix(1);
  if (name.empty() || (name.front() >= '0' && name.front() <= '9')) return false;
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool digit = c >= '0' && c <= '9';
    const bool ascii = static_cast<unsigned char>(c) < 128;
    if (ascii && !letter && !digit && c != '_') return false;
  }
  return true;
}

// Cheaper in constant evaluation than std::string_view's own comparison.
constexpr bool same_text(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i]) return false;
  return true;
}

// a * b, or an error in constant evaluation (an exception at run time) where that overflows.
constexpr std::size_t checked_product(std::size_t a, std::size_t b) {
  if (b != 0 && a > static_cast<std::size_t>(-1) / b)
    throw std::overflow_error("napkin: the product of these sizes does not fit 64 bits");
  return a * b;
}

/// Whether elements of so many bytes along these axes can be counted, one behind the other.
template <std::size_t Bytes, class... Ds>
constexpr bool is_countable() {
  std::size_t left = static_cast<std::size_t>(-1) / 2 / Bytes;
  bool empty = false;
  ((Ds::size == 0 ? void(empty = true) : void(left /= Ds::size)), ...);
  return empty || left != 0;
}

template <class... Ds>
constexpr std::size_t product_of_sizes() {
  std::size_t n = 1;
  ((n = checked_product(n, Ds::size)), ...);
  return n;
}

// Writes "(heads hidden)" and returns its length; a nameless factor is written as its size. Only counts
// where out is null.
template <class... Ds>
constexpr std::size_t compose_name(char* out) {
  std::size_t length = 0;
  const auto put = [&](char c) {
    if (out != nullptr) out[length] = c;
    ++length;
  };
  [[maybe_unused]] const auto factor = [&](std::string_view name, std::size_t size) {
    if (length != 1) put(' ');
    for (const char c : name) put(c);
    if (!name.empty()) return;
    std::size_t power = 1;
    while (size / power >= 10) power *= 10;
    for (; power != 0; power /= 10) put(static_cast<char>('0' + size / power % 10));
  };
  put('(');
  (factor(Ds::name.view(), Ds::size), ...);
  put(')');
  return length;
}

template <class... Ds>
constexpr auto composed_name() {
  fixed_string<compose_name<Ds...>(nullptr) + 1> name;
  compose_name<Ds...>(name.text);
  return name;
}

}  // namespace detail

/// An axis called Name. Made to be derived from, `struct seq : napkin::dim<"seq", 128> {};`, or used as it
/// is.
template <fixed_string Name, extent Size>
struct dim {
  static_assert(detail::is_axis_name(Name.view()),
                "dim: the name of an axis is letters, digits and underscores, and begins with no digit");
  static constexpr auto name = Name;
  /// Elements; the bound if dynamic.
  static constexpr std::size_t size = detail::is_axis_size(Size.bound) ? Size.bound : 1;
  static constexpr bool dynamic = Size.dynamic;
  using checked = decltype(std::conditional_t<detail::is_axis_size(Size.bound), detail::sound_axis,
                                              rule::size_is_negative<fact::named<Name>>>::raise());
  /// What the axis was composed of; nothing, if it was not.
  using factors = axes<>;
};

namespace detail {

template <fixed_string Name, std::size_t Size>
constexpr auto find_spelled_dim() {
  return std::type_identity<dim<Name, extent{Size}>>{};
}
/// dim<Name, Size>, as `spelled` is (core/fixed_string.hpp).
template <fixed_string Name, std::size_t Size>
using spelled_dim = typename decltype(find_spelled_dim<Name, Size>())::type;

}  // namespace detail

template <class D>
concept Axis = requires {
  typename D::factors;
  { D::name.view() } -> std::same_as<std::string_view>;
  { D::size } -> std::same_as<const std::size_t&>;
  { D::dynamic } -> std::same_as<const bool&>;
};

/// Axes made into one, the last running fastest; named "(heads hidden)".
template <class... Ds>
struct product {
  static constexpr auto name = detail::composed_name<Ds...>();
  static constexpr std::size_t size = detail::product_of_sizes<Ds...>();
  static constexpr bool dynamic = (Ds::dynamic || ...);
  using factors = axes<Ds...>;
};

/// A composed axis that has been given a name, and equals a plain axis of that name and size.
template <fixed_string Name, class... Ds>
struct product_as : product<Ds...> {
  static_assert(detail::is_axis_name(Name.view()),
                "as: the name of an axis is letters, digits and underscores, and begins with no digit");
  static constexpr auto name = Name;
};

/// An axis without a name, written `1`, `()` or as a number in patterns; it matches by position only.
template <extent Size>
requires(detail::is_axis_size(Size.bound)) struct unnamed {
  static constexpr auto name = fixed_string("");
  static constexpr std::size_t size = Size.bound;
  static constexpr bool dynamic = Size.dynamic;
  using factors = axes<>;
};

template <class D>
struct primed;

namespace detail {

template <class Factors>
struct primed_factors;
template <class... Ds>
struct primed_factors<axes<Ds...>> {
  using type = axes<primed<Ds>...>;
  static constexpr auto composed() { return composed_name<primed<Ds>...>(); }
};

// (heads hidden) becomes (heads' hidden'), which is what composing the primed factors gives too.
template <class D>
constexpr auto primed_name() {
  if constexpr (D::name.size() != 0 && D::name.text[0] == '(')
    return primed_factors<typename D::factors>::composed();
  else if constexpr (D::name.size() == 0)
    return D::name;
  else
    return D::name + fixed_string("'");
}

}  // namespace detail

/// The second copy of an axis in one tensor; written seq' in patterns.
template <class D>
struct primed {
  static constexpr auto name = detail::primed_name<D>();
  static constexpr std::size_t size = D::size;
  static constexpr bool dynamic = D::dynamic;
  using factors = typename detail::primed_factors<typename D::factors>::type;
};

/// An axis as a value, so that questions about many axes are loops over arrays, not instantiations.
struct axis_info {
  std::string_view name;
  extent size;
  const axis_info* factors;
  std::size_t factor_count;
};

/// Whether two axes are one and the same: by name and extent, and where the name is composed, those of the
/// factors.
constexpr bool same_axis_info(const axis_info& a, const axis_info& b) {
  if (a.size != b.size || !detail::same_text(a.name, b.name)) return false;
  if (a.name.empty() || a.name.front() != '(') return true;
  if (a.factor_count != b.factor_count) return false;
  for (std::size_t i = 0; i < a.factor_count; ++i)
    if (!same_axis_info(a.factors[i], b.factors[i])) return false;
  return true;
}

namespace detail {

template <class Factors>
struct factor_infos;

}  // namespace detail

template <class D>
inline constexpr axis_info axis_info_of{D::name.view(), extent{D::size, D::dynamic},
                                        detail::factor_infos<typename D::factors>::data(), D::factors::rank};

/// The axes of a list as values, in order.
template <class... Ds>
inline constexpr std::array<axis_info, sizeof...(Ds)> axis_infos{axis_info_of<Ds>...};
template <class... Ds>
constexpr std::span<const axis_info> axis_infos_of(axes<Ds...>) {
  return axis_infos<Ds...>;
}

namespace detail {

template <class... Ds>
struct factor_infos<axes<Ds...>> {
  static constexpr const axis_info* data() {
    if constexpr (sizeof...(Ds) == 0)
      return nullptr;
    else
      return axis_infos<Ds...>.data();
  }
};

template <std::size_t N>
constexpr int find_axis(const std::array<axis_info, N>& list, std::string_view name) {
  for (std::size_t i = 0; i != N; ++i)
    if (same_text(list[i].name, name)) return static_cast<int>(i);
  return -1;
}

// The first axis that is sized at run time; N where there is none.
template <std::size_t N>
constexpr std::size_t first_dynamic(const std::array<axis_info, N>& list) {
  std::size_t i = 0;
  while (i != N && !list[i].size.dynamic) ++i;
  return i;
}

struct axis_pair {
  std::size_t first, second;
};

// The first two axes that bear one name; N and N where there are none.
template <std::size_t N>
constexpr axis_pair repeated_name(const std::array<axis_info, N>& list) {
  for (std::size_t i = 0; i != N; ++i)
    for (std::size_t j = i + 1; j != N; ++j)
      if (!list[i].name.empty() && same_text(list[i].name, list[j].name)) return {i, j};
  return {N, N};
}

}  // namespace detail

template <class A, class B>
inline constexpr bool same_axis = same_axis_info(axis_info_of<A>, axis_info_of<B>);
template <class A>
inline constexpr bool same_axis<A, A> = true;

/// The same axes in the same order. Pass `axes<...>` twice.
template <class A, class B>
inline constexpr bool same_axes = false;
template <class... As, class... Bs>
requires(sizeof...(As) ==
         sizeof...(Bs)) inline constexpr bool same_axes<axes<As...>, axes<Bs...>> = (same_axis<As, Bs> &&
                                                                                     ...);

/// The position of the axis called Name, or -1.
template <fixed_string Name, class... Ds>
inline constexpr int axis_index = detail::find_axis(axis_infos<Ds...>, Name.view());

/// The number of elements of a tensor with these axes, dynamic ones at their bound; 1 for none.
template <class... Ds>
inline constexpr std::size_t total_size = detail::product_of_sizes<Ds...>();

/// No two axes bear one name; nameless ones may repeat.
template <class... Ds>
inline constexpr bool all_names_distinct = detail::repeated_name(axis_infos<Ds...>).first == sizeof...(Ds);

template <class... Ds>
inline constexpr bool any_dynamic = (Ds::dynamic || ...);

namespace detail {

// The I-th type of a pack: lists of axes and of operands are short.
template <std::size_t I, class... Ts>
struct nth_type;
template <class A, class... Ts>
struct nth_type<0, A, Ts...> {
  using type = A;
};
template <class A, class B, class... Ts>
struct nth_type<1, A, B, Ts...> {
  using type = B;
};
template <class A, class B, class C, class... Ts>
struct nth_type<2, A, B, C, Ts...> {
  using type = C;
};
template <std::size_t I, class A, class B, class C, class... Ts>
requires(I > 2) struct nth_type<I, A, B, C, Ts...> : nth_type<I - 3, Ts...> {
};

}  // namespace detail

/// The I-th axis of a list.
template <std::size_t I, class... Ds>
using axis_at = typename detail::nth_type<I, Ds...>::type;

}  // namespace napkin
