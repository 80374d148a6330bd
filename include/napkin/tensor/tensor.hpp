// Tensors and views: what users hold. A tensor's elements lie row-major in storage that it shares with its
// copies and with views of it; `clone` makes new ones. Views say by strides in their type how they see a
// tensor's elements. No operation on values here, those are in ops/.
#pragma once

#include <array>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "napkin/core/dim.hpp"
#include "napkin/core/dtype.hpp"
#include "napkin/core/error.hpp"
#include "napkin/core/rules.hpp"
#include "napkin/core/shape.hpp"
#include "napkin/tensor/copy.hpp"
#include "napkin/tensor/elements.hpp"
#include "napkin/tensor/layout.hpp"
#include "napkin/tensor/lower.hpp"
#include "napkin/tensor/number.hpp"
#include "napkin/tensor/storage.hpp"

namespace napkin {

template <class T, class... Dims>
class tensor;

namespace rule {
/// axis<D> or type<what stands there>
template <class... Facts>
struct no_element_type {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise,
                                         "the element type stands first, tensor<f32, batch, hidden>, and is "
                                         "one of f64 f32 f16 bf16 f8e4m3 f8e5m2 "
                                         "c128 c64 i64 i32 i16 i8 u32 u16 u8 b8");
};
/// type<what stands there>
template <class... Facts>
struct no_axis {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "after the element type stand axes alone, types with a name and a size: struct batch : "
      "nk::dim<\"batch\", 4> {}; then tensor<f32, batch>");
};
/// from<Ds...>, type<number>
template <class... Facts>
struct number_for_a_tensor {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "a tensor of axes takes no number: full<f32, axes...>(2) is a tensor of it, fill(x, 2) writes it to "
      "every element of x, and a size known at run time is sized{2}");
};
/// from<Ds...>
template <class... Facts>
struct tensor_is_too_large {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "tensor: its sizes multiply to 2^63 bytes or more, which no memory holds");
};
/// of_type<T>, type<what was given>
template <class... Facts>
struct values_of_another_type {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise,
                                         "from_values, tensor(v): the values must lie behind one another and "
                                         "be of the tensor's own dtype, as in a "
                                         "std::vector of them");
};
/// from<Ds...> or none, type<what was given>
template <class... Facts>
struct values_without_axes {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "a std::vector or an array has no axes, and becomes a tensor only where the tensor's type is written "
      "out: nk::tensor<f32, batch> x(v), as many values as there are elements");
};
}  // namespace rule

namespace detail {
template <class T, class... Dims>
concept MakesNoTensor = !(ElementType<T> || is_failed<T>) || !(Axis<Dims> && ...);

template <class D, class... Ds>
constexpr auto find_non_axis() {
  if constexpr (!Axis<D>)
    return std::type_identity<rule::no_axis<fact::type<D>>>{};
  else
    return find_non_axis<Ds...>();
}
template <class T, class... Dims>
constexpr auto find_declaration_mistake() {
  if constexpr (Axis<T>)
    return std::type_identity<rule::no_element_type<fact::axis<T>>>{};
  else if constexpr (!ElementType<T>)
    return std::type_identity<rule::no_element_type<fact::type<T>>>{};
  else
    return find_non_axis<Dims...>();
}
template <class T, class... Dims>
using declaration_mistake = typename decltype(find_declaration_mistake<T, Dims...>())::type;
}  // namespace detail

namespace detail {

template <class X>
inline constexpr bool is_tensor_type = false;
template <class T, class... Ds>
inline constexpr bool is_tensor_type<tensor<T, Ds...>> = !is_failed<T>;
template <class X>
inline constexpr bool is_view_type = false;
template <class T, class Layout, class... Ds>
inline constexpr bool is_view_type<view<T, Layout, Ds...>> = true;

}  // namespace detail

