// PyTorch's torch.utils.flop_counter.FlopCounterMode: of graphs, and its formulas for operations that their
// shapes describe: convolutions, which a graph has as products of windows, and attention.
#pragma once

#include <cstddef>
#include <cstdint>

#include "napkin/cost/counts.hpp"
#include "napkin/cost/flops.hpp"
#include "napkin/passes/contract.hpp"

namespace napkin::conventions {

namespace detail {

/// The einsum alone, over inputs: to be ordered without its neighbours.
constexpr graph only(const graph_view& g, int id) {
  builder b;
  buffer<std::int32_t> xs;
  for (const std::int32_t x : g.operands(id))
    xs.push_back(b.input(static_cast<int>(xs.size()), g[x].type, g.shape_of(x)));
  b.output(b.emit({op::einsum,
                   g[id].type,
                   b.result.intern(g.shape_of(id)),
                   {xs.data(), xs.size()},
                   g.attributes(id),
                   0}));
  return b.take();
}

/// Labels of one operand alone are summed before the product, which then spans the others.
constexpr std::uint64_t torch_flops_of_einsum(const graph_view& g, int id) {
  if (g[id].arity > 2) {
    const graph single = only(g, id);
    const graph pairwise = passes::contract(single.view(), passes::objective::least_flops);
    std::uint64_t sum = 0;
    for (int i = 0; i < static_cast<int>(pairwise.nodes.size()); ++i)
      if (pairwise.view()[i].kind == op::einsum)
        sum = counted_sum(sum, torch_flops_of_einsum(pairwise.view(), i));
    return sum;
  }
  const einsum_extent e = extent_of_einsum(g, id);
  if (g[id].arity < 2 || !e.contracts || e.alone == 0) return 0;
  return counted_product(2, e.points / e.alone);
}

/// Of the operands of an einsum those for which `needs` is true need a gradient. A product's backward pass is
/// a product of as many FLOPs for each of them, also where that sums nothing.
constexpr std::uint64_t torch_backward_of_einsum(const graph_view& g, int id, const buffer<bool>& needs) {
  const auto wanted = [](const graph_view& in, int node, const buffer<bool>& needed) {
    std::uint64_t n = 0;
    for (const std::int32_t x : in.operands(node)) n += needed[static_cast<std::size_t>(x)];
    return n;
  };
  if (g[id].arity <= 2) return counted_product(wanted(g, id, needs), torch_flops_of_einsum(g, id));
  const graph single = only(g, id),
              pairwise = passes::contract(single.view(), passes::objective::least_flops);
  const graph_view v = pairwise.view();
  buffer<bool> inside(v.size(), false);
  std::uint64_t sum = 0;
  for (int i = 0; i < static_cast<int>(v.node_count); ++i) {
    bool& here = inside[static_cast<std::size_t>(i)];
    if (v[i].kind == op::input) here = needs[static_cast<std::size_t>(g.operand(id, v.attribute(i, 0)))];
    here = here || wanted(v, i, inside) > 0;
    if (v[i].kind == op::einsum)
      sum = counted_sum(sum, counted_product(wanted(v, i, inside), torch_flops_of_einsum(v, i)));
  }
  return sum;
}

/// The nodes through which the graph's first output depends on a wanted node, differentiably.
constexpr buffer<bool> differentiated_nodes(const graph_view& g, ids wanted) {
  buffer<bool> needs(g.size(), false);
  for (const std::int32_t w : wanted) needs[static_cast<std::size_t>(w)] = true;
  for (int id = 0; id < static_cast<int>(g.node_count); ++id) {
    if (!is_floating(g[id].type) || !facts_of(g[id].kind).differentiable) continue;
    for (const std::int32_t x : g.operands(id))
      if (needs[static_cast<std::size_t>(x)]) needs[static_cast<std::size_t>(id)] = true;
  }
  buffer<bool> leads(g.size(), false);
  leads[static_cast<std::size_t>(g.outputs[0])] = true;
  for (int id = g.outputs[0]; id >= 0; --id) {
    const auto i = static_cast<std::size_t>(id);
    leads[i] = leads[i] && needs[i];
    if (!leads[i]) continue;
    for (const std::int32_t x : g.operands(id)) leads[static_cast<std::size_t>(x)] = true;
  }
  return leads;
}

}  // namespace detail

/// `forward` is the graph as it was traced, before any pass; every node counts, used or not.
constexpr counts torch_of(const graph_view& forward) {
  counts c;
  for (int id = 0; id < static_cast<int>(forward.size()); ++id)
    if (forward[id].kind == op::einsum)
      c.forward = detail::counted_sum(c.forward, detail::torch_flops_of_einsum(forward, id));
  return c;
}

/// With the backward pass for the gradients of `wanted` nodes. That of composite attention, which PyTorch's
/// fused kernels do as one, computes the scores again and the gradients of all three operands.
constexpr counts torch_of(const graph_view& forward, ids wanted) {
  counts c = torch_of(forward);
  const buffer<bool> needs = detail::differentiated_nodes(forward, wanted);
  const buffer<std::int32_t> depth = detail::einsums_of_attention(forward);
  for (int id = 0; id < static_cast<int>(forward.size()); ++id) {
    const auto i = static_cast<std::size_t>(id);
    if (!needs[i] || forward[id].kind != op::einsum) continue;
    if (!detail::in_attention(forward, id)) {
      c.backward = detail::counted_sum(c.backward, detail::torch_backward_of_einsum(forward, id, needs));
      continue;
    }
    const std::uint64_t times = depth[i] % 2 == 1 ? 3 : 2;
    c.backward = detail::counted_sum(
        c.backward, detail::counted_product(times, detail::torch_flops_of_einsum(forward, id)));
  }
  return c;
}

/// As torch.nn.functional's conv and conv_transpose take them. Lists have a number for each spatial axis;
/// empty ones mean 1, of padding and output_padding 0.
struct convolution {
  shape stride{}, padding{}, dilation{}, output_padding{};
  std::size_t groups = 1;
  bool transposed = false;
};

namespace detail {

constexpr std::size_t or_else(const shape& list, std::size_t i, std::size_t otherwise) {
  return list.empty() ? otherwise : list[i];
}

/// 2 for each tap of each window: positions are those of the side on which windows begin.
constexpr std::uint64_t torch_convolution_flops(const shape& x, const shape& w, const shape& y,
                                                bool transposed) {
  const shape& positions = transposed ? x : y;
  std::uint64_t flops = counted_product(2, x[0]);
  for (std::size_t i = 2; i < positions.size(); ++i) flops = counted_product(flops, positions[i]);
  for (const std::size_t size : w) flops = counted_product(flops, size);
  return flops;
}

constexpr shape with_first_two_swapped(shape s) {
  const std::size_t first = s[0];
  s[0] = s[1];
  s[1] = first;
  return s;
}

}  // namespace detail

/// The result of convolving x (batch, channels, spatial...) with w: (out, channels / groups, window...), or
/// transposed (channels, out / groups, window...).
///
/// Errors  `error` where the shapes do not fit each other
/// Source  torch.nn.Conv2d and ConvTranspose2d, "Shape"
constexpr shape shape_of_convolution(const shape& x, const shape& w, const convolution& c = {}) {
  const std::size_t rank = x.size(), spatial = rank < 2 ? 0 : rank - 2;
  if (rank < 3 || w.size() != rank)
    throw error("convolution: x is (batch, channels, spatial...), w has as many axes");
  const auto fits = [&](const shape& list) { return list.empty() || list.size() == spatial; };
  if (!fits(c.stride) || !fits(c.padding) || !fits(c.dilation) || !fits(c.output_padding))
    throw error("convolution: stride, padding and dilation have a number for each spatial axis, or none");
  if (c.groups == 0 || x[1] % c.groups != 0 || w[0] % c.groups != 0 ||
      (c.transposed ? w[0] : w[1] * c.groups) != x[1])
    throw error("convolution: the channels of x are not those of w times the groups");
  shape y{x[0], c.transposed ? w[1] * c.groups : w[0]};
  for (std::size_t i = 0; i < spatial; ++i) {
    const std::size_t stride = detail::or_else(c.stride, i, 1), padding = detail::or_else(c.padding, i, 0);
    const std::size_t more = detail::or_else(c.output_padding, i, 0), size = x[2 + i];
    if (w[2 + i] == 0 || stride == 0) throw error("convolution: a window or a stride of 0");
    const std::size_t reach = detail::or_else(c.dilation, i, 1) * (w[2 + i] - 1) + 1;  // of a window
    const std::size_t longest = c.transposed ? (size - 1) * stride + reach + more : size + 2 * padding;
    if (size == 0 || longest < (c.transposed ? 2 * padding + 1 : reach))
      throw error("convolution: the window is larger than the padded input");
    y.push_back(c.transposed ? longest - 2 * padding : (longest - reach) / stride + 1);
  }
  return y;
}

/// FLOPs of a convolution, and of its backward pass for the operands that need a gradient.
///
/// Errors  as shape_of_convolution
/// Source  torch.utils.flop_counter: conv_flop_count and conv_backward_flop (which counts the gradient of a
///         grouped convolution's weights `groups` times)
constexpr counts torch_convolution(const shape& x, const shape& w, const convolution& c = {},
                                   bool of_input = true, bool of_weight = true) {
  const shape y = shape_of_convolution(x, w, c);
  counts flops{detail::torch_convolution_flops(x, w, y, c.transposed), 0};
  if (of_input) flops.backward = detail::torch_convolution_flops(y, w, x, !c.transposed);
  if (of_weight) {  // the convolution of one side with the other, batches and channels exchanged
    const shape xt = detail::with_first_two_swapped(x), yt = detail::with_first_two_swapped(y),
                wt = detail::with_first_two_swapped(w);
    flops.backward = detail::counted_sum(flops.backward,
                                         c.transposed ? detail::torch_convolution_flops(yt, xt, wt, false)
                                                      : detail::torch_convolution_flops(xt, yt, wt, false));
  }
  return flops;
}

/// FLOPs of scaled dot-product attention of q, k and v, each (batch, heads, positions, width): 2 products
/// forward, and 5 backward, since the scores are computed again. Masked positions count as others.
///
/// Errors  `error` where the shapes do not fit each other; heads of q may share those of k and v
/// Source  torch.utils.flop_counter: sdpa_flop_count and sdpa_backward_flop_count
constexpr counts torch_attention(const shape& q, const shape& k, const shape& v) {
  const bool ranks = q.size() == 4 && k.size() == 4 && v.size() == 4;
  if (!ranks || q[0] != k[0] || k[0] != v[0] || k[1] != v[1] || k[1] == 0 || q[1] % k[1] != 0 ||
      k[2] != v[2] || q[3] != k[3])
    throw error(
        "attention: q, k and v are (batch, heads, positions, width), with the same batch, as many "
        "keys as values, and queries as wide as keys");
  std::uint64_t pairs = 2;
  for (const std::size_t size : {q[0], q[1], q[2], k[2]}) pairs = detail::counted_product(pairs, size);
  const std::uint64_t scores = detail::counted_product(pairs, q[3]),
                      mixed = detail::counted_product(pairs, v[3]);
  return {detail::counted_sum(scores, mixed),
          detail::counted_sum(detail::counted_product(3, scores), detail::counted_product(2, mixed))};
}

}  // namespace napkin::conventions
