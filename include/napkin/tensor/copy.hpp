// Copying elements between two layouts of one shape, and which memory a layout takes. Knows bytes and strides,
// not types, so that there is one instance a rank.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace napkin::detail {

template <std::size_t Bytes>
void copy_row(std::byte* to, std::ptrdiff_t to_stride, const std::byte* from, std::ptrdiff_t from_stride,
              std::size_t count) {
  for (std::size_t i = 0; i < count; ++i, to += to_stride, from += from_stride) std::memcpy(to, from, Bytes);
}

inline void copy_row(std::byte* to, std::ptrdiff_t to_stride, const std::byte* from,
                     std::ptrdiff_t from_stride, std::size_t count, std::size_t bytes) {
  const auto dense = static_cast<std::ptrdiff_t>(bytes);
  if (to_stride == dense && from_stride == dense) {
    std::memcpy(to, from, count * bytes);
    return;
  }
  switch (bytes) {
    case 1:
      return copy_row<1>(to, to_stride, from, from_stride, count);
    case 2:
      return copy_row<2>(to, to_stride, from, from_stride, count);
    case 4:
      return copy_row<4>(to, to_stride, from, from_stride, count);
    case 8:
      return copy_row<8>(to, to_stride, from, from_stride, count);
    default:
      return copy_row<16>(to, to_stride, from, from_stride, count);
  }
}

/// Copy elements of `bytes` bytes (1, 2, 4, 8 or 16); strides in elements. The two must not overlap.
template <std::size_t Rank>
void copy_strided(void* to, const std::array<std::ptrdiff_t, Rank>& to_strides, const void* from,
                  const std::array<std::ptrdiff_t, Rank>& from_strides,
                  const std::array<std::size_t, Rank>& sizes, std::size_t bytes) {
  struct loop {
    std::size_t size;
    std::ptrdiff_t to, from;  // bytes
  };
  // Innermost first; neighbours that both layouts run through as one are one loop.
  std::array<loop, Rank + 1> loops{};
  std::size_t depth = 0;
  const auto width = static_cast<std::ptrdiff_t>(bytes);
  for (std::size_t i = Rank; i-- > 0;) {
    if (sizes[i] == 0) return;
    if (sizes[i] == 1) continue;
    const loop next{sizes[i], to_strides[i] * width, from_strides[i] * width};
    if (depth != 0) {
      loop& inner = loops[depth - 1];
      const auto n = static_cast<std::ptrdiff_t>(inner.size);
      if (next.to == inner.to * n && next.from == inner.from * n) {
        inner.size *= next.size;
        continue;
      }
    }
    loops[depth++] = next;
  }
  if (depth == 0) loops[depth++] = {1, width, width};

  auto* target = static_cast<std::byte*>(to);
  auto* source = static_cast<const std::byte*>(from);
  std::array<std::size_t, Rank + 1> index{};
  for (;;) {
    copy_row(target, loops[0].to, source, loops[0].from, loops[0].size, bytes);
    std::size_t i = 1;
    for (; i < depth; ++i) {
      target += loops[i].to;
      source += loops[i].from;
      if (++index[i] != loops[i].size) break;
      index[i] = 0;
      const auto n = static_cast<std::ptrdiff_t>(loops[i].size);
      target -= loops[i].to * n;
      source -= loops[i].from * n;
    }
    if (i == depth) return;
  }
}

/// First and last element that a layout reaches, from its own first: where two layouts may meet.
struct reach {
  std::ptrdiff_t lowest, highest;
};
template <std::size_t Rank>
constexpr reach reach_of(const std::array<std::ptrdiff_t, Rank>& strides,
                         const std::array<std::size_t, Rank>& sizes) {
  reach r{0, 0};
  for (std::size_t i = 0; i < Rank; ++i) {
    if (sizes[i] == 0) return {0, -1};
    const std::ptrdiff_t last = strides[i] * (static_cast<std::ptrdiff_t>(sizes[i]) - 1);
    (last < 0 ? r.lowest : r.highest) += last;
  }
  return r;
}

/// Memory by addresses, as what comes from outside has no storage of its own.
struct address_range {
  std::uintptr_t begin = 0, end = 0;
  bool overlaps(address_range x) const { return begin < x.end && x.begin < end; }
};
/// From the lowest element to the end of the highest; empty of no elements.
template <class X>
address_range addresses_of(const X& x) {
  const reach r = reach_of(X::strides, x.sizes());
  if (r.highest < r.lowest) return {};
  return {reinterpret_cast<std::uintptr_t>(x.data() + r.lowest),
          reinterpret_cast<std::uintptr_t>(x.data() + r.highest + 1)};
}

}  // namespace napkin::detail
