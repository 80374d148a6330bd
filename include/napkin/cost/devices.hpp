// Devices whose vendor publishes the figures, each with the document that has them (known_devices): nothing
// here is an estimate. Each dense rate that a document's clock explains is checked against processors x FLOPs
// a clock x clock.
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
/// The document's rates are what its processors do at its clocks, where it says a clock.
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

/// 108 processors at 1,410 MHz.
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
/// Less and slower memory.
inline constexpr device a100_40gb{"NVIDIA A100 SXM 40GB", a100_80gb.processors, 40 * detail::giga,
                                  1555 * detail::giga,    a100_80gb.link,       a100_80gb.rates};
/// A card: slower memory; its link is a bridge between two.
inline constexpr device a100_pcie{"NVIDIA A100 PCIe 80GB", a100_80gb.processors, 80 * detail::giga,
                                  1935 * detail::giga,     a100_80gb.link,       a100_80gb.rates};
/// 132 processors; its vector units and its matrix units have a clock each.
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
/// 114 processors.
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
/// H100's processors with more and faster memory.
inline constexpr device h200{"NVIDIA H200 SXM",   h100_sxm.processors, 141 * detail::giga,
                             4800 * detail::giga, h100_sxm.link,       h100_sxm.rates};
/// One of HGX B200 (1,000 W). The sheet has sparse rates, 2 of these; those of 2024 said 80 TFLOP/s in f32,
/// 192 GB and 8 TB/s.
inline constexpr device b200{"NVIDIA B200",
                             0,
                             180 * detail::giga,
                             7700 * detail::giga,
                             1800 * detail::giga,
                             {detail::vector_rate(arithmetic::f32, 7'500, 0, 0),
                              detail::matrix_rate(arithmetic::tf32, arithmetic::f32, 110'000, 0, 0),
                              detail::matrix_rate(arithmetic::bf16, arithmetic::f32, 225'000, 0, 0),
                              detail::matrix_rate(arithmetic::f16, arithmetic::f32, 225'000, 0, 0),
                              detail::matrix_rate(arithmetic::f8, arithmetic::f32, 450'000, 0, 0)}};
/// One of GB200 NVL72 (1,200 W). As of the B200; those of 2024 said 90 TFLOP/s in f32 and 192 GB.
inline constexpr device gb200{"NVIDIA GB200",
                              0,
                              186 * detail::giga,
                              8000 * detail::giga,
                              1800 * detail::giga,
                              {detail::vector_rate(arithmetic::f32, 8'000, 0, 0),
                               detail::matrix_rate(arithmetic::tf32, arithmetic::f32, 125'000, 0, 0),
                               detail::matrix_rate(arithmetic::bf16, arithmetic::f32, 250'000, 0, 0),
                               detail::matrix_rate(arithmetic::f16, arithmetic::f32, 250'000, 0, 0),
                               detail::matrix_rate(arithmetic::f8, arithmetic::f32, 500'000, 0, 0)}};
/// 128 processors at 2,520 MHz: sums of f16 in f16 are twice as fast as in f32.
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
     detail::matrix_rate(arithmetic::f8, arithmetic::f32, 33'030, 1'024, 2'520),
     detail::matrix_rate(arithmetic::f8, arithmetic::f16, 66'060, 2'048, 2'520)}};
/// 170 processors at 2,407 MHz.
inline constexpr device rtx_5090{
    "NVIDIA GeForce RTX 5090",
    170,
    32 * detail::giga,
    1792 * detail::giga,
    0,
    {detail::vector_rate(arithmetic::f32, 10'480, 256, 2'407),
     detail::matrix_rate(arithmetic::bf16, arithmetic::f32, 20'950, 512, 2'407),
     detail::matrix_rate(arithmetic::f16, arithmetic::f32, 20'950, 512, 2'407),
     detail::matrix_rate(arithmetic::f8, arithmetic::f32, 41'900, 1'024, 2'407),
     detail::matrix_rate(arithmetic::f8, arithmetic::f16, 83'800, 2'048, 2'407)}};

/// Where the vendor publishes a device's figures, and whether with the clocks that make its rates.
struct listed_device {
  const device* is;
  std::string_view document, address;
  bool has_clocks = true;
};
inline constexpr std::string_view a100_sheet =
    "https://www.nvidia.com/content/dam/en-zz/Solutions/Data-Center/a100/pdf/"
    "nvidia-a100-datasheet-us-nvidia-1758950-r4-web.pdf";
inline constexpr std::string_view h100_paper =
    "https://nvdam.widen.net/s/95bdhpsgrs/nvidia_h100_tensor_core_gpu_architecture_whitepaper_v1.03";
inline constexpr std::string_view blackwell_sheet =
    "https://nvdam.widen.net/s/wwnsxrhm2w/blackwell-datasheet-3384703";

/// All that are known: none without the vendor's own document. A100's clock is in its architecture's white
/// paper; H100's document is version 1.04 by its cover, "final clocks"; H200's sheet has H100's rates, and
/// its clocks are those. Those of B200 and GB200 are published nowhere: their rates are not checked by them.
inline constexpr listed_device known_devices[] = {
    {&a100_80gb, "NVIDIA A100 data sheet (SXM 80 GB)", a100_sheet},
    {&a100_40gb, "NVIDIA A100 Tensor Core GPU architecture",
     "https://images.nvidia.com/aem-dam/en-zz/Solutions/data-center/"
     "nvidia-ampere-architecture-whitepaper.pdf"},
    {&a100_pcie, "NVIDIA A100 data sheet (PCIe 80 GB)", a100_sheet},
    {&h100_sxm, "NVIDIA H100 Tensor Core GPU architecture, tables 1 and 3", h100_paper},
    {&h100_pcie, "NVIDIA H100 Tensor Core GPU architecture, tables 1 and 3", h100_paper},
    {&h200, "NVIDIA H200 Tensor Core GPU", "https://www.nvidia.com/en-us/data-center/h200/"},
    {&b200, "NVIDIA Blackwell data sheet (HGX B200)", blackwell_sheet, false},
    {&gb200, "NVIDIA Blackwell data sheet (GB200 NVL72)", blackwell_sheet, false},
    {&rtx_4090, "NVIDIA Ada GPU architecture 2.02, appendix A",
     "https://images.nvidia.com/aem-dam/Solutions/geforce/ada/nvidia-ada-gpu-architecture.pdf"},
    {&rtx_5090, "NVIDIA RTX Blackwell GPU architecture 1.1, appendix A",
     "https://images.nvidia.com/aem-dam/Solutions/geforce/blackwell/"
     "nvidia-rtx-blackwell-gpu-architecture.pdf"}};

namespace detail {
constexpr bool sheets_agree() {
  for (const listed_device& d : known_devices)
    if (!rates_agree(*d.is) || d.has_clocks != explains_its_rates(*d.is)) return false;
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
                                                       {"NVIDIA A100 80GB PCIe", &a100_pcie},
                                                       {"NVIDIA H100 80GB HBM3", &h100_sxm},
                                                       {"NVIDIA H100 PCIe", &h100_pcie},
                                                       {"NVIDIA H200", &h200},
                                                       {"NVIDIA B200", &b200},
                                                       {"NVIDIA GB200", &gb200},
                                                       {"NVIDIA GeForce RTX 4090", &rtx_4090},
                                                       {"NVIDIA GeForce RTX 5090", &rtx_5090}};

constexpr const device* find_device(std::string_view name) {
  for (const listed_device& d : known_devices)
    if (std::string_view(d.is->name) == name) return d.is;
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
  for (const listed_device& d : known_devices) known += (known.empty() ? "" : ", ") + std::string(d.is->name);
  throw input_error("no device is known as '" + std::string(name) + "'; known are " + known +
                    "; write down a napkin::device of your own");
}

}  // namespace napkin
