// Matrix products of 8-bit floats, by the recipe that GPUs train with: what a product with a parameter
// multiplies is scaled, rounded to e4m3, or, of what comes back from the loss, to e5m2, and the result is
// scaled back. Two ordinary functions. One on the graph of a loss, before it is differentiated: it says which
// products. One after that: it rounds what they and those of their gradients multiply. The scales are inputs,
// and outputs say what they should have been: who runs the graph sets those of its next run
// (train/delayed_scaling.hpp).
#pragma once

#include "napkin/core/finfo.hpp"
#include "napkin/passes/precision.hpp"

namespace napkin {

namespace passes {

namespace detail {

inline constexpr auto quantized_product = static_cast<std::uint16_t>(composite::quantized_product);

/// By node: follows from parameters, nodes 0 to `parameters` - 1, and constants alone.
constexpr buffer<bool> find_from_parameters(const graph_view& g, std::size_t parameters) {
  buffer<bool> from(g.size(), false);
  for (std::size_t id = 0; id < g.node_count; ++id) {
    from[id] = id < parameters;
    bool others = false;
    for (std::int32_t x : g.operands(static_cast<int>(id))) {
      const auto at = static_cast<std::size_t>(x);
      from[id] = from[id] || from[at];
      others = others || (!from[at] && g.nodes[x].kind != op::constant);
    }
    from[id] = from[id] && !others;
  }
  return from;
}

/// By node: a loss over classes reads it, with no product between.
constexpr buffer<bool> find_read_by_loss(const graph_view& g) {
  buffer<bool> read(g.size(), false);
  for (int id = static_cast<int>(g.size()) - 1; id >= 0; --id)
    if (is_kept_wide(g.nodes[id].composite) || (read.items[id] && g.nodes[id].kind != op::einsum))
      for (std::int32_t x : g.operands(id)) read.items[x] = true;
  return read;
}

/// Elements; trailing axes make a row until they have so many.
inline constexpr std::size_t shortest_row = 256;

class quantizer {
 public:
  constexpr quantizer(const graph_view& graph, std::size_t forward, dtype narrow)
      : g_(graph),
        forward_(static_cast<std::int32_t>(forward)),
        first_slot_(graph.next_slot()),
        narrow_(narrow) {
    b_.simplify = true;
    b_.reserve(2 * g_.size() + 16);
    b_.result.pool.reserve(2 * g_.pool_count + 64);
    b_.result.shapes.append(g_.shapes, g_.shape_count);
  }

  constexpr graph run() {
    number_tensors();
    now_.resize(g_.size(), -1);
    std::int32_t forward_now = 0;
    for (std::int32_t id = 0; id < static_cast<std::int32_t>(g_.node_count); ++id) {
      if (id == forward_) forward_now = b_.size();
      if (is_quantized_product(g_.nodes[id])) {
        now_.items[id] = product(id);
        continue;
      }
      xs_.clear();
      for (std::int32_t x : g_.operands(id)) xs_.push_back(now_.items[x]);
      now_.items[id] = emit_again(b_, g_, id, xs_, g_.nodes[id].shape_id);
    }
    for (std::int32_t out : g_.output_ids()) b_.output(now_.items[out]);
    for (const tensor& t : tensors_) b_.output(t.used);
    return keep_narrow(b_.view(), static_cast<std::size_t>(forward_now), narrow_);
  }

 private:
  struct tensor {
    std::int32_t of;             // the node of g_ that is rounded
    std::int32_t computed = -1;  // its scaled and rounded value, in the dtype that is computed in
    std::int32_t back = -1;      // a number: the reciprocal of the scale
    std::int32_t used = -1;      // the output
  };
  const graph_view& g_;
  std::int32_t forward_, first_slot_;
  dtype narrow_;
  builder b_;
  buffer<std::int32_t> now_, xs_;
  buffer<tensor> tensors_;

  constexpr std::size_t find_tensor(std::int32_t of) const {
    std::size_t i = 0;
    while (i < tensors_.size() && tensors_[i].of != of) ++i;
    return i;
  }
  /// Values as products meet them, then adjoints from the last met to the first: of equal layers both lie by
  /// layers, from the first on.
  constexpr void number_tensors() {
    const auto count = static_cast<std::int32_t>(g_.size());
    const auto add = [this](std::int32_t id, bool is_value) {
      for (int k = 0; k < 2; ++k) {
        const std::int32_t x = g_.operand(id, k);
        if ((x < forward_) == is_value && find_tensor(x) == tensors_.size()) tensors_.push_back({x});
      }
    };
    for (std::int32_t id = 0; id < count; ++id)
      if (is_quantized_product(g_.nodes[id])) add(id, true);
    const std::size_t values = tensors_.size();
    for (std::int32_t id = 0; id < count; ++id)
      if (is_quantized_product(g_.nodes[id])) add(id, false);
    for (std::size_t i = values, j = tensors_.size(); i + 1 < j; ++i) {
      const tensor t = tensors_[i];
      tensors_[i] = tensors_[--j];
      tensors_[j] = t;
    }
  }

  constexpr std::int32_t filled(std::int32_t number, std::int32_t like) {
    const shape to = b_.shape_of(like);  // a copy: what is emitted may move it
    return b_.fill(number, to);
  }