template <class X>
inline constexpr bool is_tensor = detail::is_tensor_type<std::remove_cvref_t<X>>;
/// Nothing is computed or copied: the elements are another tensor's.
template <class X>
inline constexpr bool is_view = detail::is_view_type<std::remove_cvref_t<X>>;

template <class X>
concept TensorLike = is_tensor<X> || is_view<X>;

/// What may stand on the right of an assignment.
template <class X>
concept Assignable = TensorLike<X> || LazyExpression<X> || is_failed<X>;

namespace detail {

template <class X, bool Operand = is_operand<X>>
inline constexpr unsigned char places_of = 0;
template <class X>
inline constexpr unsigned char places_of<X, true> = X::places;

template <class X>
inline constexpr bool is_row_major_tensor = true;
template <class T, class Layout, class... Ds>
inline constexpr bool is_row_major_tensor<view<T, Layout, Ds...>> = is_row_major<Layout, Ds...>;

}  // namespace detail

/// Row-major without gaps (up to the bounds).
template <TensorLike X>
inline constexpr bool is_contiguous = detail::is_row_major_tensor<std::remove_cvref_t<X>>;

template <TensorLike From, TensorLike To>
auto copy(const From& from, const To& to);
template <TensorLike X>
void fill(const X& x, typename X::element value);

/// Asks for a tensor whose elements are whatever the memory held.
struct uninitialized_t {};
inline constexpr uninitialized_t uninitialized{};

namespace detail {

// Braces hold floats for the small floating-point types, which no number converts to unasked.
template <class T>
using listed =
    std::conditional_t<is_small_float(dtype_of<T>), float, std::conditional_t<std::same_as<T, b8>, bool, T>>;

/// Values in a row. Never an operand: whether a tensor is a range would be asked wherever one is copied.
template <class Values, class T>
concept Listing =
    !std::is_base_of_v<operand, Values> && std::is_convertible_v<const Values&, std::span<const T>>;

struct no_list {
  no_list() = delete;
};
template <class T, std::size_t Rank>
struct nested_list {
  using type = std::initializer_list<typename nested_list<T, Rank - 1>::type>;
};
template <class T>
struct nested_list<T, 1> {
  using type = std::initializer_list<T>;
};
template <class T>
struct nested_list<T, 0> {
  using type = no_list;
};

template <class From, class To>
inline constexpr bool assignable =
    std::same_as<typename From::element, typename To::element>&& same_axes<axes_of<From>, axes_of<To>>;

template <class From, class To, class... As, class... Bs>
constexpr auto find_assignment_mistake(axes<As...>, axes<Bs...>) {
  if constexpr (!same_axes<axes<As...>, axes<Bs...>>)
    return std::type_identity<rule::axes_differ<fact::from<As...>, fact::to<Bs...>>>{};
  else if constexpr (!std::same_as<typename From::element, typename To::element>)
    return std::type_identity<rule::dtypes_differ<fact::of_type<dtype_of<typename From::element>>,
                                                  fact::into_type<dtype_of<typename To::element>>>>{};
  else
    return std::type_identity<accepted>{};
}
template <class From, class To, class... As>
constexpr auto find_host_assignment_mistake(axes<As...>) {
  if constexpr (places_of<From> == on_device)
    return std::type_identity<rule::device_value_into_a_host_tensor<fact::from<As...>>>{};
  else
    return find_assignment_mistake<From, To>(axes_of<From>{}, axes_of<To>{});
}
template <std::size_t Wanted, std::size_t Given>
struct sizes_given {
  using mistake = std::conditional_t<Wanted == Given, accepted,
                                     rule::wrong_number_of_sizes<fact::expected<Wanted>, fact::given<Given>>>;
};
template <class From, class To>
struct assignment {
  using mistake = typename decltype(find_host_assignment_mistake<From, To>(axes_of<From>{}))::type;
};
template <class From, class To>
requires(is_failed<From> || !HasAxes<From>) struct assignment<From, To> {
  using mistake = accepted;
};
// Asked wherever a tensor is copied.
template <class T, class Layout, class... Ds>
struct assignment<tensor<T, Ds...>, elements<T, Layout, Ds...>> {
  using mistake = accepted;
};

template <class... Ds>
void check_sizes(const std::array<std::size_t, sizeof...(Ds)>& from,
                 const std::array<std::size_t, sizeof...(Ds)>& to, axes<Ds...>) {
  for (std::size_t i = 0; i < from.size(); ++i)
    if (from[i] != to[i])
      throw input_error("assignment: axis '" + std::string(axis_infos<Ds...>[i].name) + "' has " +
                        std::to_string(from[i]) + " elements on the right and " + std::to_string(to[i]) +
                        " on the left");
}

}  // namespace detail

