// What the corpora fill operands with and how they sum results up (their README gives the rules): shared by
// the generator and the generated program.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cases {

/// Element i of operand k.
inline double element_of(std::string_view rule, std::size_t i, std::size_t k) {
  static constexpr double table7[] = {1, 2, 1, 0.5, -1, 1, 1};
  if (rule == "arange") return static_cast<double>(i);
  if (rule == "mix101") return static_cast<double>((i * 37 + 11) % 101) - 50;
  if (rule == "bool7") return (i * i + 3 * i) % 7 < 3 ? 1 : 0;
  if (rule == "table7") return table7[i % 7];
  if (rule == "einsum") return static_cast<double>(i % (7 + 2 * k)) - 3;
  throw std::runtime_error("no rule to fill operands is called '" + std::string(rule) + "'");
}

inline double weight_of(std::size_t i) { return static_cast<double>(i % 97 + 1); }

inline double weighted_sum(const std::vector<double>& values) {
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) sum += values[i] * weight_of(i);
  return sum;
}

}  // namespace cases
