// Devices: what a vendor's data sheet promises. Rates of sparse matrices (twice the dense, of half the work)
// are the standing error in such tables, so they are a type of their own. A device that is not listed is
// written down by its user, not guessed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace napkin {

/// FLOP/s of dense matrix products. Integers, so that a device may be a template argument.
struct dense_flops {
  std::uint64_t per_second = 0;
  constexpr bool operator==(const dense_flops&) const = default;
};
/// FLOP/s with half of each operand's elements zero by construction, as vendors advertise them.
struct sparse_flops {
  std::uint64_t per_second = 0;
  /// What the same unit does on dense operands.
  constexpr dense_flops dense() const { return {per_second / 2}; }
};

struct device_name {
  char text[24]{};
  template <std::size_t N>
  requires(N <= 24) constexpr device_name(const char (&literal)[N]) {
    for (std::size_t i = 0; i < N; ++i) text[i] = literal[i];
  }
  constexpr operator std::string_view() const { return text; }
  constexpr bool operator==(const device_name&) const = default;
};

/// Peaks of one device; a rate of 0 is a dtype without a unit of its own. Products of 16- and 8-bit floats
/// accumulate in f32.
struct device {
  device_name name;
  dense_flops f32, tf32, bf16, f8;
  std::uint64_t memory = 0;     // bytes, decimal as sold
  std::uint64_t bandwidth = 0;  // bytes a second

  /// FLOPs in bf16 that take as long as moving a byte.
  constexpr double ridge() const {
    return static_cast<double>(bf16.per_second) / static_cast<double>(bandwidth);
  }
  constexpr bool operator==(const device&) const = default;
};

namespace detail {
/// A matrix unit's peak from its parts.
constexpr std::uint64_t peak_of_units(std::uint64_t processors, std::uint64_t units,
                                      std::uint64_t flops_a_clock, std::uint64_t hertz) {
  return processors * units * flops_a_clock * hertz;
}
constexpr bool within_1_percent(std::uint64_t a, std::uint64_t b) {
  return (a > b ? a - b : b - a) <= b / 100;
}
inline constexpr std::uint64_t tera = 1'000'000'000'000, giga = 1'000'000'000;
}  // namespace detail

/// Source  NVIDIA A100 data sheet (80 GB SXM).
inline constexpr device a100_80gb{
    "NVIDIA A100 SXM 80GB", {detail::tera * 195 / 10}, {156 * detail::tera}, {312 * detail::tera}, {},
    80 * detail::giga,      2039 * detail::giga};
/// Source  NVIDIA H100 data sheet (SXM): 1,978.9 TFLOP/s of sparse bf16, 132 processors of 4 units.
inline constexpr device h100_sxm{
    "NVIDIA H100 SXM",           {67 * detail::tera}, {detail::tera * 4947 / 10}, {detail::tera * 9894 / 10},
    {detail::tera * 19789 / 10}, 80 * detail::giga,   3350 * detail::giga};
/// Source  NVIDIA H200 data sheet (SXM): H100's processors with more and faster memory.
inline constexpr device h200{"NVIDIA H200 SXM", h100_sxm.f32,       h100_sxm.tf32,      h100_sxm.bf16,
                             h100_sxm.f8,       141 * detail::giga, 4800 * detail::giga};

static_assert(detail::within_1_percent(detail::peak_of_units(108, 4, 512, 1'410'000'000),
                                       a100_80gb.bf16.per_second));
static_assert(detail::within_1_percent(detail::peak_of_units(132, 4, 1024, 1'830'000'000),
                                       h100_sxm.bf16.per_second));

}  // namespace napkin
