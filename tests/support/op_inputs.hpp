// What the graphs of op_graphs.hpp are given: numbers of each dtype that show what an operation does, among
// them those that formulas get wrong. No sum, difference or product of integers overflows its dtype, which
// C++ leaves open.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>

#include "napkin/core/dtype.hpp"

namespace napkin::testing {

namespace op_slot {
inline constexpr int any = 0, other = 1, third = 2;  // each special number of one meets each of another
inline constexpr int positive = 3;                   // where logarithms and powers are; integers: not 0
inline constexpr int keys = 4;                       // of random bits
inline constexpr int factors = 5;                    // whose sums and products stay moderate, but for a NaN
inline constexpr int truths_of_rows = 6, truths_of_columns = 7;
inline constexpr int to_cast = 8;
inline constexpr int indices = 9, more_indices = 10;  // below op_index_limit
inline constexpr int more_factors = 11, yet_more_factors = 12;
inline constexpr int first_to_cast = 13;  // of other dtypes
}  // namespace op_slot

inline constexpr std::size_t op_row = 9;  // elements, of what is reduced
inline constexpr std::size_t op_index_limit = 7;

namespace detail {

inline double special_float(int slot, std::size_t n) {
  constexpr double infinity = std::numeric_limits<double>::infinity(),
                   nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double of_any[] = {0, -0.0, infinity, -infinity, nan, 1, -1, 0.5},
                   of_positive[] = {0, infinity, nan, 1, 0.5, 2, 1e-3, 3};
  return slot == op_slot::positive ? of_positive[n % 8] : of_any[n % 8];
}
inline double special_integer(dtype t, std::size_t n) {
  constexpr double of_u8[] = {0, 1, 255, 2, 128, 127, 7, 100},
                   of_i32[] = {0, 1, -1, 2, 32767, -32768, 7, -100},
                   of_i64[] = {0, 1, -1, 2, 0x1p26, -0x1p26, 7, -100};
  return t == dtype::u8 ? of_u8[n % 8] : t == dtype::i32 ? of_i32[n % 8] : of_i64[n % 8];
}
/// Which special number the i-th element is: all pairs of two slots', within 64 elements.
inline std::size_t special_at(int slot, std::size_t i) {
  return slot == op_slot::any ? i % 8 : slot == op_slot::third ? i / 3 % 8 : i / 8;
}
inline double casted_value(dtype t, std::size_t i) {
  constexpr double infinity = std::numeric_limits<double>::infinity(),
                   nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double floats[] = {0,     -0.0,  infinity, -infinity, nan,   1e10,   -1e10, 300.7, -300.7, 70000,
                               2.5,   -2.5,  65519,    65520,     447.9, 465,    3e9,   -3e9,  1e-8,   1e-4,
                               0.999, 127.5, -128.9,   255.5,     32768, -32769, 1e-40, 9e18,  -9.3e18};
  constexpr double i64s[] = {0,      1,      -1,      127,   128,   255,        256,        -128,
                             -129,   32767,  -32768,  65535, 65536, 2147483647, 2147483648, -2147483648.0,
                             0x1p32, 0x1p40, 16777217};
  if (is_floating(t)) return floats[i % std::size(floats)];
  if (t == dtype::i64 || t == dtype::i32) {
    const double x = i64s[i % std::size(i64s)];
    return t == dtype::i32 && (x > 2147483647 || x < -2147483648.0) ? 12345 : x;
  }
  if (t == dtype::b8) return static_cast<double>(i % 2);
  const bool is_signed = t == dtype::i8 || t == dtype::i16;
  return static_cast<double>(i * 37 % 256) - (is_signed ? 128 : 0);
}

}  // namespace detail

/// The i-th element of an input of such a graph.
inline double op_input(dtype t, int slot, std::size_t i) {
  using namespace op_slot;
  const double wave = std::sin(0.7 * static_cast<double>(i) + slot);
  if (slot == to_cast || slot >= first_to_cast) return detail::casted_value(t, i);
  if (slot == indices || slot == more_indices)
    return static_cast<double>((i * 5 + static_cast<std::size_t>(slot)) % op_index_limit);
  if (slot == keys) return static_cast<double>(i % 3) * 0x1p40 + static_cast<double>(i / 3);
  if (slot == truths_of_rows || slot == truths_of_columns) {
    const std::size_t row = i / op_row, column = i % op_row;
    const std::size_t decides = slot == truths_of_rows ? row : column, else_by = row + column - decides;
    return static_cast<double>(decides % 3 == 2 ? else_by % 2 : decides % 3) / (is_floating(t) ? 2 : 1);
  }
  if (t == dtype::b8) return static_cast<double>(i >> slot & 1);
  if (slot == factors || slot == more_factors || slot == yet_more_factors) {
    if (slot == factors && is_floating(t) && (i == op_row || i == 7 * op_row + 1))
      return i == op_row ? std::numeric_limits<double>::quiet_NaN()
                         : -std::numeric_limits<double>::infinity();
    const double size = is_floating(t) ? 1 + 0.1 * wave : i % 11 == 0 ? 2 : 1;
    return i % 3 == 0 && t != dtype::u8 ? -size : size;
  }
  if (is_floating(t)) {
    if (i < 64) return detail::special_float(slot, detail::special_at(slot, i));
    return slot == positive ? 2.05 + 1.95 * wave : 4 * wave;
  }
  const std::size_t mixed = i * 37 + static_cast<std::size_t>(slot) * 11;
  const double x = i < 64 ? detail::special_integer(t, detail::special_at(slot, i))
                          : static_cast<double>(mixed % 201) - (t == dtype::u8 ? 0 : 100);
  return slot == positive && x == 0 ? 3 : x;
}

}  // namespace napkin::testing