  /// By rows, which are known where the elements are computed: those need not be read again.
  constexpr std::int32_t largest_by_rows(std::int32_t x) {
    inplace_vector<std::int32_t, max_rank> axes;
    const shape s = b_.shape_of(x);
    std::size_t first = s.size(), length = 1;
    while (first > 0 && length < shortest_row) length *= s[--first];
    for (std::size_t i = first; i < s.size(); ++i) axes.push_back(static_cast<std::int32_t>(i));
    return axes.empty() ? x : b_.reduce(op::max, x, {axes.data(), axes.size()});
  }

  constexpr const tensor& rounded(std::int32_t of, dtype computed_in) {
    const std::size_t number = find_tensor(of);
    tensor& made = tensors_[number];
    if (made.computed >= 0) return made;
    const dtype format = of < forward_ ? dtype::f8e4m3 : dtype::f8e5m2;
    const double limit = of < forward_ ? finfo<f8e4m3>::max : finfo<f8e5m2>::max;
    std::int32_t x = now_.items[of];
    // as it was before it was rounded once already
    if (b_[x].kind == op::cast && b_.type_of(b_.operand(x, 0)) == dtype::f32) x = b_.operand(x, 0);
    const std::int32_t wide = b_.cast(x, dtype::f32), shape_id = b_[wide].shape_id;
    const auto slot = first_slot_ + static_cast<std::int32_t>(number);
    const std::int32_t scale = b_.input(slot, dtype::f32, {});
    made.back = b_.input(slot + static_cast<std::int32_t>(tensors_.size()), dtype::f32, {});
    const std::int32_t scaled = b_.mul(wide, filled(scale, wide));
    const std::int32_t least = b_.constant_like(-limit, dtype::f32, shape_id),
                       most = b_.constant_like(limit, dtype::f32, shape_id);
    const std::int32_t within = b_.binary(op::minimum, b_.binary(op::maximum, scaled, least), most);
    made.computed = b_.cast(b_.cast(within, format), computed_in);
    made.used = b_.scale(largest_by_rows(b_.unary(op::abs, wide)), 1 / limit);
    return made;
  }

  constexpr std::int32_t product(std::int32_t id) {
    b_.origin = g_.nodes[id].origin;
    b_.composite = quantized_product;
    b_.when = g_.nodes[id].when;
    const dtype type = g_.nodes[id].type;
    const tensor x = rounded(g_.operand(id, 0), type), y = rounded(g_.operand(id, 1), type);
    const std::int32_t operands[] = {x.computed, y.computed};
    const std::int32_t made =
        b_.emit({op::einsum, type, g_.nodes[id].shape_id, operands, g_.attributes(id), g_.nodes[id].value});
    const std::int32_t wide = b_.cast(made, dtype::f32);
    const std::int32_t half = b_.mul(wide, filled(x.back, wide));
    return b_.cast(b_.mul(half, filled(y.back, wide)), type);
  }
};

}  // namespace detail

/// Of a marked product and its gradient's, what is rounded at most: its operands, and the adjoint of its
/// result.
inline constexpr std::size_t tensors_of_product = 3;

/// The graph of a loss, its products of two tensors marked of which one follows from parameters alone, nodes
/// 0 to `parameters` - 1, and the other does not: those that are to be of 8-bit floats. Not those whose
/// result a loss over classes reads: logits keep their precision, as the last layer does in practice.
constexpr graph mark_quantized(graph&& g, std::size_t parameters) {
  const buffer<bool> from = detail::find_from_parameters(g.view(), parameters),
                     read = detail::find_read_by_loss(g.view());
  for (std::size_t id = 0; id < g.nodes.size(); ++id) {
    node& n = g.nodes[id];
    if (n.kind != op::einsum || n.arity != 2 || n.composite != 0 || !is_floating(n.type)) continue;
    const auto x = static_cast<std::size_t>(g.pool[static_cast<std::size_t>(n.first_operand)]),
               y = static_cast<std::size_t>(g.pool[static_cast<std::size_t>(n.first_operand) + 1]);
    const bool has_elements = numel(g.view().shape_of(static_cast<int>(x))) > 0 &&
                              numel(g.view().shape_of(static_cast<int>(y))) > 0;
    if (from[x] != from[y] && !read[id] && has_elements) n.composite = detail::quantized_product;
  }
  return static_cast<graph&&>(g);
}

/// A differentiated graph of which mark_quantized made the first `forward` nodes, with the marked products,
/// and those of their gradients, of 8-bit floats: values of the loss in e4m3, adjoints in e5m2, each
/// multiplied by a scale of its own first and cut to what the format holds. Else as keep_narrow, whose values
/// are of `narrow`; what is kept of a rounded tensor for the backward pass are its 8 bits.
///
/// Inputs behind the others: the scales, numbers in f32, of which powers of two change no bit but by rounding
/// to 8; then their reciprocals. Outputs behind the others, one for each scale: its tensor's largest
/// magnitudes by rows, unscaled, as parts of the format's largest number. A row is trailing axes of 256
/// elements or more, or all axes; whoever runs the graph takes the largest of them.
///
/// Emulated: a product multiplies the 8-bit values widened to what it computed in before, which has them
/// exactly, and adds in f32, as tensor cores do.
///
/// Source  Micikevicius et al. 2022, "FP8 Formats for Deep Learning"; NVIDIA Transformer Engine's
/// DelayedScaling
constexpr graph quantize_products(const graph_view& g, std::size_t forward, dtype narrow) {
  return detail::quantizer(g, forward, narrow).run();
}

}  // namespace passes
}  // namespace napkin