/// Elements of T along named axes, row-major in shared storage. A copy shares the storage, assigning makes it
/// share another's; made from a view or an expression it has storage of its own.
///
/// Axes sized at run time: the storage is laid out for the bound; the actual sizes are the tensor's own.
template <class T, class... Dims>
class tensor : public elements<T, row_major<Dims...>, Dims...> {
  using base = elements<T, row_major<Dims...>, Dims...>;
  using checked = decltype(detail::wrong_axes<Dims...>::raise());
  static constexpr std::size_t dynamic_axes = (static_cast<std::size_t>(Dims::dynamic) + ... + 0);

 public:
  static constexpr std::size_t rank = sizeof...(Dims);

  /// Zeros; axes sized at run time have their bound.
  tensor() : tensor(uninitialized) { fill(*this, T{}); }

  explicit tensor(uninitialized_t) { allocate({Dims::size...}); }

  /// Zeros of the given run-time sizes. Throws input_error above a bound.
  template <std::size_t N,
            class Raised = raised_by_caller<typename detail::sizes_given<dynamic_axes, N>::mistake>>
  explicit tensor(const sized<N>& given, Raised = {}) {
    if constexpr (N != dynamic_axes) {
      (void)detail::sizes_given<dynamic_axes, N>::mistake::raise();
    } else {
      allocate(detail::actual_sizes<Dims...>(given));
      fill(*this, T{});
    }
  }

  /// Of these actual sizes, of all axes, each at most its bound.
  tensor(uninitialized_t, const std::array<std::size_t, rank>& actual) { allocate(actual); }
  template <std::size_t N>
  tensor(uninitialized_t, const sized<N>& given) {
    if constexpr (N != dynamic_axes)
      (void)rule::wrong_number_of_sizes<fact::expected<dynamic_axes>, fact::given<N>>::raise();
    else
      allocate(detail::actual_sizes<Dims...>(given));
  }

  /// {{1, 2, 3}, {4, 5, 6}}: sizes are checked against the axes (input_error); those known at run time only
  /// are the list's.
  tensor(typename detail::nested_list<detail::listed<T>, sizeof...(Dims)>::type list) requires(
      sizeof...(Dims) > 0) {
    std::array<std::size_t, rank> sizes{Dims::size...};
    measure<0>(list, sizes);
    allocate(sizes);
    write<0>(list, this->data_);
  }

  /// Of no axes: a scalar. The guide below deduces T: from here clang would also deduce what is no number.
  tensor(std::type_identity_t<T> value) requires(sizeof...(Dims) == 0) : tensor(uninitialized) {
    *this->data_ = value;
  }
  /// Of a number of another type. Throws `error` where T is of integers and it lies beyond them.
  template <class Number>
  requires(sizeof...(Dims) == 0 && detail::is_number<Number> && !std::same_as<Number, T>)
      tensor(const Number& value)
      : tensor(detail::element_from<T>(value)) {}

