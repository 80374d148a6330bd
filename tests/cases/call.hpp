// One call of a corpus, and how it is written in C++: the types of its operands and the call itself.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "pattern_text.hpp"

namespace cases {

struct call {
  std::string op;  // rearrange, reduce, repeat, einsum, pack
  std::string pattern;
  std::vector<shape> shapes;
  std::vector<std::pair<std::string, std::size_t>> given;
  std::string reduction;  // of reduce
  std::string dtype;      // as C++ says it: f32, b8
};

inline std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c >= 0 && c < ' ') {  // a control character, as three octal digits
      out += {'\\', '0', static_cast<char>('0' + c / 8), static_cast<char>('0' + c % 8)};
      continue;
    }
    out += c;
  }
  return out + '"';
}

inline std::string axis_type(const axis_name& axis, std::size_t size) {
  if (axis.name.empty()) return "nk::unnamed<" + std::to_string(size) + ">";
  std::string type = "nk::dim<" + quoted(axis.name) + ", " + std::to_string(size) + ">";
  for (int i = 0; i < axis.primes; ++i) type = "nk::primed<" + type + ">";
  return type;
}

/// Names of the operands' axes. The one pattern of pack is for all operands, each of which has its own `*`.
inline std::vector<std::vector<axis_name>> names_of(const call& c) {
  std::string each = c.pattern;
  if (c.op == "pack")
    for (std::size_t k = 1; k < c.shapes.size(); ++k) each += ", " + c.pattern;
  return names_of(each, c.shapes, c.op == "einsum");
}

/// nk::tensor<nk::f32, nk::dim<"a", 2>, ...> for each operand.
inline std::vector<std::string> operand_types(const call& c) {
  const auto names = names_of(c);
  std::vector<std::string> types;
  for (std::size_t k = 0; k < c.shapes.size(); ++k) {
    std::string type = "nk::tensor<nk::" + c.dtype;
    for (std::size_t i = 0; i < c.shapes[k].size(); ++i)
      type += ", " + axis_type(names[k][i], c.shapes[k][i]);
    types.push_back(type + ">");
  }
  return types;
}

/// nk::reduce<"a b -> a", "max">, to which operands are given.
inline std::string callee(const call& c) {
  std::string text = "nk::" + c.op + "<" + quoted(c.pattern);
  if (c.op == "reduce") text += ", " + quoted(c.reduction);
  for (const auto& [name, size] : c.given)
    text += ", nk::dim<" + quoted(name) + ", " + std::to_string(size) + ">";
  return text + ">";
}

/// For comments: reduce "a b -> a" "max" of (2, 3).
inline std::string in_words(const call& c) {
  std::string text = c.op + " " + quoted(c.pattern);
  if (c.op == "reduce") text += " " + quoted(c.reduction);
  for (const auto& [name, size] : c.given) text += " " + name + "=" + std::to_string(size);
  text += c.shapes.empty() ? "" : " of ";
  for (std::size_t k = 0; k < c.shapes.size(); ++k) {
    text += k == 0 ? "(" : ", (";
    for (std::size_t i = 0; i < c.shapes[k].size(); ++i)
      text += (i == 0 ? "" : ", ") + std::to_string(c.shapes[k][i]);
    text += ")";
  }
  return text;
}

}  // namespace cases
