// An einsum whose axes may be composed, evaluated in plain loops: the expected values of rows that the peers
// refuse and this library accepts.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "call.hpp"
#include "values.hpp"

namespace cases {

struct evaluated {
  shape sizes;
  std::vector<double> values;
};

namespace detail {

using label_sizes = std::map<std::string, std::size_t>;

/// Learns the one size that an axis leaves open; false where its sizes contradict each other.
inline bool learn(const written_axis& axis, std::size_t size, label_sizes& known) {
  std::size_t product = 1;
  const std::string* open = nullptr;
  for (const std::string& atom : axis.atoms) {
    if (is_number(atom)) {
      if (atom != "1") return false;
    } else if (const auto at = known.find(atom); at != known.end()) {
      product *= at->second;
    } else if (open != nullptr) {
      return true;  // for another axis to tell
    } else {
      open = &atom;
    }
  }
  if (open == nullptr) return product == size;
  if (product == 0 || size % product != 0) return false;
  known[*open] = size / product;
  return true;
}

inline std::optional<label_sizes> sizes_of_labels(const sides& read, const std::vector<shape>& shapes) {
  label_sizes known;
  if (read.operands.size() != shapes.size() || !read.has_result) return {};
  for (int round = 0; round < 3; ++round)
    for (std::size_t k = 0; k < shapes.size(); ++k) {
      if (read.operands[k].size() != shapes[k].size()) return {};
      for (std::size_t i = 0; i < shapes[k].size(); ++i)
        if (read.operands[k][i].ellipsis() || !learn(read.operands[k][i], shapes[k][i], known)) return {};
    }
  for (const side& s : read.operands)
    for (const written_axis& a : s)
      for (const std::string& atom : a.atoms)
        if (!is_number(atom) && known.count(atom) == 0) return {};
  for (const written_axis& a : read.result)
    for (const std::string& atom : a.atoms)
      if (atom != "1" && known.count(atom) == 0) return {};
  return known;
}

inline std::size_t offset(const side& s, const label_sizes& sizes, const label_sizes& at) {
  std::size_t place = 0;
  for (const written_axis& a : s)
    for (const std::string& atom : a.atoms)
      if (!is_number(atom)) place = place * sizes.at(atom) + at.at(atom);
  return place;
}

}  // namespace detail

/// Nothing where the pattern does not fit the operands, or has `...` or a number above 1.
inline std::optional<evaluated> evaluate_einsum(const call& c) {
  const sides read = sides_of(c.pattern);
  const auto sizes = detail::sizes_of_labels(read, c.shapes);
  if (!sizes) return {};

  evaluated out;
  std::size_t count = 1;
  for (const written_axis& a : read.result) {
    std::size_t size = 1;
    for (const std::string& atom : a.atoms) size *= is_number(atom) ? 1 : sizes->at(atom);
    out.sizes.push_back(size);
    count *= size;
  }
  out.values.resize(count);

  detail::label_sizes at;
  std::size_t points = 1;
  for (const auto& [label, size] : *sizes) points *= size;
  for (std::size_t point = 0; point < points; ++point) {
    std::size_t rest = point;
    for (const auto& [label, size] : *sizes) {
      at[label] = rest % size;
      rest /= size;
    }
    double product = 1;
    for (std::size_t k = 0; k < c.shapes.size(); ++k)
      product *= element_of("einsum", detail::offset(read.operands[k], *sizes, at), k);
    out.values[detail::offset(read.result, *sizes, at)] += product;
  }
  return out;
}

}  // namespace cases
