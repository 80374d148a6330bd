// A tensor's values in brackets.
#include "napkin/tensor/print.hpp"

#include <cstdio>

namespace napkin::detail {
namespace {

void write_values(std::string& out, const print_layout& layout, const std::vector<std::string>& entries,
                  std::size_t& next, std::size_t axis) {
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

}  // namespace

std::string float_text(double value) {
  if (value != value) return "nan";  // printf says which sign its bits have
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  std::string result = text;
  if (result.find_first_of(".eni") == std::string::npos) result += '.';  // 3. is a float, as numpy writes it
  return result;
}

std::string complex_text(double real, double imaginary) {
  const std::string second = float_text(imaginary);
  return float_text(real) + (second.front() == '-' ? "" : "+") + second + 'i';
}

std::string values_text(const print_layout& layout, const std::vector<std::string>& entries) {
  std::string text;
  std::size_t next = 0;
  write_values(text, layout, entries, next, 0);
  return text;
}

}  // namespace napkin::detail
