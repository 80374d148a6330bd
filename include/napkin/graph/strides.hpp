// Strides of shapes, as values: elements from one index to the next along each axis.
#pragma once

#include <cstddef>

#include "napkin/graph/graph.hpp"

namespace napkin {

using stride_list = inplace_vector<std::ptrdiff_t, max_rank>;

constexpr stride_list row_major_strides(const shape& s) {
  stride_list out;
  out.count = s.count;
  std::ptrdiff_t stride = 1;
  for (std::size_t i = s.count; i-- > 0;) {
    out.items[i] = stride;
    stride *= static_cast<std::ptrdiff_t>(s.items[i]);
  }
  return out;
}

/// Strides of the same elements under another shape, if any: axes are matched in runs of equal size, and
/// within a run the old axes must lie behind one another.
constexpr bool reshape_strides(const shape& from, const stride_list& old, const shape& to, stride_list& out) {
  out = stride_list(to.size(), 0);
  if (numel(from) == 0) {
    out = row_major_strides(to);
    return true;
  }
  std::size_t i = from.size(), j = to.size();
  while (i > 0 || j > 0) {
    while (i > 0 && from[i - 1] == 1) --i;
    if (i == 0) {
      while (j > 0) out[--j] = 1;  // only axes of size 1 are left
      break;
    }
    std::size_t run = from[i - 1], taken = 1;
    std::ptrdiff_t stride = old[i - 1];
    std::size_t chunk = run;  // size of the run of old axes that lie behind one another
    --i;
    while (true) {
      while (j > 0 && taken < chunk) {
        --j;
        out[j] = stride * static_cast<std::ptrdiff_t>(taken);
        taken *= to[j];
      }
      if (taken == chunk) break;
      if (i == 0) return false;
      while (i > 0 && from[i - 1] == 1) --i;
      if (i == 0 || old[i - 1] != stride * static_cast<std::ptrdiff_t>(chunk)) return false;
      chunk *= from[i - 1];
      --i;
    }
  }
  return true;
}

}  // namespace napkin
