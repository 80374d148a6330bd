// Loops of a product as the device walks them: one index counts all points of some loops, and their sizes
// divide it into an offset of each operand and of the result.
#pragma once

#include <cstdint>

#include "napkin/passes/contraction_groups.hpp"

#if defined(__CUDACC__)
#define NAPKIN_BOTH __host__ __device__
#else
#define NAPKIN_BOTH
#endif

namespace napkin::on_cuda {

/// Outermost first.
struct product_loops {
  static constexpr int most = static_cast<int>(max_rank);
  struct loop {
    std::uint64_t size;
    std::int64_t a, b, c;
  };
  loop loops[most]{};
  int rank = 0;
  std::uint64_t points = 1;

  constexpr void add(const passes::contraction_loops& group) {
    for (const passes::contraction_loop& x : group) {
      loops[rank++] = {x.size, x.a, x.b, x.c};
      points *= x.size;
    }
  }
};

/// Offsets into a, b and c, elements.
struct loop_offsets {
  std::int64_t a = 0, b = 0, c = 0;
};
NAPKIN_BOTH constexpr loop_offsets offsets_at(const product_loops& l, std::uint64_t i) {
  loop_offsets at;
  for (int d = l.rank; d-- > 0;) {
    const auto x = static_cast<std::int64_t>(i % l.loops[d].size);
    i /= l.loops[d].size;
    at.a += x * l.loops[d].a;
    at.b += x * l.loops[d].b;
    at.c += x * l.loops[d].c;
  }
  return at;
}

}  // namespace napkin::on_cuda
