// The tables of cost/report.hpp. Numbers are formatted by hand, so that no locale changes them.
#include "napkin/cost/report.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "aligned.hpp"
#include "napkin/core/dtype.hpp"
#include "napkin/ops/primitives/table.hpp"

namespace napkin {

namespace {

/// number / unit to two decimals, rounded to nearest; the unit is a power of 1000 or 1024.
std::string in_units(std::uint64_t number, std::uint64_t unit) {
  std::uint64_t whole = number / unit, rest = number % unit;
  if (unit > std::uint64_t{1} << 50) {  // for rest * 100 to fit; both largest units are multiples of 256
    unit /= 256;
    rest /= 256;
  }
  std::uint64_t hundredths = (rest * 100 + unit / 2) / unit;
  if (hundredths == 100) {
    ++whole;
    hundredths = 0;
  }
  const std::string digits = std::to_string(hundredths);
  return std::to_string(whole) + (hundredths < 10 ? ".0" : ".") + digits;
}

std::vector<std::string> cells_of(const std::string& name, const cost_sheet& s) {
  return {name,
          flops_text(s.flops.matmul),
          flops_text(s.flops.elementwise + s.flops.reduce),
          with_separators(s.flops.transcendental),
          bytes_text(s.bytes.read),
          bytes_text(s.bytes.written),
          with_separators(s.launches)};
}

void add_to(std::vector<cost_row>& rows, const std::string& name, const cost_sheet& sheet) {
  for (cost_row& row : rows)
    if (row.name == name) {
      row.sheet += sheet;
      return;
    }
  rows.push_back({name, sheet});
}

}  // namespace

std::string with_separators(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array<const char*, 6> units{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  std::size_t u = 0;
  std::uint64_t unit = 1024;
  while (u + 1 < units.size() && bytes / unit >= 1024) {
    unit *= 1024;
    ++u;
  }
  return in_units(bytes, unit) + " " + units[u];
}

std::string flops_text(std::uint64_t flops) {
  constexpr std::array<const char*, 6> units{"kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP"};
  if (flops < 1000) return std::to_string(flops) + " FLOP";
  std::size_t u = 0;
  std::uint64_t unit = 1000;
  while (u + 1 < units.size() && flops / unit >= 1000) {
    unit *= 1000;
    ++u;
  }
  return in_units(flops, unit) + " " + units[u];
}

std::string intensity_text(const cost_sheet& c) {
  if (c.bytes.total() == 0) return "-";
  return in_units(static_cast<std::uint64_t>(c.intensity() * 100), 100);
}

std::string layer_of(std::string_view path) {
  const std::size_t last = path.rfind('.');
  if (last == std::string_view::npos) return std::string(path);
  path = path.substr(0, last);
  std::string out;
  while (true) {
    const std::size_t dot = path.find('.');
    const std::string_view name = path.substr(0, dot);
    const bool is_index = !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos;
    out += is_index ? "*" : std::string(name);
    if (dot == std::string_view::npos) return out;
    out += ".";
    path.remove_prefix(dot + 1);
  }
}

std::vector<cost_row> rows_by_layer(std::span<const plan_line> plan,
                                    std::span<const std::string_view> paths) {
  std::vector<cost_row> rows;
  for (const std::string_view path : paths) add_to(rows, layer_of(path), {});
  add_to(rows, "other", {});
  for (const plan_line& line : plan) {
    const bool known = line.origin >= 0 && static_cast<std::size_t>(line.origin) < paths.size();
    add_to(rows, known ? layer_of(paths[static_cast<std::size_t>(line.origin)]) : "other", sheet_of(line));
  }
  std::erase_if(rows, [](const cost_row& row) { return row.sheet.launches == 0; });
  return rows;
}

std::vector<cost_row> rows_by_kind(std::span<const plan_line> plan) {
  std::vector<cost_row> rows;
  for (int kind = 0; kind <= static_cast<int>(passes::unit_kind::attention); ++kind)
    for (const plan_line& line : plan)
      if (static_cast<int>(line.kind) == kind) add_to(rows, std::string(name_of(line.kind)), sheet_of(line));
  return rows;
}

std::vector<cost_row> rows_by_dtype(std::span<const plan_line> plan) {
  std::vector<cost_row> rows;
  for (const dtype t : all_dtypes)
    for (const plan_line& line : plan)
      if (line.type == t) add_to(rows, std::string(name_of(t)), sheet_of(line));
  return rows;
}

std::string cost_table(std::string_view what, std::span<const cost_row> rows) {
  table cells{{std::string(what), "matmul", "other", "exp, log, ..", "read", "written", "launches"}};
  cost_sheet total;
  for (const cost_row& row : rows) {
    cells.push_back(cells_of(row.name, row.sheet));
    total += row.sheet;
  }
  cells.push_back(cells_of("total", total));
  return aligned_text(cells, 1);
}

std::string memory_table(const memory_sheet& m) {
  const std::array<std::pair<const char*, std::uint64_t>, 14> parts{
      {{"parameters", m.parameters},
       {"of them masters", m.master_copies},
       {"narrow copies", m.narrow_copies},
       {"gradients", m.gradients},
       {"optimizer state", m.optimizer_state},
       {"activations kept", m.activations},
       {"workspace, largest", m.workspace},
       {"inputs", m.inputs},
       {"of them staging", m.staging},
       {"outputs", m.outputs},
       {"arena", m.arena},
       {"arena, lower bound", m.arena_lower_bound},
       {"tables", m.tables},
       {"peak", m.peak}}};
  table cells;
  for (const auto& [name, bytes] : parts)
    if (bytes != 0) cells.push_back({name, bytes_text(bytes), with_separators(bytes) + " bytes"});
  return aligned_text(cells, 1);
}

std::string to_string(std::span<const plan_line> plan) {
  table cells;
  for (const plan_line& line : plan) {
    std::string result(name_of(line.type));
    result += '[';
    for (std::size_t i = 0; i < line.result.size(); ++i)
      result += (i > 0 ? "," : "") + std::to_string(line.result[i]);
    result += ']';
    std::string computes(facts_of(line.last).name);
    if (line.operations > 1) computes = std::to_string(line.operations) + " to " + computes;
    cells.push_back({std::to_string(cells.size()), std::string(name_of(line.kind)), computes, result,
                     flops_text(line.flops.total()), "reads " + bytes_text(line.bytes.read),
                     "writes " + bytes_text(line.bytes.written)});
    if (!line.refused.empty()) cells.back().push_back("no library product: " + std::string(line.refused));
  }
  return aligned_text(cells, 4);
}

std::string seconds_text(double seconds) {
  constexpr std::array<const char*, 4> units{" s", " ms", " us", " ns"};
  std::size_t u = 0;
  for (; u + 1 < units.size() && seconds < 1 && seconds > 0; ++u) seconds *= 1000;
  if (!(seconds < 1e9)) return std::to_string(seconds) + units[u];
  return in_units(static_cast<std::uint64_t>(seconds * 1000 + 0.5), 1000) + units[u];
}

std::string time_table(std::span<const plan_line> plan, const device& on, arithmetic f32_products) {
  table cells{{"", "", "ends in", "FLOPs", "moves", "FLOP/B", "bound by", "at least"}};
  time_bound sum;
  cost_sheet all;
  for (const plan_line& line : plan) {
    const kernel_bound k = bound_of(line, on, f32_products);
    sum += k;
    const cost_sheet c = sheet_of(line);
    all += c;
    cells.push_back({std::to_string(cells.size() - 1), std::string(name_of(line.kind)),
                     std::string(facts_of(line.last).name), flops_text(line.flops.total()),
                     bytes_text(line.bytes.total()), intensity_text(c),
                     k.by_memory() ? "memory" : "arithmetic", seconds_text(k.seconds())});
  }
  cells.push_back({"total", "", "", flops_text(all.flops.total()), bytes_text(all.bytes.total()),
                   intensity_text(all), "", seconds_text(sum.seconds)});
  return aligned_text(cells, 3);
}

}  // namespace napkin