  /// As many values, in row-major order. Throws input_error if there are more or fewer.
  template <detail::Listing<T> Values, std::size_t N = 0>
  explicit tensor(const Values& listed, const sized<N>& given = {}) : tensor(uninitialized, given) {
    const std::span<const T> values(listed);
    if (values.size() != this->numel())
      throw input_error("tensor: " + std::to_string(values.size()) + " values given for " +
                        std::to_string(this->numel()) + " elements");
    std::size_t i = 0;
    for (T& each : *this) each = values[i++];
  }

  // Refused: values of another type.
  template <class Values, class Raised = raised_by_caller<
                              rule::values_of_another_type<fact::of_type<dtype_of<T>>, fact::type<Values>>>>
  requires(detail::is_container<Values> && !detail::Listing<Values, T>) explicit tensor(const Values&,
                                                                                        Raised = {}) {
    (void)rule::values_of_another_type<fact::of_type<dtype_of<T>>, fact::type<Values>>::raise();
  }

  // Refused: a number.
  template <class Number,
            class Raised =
                raised_by_caller<rule::number_for_a_tensor<fact::from<Dims...>, fact::type<Number>>>>
  requires(rank > 0 && detail::is_number<Number>) explicit tensor(const Number&, Raised = {}) {
    (void)rule::number_for_a_tensor<fact::from<Dims...>, fact::type<Number>>::raise();
  }

  /// f(i, j, k) for each element. Throws `error` where T is of integers and one lies beyond them.
  template <class F, std::size_t N = 0>
  requires(
      rank > 0 && !std::is_base_of_v<operand, F> && !is_failed<F> &&
      std::is_invocable_v<
          const F&, std::remove_cv_t<decltype(Dims::size)>...>) explicit tensor(const F& f,
                                                                                const sized<N>& given = {})
      : tensor(uninitialized, given) {
    std::array<std::size_t, rank> index{};
    for (T& each : *this) {
      each = [&]<std::size_t... I>(std::index_sequence<I...>) {
        return detail::element_from<T>(f(index[I]...));
      }
      (std::make_index_sequence<rank>{});
      for (std::size_t i = rank; i-- > 0 && ++index[i] == this->sizes()[i];) index[i] = 0;
    }
  }

  /// What lies in `shared` from element `first` on. Throws input_error if that is not all there or not
  /// aligned.
  template <std::size_t N = 0>
  explicit tensor(storage shared, std::size_t first = 0, const sized<N>& given = {}) {
    static_assert(N == dynamic_axes, "tensor: one size for each axis that is sized at run time");
    const std::size_t there = shared.bytes() / sizeof(T);
    if (first > there || there - first < total_size<Dims...>)
      throw input_error("tensor: " + std::to_string(total_size<Dims...>) + " elements from element " +
                        std::to_string(first) + " on do not lie in a storage of " + std::to_string(there));
    if (reinterpret_cast<std::uintptr_t>(shared.data()) % alignof(T) != 0)
      throw input_error("tensor: the storage is not aligned to " + std::to_string(alignof(T)) + " bytes");
    share(std::move(shared), first, detail::actual_sizes<Dims...>(given));
  }

  /// A tensor of the same axes under other types: shared. A view: copied. An expression: lowered.
  template <Assignable X, class Raised = raised_by_caller<typename detail::assignment<X, base>::mistake>>
  requires(!std::same_as<X, tensor>) tensor(const X& x, Raised = {}) {
    using mistake = typename detail::assignment<X, base>::mistake;
    if constexpr (is_failed<X>) {
    } else if constexpr (is_mistake<mistake>) {
      (void)mistake::raise();
    } else if constexpr (is_tensor<X>) {
      this->set(x.shared_storage(), x.data(), x.sizes());
    } else {
      if constexpr (base::dynamic)
        allocate(x.sizes());
      else
        allocate({Dims::size...});
      if constexpr (is_view<X>)
        copy(x, *this);
      else
        lower(x, static_cast<void*>(this->data_));
    }
  }

