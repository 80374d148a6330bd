// Tensors from nothing: constants, ranges, random numbers. Axes sized at run time take their sizes from a
// trailing sized{...}, and have their bound without one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "napkin/core/error.hpp"
#include "napkin/core/random.hpp"
#include "napkin/tensor/tensor.hpp"

namespace napkin {

namespace rule {
/// given<sizes>...
template <class... Facts>
struct axes_have_names {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "axes have names, and sizes go with them: struct batch : nk::dim<\"batch\", 4> {}; then "
      "zeros<f32, batch>(), full<f32, batch>(1), randn<f32, batch>(seed{1})");
};
/// type<the tensor>
template <class... Facts>
struct full_needs_a_value {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "full: it takes the value that every element has: full<f32, batch>(1); zeros and ones take none");
};
/// type<what was given>
template <class... Facts>
struct random_needs_a_seed {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "random numbers are a function of a seed: randn<f32, batch>(nk::seed{1})");
};
/// call<"f">, of_type<T>
template <class... Facts>
struct distribution_of_floats {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "randn, rand: these distributions are of floating-point numbers; randint draws integers");
};
/// type<the tensor>
template <class... Facts>
struct integers_need_a_bound {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "randint: it draws from 0 to below a bound: randint<i32, batch>(nk::seed{1}, 10)");
};
/// of_type<T>
template <class... Facts>
struct integers_of_floats {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "randint: it draws integers; rand and randn draw floating-point numbers");
};
}  // namespace rule

/// What random numbers are a function of: equal seeds, equal numbers.
struct seed {
  std::uint64_t value;
  constexpr bool operator==(const seed&) const = default;
};

namespace detail {

// Bounds of the run-time axes, where no sizes are given.
template <Axis... Ds>
constexpr auto bounds() {
  sized<(static_cast<std::size_t>(Ds::dynamic) + ... + 0)> all{};
  [[maybe_unused]] std::size_t i = 0;
  ((Ds::dynamic ? void(all.values[i++] = Ds::size) : void()), ...);
  return all;
}
template <Axis... Ds>
using bounds_of = decltype(bounds<Ds...>());

// Element i is make(i), i counted in row-major order at the bounds, so that an element is the same whatever
// the actual sizes are.
template <class T, class... Ds, class Make>
tensor<T, Ds...> make_each(const bounds_of<Ds...>& given, const Make& make) {
  tensor<T, Ds...> result(uninitialized, given);
  if constexpr (result.dense) {
    T* const data = result.data();
    const std::size_t n = result.numel();
    for (std::size_t i = 0; i < n; ++i) data[i] = make(i);
  } else {
    for (T& element : result) element = make(static_cast<std::size_t>(&element - result.data()));
  }
  return result;
}

}  // namespace detail

/// Not initialised: to be written before it is read.
template <ElementType T, Axis... Ds>
tensor<T, Ds...> empty(const detail::bounds_of<Ds...>& given = detail::bounds<Ds...>()) {
  return tensor<T, Ds...>(uninitialized, given);
}

/// Every element `value`, which is converted as by static_cast. Throws `error` where T is of integers and it
/// lies beyond them.
template <ElementType T, Axis... Ds>
tensor<T, Ds...> full(auto value, const detail::bounds_of<Ds...>& given = detail::bounds<Ds...>()) {
  tensor<T, Ds...> result(uninitialized, given);
  fill(result, detail::element_from<T>(value));
  return result;
}

template <ElementType T, Axis... Ds>
tensor<T, Ds...> zeros(const detail::bounds_of<Ds...>& given = detail::bounds<Ds...>()) {
  return full<T, Ds...>(0, given);
}

template <ElementType T, Axis... Ds>
tensor<T, Ds...> ones(const detail::bounds_of<Ds...>& given = detail::bounds<Ds...>()) {
  return full<T, Ds...>(1, given);
}

