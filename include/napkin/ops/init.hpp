// How a parameter begins: what is said beside it in a layer, and what fills its memory. Plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "napkin/core/random.hpp"

namespace napkin {

/// A distribution: normal(standard deviation), uniform(low, high) or one constant value. By default what
/// GPT-2 draws its matrices from.
struct init {
  enum class kind : std::uint8_t { normal, uniform, constant };

  kind how = kind::normal;
  double first = 0;      // mean, low or value
  double second = 0.02;  // standard deviation or high

  static constexpr init normal(double deviation, double mean = 0) { return {kind::normal, mean, deviation}; }
  static constexpr init uniform(double low, double high) { return {kind::uniform, low, high}; }
  static constexpr init constant(double value) { return {kind::constant, value, 0}; }
  static constexpr init zeros() { return constant(0); }
  static constexpr init ones() { return constant(1); }

  constexpr bool operator==(const init&) const = default;

  /// Fill n elements. Element i is a pure function of the seed, the name and i.
  void fill(std::uint64_t seed, std::string_view name, float* out, std::size_t n) const {
    const random_stream stream = stream_of(seed, name);
    const auto a = static_cast<float>(first), b = static_cast<float>(second);
    switch (how) {
      case kind::normal:
        for (std::size_t i = 0; i < n; ++i) out[i] = a + b * napkin::normal<float>(stream, i);
        break;
      case kind::uniform:
        for (std::size_t i = 0; i < n; ++i) out[i] = a + (b - a) * napkin::uniform<float>(stream, i);
        break;
      case kind::constant:
        for (std::size_t i = 0; i < n; ++i) out[i] = a;
        break;
    }
  }
};

}  // namespace napkin
