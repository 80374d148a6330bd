// The problem of tests/parity/generate_optimizers.py: first values, gradients and rates are a function of
// counters, so that no file need hold them.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace napkin::testing {

/// `rows` x `columns`, a stream of random numbers, and its place among the others.
struct counted_tensor {
  std::uint64_t stream;
  std::size_t rows, columns, offset;
  bool decays;
  constexpr std::size_t count() const { return rows * columns; }
};
inline constexpr std::array<counted_tensor, 4> counted_tensors{{
    {1, 9, 15, 0, true},
    {2, 16, 7, 135, true},
    {3, 6, 6, 247, true},
    {4, 24, 1, 283, false},
}};
inline constexpr std::size_t counted_elements = 307;

/// splitmix64 of (stream, step, element): 53 bits.
constexpr std::uint64_t counted_bits(std::uint64_t stream, std::uint64_t step, std::uint64_t element) {
  std::uint64_t z = (stream << 48) + (step << 24) + element;
  z = (z + 1) * 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return (z ^ (z >> 31)) >> 11;
}
/// On [-1, 1).
constexpr double counted_uniform(std::uint64_t stream, std::uint64_t step, std::uint64_t element) {
  return static_cast<double>(counted_bits(stream, step, element)) * 0x1p-52 - 1;
}
constexpr double counted_rate(std::int64_t step) {
  return 1e-2 * (1.5 + counted_uniform(0, static_cast<std::uint64_t>(5000 + step), 0));
}
template <class T>
void fill_values(const counted_tensor& t, T* to) {
  for (std::size_t i = 0; i < t.count(); ++i) to[i] = static_cast<T>(counted_uniform(t.stream, 0, i));
}
template <class T>
void fill_gradient(const counted_tensor& t, std::int64_t step, T* to) {
  const auto s = static_cast<std::uint64_t>(step);
  const double scale = std::ldexp(1.0, -static_cast<int>(counted_bits(0, s, 0) % 16));
  for (std::size_t i = 0; i < t.count(); ++i)
    to[i] = i == 3 ? T{0} : static_cast<T>(counted_uniform(t.stream, s, i) * scale);
}

}  // namespace napkin::testing
