// Tensors as text: the type as a person writes it, and the values as numpy prints them, abbreviated where
// there are many. For people; .npy and safetensors keep values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdio>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "napkin/core/dtype.hpp"
#include "napkin/core/shape.hpp"
#include "napkin/tensor/tensor.hpp"

namespace napkin {

namespace detail {

/// Tensors of more elements are abbreviated to three at each end of each axis, as numpy does.
inline constexpr std::size_t print_threshold = 1000;
inline constexpr std::size_t print_edge = 3;

inline std::string axis_text(const axis_info& axis) {
  std::string text(axis.name);
  if (!text.empty()) text += ' ';
  if (axis.size.dynamic) text += "<=";
  return text + std::to_string(axis.size.bound);
}

template <class... Ds>
std::string axes_text(axes<Ds...>) {
  std::string text;
  for (const axis_info& axis : axis_infos<Ds...>) {
    if (!text.empty()) text += ", ";
    text += axis_text(axis);
  }
  return text;
}

inline std::string float_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  std::string result = text;
  if (result.find_first_of(".eni") == std::string::npos) result += '.';  // 3. is a float, as numpy writes it
  return result;
}

template <class T>
std::string element_text(const T& value) {
  if constexpr (is_complex(dtype_of<T>)) {
    const std::string imaginary = float_text(static_cast<double>(value.imag));
    return float_text(static_cast<double>(value.real)) + (imaginary.front() == '-' ? "" : "+") + imaginary +
           'i';
  } else if constexpr (std::same_as<T, b8>) {
    return value ? "true" : "false";
  } else if constexpr (is_floating(dtype_of<T>)) {
    return float_text(static_cast<double>(value));
  } else {
    return std::to_string(value);
  }
}

// Brackets, commas and line breaks around entries of one width. `entries` holds those that are printed, in
// order; an axis longer than `shown` is cut in its middle.
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

inline void write_values(std::string& out, const print_layout& layout,
                         const std::vector<std::string>& entries, std::size_t& next, std::size_t axis) {
  if (axis == layout.rank) {
    const std::string& entry = entries[next++];
    out.append(layout.width - entry.size(), ' ').append(entry);
    return;
  }
  const bool innermost = axis + 1 == layout.rank;
  std::string separator = innermost ? ", " : ",";
  if (!innermost) separator.append(layout.rank - 1 - axis, '\n').append(axis + 1, ' ');
  out += '[';
  for (std::size_t i = 0; i < layout.sizes[axis]; ++i) {
    if (i != 0) out += separator;
    if (layout.hidden(axis, i)) {
      out += "...";
      i = layout.sizes[axis] - print_edge - 1;
      continue;
    }
    write_values(out, layout, entries, next, axis + 1);
  }
  out += ']';
}

}  // namespace detail

/// "f32[batch 4, seq 128]"; "seq <=128" of an axis that is sized at run time; a view says so.
template <HasAxes X>
std::string type_text() {
  using plain = std::remove_cvref_t<X>;
  std::string text(name_of(dtype_of<typename plain::element>));
  text += '[' + detail::axes_text(axes_of<X>{}) + ']';
  if (is_view<X>) text += " view";
  return text;
}

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
      for (std::size_t i = 0; i < rank; ++i) offset += static_cast<std::ptrdiff_t>(index[i]) * X::strides[i];
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
  std::string text;
  std::size_t next = 0;
  detail::write_values(text, layout, entries, next, 0);
  return text;
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