/// start, start + step, start + 2 step, ...; over several axes, in row-major order. Each element is computed
/// from its place, in T (small floats in f32), so that no error adds up. Throws `error` where an integer type
/// ends before the axes do.
template <ElementType T, Axis... Ds>
requires(sizeof...(Ds) >
         0) tensor<T, Ds...> arange(accumulator_type<T> start = 0, accumulator_type<T> step = 1,
                                    const detail::bounds_of<Ds...>& given = detail::bounds<Ds...>()) {
  return detail::make_each<T, Ds...>(given, [=](std::size_t i) {
    return detail::element_from<T>(start + static_cast<accumulator_type<T>>(i) * step);
  });
}

/// Standard normal. Element i is a pure function of the seed and i; f64 has 53 random bits, others are drawn
/// as f32 and rounded.
/// Source  core/random.hpp: Philox4x32-10, Box and Muller; the stream is called "randn".
template <ElementType T, Axis... Ds>
requires(is_floating(dtype_of<T>)) tensor<T, Ds...> randn(
    seed s, const detail::bounds_of<Ds...>& given = detail::bounds<Ds...>()) {
  using drawn = std::conditional_t<std::same_as<T, f64>, double, float>;
  const random_stream stream = stream_of(s.value, "randn");
  return detail::make_each<T, Ds...>(given,
                                     [=](std::size_t i) { return static_cast<T>(normal<drawn>(stream, i)); });
}

/// Uniform on [0, 1), otherwise as randn; in the small floats rounding may give 1. The stream is "rand".
template <ElementType T, Axis... Ds>
requires(is_floating(dtype_of<T>)) tensor<T, Ds...> rand(
    seed s, const detail::bounds_of<Ds...>& given = detail::bounds<Ds...>()) {
  using drawn = std::conditional_t<std::same_as<T, f64>, double, float>;
  const random_stream stream = stream_of(s.value, "rand");
  return detail::make_each<T, Ds...>(
      given, [=](std::size_t i) { return static_cast<T>(uniform<drawn>(stream, i)); });
}

/// Integers uniform on [0, bound). Throws `error` where the bound is below 1 or above 2^32 - 1, or T does not
/// hold all below it. The stream is "randint".
template <ElementType T, Axis... Ds>
requires(is_integer(dtype_of<T>)) tensor<T, Ds...> randint(
    seed s, std::int64_t bound, const detail::bounds_of<Ds...>& given = detail::bounds<Ds...>()) {
  constexpr std::int64_t drawn = 0xffff'ffff, largest = std::numeric_limits<T>::max();
  constexpr std::int64_t most = largest < drawn ? largest + 1 : drawn;
  if (bound < 1 || bound > most)
    throw error("randint: a bound of " + std::to_string(bound) + ", where integers of " +
                std::string(name_of(dtype_of<T>)) + " take one from 1 to " + std::to_string(most));
  const random_stream stream = stream_of(s.value, "randint");
  return detail::make_each<T, Ds...>(given, [=](std::size_t i) {
    return static_cast<T>(integer(stream, i, static_cast<std::uint32_t>(bound)));
  });
}

/// These values, in row-major order. Throws input_error if there are more or fewer than elements.
template <ElementType T, Axis... Ds>
tensor<T, Ds...> from_values(std::span<const T> values,
                             const detail::bounds_of<Ds...>& given = detail::bounds<Ds...>()) {
  return tensor<T, Ds...>(values, given);
}

// Refused: sizes without names, no value, no seed or a number in its place, a distribution that the dtype has not.

