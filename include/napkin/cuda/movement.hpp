// gather, scatter_add, pad and concat on a GPU: what memory they take, known when they are planned, and what they
// note of an index that is outside its axis. Their calls are cuda/movement_call.hpp's.
#pragma once

#include <string>

#include "napkin/core/error.hpp"
#include "napkin/cost/sheet.hpp"
#include "napkin/plan/records.hpp"

namespace napkin::on_cuda {

/// What a kernel notes of an index that is outside its axis, since it cannot throw: in device memory, zeros
/// before the run. Whoever comes first keeps the place. A gather gives zeros for such an index, a scatter_add
/// leaves it out; the result is worth nothing.
struct index_fault {
  static constexpr std::uint32_t of_gather = 1, of_scatter_add = 2;
  std::uint32_t noted = 0;  // one of these
  std::int64_t index = 0;
  std::uint64_t size = 0;  // of the axis
};

/// Throws `input_error`, worded as the CPU's, if there is a fault.
inline void throw_if_noted(const index_fault& fault) {
  if (fault.noted != 0)
    throw input_error(std::string(fault.noted == index_fault::of_gather ? "gather" : "scatter_add") +
                      ": index " + std::to_string(fault.index) + " is outside an axis of size " +
                      std::to_string(fault.size));
}

namespace detail {

/// A scatter_add's numbers, and where in its workspace what lies (bytes). Its values are rows of `run`
/// elements, `picks` of them for each of `outer`; sorted by index they are cut into pieces of `length`. A
/// segment of equal indices that goes over an end of a piece is joined from the pieces' partial sums.
struct scatter_layout {
  std::size_t outer = 1, picks = 1, run = 1, size = 0;
  std::size_t length = 32, pieces = 0;
  std::size_t keys[2]{}, positions[2]{};        // u32 each; in and out of the sort
  std::size_t partials = 0, partial_bytes = 0;  // accumulators: of a piece's first and of its last segment
  std::size_t sort = 0, sort_bytes = 0;         // CUB's own
  std::size_t bytes = 0;
  unsigned bits = 0;  // of a key: an index, or `size` for one outside the axis
  constexpr bool is_empty() const { return outer * picks * run * size == 0; }
};

inline constexpr std::size_t least_tile = 4096;  // pairs

/// No less than what cub::DeviceRadixSort::SortPairs wants for n pairs of u32 in double buffers. On sm_60 and
/// later that sort is CUB's "onesweep": for each portion of the input and each pass a histogram of 256 digits
/// and a counter, and for each tile of the largest portion 256 digits, each of the three rounded up to 256
/// bytes, and 255 for alignment; or 1 byte where one tile holds everything.
///
/// A portion has at least 2^27 pairs (CUB: the largest multiple of a tile below 2^28) and a tile at least
/// `least_tile` (CUB: 7,680 or more for these types); 32 bits take 4 passes, 8 bits each.
///
/// Source  InvokeOnesweep of cub/device/dispatch/dispatch_radix_sort.cuh and the OnesweepPolicy's of
///         cub/device/dispatch/tuning/tuning_radix_sort.cuh, CCCL 3.0 (CUDA 13.0). Other versions are checked
///         where the call is made.
constexpr std::size_t sort_bytes_of(std::size_t n) {
  const auto rounded = [](std::size_t bytes) { return (bytes + 255) / 256 * 256; };
  const std::size_t portions = n / (std::size_t{1} << 27) + 1, tiles = n / least_tile + 1;
  return rounded(portions * 4 * 256 * 4) + rounded(tiles * 256 * 4) + rounded(portions * 4 * 4) + 255;
}

constexpr scatter_layout layout_of_scatter(const planning::movement_record& r) {
  scatter_layout s;
  const auto axis = static_cast<std::size_t>(r.axis);
  for (std::size_t d = 0; d < r.to_shape.size(); ++d)
    (d < axis ? s.outer : d == axis ? s.size : s.run) *= d == axis ? 1 : r.to_shape[d];
  s.size = r.to_shape[axis];
  s.picks = numel(r.index_shape);
  if (s.is_empty()) return s;
  if (s.picks >> 31 != 0 || s.size >> 31 != 0)
    throw error("scatter_add: on a GPU an index has fewer than 2^31 elements, and so has its axis");
  // The longest segment then takes about as many partial sums as a piece has rows.
  while (s.length < 1024 && s.length * s.length * 32 < s.picks) s.length *= 2;
  s.pieces = (s.picks + s.length - 1) / s.length;
  while (s.size >> s.bits != 0) ++s.bits;

  const auto take = [&s](std::size_t bytes) {
    const std::size_t at = s.bytes;
    s.bytes = (at + bytes + 255) / 256 * 256;
    return at;
  };
  for (std::size_t& keys : s.keys) keys = take(s.picks * 4);
  for (std::size_t& positions : s.positions) positions = take(s.picks * 4);
  if (s.pieces > 1) s.partial_bytes = s.pieces * 2 * s.outer * s.run * size_of(accumulator_of(r.type));
  s.partials = take(s.partial_bytes);
  s.sort_bytes = sort_bytes_of(s.picks);
  s.sort = take(s.sort_bytes);
  return s;
}

/// Whether few enough values go to few enough places that each place looks through all indices: one kernel,
/// without workspace, where a sort and what follows it are five launches. At most `most_looks` all together:
/// some microseconds of an H100.
constexpr bool looks_through_indices(const planning::movement_record& r) {
  constexpr std::size_t most_picks = 2048, most_looks = std::size_t{1} << 25, reach = std::size_t{1} << 30;
  if (!is_floating(r.type) || size_of(r.type) < 2) return false;
  const std::size_t picks = numel(r.index_shape), elements = numel(r.to_shape);
  if (picks == 0 || picks > most_picks || elements == 0 || elements > most_looks / picks) return false;
  const auto spans = [](const shape& s, const stride_list& stride) {  // elements, at most
    std::size_t sum = 0;
    for (std::size_t d = 0; d < stride.size(); ++d)
      sum += s[d] * static_cast<std::size_t>(stride[d] < 0 ? -stride[d] : stride[d]);
    return sum;
  };
  return spans(r.from_shape, r.from_stride) < reach && spans(r.index_shape, r.index_stride) < reach;
}

/// How many threads then share a place's: a part of the indices each, whatever they are, of eight that are on
/// the way at once or, of more than 256, of several eights.
constexpr unsigned rows_that_look(std::size_t picks) {
  unsigned rows = 1;
  while (rows < 32 && rows * std::size_t{8} < picks) rows *= 2;
  return rows;
}

/// Keys and positions are made, sorted in passes of 8 bits, each of which reads them and writes them
/// elsewhere, and read; the sort's histogram, which is of all of its passes, reads the keys once more and
/// lies in the sort's own bytes. What one tile holds takes one pass of all bits. Of partial sums all, though
/// which there are is data.
constexpr byte_counts bytes_of_scatter_workspace(const scatter_layout& s) {
  if (s.is_empty()) return {};
  const bool one_tile = s.picks <= least_tile;
  const std::size_t keys = s.picks * 4, pairs = 2 * keys, passes = one_tile ? 1 : (s.bits + 7) / 8;
  const std::size_t histogram = one_tile ? 0 : s.sort_bytes;
  return {(one_tile ? 0 : keys) + (passes + 1) * pairs + histogram + s.partial_bytes,
          (passes + 1) * pairs + histogram + s.partial_bytes};
}

}  // namespace detail

/// Bytes of workspace that a movement wants, known when it is planned; aligned to 64 bytes.
constexpr std::size_t workspace_of(const planning::movement_record& r) {
  if (r.kind != planning::unit_kind::scatter_add || detail::looks_through_indices(r)) return 0;
  return detail::layout_of_scatter(r).bytes;
}
/// What it writes there and reads again.
constexpr byte_counts workspace_bytes_of(const planning::movement_record& r) {
  if (r.kind != planning::unit_kind::scatter_add || detail::looks_through_indices(r)) return {};
  return detail::bytes_of_scatter_workspace(detail::layout_of_scatter(r));
}

/// Kernels, and the call of CUB's sort: a scatter_add is one where it looks through its indices, else it
/// makes zeros, keys, sorts them, adds, and joins where a segment may go over the end of a piece.
constexpr std::uint64_t launches_of(const planning::movement_record& r) {
  using planning::unit_kind;
  if (r.kind == unit_kind::scatter_add) {
    if (detail::looks_through_indices(r)) return 1;
    const detail::scatter_layout s = detail::layout_of_scatter(r);
    if (numel(r.to_shape) == 0) return s.outer * s.run * s.picks != 0 ? 1 : 0;  // indices are looked at
    return s.picks == 0 ? 1 : s.pieces > 1 ? 5 : 4;
  }
  if (r.kind != unit_kind::gather) return numel(r.fills ? r.to_shape : r.from_shape) != 0 ? 1 : 0;
  std::size_t before = numel(r.index_shape);
  for (std::int32_t d = 0; d < r.axis; ++d) before *= r.from_shape[static_cast<std::size_t>(d)];
  return before != 0 ? 1 : 0;
}

}  // namespace napkin::on_cuda
