// Tensors as text: the type as a person writes it, and the values as numpy prints them, abbreviated where
// there are many. For people; .npy and safetensors keep values.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <iosfwd>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "napkin/core/dtype.hpp"
#include "napkin/core/shape.hpp"
#include "napkin/tensor/tensor.hpp"
#include "napkin/tensor/type_text.hpp"

namespace napkin {

namespace detail {

/// Tensors of more elements are abbreviated to three at each end of each axis, as numpy does.
inline constexpr std::size_t print_threshold = 1000;
inline constexpr std::size_t print_edge = 3;

// Brackets, commas and line breaks around entries of one width. An axis of more than six is cut in its middle.
struct print_layout {
  const std::size_t* sizes;
  std::size_t rank;
  bool abbreviated;
  std::size_t width;

  bool cut(std::size_t axis) const { return abbreviated && sizes[axis] > 2 * print_edge; }
  bool hidden(std::size_t axis, std::size_t i) const {
    return cut(axis) && i >= print_edge && i + print_edge < sizes[axis];
  }
};

// In src/tensor/print.cpp: every program includes this header, and few print.

std::string float_text(double value);
std::string complex_text(double real, double imaginary);
/// `entries`: those that are printed, in order.
std::string values_text(const print_layout& layout, const std::vector<std::string>& entries);

template <class T>
std::string element_text(const T& value) {
  if constexpr (is_complex(dtype_of<T>)) {
    return complex_text(static_cast<double>(value.real), static_cast<double>(value.imag));
  } else if constexpr (std::same_as<T, b8>) {
    return value ? "true" : "false";
  } else if constexpr (is_floating(dtype_of<T>)) {
    return float_text(static_cast<double>(value));
  } else {
    return std::to_string(value);
  }
}

}  // namespace detail

/// "f32[batch 4, seq 128]"; "seq <=128" of an axis that is sized at run time; a view says so.
template <HasAxes X>
std::string type_text() {
  using plain = std::remove_cvref_t<X>;
  std::string text = detail::text_of_type(detail::described<plain>());
  if constexpr (is_view<X>) text += " view";
  return text;
}
template <class X>
requires(is_failed<X>) std::string type_text() { return {}; }

/// The values, in nested brackets.
template <TensorLike X>
std::string values_text(const X& x) {
  constexpr std::size_t rank = X::rank;
  const auto actual = x.sizes();
  detail::print_layout layout{actual.data(), rank, x.numel() > detail::print_threshold, 0};
  std::vector<std::string> entries;
  std::array<std::size_t, rank> index{};
  const std::size_t count = x.numel();
  if (count != 0) {
    for (bool more = true; more;) {
      std::ptrdiff_t offset = 0;
      for (std::size_t i = rank; i-- > 0;) offset += static_cast<std::ptrdiff_t>(index[i]) * X::strides[i];
      entries.push_back(detail::element_text(x.data()[offset]));
      if (entries.back().size() > layout.width) layout.width = entries.back().size();
      more = false;
      for (std::size_t i = rank; i-- > 0;) {
        ++index[i];
        if (layout.hidden(i, index[i])) index[i] = actual[i] - detail::print_edge;
        if (index[i] < actual[i]) {
          more = true;
          break;
        }
        index[i] = 0;
      }
    }
  }
  return detail::values_text(layout, entries);
}

/// The type on the first line, the values below. A template of the stream, so that including this costs no
/// <ostream>.
template <class Char, class Traits, TensorLike X>
std::basic_ostream<Char, Traits>& operator<<(std::basic_ostream<Char, Traits>& out, const X& x) {
  const std::string text = type_text<X>() + '\n' + values_text(x);
  return out.write(text.data(), static_cast<std::ptrdiff_t>(text.size()));
}
template <class Char, class Traits, LazyExpression X>
auto operator<<(std::basic_ostream<Char, Traits>&, const X&) {
  return rule::not_computed_yet<axes_of<X>>::raise(detail::by<X>);
}

}  // namespace napkin