template <class T, std::size_t Size, std::size_t... Sizes>
auto empty(const auto&...) {
  return rule::axes_have_names<fact::type<T>, fact::given<Size>, fact::given<Sizes>...>::raise();
}
template <std::integral... Sizes>
requires(sizeof...(Sizes) > 0) auto empty(Sizes...) {
  return rule::axes_have_names<fact::type<Sizes>...>::raise();
}
template <ElementType T, std::integral... Sizes>
requires(sizeof...(Sizes) > 0 && !std::integral<T>) auto empty(Sizes...) {
  return rule::axes_have_names<fact::type<T>, fact::type<Sizes>...>::raise();
}
template <class T, std::size_t Size, std::size_t... Sizes>
auto zeros(const auto&...) {
  return rule::axes_have_names<fact::type<T>, fact::given<Size>, fact::given<Sizes>...>::raise();
}
template <std::integral... Sizes>
requires(sizeof...(Sizes) > 0) auto zeros(Sizes...) {
  return rule::axes_have_names<fact::type<Sizes>...>::raise();
}
template <ElementType T, std::integral... Sizes>
requires(sizeof...(Sizes) > 0 && !std::integral<T>) auto zeros(Sizes...) {
  return rule::axes_have_names<fact::type<T>, fact::type<Sizes>...>::raise();
}
template <class T, std::size_t Size, std::size_t... Sizes>
auto ones(const auto&...) {
  return rule::axes_have_names<fact::type<T>, fact::given<Size>, fact::given<Sizes>...>::raise();
}
template <std::integral... Sizes>
requires(sizeof...(Sizes) > 0) auto ones(Sizes...) {
  return rule::axes_have_names<fact::type<Sizes>...>::raise();
}
template <ElementType T, std::integral... Sizes>
requires(sizeof...(Sizes) > 0 && !std::integral<T>) auto ones(Sizes...) {
  return rule::axes_have_names<fact::type<T>, fact::type<Sizes>...>::raise();
}
template <ElementType T, Axis... Ds, std::integral... Sizes>
requires(sizeof...(Sizes) > 0) auto randn(seed, Sizes...) {
  return rule::axes_have_names<fact::type<T>, fact::type<Sizes>...>::raise();
}
template <class T, std::size_t Size, std::size_t... Sizes>
auto randn(const auto&...) {
  return rule::axes_have_names<fact::type<T>, fact::given<Size>, fact::given<Sizes>...>::raise();
}
template <std::integral... Sizes>
requires(sizeof...(Sizes) > 0) auto randn(Sizes...) {
  return rule::axes_have_names<fact::type<Sizes>...>::raise();
}
template <ElementType T, Axis... Ds, std::integral... Sizes>
requires(sizeof...(Sizes) > 0) auto rand(seed, Sizes...) {
  return rule::axes_have_names<fact::type<T>, fact::type<Sizes>...>::raise();
}
template <class T, std::size_t Size, std::size_t... Sizes>
auto rand(const auto&...) {
  return rule::axes_have_names<fact::type<T>, fact::given<Size>, fact::given<Sizes>...>::raise();
}
template <std::integral... Sizes>
requires(sizeof...(Sizes) > 0) auto rand(Sizes...) {
  return rule::axes_have_names<fact::type<Sizes>...>::raise();
}
template <ElementType T, Axis... Ds, std::integral... Sizes>
requires(sizeof...(Sizes) > 0) auto full(const auto&, Sizes...) {
  return rule::axes_have_names<fact::type<T>, fact::type<Sizes>...>::raise();
}
template <ElementType T, Axis... Ds>
auto full() {
  return rule::full_needs_a_value<fact::type<tensor<T, Ds...>>>::raise();
}
template <class T, std::size_t Size, std::size_t... Sizes>
auto full(const auto&...) {
  return rule::axes_have_names<fact::type<T>, fact::given<Size>, fact::given<Sizes>...>::raise();
}
template <class T, std::size_t Size, std::size_t... Sizes>
auto randint(const auto&...) {
  return rule::axes_have_names<fact::type<T>, fact::given<Size>, fact::given<Sizes>...>::raise();
}
template <ElementType T, class... Ends>
auto arange(Ends...) {
  return rule::axes_have_names<fact::type<T>, fact::type<Ends>...>::raise();
}
template <class T, std::size_t Size, std::size_t... Sizes>
auto arange(const auto&...) {
  return rule::axes_have_names<fact::type<T>, fact::given<Size>, fact::given<Sizes>...>::raise();
}
template <class T, std::size_t Size, std::size_t... Sizes>
auto from_values(const auto&...) {
  return rule::axes_have_names<fact::type<T>, fact::given<Size>, fact::given<Sizes>...>::raise();
}
template <ElementType T, Axis... Ds, std::integral... Wrong>
requires(sizeof...(Wrong) <= 1) auto randn(Wrong...) {
  return rule::random_needs_a_seed<fact::type<tensor<T, Ds...>>, fact::type<Wrong>...>::raise();
}
template <ElementType T, Axis... Ds>
requires(!is_floating(dtype_of<T>)) auto randn(seed, const detail::bounds_of<Ds...>& = {}) {
  return rule::distribution_of_floats<fact::call<"randn">, fact::of_type<dtype_of<T>>>::raise();
}
template <ElementType T, Axis... Ds, std::integral... Wrong>
requires(sizeof...(Wrong) <= 1) auto rand(Wrong...) {
  return rule::random_needs_a_seed<fact::type<tensor<T, Ds...>>, fact::type<Wrong>...>::raise();
}
template <ElementType T, Axis... Ds>
requires(!is_floating(dtype_of<T>)) auto rand(seed, const detail::bounds_of<Ds...>& = {}) {
  return rule::distribution_of_floats<fact::call<"rand">, fact::of_type<dtype_of<T>>>::raise();
}
template <ElementType T, Axis... Ds, std::integral Wrong>
auto randint(Wrong, std::integral auto) {
  return rule::random_needs_a_seed<fact::type<tensor<T, Ds...>>, fact::type<Wrong>>::raise();
}
template <ElementType T, Axis... Ds>
auto randint(seed) {
  return rule::integers_need_a_bound<fact::type<tensor<T, Ds...>>>::raise();
}
template <ElementType T, Axis... Ds>
requires(!is_integer(dtype_of<T>)) auto randint(seed, std::integral auto,
                                                const detail::bounds_of<Ds...>& = {}) {
  return rule::integers_of_floats<fact::of_type<dtype_of<T>>>::raise();
}
template <ElementType T, Axis... Ds, class Values>
requires(!std::is_convertible_v<const Values&, std::span<const T>>) auto from_values(const Values&) {
  return rule::values_of_another_type<fact::of_type<dtype_of<T>>, fact::type<Values>>::raise();
}

