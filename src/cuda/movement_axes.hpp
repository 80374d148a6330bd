// Axes as the host rearranges them before a movement is launched: neighbours merged, in units as wide as
// strides and addresses allow, and at last in a form that threads walk.
#pragma once

#include "movement_body.hpp"
#include "napkin/graph/strides.hpp"

namespace napkin::on_cuda::detail {

struct plain_axis {
  std::size_t size;
  std::ptrdiff_t stride[2];
};
using axis_list = inplace_vector<plain_axis, static_cast<std::size_t>(max_axes)>;

/// Neighbours made one where both strides allow; axes of size 1 left out, the last one excepted.
inline axis_list merged(const axis_list& axes) {
  axis_list out;
  for (std::size_t d = axes.size(); d-- > 0;) {
    const plain_axis& a = axes[d];
    if (out.empty()) {
      out.push_back(a);
      continue;
    }
    plain_axis& inner = out[0];
    const auto size = static_cast<std::ptrdiff_t>(inner.size);
    if (a.size == 1) continue;
    if (a.stride[0] == inner.stride[0] * size && a.stride[1] == inner.stride[1] * size)
      inner.size *= a.size;
    else
      out.insert(0, a);
  }
  return out;
}

inline void narrow_unit(unsigned& unit, std::size_t quantity) {
  while (quantity % unit != 0) unit /= 2;
}
inline void narrow_unit(unsigned& unit, std::ptrdiff_t stride) {
  narrow_unit(unit, static_cast<std::size_t>(stride < 0 ? -stride : stride));
}
inline void narrow_unit(unsigned& unit, const std::byte* address) {
  narrow_unit(unit, reinterpret_cast<std::uintptr_t>(address));
}

/// Bytes from the first to the last that a walk reaches, at most.
inline std::size_t reach(const axis_list& axes, int stride) {
  std::size_t sum = 0;
  for (const plain_axis& a : axes)
    sum +=
        (a.size - 1) * static_cast<std::size_t>(a.stride[stride] < 0 ? -a.stride[stride] : a.stride[stride]);
  return sum;
}
/// Below 2^31, what the last block's threads add to it included.
inline bool is_narrow(std::size_t n) {
  return n < (std::size_t{1} << 31) - 4 * movement_threads * units_per_thread;
}

template <class Offset>
walk<Offset> walk_of(const axis_list& axes) {
  walk<Offset> w;
  for (const plain_axis& a : axes) {
    if (a.size == 1) continue;
    auto& axis = w.axes[w.rank++];
    axis.size = divisor<Offset>(static_cast<count_of<Offset>>(a.size));
    for (int s = 0; s < 2; ++s) axis.stride[s] = static_cast<Offset>(a.stride[s]);
  }
  return w;
}

}  // namespace napkin::on_cuda::detail
