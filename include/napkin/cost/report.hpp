// Costs and plans as plain text, for people: numbers with separators and units, tables whose columns line
// up. Computes nothing but sums.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "napkin/cost/plan_line.hpp"
#include "napkin/cost/sheet.hpp"
#include "napkin/cost/time.hpp"

namespace napkin {

/// 291648307200 -> "291,648,307,200"
std::string with_separators(std::uint64_t number);

/// In the largest binary unit that leaves at least 1, to two decimals rounded to nearest: 512 -> "512 B",
/// 2415919104 -> "2.25 GiB".
std::string bytes_text(std::uint64_t bytes);

/// In the largest decimal unit that leaves at least 1, to two decimals: 291648307200 -> "291.65 GFLOP".
std::string flops_text(std::uint64_t flops);

/// FLOPs for each byte, to two decimals that are cut off; "-" of what moves none.
std::string intensity_text(const cost_sheet& sheet);

struct cost_row {
  std::string name;
  cost_sheet sheet;
};

/// Where a parameter belongs in a table: its path without the last name, equal layers together.
/// "blocks.3.attention.query" -> "blocks.*.attention"; a path of one name stays as it is.
std::string layer_of(std::string_view parameter_path);

/// A row for each layer, in the order of the parameters, then "other": what belongs to none. The path of
/// parameter i is paths[i], and i is its node, as plan_line::origin says it.
std::vector<cost_row> rows_by_layer(std::span<const plan_line> plan, std::span<const std::string_view> paths);
/// A row for each kind of instruction that the plan has.
std::vector<cost_row> rows_by_kind(std::span<const plan_line> plan);
/// A row for each dtype that results are in.
std::vector<cost_row> rows_by_dtype(std::span<const plan_line> plan);

/// One line a row, columns aligned, and their total; `what` heads the first column. "matmul" and "other" are
/// FLOPs, "exp, log, .." calls, "read" and "written" bytes.
///
///   layer             matmul        other  exp, log, ..      read   written  launches
///   blocks.*.mlp  5.50 GFLOP  1.05 MFLOP        65,536  2.00 MiB  2.00 MiB        12
std::string cost_table(std::string_view what, std::span<const cost_row> rows);

/// One line for each part that is not empty: name, rounded and exact bytes.
std::string memory_table(const memory_sheet& memory);

/// One line for each instruction: its kind, what it computes, and what that costs.
///
///   0  contraction  einsum  f32[4,128,128]    16.78 MFLOP    reads 256.00 KiB    writes 256.00 KiB
std::string to_string(std::span<const plan_line> plan);
template <std::size_t Lines>
std::string to_string(const plan_summary<Lines>& plan) {
  return to_string(std::span<const plan_line>(plan.instructions));
}

/// In the largest unit that leaves at least 1, to two decimals: 0.0015 -> "1.50 ms".
std::string seconds_text(double seconds);

/// One line for each instruction and their sum: what bounds it on a device, and the least time that it takes.
/// A lower bound (cost/time.hpp); `f32_products` and errors as bound_of.
///
///                  ends in       FLOPs      moves  FLOP/B    bound by  at least
///   0  contraction  einsum   4.29 GFLOP  24.00 MiB  170.66  arithmetic  64.10 us
std::string time_table(std::span<const plan_line> plan, const device& on,
                       arithmetic f32_products = arithmetic::f32);

}  // namespace napkin