// Refused: the first type is no dtype, or one after it no axis.

template <class T, class... Ds>
requires(detail::MakesNoTensor<T, Ds...>) auto empty(const auto&...) {
  return detail::declaration_mistake<T, Ds...>::raise();
}
template <class T, class... Ds>
requires(detail::MakesNoTensor<T, Ds...>) auto full(const auto&...) {
  return detail::declaration_mistake<T, Ds...>::raise();
}
template <class T, class... Ds>
requires(detail::MakesNoTensor<T, Ds...>) auto zeros(const auto&...) {
  return detail::declaration_mistake<T, Ds...>::raise();
}
template <class T, class... Ds>
requires(detail::MakesNoTensor<T, Ds...>) auto ones(const auto&...) {
  return detail::declaration_mistake<T, Ds...>::raise();
}
template <class T, class... Ds>
requires(detail::MakesNoTensor<T, Ds...>) auto arange(const auto&...) {
  return detail::declaration_mistake<T, Ds...>::raise();
}
template <class T, class... Ds>
requires(detail::MakesNoTensor<T, Ds...>) auto randn(const auto&...) {
  return detail::declaration_mistake<T, Ds...>::raise();
}
template <class T, class... Ds>
requires(detail::MakesNoTensor<T, Ds...>) auto rand(const auto&...) {
  return detail::declaration_mistake<T, Ds...>::raise();
}
template <class T, class... Ds>
requires(detail::MakesNoTensor<T, Ds...>) auto randint(const auto&...) {
  return detail::declaration_mistake<T, Ds...>::raise();
}
template <class T, class... Ds>
requires(detail::MakesNoTensor<T, Ds...>) auto from_values(const auto&...) {
  return detail::declaration_mistake<T, Ds...>::raise();
}

}  // namespace napkin
