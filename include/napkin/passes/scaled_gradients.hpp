// Gradients of a loss that is multiplied by a number first: by a batch's share of several batches' mean; by a
// scale, so that small ones stay numbers of a narrow dtype, which they are divided by where they arrive.
#pragma once

#include "napkin/passes/differentiate.hpp"

namespace napkin {

namespace passes {

namespace detail {
constexpr builder copy_simplifying(const graph_view& g, std::size_t expected) {
  builder b = copy_of(g, expected);
  b.simplify = true;
  b.reserve(expected);
  return b;
}
}  // namespace detail

/// As differentiate, with gradients of share * loss.
constexpr graph differentiate_share(const graph_view& g, ids wanted, double share) {
  if (share == 1) return differentiate(g, wanted);
  builder forward = detail::copy_simplifying(g, g.size() + 4);
  forward.output(forward.scale(g.outputs[0], share));
  for (std::int32_t out : g.output_ids()) forward.output(out);

  const graph shared = differentiate(forward.view(), wanted);
  builder b = detail::copy_simplifying(shared.view(), shared.nodes.size());
  for (std::size_t i = 1; i < shared.outputs.size(); ++i) b.output(shared.outputs[i]);
  return b.take();
}

/// As differentiate_share, with one input more, behind all others: the scale, a number in f32. On the way
/// back every adjoint is that of scale * share * loss; each gradient of a wanted node is divided by the scale
/// at the end, where the node is f32. What overflows on the way arrives as infinity or NaN, whatever the
/// scale.
///
/// Source  Micikevicius et al. 2018, "Mixed Precision Training", section 3.2
constexpr graph differentiate_scaled(const graph_view& g, ids wanted, double share = 1) {
  builder forward = detail::copy_simplifying(g, g.size() + 6);
  const std::int32_t scale = forward.input(g.next_slot(), dtype::f32, {}), loss = g.outputs[0];
  forward.output(forward.scale(forward.mul(loss, forward.cast(scale, g[loss].type)), share));
  for (std::int32_t out : g.output_ids()) forward.output(out);

  const graph scaled = differentiate(forward.view(), wanted);
  builder b = detail::copy_simplifying(scaled.view(), scaled.nodes.size() + 4 * wanted.size() + 4);
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
