// A kernel's geometry as values: where the elements of a row lie, how positions are counted, and how much of a
// row has room in shared memory. For fused.hpp; of the host's compiler too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "napkin/cuda/device_function.hpp"
#include "napkin/cuda/geometry.hpp"

namespace napkin::on_cuda {

inline constexpr std::size_t at_least_one(std::size_t n) { return n == 0 ? 1 : n; }

namespace detail {

/// A geometry as values. Axes are counted over the outer ones and then the inner ones, outermost first, as
/// steps count them. `Index` counts rows, and positions in one: 32 bits where they suffice, of which a GPU's
/// registers are.
template <std::size_t Outer, std::size_t Inner, std::size_t Strides, class Index>
struct layout {
  using index = Index;
  static constexpr std::size_t inner_rank = Inner;
  dealing how;
  std::size_t full_groups;  // those that every row or chunk fills, where no thread need ask
  std::size_t outer[at_least_one(Outer)], inner[at_least_one(Inner)];
  std::ptrdiff_t strides[at_least_one(Strides)];
  bool moves_by_row[at_least_one(Strides)];  // of an access: each row reads elements of its own

  /// Where element i of `Rank` axes lies; i counts in row-major order.
  template <std::size_t Rank>
  static NAPKIN_DEVICE std::ptrdiff_t offset_of(index i, const std::size_t* sizes, const std::ptrdiff_t* by) {
    if constexpr (Rank == 0) {
      return 0;
    } else {
      std::ptrdiff_t offset = 0;
      NAPKIN_UNROLL for (std::size_t d = Rank - 1; d > 0; --d) {
        const auto size = static_cast<index>(sizes[d]);
        offset += static_cast<std::ptrdiff_t>(i % size) * by[d];
        i /= size;
      }
      return offset + static_cast<std::ptrdiff_t>(i) * by[0];
    }
  }
  template <std::size_t Rank, std::size_t Axis>
  static NAPKIN_DEVICE index coordinate_of(index i, const std::size_t* sizes) {
    NAPKIN_UNROLL for (std::size_t d = Rank - 1; d > Axis; --d) i /= static_cast<index>(sizes[d]);
    if constexpr (Axis == 0)
      return i;
    else
      return i % static_cast<index>(sizes[Axis]);
  }
  NAPKIN_DEVICE std::ptrdiff_t offset_of_row(int access, index row) const {
    return offset_of<Outer>(row, outer, strides + static_cast<std::size_t>(access) * (Outer + Inner));
  }
  NAPKIN_DEVICE std::ptrdiff_t offset_in_row(int access, index p) const {
    return offset_of<Inner>(p, inner, strides + static_cast<std::size_t>(access) * (Outer + Inner) + Outer);
  }
  NAPKIN_DEVICE std::ptrdiff_t last_stride(int access) const {
    return Inner == 0 ? 0 : strides[(static_cast<std::size_t>(access) + 1) * (Outer + Inner) - 1];
  }
  template <std::size_t Axis>
  NAPKIN_DEVICE index coordinate_of_row(index row) const {
    return coordinate_of<Outer, Axis>(row, outer);
  }
  template <std::size_t Axis>
  NAPKIN_DEVICE index coordinate_in_row(index p) const {
    return coordinate_of<Inner, Axis - Outer>(p, inner);
  }
};
constexpr std::size_t full_groups(const dealing& how) {
  if (how.chunks > 1) return how.row_length % how.chunk == 0 ? how.groups : 0;
  return how.row_length / (std::size_t{how.team} * how.vector);
}
/// Threads count past what there is: a walk and a chunk at most.
template <class Dealt>
using index_for = std::conditional_t<(Dealt::walks <= std::uint32_t{1} << 30 &&
                                      Dealt::row_length <= std::uint32_t{1} << 30),
                                     std::uint32_t, std::size_t>;
template <class Dealt, std::size_t... Outer, std::size_t... Inner, std::ptrdiff_t... Stride>
constexpr layout<sizeof...(Outer), sizeof...(Inner), sizeof...(Stride), index_for<Dealt>> layout_of(
    geometry<Dealt, extents<Outer...>, extents<Inner...>, strides<Stride...>>) {
  layout<sizeof...(Outer), sizeof...(Inner), sizeof...(Stride), index_for<Dealt>> of{
      Dealt::value, full_groups(Dealt::value), {Outer...}, {Inner...}, {Stride...}, {}};
  if constexpr (sizeof...(Stride) > 0 && sizeof...(Outer) > 0) {
    constexpr std::size_t rank = sizeof...(Outer) + sizeof...(Inner);
    for (std::size_t i = 0; i < sizeof...(Stride); ++i)
      if (i % rank < sizeof...(Outer) && of.strides[i] != 0) of.moves_by_row[i / rank] = true;
  }
  return of;
}

/// Positions of a row in the room for what is read again: whole vectors.
constexpr NAPKIN_DEVICE std::size_t room_positions(std::size_t row_length) {
  return (row_length + 15) / 16 * 16;
}
/// The most of a multiprocessor's shared memory, of 228 KB from compute capability 9.0 on, that a block takes
/// where `unkept_teams` run at a time; 1 KB of it is the system's.
inline constexpr std::size_t most_room = 228 * 1024 / (unkept_teams / processors) - 1024;

}  // namespace detail
}  // namespace napkin::on_cuda
