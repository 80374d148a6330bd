// The numbers that describe a numeric type, named as NumPy and PyTorch name them.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>

#include "napkin/core/small_float.hpp"

namespace napkin {

/// Of a floating-point type. Every value is exact as a double.
///
/// epsilon             the distance from 1 to the next number
/// min_normal          the least positive number of full precision
/// smallest_subnormal  the least positive number
template <class T>
struct finfo;

template <std::floating_point T>
struct finfo<T> {
  static constexpr double max = std::numeric_limits<T>::max();
  static constexpr double min_normal = std::numeric_limits<T>::min();
  static constexpr double smallest_subnormal = std::numeric_limits<T>::denorm_min();
  static constexpr double epsilon = std::numeric_limits<T>::epsilon();
  static constexpr int bits = 8 * sizeof(T);
  static constexpr int mantissa_bits = std::numeric_limits<T>::digits - 1;
  static constexpr int exponent_bits = bits - 1 - mantissa_bits;
};

template <SmallFloat T>
struct finfo<T> {
 private:
  static constexpr double value_of(unsigned code) {
    return static_cast<double>(std::bit_cast<T>(static_cast<typename T::storage>(code)));
  }

 public:
  static constexpr double max = value_of(T::largest_finite);
  static constexpr double min_normal = value_of(T::smallest_normal);
  static constexpr double smallest_subnormal = value_of(1);
  static constexpr double epsilon = 1.0 / (1 << T::mantissa_bits);
  static constexpr int bits = T::width;
  static constexpr int mantissa_bits = T::mantissa_bits;
  static constexpr int exponent_bits = T::exponent_bits;
};

/// Of an integer type of at most 64 bits, signed, or 32, unsigned: all fit an std::int64_t.
template <class T>
struct iinfo;

template <std::integral T>
requires(!std::same_as<T, bool> && (std::is_signed_v<T> || sizeof(T) < 8)) struct iinfo<T> {
  static constexpr std::int64_t min = std::numeric_limits<T>::min();
  static constexpr std::int64_t max = std::numeric_limits<T>::max();
  static constexpr int bits = 8 * sizeof(T);
};

}  // namespace napkin
