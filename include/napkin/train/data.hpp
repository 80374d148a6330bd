// What a trainer, or a predictor, is handed at every call: tensors and containers, checked by the compiler
// against the inputs of the model's function, and their sizes when they are read.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "napkin/core/error.hpp"
#include "napkin/ops/reflect.hpp"
#include "napkin/tensor/tensor.hpp"
#include "napkin/tensor/type_text.hpp"
#include "napkin/train/labels.hpp"

namespace napkin {

namespace rule {
/// type<the trainer's step, or the predictor>, expected<inputs of the function>, given<n>
template <class... Facts>
struct wrong_number_of_inputs {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "trainer: one argument for each input of the model's loss, after the learning rate; predictor: "
      "one for each input of its function");
};
/// type<what stands first>
template <class... Facts>
struct rate_is_no_number {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "trainer: the learning rate stands first and is a number: step(1e-3, x, y), or with a schedule "
      "step(schedule(trainer.steps()), x, y)");
};
/// in_operand<I>, from<As...>, to<Bs...>
template <class... Facts>
struct data_has_other_axes {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "trainer, predictor: a tensor's axes differ from those of the input that it is for, by name, size "
      "or order: rearrange or rename it first");
};
/// in_operand<I>, type<what was handed>
template <class... Facts>
struct data_has_no_elements {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "trainer, predictor: what is handed for an input is a tensor, or a container of its elements; a lazy "
      "expression is computed first, nk::eval(x), and a number is for an input without axes");
};
/// in_operand<I>, type<element>, of_type<T>
template <class... Facts>
struct data_has_another_dtype {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "trainer, predictor: the data has elements of another type than the input that it is for, and "
      "none is converted unasked");
};
}  // namespace rule

namespace detail {
/// Whether elements of type E are read as elements of T: what they are, or bytes that say nothing.
template <class E, class T>
inline constexpr bool read_as = std::is_same_v<E, T> || std::is_same_v<E, std::byte> ||
                                (std::is_integral_v<E> && std::is_integral_v<T> && sizeof(E) == sizeof(T) &&
                                 std::is_signed_v<E> == std::is_signed_v<T>);

/// What is given where a learning rate stands, and is none.
template <class X>
concept NoRate = !std::is_convertible_v<X&, double>;
template <class Given>
using rate_mistake = rule::rate_is_no_number<fact::type<Given>>;

template <class Data>
concept HasElements = requires(const Data& d) {
  d.data();
};
template <class Data>
struct element_of_data {
  using type = Data;  // no container: no element of any type
};
template <HasElements Data>
struct element_of_data<Data> {
  using type = std::remove_cvref_t<decltype(*std::declval<const Data&>().data())>;
};

template <std::size_t I, class... As, class... Bs>
constexpr auto find_axes_mistake(axes<As...>, axes<Bs...>) {
  if constexpr (same_axes<axes<As...>, axes<Bs...>>)
    return std::type_identity<accepted>{};
  else
    return std::type_identity<
        rule::data_has_other_axes<fact::in_operand<I>, fact::from<As...>, fact::to<Bs...>>>{};
}
/// A number is the data of one batch for an input without axes.
template <class Input, std::size_t Batches, class Data>
inline constexpr bool is_number_for = std::is_arithmetic_v<Data>&& axes_of<Input>::rank == 0 && Batches == 1;

/// Of data for input I. Tensors of several batches behind one another have axes of their own.
template <class Input, std::size_t Batches, std::size_t I, class Data>
constexpr auto find_datum_mistake() {
  using E = typename element_of_data<Data>::type;
  if constexpr (is_failed<Data>)
    return std::type_identity<silent>{};
  else if constexpr (!HasElements<Data> && !is_number_for<Input, Batches, Data>)
    return std::type_identity<rule::data_has_no_elements<fact::in_operand<I>, fact::type<Data>>>{};
  else if constexpr (!read_as<E, typename Input::element>)
    return std::type_identity<rule::data_has_another_dtype<
        fact::in_operand<I>, fact::type<E>, fact::of_type<dtype_of<typename Input::element>>>>{};
  else if constexpr (is_tensor<Data> && Batches == 1)
    return find_axes_mistake<I>(axes_of<Data>{}, axes_of<Input>{});
  else
    return std::type_identity<accepted>{};
}
template <class Taker, class Inputs, std::size_t Batches, class... Data, std::size_t... I>
constexpr auto find_data_mistake(std::index_sequence<I...>) {
  if constexpr (sizeof...(Data) != Inputs::count)
    return std::type_identity<rule::wrong_number_of_inputs<fact::type<Taker>, fact::expected<Inputs::count>,
                                                           fact::given<sizeof...(Data)>>>{};
  else if constexpr (sizeof...(Data) == 0)
    return std::type_identity<accepted>{};
  else
    return detail::first_of(find_datum_mistake<typename Inputs::template input<I>, Batches, I, Data>()...);
}
/// What is wrong with data of these types for so many batches of Taker's Inputs (inputs_of_member).
template <class Taker, class Inputs, std::size_t Batches, class... Data>
using data_mistake = typename decltype(find_data_mistake<Taker, Inputs, Batches, Data...>(
    std::index_sequence_for<Data...>{}))::type;
template <class Step, std::size_t Batches, class... Data>
using step_data_mistake =
    data_mistake<Step, typename model_graph<typename Step::model>::inputs, Batches, Data...>;

/// A container's elements, a tensor's, or a number.
template <class Data>
std::span<const std::byte> bytes_of_data(const Data& d) {
  if constexpr (std::is_arithmetic_v<Data>)
    return std::as_bytes(std::span(&d, 1));
  else if constexpr (is_tensor<Data>)
    return std::as_bytes(std::span(d.data(), d.numel()));
  else
    return std::as_bytes(std::span(d.data(), std::size(d)));
}
template <class Inputs, std::size_t... I>
constexpr std::array<described_type, sizeof...(I)> describe_inputs(std::index_sequence<I...>) {
  return {described<typename Inputs::template input<I>>()...};
}
/// Of a function's inputs (inputs_of_member).
template <class Inputs>
inline constexpr auto described_inputs = describe_inputs<Inputs>(std::make_index_sequence<Inputs::count>{});

}  // namespace detail

}  // namespace napkin