  /// Of the same actual sizes, with a storage of its own in which nothing is yet.
  tensor uninitialized_like() const { return tensor(uninitialized, this->sizes()); }

  template <class Values>
  requires(detail::is_container<Values>) auto operator=(const Values&) {  // refused
    return rule::values_without_axes<fact::from<Dims...>, fact::type<Values>>::raise();
  }
  template <class Number>
  requires(rank > 0 && detail::is_number<Number>) auto operator=(const Number&) {  // refused
    return rule::number_for_a_tensor<fact::from<Dims...>, fact::type<Number>>::raise();
  }

 private:
  template <TensorLike X>
  friend auto contiguous(const X& x);

  tensor(storage shared, T* first, const std::array<std::size_t, rank>& actual)
      : base(std::move(shared), first, actual) {}

  void share(storage shared, std::size_t first, const std::array<std::size_t, rank>& actual) {
    T* data = static_cast<T*>(shared.data()) + first;
    this->set(std::move(shared), data, actual);
  }
  void allocate(const std::array<std::size_t, rank>& actual) {
    constexpr std::size_t bytes = detail::checked_product(total_size<Dims...>, sizeof(T));
    share(storage(bytes), 0, actual);
  }

  template <std::size_t Level, class List>
  static void measure(const List& list, std::array<std::size_t, rank>& sizes) {
    constexpr axis_info axis = axis_infos<Dims...>[Level];
    if constexpr (axis.size.dynamic) {
      if (list.size() > axis.size.bound) detail::throw_bound(axis.name, list.size(), axis.size.bound);
      sizes[Level] = list.size();
    }
    if constexpr (Level + 1 < rank) {
      if (list.size() != 0) measure<Level + 1>(*list.begin(), sizes);
    }
  }
  template <std::size_t Level, class List>
  void write(const List& list, T* at) {
    if (list.size() != this->sizes()[Level])
      throw input_error("tensor: axis '" + std::string(axis_infos<Dims...>[Level].name) + "' has " +
                        std::to_string(this->sizes()[Level]) + " elements, the list gives " +
                        std::to_string(list.size()));
    for (const auto& entry : list) {
      if constexpr (Level + 1 == rank)
        *at = detail::element_from<T>(entry);
      else
        write<Level + 1>(entry, at);
      at += base::strides[Level];
    }
  }
};

// Refused: the first type is no dtype, or one after it no axis.
template <class T, class... Dims>
requires(detail::MakesNoTensor<T, Dims...>) class tensor<T, Dims...> : public failed {
  using refused = decltype(detail::declaration_mistake<T, Dims...>::raise());

 public:
  constexpr tensor(const auto&...) {}
};

// Refused: too large.
template <class T, class... Dims>
requires(!detail::MakesNoTensor<T, Dims...> &&
         !detail::is_countable<sizeof(T), Dims...>()) class tensor<T, Dims...> : public failed {
  using refused = decltype(rule::tensor_is_too_large<fact::from<Dims...>>::raise());

 public:
  constexpr tensor(const auto&...) {}
};

/// What a declaration without a type makes of an error.
template <>
class tensor<failed> : public failed {
 public:
  constexpr tensor(failed) {}
  template <class X>
  constexpr tensor& operator=(const X&) {
    return *this;
  }
  // Refused: of what has no axes.
  template <class Values, class Raised = raised_by_caller<rule::values_without_axes<fact::type<Values>>>>
  requires(detail::is_container<Values>) tensor(const Values&, Raised = {}) {
    (void)rule::values_without_axes<fact::type<Values>>::raise();
  }
  /// A value of a traced function is none. Asserted here: a rule would be a step further from the user.
  template <class X>
  requires(detail::is_traced_operand<X>) constexpr tensor(const X&) {
    static_assert(
        no<X>,
        "a traced function (a loss, what fn or grad are given) has no tensors, its values are not known "
        "yet: write const auto y = ...");
  }
};

