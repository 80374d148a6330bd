// What a device is to the accountant: peaks by what is multiplied and in what it adds up, memory, bandwidth.
// Those that are known are in devices.hpp. One that is not listed is written down by its user, not guessed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "napkin/core/dtype.hpp"

namespace napkin {

/// FLOP/s of dense operands. Integers, so that a device may be a template argument.
struct dense_flops {
  std::uint64_t per_second = 0;
  constexpr bool operator==(const dense_flops&) const = default;
};
/// FLOP/s with half of each operand's elements zero by construction, as vendors advertise them: the standing
/// error in such tables, so a type of its own.
struct sparse_flops {
  std::uint64_t per_second = 0;
  /// What the same unit does on dense operands.
  constexpr dense_flops dense() const { return {per_second / 2}; }
  constexpr bool operator==(const sparse_flops&) const = default;
};

constexpr std::string_view name_of(arithmetic a) {
  constexpr std::string_view names[] = {"none", "f64", "f32", "tf32", "bf16", "f16", "f8"};
  return names[static_cast<std::size_t>(a)];
}
/// `none` of integers and complex numbers.
constexpr arithmetic arithmetic_of(dtype type) {
  switch (type) {
    case dtype::f64:
      return arithmetic::f64;
    case dtype::f32:
      return arithmetic::f32;
    case dtype::bf16:
      return arithmetic::bf16;
    case dtype::f16:
      return arithmetic::f16;
    case dtype::f8e4m3:
    case dtype::f8e5m2:
      return arithmetic::f8;
    default:
      return arithmetic::none;
  }
}

struct device_name {
  char text[32]{};
  template <std::size_t N>
  requires(N <= 32) constexpr device_name(const char (&literal)[N]) {
    for (std::size_t i = 0; i < N; ++i) text[i] = literal[i];
  }
  constexpr operator std::string_view() const { return text; }
  constexpr bool operator==(const device_name&) const = default;
};

/// One rate of a data sheet, and what it is made of: FLOPs of one processor in one clock, and that clock.
/// Those are 0 where the vendor publishes no clock that goes with the rate.
struct unit_rate {
  arithmetic operands = arithmetic::none, accumulated = arithmetic::none;
  dense_flops dense;
  std::uint64_t flops_a_clock = 0, hertz = 0;
  bool has_sparse = false;  // twice the rate on sparse operands

  constexpr bool operator==(const unit_rate&) const = default;
};

struct device {
  static constexpr std::size_t most_rates = 8;
  device_name name;
  std::uint64_t processors = 0;  // streaming multiprocessors, cores
  std::uint64_t memory = 0;      // bytes, decimal as sold
  std::uint64_t bandwidth = 0;   // bytes a second
  std::uint64_t link = 0;        // bytes a second to its neighbours, both directions; 0: none
  std::array<unit_rate, most_rates> rates{};

  /// Of operands in this arithmetic; 0 where the device is not known to have a unit of it. Unless it is said
  /// otherwise sums of 16- and 8-bit floats and of tf32 are f32.
  constexpr dense_flops peak(arithmetic operands, arithmetic accumulated = arithmetic::none) const {
    const std::size_t i = find(operands, accumulated);
    return i < most_rates ? rates[i].dense : dense_flops{};
  }
  constexpr sparse_flops sparse_peak(arithmetic operands, arithmetic accumulated = arithmetic::none) const {
    const std::size_t i = find(operands, accumulated);
    return {i < most_rates && rates[i].has_sparse ? 2 * rates[i].dense.per_second : 0};
  }
  /// The same device with another rate: what a sheet says that one does not trust, what was measured.
  constexpr device with(arithmetic operands, dense_flops rate) const {
    device d = *this;
    for (unit_rate& r : d.rates) {
      const bool same = r.operands == operands && r.accumulated == sum_of(operands);
      if (!same && r.operands != arithmetic::none) continue;
      r = {operands, sum_of(operands), rate};
      break;
    }
    return d;
  }

  /// FLOPs in bf16 that take as long as moving a byte.
  constexpr double ridge() const {
    return static_cast<double>(peak(arithmetic::bf16).per_second) / static_cast<double>(bandwidth);
  }
  constexpr bool operator==(const device&) const = default;

 private:
  static constexpr arithmetic sum_of(arithmetic operands) {
    return operands == arithmetic::f64 ? arithmetic::f64 : arithmetic::f32;
  }

  /// most_rates where there is none.
  constexpr std::size_t find(arithmetic operands, arithmetic accumulated) const {
    if (accumulated == arithmetic::none) accumulated = sum_of(operands);
    std::size_t i = operands == arithmetic::none ? most_rates : 0;
    while (i < most_rates && (rates[i].operands != operands || rates[i].accumulated != accumulated)) ++i;
    return i;
  }
};

}  // namespace napkin
