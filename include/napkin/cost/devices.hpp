// Devices whose vendor's data sheet is known: nothing here is an estimate. Each dense rate that a sheet's
// clock explains is checked against processors x FLOPs a clock x clock.
#pragma once

#include <string>

#include "napkin/core/error.hpp"
#include "napkin/cost/device.hpp"

namespace napkin {

namespace detail {

inline constexpr std::uint64_t tera = 1'000'000'000'000, giga = 1'000'000'000, mega = 1'000'000;

/// Of a matrix unit, which takes sparse operands too. Rates are in units of 10^10, which data sheets round
/// to.
constexpr unit_rate matrix_rate(arithmetic operands, arithmetic sums, std::uint64_t tens_of_giga,
                                std::uint64_t flops_a_clock, std::uint64_t megahertz) {
  return {operands, sums, {tens_of_giga * 10 * giga}, flops_a_clock, megahertz * mega, true};
}
constexpr unit_rate vector_rate(arithmetic type, std::uint64_t tens_of_giga, std::uint64_t flops_a_clock,
                                std::uint64_t megahertz) {
  return {type, type, {tens_of_giga * 10 * giga}, flops_a_clock, megahertz * mega, false};
}

constexpr bool within_1_percent(std::uint64_t a, std::uint64_t b) {
  return (a > b ? a - b : b - a) <= b / 100;
}
/// The sheet's rates are what its processors do at its clocks, where it says a clock.
constexpr bool rates_agree(const device& d) {
  for (const unit_rate& r : d.rates)
    if (r.hertz != 0 && !within_1_percent(d.processors * r.flops_a_clock * r.hertz, r.dense.per_second))
      return false;
  return true;
}
constexpr bool explains_its_rates(const device& d) {
  for (const unit_rate& r : d.rates)
    if (r.operands != arithmetic::none && r.hertz == 0) return false;
  return true;
}

}  // namespace detail

/// Source  NVIDIA A100 data sheet (80 GB SXM), 108 processors at 1,410 MHz.
inline constexpr device a100_80gb{
    "NVIDIA A100 SXM 80GB",
    108,
    80 * detail::giga,
    2039 * detail::giga,
    600 * detail::giga,
    {detail::vector_rate(arithmetic::f32, 1'950, 128, 1'410),
     detail::matrix_rate(arithmetic::tf32, arithmetic::f32, 15'600, 1'024, 1'410),
     detail::matrix_rate(arithmetic::bf16, arithmetic::f32, 31'200, 2'048, 1'410),
     detail::matrix_rate(arithmetic::f16, arithmetic::f32, 31'200, 2'048, 1'410)}};
/// Source  NVIDIA A100 data sheet (40 GB SXM): less and slower memory.
inline constexpr device a100_40gb{"NVIDIA A100 SXM 40GB", a100_80gb.processors, 40 * detail::giga,
                                  1555 * detail::giga,    a100_80gb.link,       a100_80gb.rates};
/// Source  NVIDIA H100 data sheet (SXM), 132 processors; its vector units and its matrix units have a clock
/// each.
inline constexpr device h100_sxm{
    "NVIDIA H100 SXM",
    132,
    80 * detail::giga,
    3350 * detail::giga,
    900 * detail::giga,
    {detail::vector_rate(arithmetic::f32, 6'700, 256, 1'980),
     detail::matrix_rate(arithmetic::tf32, arithmetic::f32, 49'470, 2'048, 1'830),
     detail::matrix_rate(arithmetic::bf16, arithmetic::f32, 98'940, 4'096, 1'830),
     detail::matrix_rate(arithmetic::f16, arithmetic::f32, 98'940, 4'096, 1'830),
     detail::matrix_rate(arithmetic::f8, arithmetic::f32, 197'890, 8'192, 1'830)}};
/// Source  NVIDIA H100 data sheet (PCIe), 114 processors.
inline constexpr device h100_pcie{
    "NVIDIA H100 PCIe",
    114,
    80 * detail::giga,
    2000 * detail::giga,
    600 * detail::giga,
    {detail::vector_rate(arithmetic::f32, 5'100, 256, 1'755),
     detail::matrix_rate(arithmetic::tf32, arithmetic::f32, 37'800, 2'048, 1'620),
     detail::matrix_rate(arithmetic::bf16, arithmetic::f32, 75'650, 4'096, 1'620),
     detail::matrix_rate(arithmetic::f16, arithmetic::f32, 75'650, 4'096, 1'620),
     detail::matrix_rate(arithmetic::f8, arithmetic::f32, 151'300, 8'192, 1'620)}};
/// Source  NVIDIA H200 data sheet (SXM): H100's processors with more and faster memory.
inline constexpr device h200{"NVIDIA H200 SXM",   h100_sxm.processors, 141 * detail::giga,
                             4800 * detail::giga, h100_sxm.link,       h100_sxm.rates};
/// Source  NVIDIA HGX B200 data sheet (1,000 W): rates of one device; no clock that explains them is
/// published. Memory as the DGX B200 data sheet has it, 1,440 GB for 8: earlier sheets say 192 each.
inline constexpr device b200{"NVIDIA B200",
                             0,
                             180 * detail::giga,
                             8000 * detail::giga,
                             1800 * detail::giga,
                             {detail::vector_rate(arithmetic::f32, 8'000, 0, 0),
                              detail::matrix_rate(arithmetic::tf32, arithmetic::f32, 110'000, 0, 0),
                              detail::matrix_rate(arithmetic::bf16, arithmetic::f32, 225'000, 0, 0),
                              detail::matrix_rate(arithmetic::f16, arithmetic::f32, 225'000, 0, 0),
                              detail::matrix_rate(arithmetic::f8, arithmetic::f32, 450'000, 0, 0)}};
/// Source  NVIDIA GB200 NVL72 data sheet (1,200 W), each device; as of the B200. Memory is 13.4 TB for 72.
inline constexpr device gb200{"NVIDIA GB200",
                              0,
                              186 * detail::giga,
                              8000 * detail::giga,
                              1800 * detail::giga,
                              {detail::vector_rate(arithmetic::f32, 9'000, 0, 0),
                               detail::matrix_rate(arithmetic::tf32, arithmetic::f32, 125'000, 0, 0),
                               detail::matrix_rate(arithmetic::bf16, arithmetic::f32, 250'000, 0, 0),
                               detail::matrix_rate(arithmetic::f16, arithmetic::f32, 250'000, 0, 0),
                               detail::matrix_rate(arithmetic::f8, arithmetic::f32, 500'000, 0, 0)}};
/// Source  NVIDIA Ada GPU architecture white paper, table 1 (RTX 4090), 128 processors at 2,520 MHz: sums of
/// f16 in f16 are twice as fast as in f32.
inline constexpr device rtx_4090{
    "NVIDIA GeForce RTX 4090",
    128,
    24 * detail::giga,
    1008 * detail::giga,
    0,
    {detail::vector_rate(arithmetic::f32, 8'260, 256, 2'520),
     detail::matrix_rate(arithmetic::tf32, arithmetic::f32, 8'260, 256, 2'520),
     detail::matrix_rate(arithmetic::bf16, arithmetic::f32, 16'520, 512, 2'520),
     detail::matrix_rate(arithmetic::f16, arithmetic::f32, 16'520, 512, 2'520),
     detail::matrix_rate(arithmetic::f16, arithmetic::f16, 33'030, 1'024, 2'520),
     detail::matrix_rate(arithmetic::f8, arithmetic::f32, 33'030, 1'024, 2'520)}};

inline constexpr const device* known_devices[] = {&a100_80gb, &a100_40gb, &h100_sxm, &h100_pcie,
                                                  &h200,      &b200,      &gb200,    &rtx_4090};

namespace detail {
constexpr bool sheets_agree() {
  for (const device* d : known_devices)
    if (!rates_agree(*d) || (d != &b200 && d != &gb200 && !explains_its_rates(*d))) return false;
  return true;
}
static_assert(sheets_agree(), "a data sheet's rates are within 1% of what its processors do at its clocks");

struct reported_device {
  std::string_view reported;
  const device* is;
};
/// What drivers call them.
inline constexpr reported_device reported_devices[] = {{"NVIDIA A100-SXM4-80GB", &a100_80gb},
                                                       {"NVIDIA A100-SXM4-40GB", &a100_40gb},
                                                       {"A100-SXM4-40GB", &a100_40gb},
                                                       {"NVIDIA H100 80GB HBM3", &h100_sxm},
                                                       {"NVIDIA H100 PCIe", &h100_pcie},
                                                       {"NVIDIA H200", &h200},
                                                       {"NVIDIA B200", &b200},
                                                       {"NVIDIA GB200", &gb200},
                                                       {"NVIDIA GeForce RTX 4090", &rtx_4090}};

constexpr const device* find_device(std::string_view name) {
  for (const device* d : known_devices)
    if (std::string_view(d->name) == name) return d;
  for (const reported_device& r : reported_devices)
    if (r.reported == name) return r.is;
  return nullptr;
}
}  // namespace detail

/// By the name that stands above, or that the driver reports.
///
/// Errors  `input_error` for any other, with the names that there are: no device stands in for another
inline const device& device_named(std::string_view name) {
  if (const device* const found = detail::find_device(name)) return *found;
  std::string known;
  for (const device* d : known_devices) known += (known.empty() ? "" : ", ") + std::string(d->name);
  throw input_error("no device is known as '" + std::string(name) + "'; known are " + known +
                    "; write down a napkin::device of your own");
}

}  // namespace napkin