template <ElementType T>
tensor(T) -> tensor<T>;
template <class T, class... Ds>
tensor(const lazy_expression<T, Ds...>&) -> tensor<T, Ds...>;
template <class T, class Layout, class... Ds>
tensor(const view<T, Layout, Ds...>&) -> tensor<T, Ds...>;
template <class Refusal>
requires(is_failed<Refusal> || detail::is_traced_operand<Refusal> || detail::is_container<Refusal>)
    tensor(Refusal)
->tensor<failed>;

/// Elements of a tensor, seen through other axes: strides in the type, the first element a run-time value.
/// Shares the storage, which lives as long. Assigning to a view writes the elements that it shows; it never
/// makes it show others. Made by operations and by make_view. swap(a, b) exchanges elements; std::swap by its
/// full name keeps a third view, whose elements it then overwrites.
template <class T, class Layout, class... Dims>
class view : public elements<T, Layout, Dims...> {
  using base = elements<T, Layout, Dims...>;
  using checked = decltype(detail::wrong_axes<Dims...>::raise());

 public:
  view(storage shared, T* first) requires(!base::dynamic) : base(std::move(shared), first) {}
  view(storage shared, T* first, const std::array<std::size_t, base::rank>& actual)
      : base(std::move(shared), first, actual) {}
  view(const view&) = default;

  view& operator=(const view& other) {
    copy(other, *this);
    return *this;
  }
  template <Assignable X>
  requires(!std::same_as<X, view>) decltype(auto) operator=(const X& x) {
    using mistake = typename detail::assignment<X, base>::mistake;
    if constexpr (is_failed<X>) {
      return failed{};
    } else if constexpr (is_mistake<mistake>) {
      return mistake::raise();
    } else {
      assign(x);
      return static_cast<view&>(*this);
    }
  }
  /// Every element.
  template <class Scalar>
  requires(std::is_arithmetic_v<Scalar> || std::same_as<Scalar, T>) view& operator=(Scalar value) {
    fill(*this, detail::element_from<T>(value));
    return *this;
  }
  friend void swap(view& a, view& b) {
    const tensor<T, Dims...> kept(a);
    copy(b, a);
    copy(kept, b);
  }

 private:
  template <class X>
  void assign(const X& x) {
    if constexpr (TensorLike<X>) {
      copy(x, *this);
    } else {
      if constexpr (is_row_major<Layout, Dims...> && !base::dynamic) {
        if (!reads_storage(x, this->storage_)) {
          lower(x, static_cast<void*>(this->data_));
          return;
        }
      }
      copy(tensor<T, Dims...>(x), *this);
    }
  }
};

/// The elements of x from `offset` (counted from x's own first element) on, through a layout and axes.
template <class Layout, class... Dims, TensorLike X>
requires(!any_dynamic<Dims...>) auto make_view(const X& x, std::ptrdiff_t offset = 0) {
  return make_view<Layout, Dims...>(x, offset, std::array<std::size_t, sizeof...(Dims)>{Dims::size...});
}
/// The same with actual sizes, of all axes.
template <class Layout, class... Dims, TensorLike X>
auto make_view(const X& x, std::ptrdiff_t offset, const std::array<std::size_t, sizeof...(Dims)>& sizes) {
  using result = view<typename X::element, Layout, Dims...>;
  [[maybe_unused]] const detail::reach r = detail::reach_of(result::strides, sizes);
  [[maybe_unused]] const auto begin = static_cast<typename X::element*>(x.shared_storage().data());
  [[maybe_unused]] const auto there =
      static_cast<std::ptrdiff_t>(x.shared_storage().bytes() / sizeof(typename X::element));
  assert(x.data() - begin + offset + r.lowest >= 0 && x.data() - begin + offset + r.highest < there);
  return result(x.shared_storage(), x.data() + offset, sizes);
}

