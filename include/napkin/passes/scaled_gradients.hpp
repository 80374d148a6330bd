// Gradients of a loss that is multiplied by a number first, so that small ones stay numbers of a narrow
// dtype, and divided by it where they arrive.
#pragma once

#include "napkin/passes/differentiate.hpp"

namespace napkin {

namespace passes {

/// As differentiate, with one input more, behind all others: the scale, a number in f32. On the way back
/// every adjoint is that of scale * loss; each gradient of a wanted node is divided by it at the end, where
/// the node is f32. What overflows on the way arrives as infinity or NaN, whatever the scale.
///
/// Source  Micikevicius et al. 2018, "Mixed Precision Training", section 3.2
constexpr graph differentiate_scaled(const graph_view& g, ids wanted) {
  builder forward = copy_of(g, g.size() + 4);
  forward.simplify = true;
  forward.reserve(g.size() + 4);
  std::int32_t inputs = 0;
  for (int id = 0; id < static_cast<int>(g.size()); ++id)
    if (g[id].kind == op::input && g.attribute(id, 0) >= inputs) inputs = g.attribute(id, 0) + 1;
  const std::int32_t scale = forward.input(inputs, dtype::f32, {}), loss = g.outputs[0];
  forward.output(forward.mul(loss, forward.cast(scale, g[loss].type)));
  for (std::int32_t out : g.output_ids()) forward.output(out);

  const graph scaled = differentiate(forward.view(), wanted);
  const std::size_t expected = scaled.nodes.size() + 4 * wanted.size() + 4;
  builder b = copy_of(scaled.view(), expected);
  b.simplify = true;
  b.reserve(expected);
  const std::int32_t back = b.div(b.ones_like(scale), scale);
  for (std::size_t i = 1; i <= g.output_count; ++i) b.output(scaled.outputs[i]);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const std::int32_t gradient = scaled.outputs[1 + g.output_count + i];
    const shape s = b.shape_of(gradient);
    b.origin = b[gradient].origin;
    b.output(b.mul(gradient, b.fill(b.cast(back, b.type_of(gradient)), s)));
  }
  return b.take();
}

}  // namespace passes
}  // namespace napkin
