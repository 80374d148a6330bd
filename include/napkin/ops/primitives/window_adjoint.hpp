// The adjoint of a window, by operations that are there: op::window's row (movement.hpp) calls it.
#pragma once

#include "napkin/ops/primitives/contraction.hpp"

namespace napkin::row {

/// A window node, taken apart.
struct window_walk {
  int axis, start, step, dilation, taps;
  std::size_t at;         // the axis; of the result the positions', the taps' being the next
  std::size_t positions;  // of the result
  std::size_t size;       // of the operand's axis
  int furthest;           // how far the last tap lies before the first, or 0
  std::size_t span;  // positions of the adjoint with zeros where no window is, so that each tap finds one

  constexpr window_walk(const builder& g, int n)
      : axis(g.attribute(n, 0)),
        start(g.attribute(n, 1)),
        step(g.attribute(n, 2)),
        dilation(g.attribute(n, 3)),
        at(static_cast<std::size_t>(axis)) {
    positions = g.shape_of(n)[at];
    taps = static_cast<int>(g.shape_of(n)[at + 1]);
    size = g.shape_of(g.operand(n, 0))[at];
    const int reach = (taps - 1) * dilation;
    furthest = reach > 0 ? reach : 0;
    span = size + static_cast<std::size_t>(reach > 0 ? reach : -reach);
  }
};

/// x with zeros along one axis: element i stands at first + i * step of `size`. A window on another axis
/// stays a view; what it looks at is padded.
constexpr int padded_along(builder& g, int x, std::size_t axis, std::size_t size, int first, int step) {
  if (g[x].kind == op::window) {
    const window_walk w(g, x);
    if (axis != w.at && axis != w.at + 1) {
      const int base = padded_along(g, g.operand(x, 0), axis > w.at ? axis - 1 : axis, size, first, step);
      return g.window(base, w.axis, w.positions, static_cast<std::size_t>(w.taps), w.start, w.step,
                      w.dilation);
    }
  }
  shape to = g.shape_of(x);
  to[axis] = size;
  inplace_vector<std::int32_t, max_rank> starts(to.size(), 0), steps(to.size(), 1);
  starts[axis] = first;
  steps[axis] = step;
  return g.pad(x, to, {starts.data(), starts.size()}, {steps.data(), steps.size()});
}

/// Where dy is a contraction, one operand of which has the positions and another the taps, as a convolution's
/// is: the same contraction over windows on the former, which no tensor of all windows comes between. -1
/// where dy is not, or where most of the products would be of zeros.
constexpr int contracted_adjoint(builder& g, const window_walk& w, int dy) {
  if (g[dy].kind != op::einsum || w.step != 1 || 2 * w.positions < w.size) return -1;
  const einsum_labels labels(g.view(), dy);
  const std::int32_t position = labels.result()[w.at], tap = labels.result()[w.at + 1];
  std::size_t owner = labels.arity(), axis = 0, seen = 0;
  for (std::size_t k = 0; k < labels.arity(); ++k)
    for (std::size_t i = 0; i < labels.operand(k).size(); ++i)
      if (labels.operand(k)[i] == position) {
        owner = k;
        axis = i;
        ++seen;
      }
  if (seen != 1 || has_label(labels.operand(owner), tap) || labels.operand(owner).size() == max_rank)
    return -1;

  buffer<std::int32_t> operands, from, to;
  for (std::size_t k = 0; k < labels.arity(); ++k) {
    const int x = g.operand(dy, static_cast<int>(k));
    if (k == owner) {
      const int padded = padded_along(g, x, axis, w.span, w.start + w.furthest, 1);
      operands.push_back(g.window(padded, static_cast<int>(axis), w.size, static_cast<std::size_t>(w.taps),
                                  w.furthest, 1, -w.dilation));
    } else {
      operands.push_back(x);
    }
    for (const std::int32_t label : labels.operand(k)) {
      from.push_back(label);
      if (label == position) from.push_back(tap);
    }
  }
  for (const std::int32_t label : labels.result())
    if (label != tap) to.push_back(label);
  return g.einsum({operands.data(), operands.size()}, {from.data(), from.size()}, {to.data(), to.size()},
                  static_cast<objective>(g[dy].value));
}

/// An element is the sum of those taps that read it: tap k of position (j - start - k * dilation) / step,
/// where that is one. dy is spread out and padded, so that each is one, of zeros where it is not; positions
/// and taps are merged, and a window on that walks back by a position for each tap.
constexpr int window_adjoint(builder& g, int n, int dy) {
  const window_walk w(g, n);
  if (const int contracted = contracted_adjoint(g, w, dy); contracted >= 0) return contracted;
  const auto taps = static_cast<std::size_t>(w.taps);
  shape merged = g.shape_of(g.operand(n, 0));
  merged[w.at] = w.span * taps;
  const int padded = padded_along(g, dy, w.at, w.span, w.start + w.furthest, w.step);
  const int back = g.window(g.reshape(padded, merged), w.axis, w.size, taps, w.furthest * w.taps, w.taps,
                            1 - w.dilation * w.taps);
  const std::int32_t summed[] = {w.axis + 1};
  return g.reduce(op::sum, back, summed);
}

}  // namespace napkin::row
