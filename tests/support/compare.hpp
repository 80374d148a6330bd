// Numbers compared so that a NaN is never lost: it is infinitely far from everything, and stays so.
#pragma once

#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <type_traits>
#include <vector>

namespace napkin::testing {

/// The larger of two errors; infinity where one is NaN, which every comparison with a bound would pass over.
inline double worst_of(double worst, double error) {
  if (std::isnan(worst) || std::isnan(error)) return std::numeric_limits<double>::infinity();
  return error <= worst ? worst : error;
}

/// How far apart two numbers are: 0 for equal infinities, infinity where one is NaN.
inline double difference_of(double a, double b) { return a == b ? 0 : worst_of(0, std::abs(a - b)); }

/// The largest |a[i] - b[i]| of two ranges of numbers, or tensors; infinity where their lengths differ.
template <class A, class B>
double largest_difference(const A& a, const B& b) {
  auto x = std::begin(a);
  auto y = std::begin(b);
  double worst = 0;
  for (; x != std::end(a) && y != std::end(b); ++x, ++y)
    worst = worst_of(worst, difference_of(static_cast<double>(*x), static_cast<double>(*y)));
  return x == std::end(a) && y == std::end(b) ? worst : std::numeric_limits<double>::infinity();
}

/// Equal as memory: -0 is not 0, and a NaN is itself.
template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (a.size() != b.size()) return false;
  return a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

}  // namespace napkin::testing