/// All of x, as a view.
template <TensorLike X>
auto as_view(const X& x) {
  return []<class... Ds>(const X& y, axes<Ds...>) {
    return make_view<typename X::layout, Ds...>(y, 0, y.sizes());
  }(x, axes_of<X>{});
}

/// Actual sizes of the axes, outermost first.
template <TensorLike X>
constexpr auto sizes(const X& x) {
  return x.sizes();
}
/// Actual number of elements.
template <TensorLike X>
constexpr std::size_t numel(const X& x) {
  return x.numel();
}
/// Whether writing to one may show in the other.
template <TensorLike A, TensorLike B>
bool same_storage(const A& a, const B& b) {
  return a.shared_storage() == b.shared_storage() ||
         detail::addresses_of(a).overlaps(detail::addresses_of(b));
}

/// Set every element. Throws `error` where they are integers and the value lies beyond theirs.
template <TensorLike X>
void fill(const X& x, typename X::element value) {
  for (auto& each : x) each = value;
}
template <TensorLike X, class Number>
requires(detail::is_number<Number> && !std::same_as<Number, typename X::element>) void fill(const X& x,
                                                                                            Number value) {
  fill(x, detail::element_from<typename X::element>(value));
}

/// Write every element of one to the other; the axes and the dtype are the same. Right where they overlap.
/// Throws input_error where run-time sizes differ.
template <TensorLike From, TensorLike To>
auto copy(const From& from, const To& to) {
  using mistake = typename detail::assignment<From, To>::mistake;
  if constexpr (is_mistake<mistake>) {
    return mistake::raise(detail::by<From, To>);
  } else {
    if constexpr (From::dynamic) detail::check_sizes(from.sizes(), to.sizes(), axes_of<From>{});
    if (from.data() == to.data() && From::strides == To::strides) return;
    const auto write = [&to](const auto& x) {
      detail::copy_strided(to.data(), To::strides, x.data(), std::remove_cvref_t<decltype(x)>::strides,
                           to.sizes(), sizeof(typename To::element));
    };
    if (detail::addresses_of(from).overlaps(detail::addresses_of(to)))
      write(clone(from));
    else
      write(from);
  }
}

/// A tensor with storage of its own and the same elements.
template <TensorLike X>
auto clone(const X& x) {
  return []<class... Ds>(const X& y, axes<Ds...>) {
    tensor<typename X::element, Ds...> result(as_view(y));
    return result;
  }(x, axes_of<X>{});
}

// Of what is not computed yet: refused.
template <LazyExpression X>
auto clone(const X&) {
  return rule::not_computed_yet<axes_of<X>, fact::call<"clone">>::raise(detail::by<X>);
}
template <LazyExpression X>
auto contiguous(const X&) {
  return rule::not_computed_yet<axes_of<X>, fact::call<"contiguous">>::raise(detail::by<X>);
}
template <LazyExpression X>
auto as_view(const X&) {
  return rule::not_computed_yet<axes_of<X>, fact::call<"as_view">>::raise(detail::by<X>);
}
template <class X>
requires(is_failed<X>) constexpr void fill(const X&, const auto&) {}
template <LazyExpression X>
auto fill(const X&, const auto&) {
  return rule::not_computed_yet<axes_of<X>, fact::call<"fill">>::raise(detail::by<X>);
}
template <LazyExpression From, TensorLike To>
auto copy(const From&, const To&) {
  return rule::not_computed_yet<axes_of<From>, fact::call<"copy">>::raise(detail::by<From, To>);
}

/// x as a tensor: shared if x lies row-major already, else copied.
template <TensorLike X>
auto contiguous(const X& x) {
  return []<class... Ds>(const X& y, axes<Ds...>) {
    using result = tensor<typename X::element, Ds...>;
    if constexpr (is_contiguous<X>)
      return result(y.shared_storage(), y.data(), y.sizes());
    else
      return result(y);
  }(x, axes_of<X>{});
}

}  // namespace napkin
