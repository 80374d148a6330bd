// The scales of tensors that are rounded to 8-bit floats, tensor by tensor, in memory that is the host's or a
// device's: what train/delayed_scaling.hpp runs over all tensors there, and cuda/scales.hpp here.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace napkin {

/// The least e with x <= 2^e, of a positive f32.
constexpr int ceil_log2(float x) {
  constexpr std::uint32_t infinity = 0x7f800000;
  int exponent = -127;
  if (std::bit_cast<std::uint32_t>(x) < 1u << 23) {  // subnormal
    x *= 0x1p64f;
    exponent -= 64;
  }
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return exponent + static_cast<int>((bits & infinity) >> 23) + ((bits & ~infinity) != 0 ? 1 : 0);
}

/// 2^power, of a power from -126 to 127.
constexpr float power_of_two(int power) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(127 + power) << 23);
}

/// Of a scale, either way: a product of two scales, or of two reciprocals, is an ordinary number then.
inline constexpr int most_scale_power = 63;

/// The power of two that a tensor is multiplied with before it is rounded: the largest for which `most`, a
/// part of the format's largest number, stays within it, with 2^margin to spare. 1 where nothing is known.
constexpr int scale_power(float most, int margin) {
  constexpr int limit = most_scale_power;
  if (!(most > 0)) return 0;
  const std::int64_t power = -std::int64_t{ceil_log2(most)} - margin;
  return power < -limit ? -limit : power > limit ? limit : static_cast<int>(power);
}

/// Where the scales of a step's tensors lie, and what they follow from; a number of each tensor at its index.
/// Plain data, of which a copy may be on a device.
struct scale_memory {
  /// Steps that are remembered: those of NVIDIA's recipes for transformers.
  static constexpr std::size_t steps = 16;
  /// Numbers from a reciprocal to the next: cuBLASLt multiplies a product by nothing but what lies at a
  /// multiple of 16 bytes; else it says that the product is not supported.
  static constexpr std::size_t apart = 4;

  std::size_t tensors = 0;
  float *scales = nullptr, *reciprocals = nullptr;
  float* most = nullptr;     // that the runs of the step so far saw; NaN once one was
  float* history = nullptr;  // steps x tensors

  constexpr void set(std::size_t i, int margin) const {
    float largest = 0;
    for (std::size_t h = 0; h < steps; ++h) {
      const float x = history[h * tensors + i];
      if (x > largest) largest = x;
    }
    const int power = scale_power(largest, margin);
    scales[i] = power_of_two(power);
    *reciprocal(i) = power_of_two(-power);
  }
  constexpr float* reciprocal(std::size_t i) const { return reciprocals + i * apart; }
  constexpr void forget(std::size_t i) const { most[i] = 0; }
  constexpr void add(std::size_t i, float seen) const { most[i] = larger(most[i], seen); }
  /// In the place of what the step `steps` before saw. step: from 0.
  constexpr void keep(std::size_t i, std::uint64_t step) const {
    history[step % steps * tensors + i] = most[i];
  }

  /// NaN where one of the two is.
  static constexpr float larger(float x, float y) { return x == x && !(y <= x) ? y : x; }
};

}  // namespace napkin
