// Whether a kernel's lanes lie along its rows (cpu/kernel.hpp) or across them (cpu/kernel_across_rows.hpp): by what
// either takes. Results are the same to the bit.
#pragma once

#include <cstddef>

#include "napkin/cpu/scalar.hpp"
#include "napkin/plan/program.hpp"

namespace napkin::on_cpu {

namespace detail {

using namespace planning::detail;

/// What a row takes, in hundredths of a nanosecond: medians on one core of 4 GHz with vectors of 64 bytes
/// (bench/kernels.cpp has the kernels). Only how they compare matters.
namespace along_row {
inline constexpr std::size_t walk = 500;                             // a phase of a segment
inline constexpr std::size_t join = 600;                             // the lanes of a reduction
inline constexpr std::size_t part_moved = 500, part_reduced = 1300;  // of a vector, at a segment's end
}  // namespace along_row
namespace across_rows {
inline constexpr std::size_t begin = 150;
inline constexpr std::size_t walk = 15;  // an element, in a phase
inline constexpr std::size_t add_to_column = 100;
}  // namespace across_rows
inline constexpr std::size_t vector_step = 100;  // for all lanes
inline constexpr std::size_t lone_move = 45;     // of an element whose neighbours in the lanes lie elsewhere

struct row_price {
  std::size_t along = 0, across = 0;
};
constexpr row_price price_of_row(const passes::kernel& k, std::size_t rows_of_block) {
  const std::size_t length = k.inner.empty() ? 1 : k.inner.back(), segments = k.row_length / length;
  const std::size_t vectors = (length + lane_count - 1) / lane_count;
  const bool has_part = length % lane_count != 0;
  const std::size_t run = k.outer.back();  // rows that follow one another by one stride
  const bool has_runs = rows_of_block % lane_count == 0 && (run % lane_count == 0 || run >= 4 * lane_count);
  row_price price{0, across_rows::begin};
  for (const passes::kernel_step& s : k.steps) {
    if (!walks_elements(s)) continue;
    const bool reduces = s.what == passes::action::reduce_row || s.what == passes::action::reduce_column;
    std::size_t along = vectors * vector_step, across = vector_step / lane_count;
    if (moves_data(s)) {
      if (has_part) along += along_row::part_moved;
      if (s.along != passes::pace::scratch) {
        const passes::kernel_access& a = k.accesses[static_cast<std::size_t>(s.a)];
        const bool is_near = has_runs && (a.outer.back() == 0 || a.outer.back() == 1);
        if (s.along == passes::pace::strided) along = length * lone_move;
        if (!is_near) across = lone_move;
      }
    } else if (reduces) {
      if (has_part) along += along_row::part_reduced;
      if (s.what == passes::action::reduce_column) across = across_rows::add_to_column;
      if (s.what == passes::action::reduce_row) price.along += along_row::join;
    }
    price.along += segments * along;
    price.across += k.row_length * across;
  }
  for (int phase = 0; phase < k.phases; ++phase) {
    bool walks = false;
    for (const passes::kernel_step& s : k.steps) walks = walks || (s.phase == phase && walks_elements(s));
    if (!walks) continue;
    price.along += segments * along_row::walk;
    price.across += k.row_length * across_rows::walk;
  }
  return price;
}

}  // namespace detail

/// Scratch of a thread whose lanes lie across rows: what the nearest cache has room for.
inline constexpr std::size_t most_scratch_across_rows = 16 * 1024;

/// Not one long row, nor a sum that is folded, nor what needs more scratch.
constexpr bool can_lie_across_rows(const passes::kernel& k) {
  if (k.outer.empty() || k.chunks() != 1 || k.row_length == 0 || k.row_length > most_unfolded) return false;
  std::size_t scratch = 0;
  for (const dtype type : k.scratch) scratch += passes::aligned(k.row_length * lane_count * size_of(type));
  return scratch <= most_scratch_across_rows;
}

/// Rows that a kernel's lanes hold side by side: lane_count, or 1 where lanes lie along the row. `finished`:
/// rows of a block of the product that the kernel finishes; 0: it has blocks of its own.
constexpr std::size_t rows_at_once(const passes::kernel& k, std::size_t finished) {
  if (k.rows < lane_count || !can_lie_across_rows(k)) return 1;
  const std::size_t in_block = finished > 0 ? finished : k.walks_per_block(lane_count);
  const std::size_t rows = in_block < k.rows ? in_block : k.rows,
                    turns = (rows + lane_count - 1) / lane_count;
  const detail::row_price price = detail::price_of_row(k, in_block);
  return price.across * turns * lane_count < price.along * rows ? lane_count : 1;
}

}  // namespace napkin::on_cpu
