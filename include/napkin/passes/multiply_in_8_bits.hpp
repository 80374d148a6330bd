// Products whose operands were rounded to 8-bit floats (passes/quantize.hpp) multiply these as such, where the
// backend does: a graph widens them first, which has the same numbers and reads twice the bytes. An operand whose
// summed axis does not lie adjacent is transposed before, as 8 bits: a copy, which products share.
#pragma once

#include "napkin/ops/composite.hpp"
#include "napkin/ops/primitives/contraction.hpp"
#include "napkin/passes/contraction_groups.hpp"
#include "napkin/passes/layout.hpp"
#include "napkin/passes/simplify.hpp"

namespace napkin {

namespace passes {

namespace detail {

/// Node x is an 8-bit float widened by a cast, seen through views perhaps: that float; -1 where it is none.
constexpr int find_widened(const graph_view& g, int x) {
  while (is_view(g.nodes[x].kind)) x = g.operand(x, 0);
  const node& n = g.nodes[x];
  if (n.kind != op::cast || has_own_order(n) || !is_floating(n.type) || is_8_bit_float(n.type)) return -1;
  const std::int32_t from = g.operand(x, 0);
  return is_8_bit_float(g.nodes[from].type) ? from : -1;
}

template <class Target>
class narrow_multiplier {
 public:
  constexpr explicit narrow_multiplier(const graph_view& graph) : g_(graph) {
    b_.result.nodes.reserve(g_.size() + g_.size() / 8 + 4);
    b_.result.pool.reserve(g_.pool_count + g_.pool_count / 8 + 16);
    b_.result.shapes.append(g_.shapes, g_.shape_count);  // so that their numbers stay
  }

  constexpr graph run() {
    now_.resize(g_.size(), -1);
    narrow_.resize(g_.size(), -1);
    buffer<std::int32_t> xs;
    for (int id = 0; id < static_cast<int>(g_.node_count); ++id) {
      const node& n = g_.nodes[id];
      b_.origin = n.origin;
      b_.composite = n.composite;
      b_.when = n.when;
      std::int32_t& made = now_.items[id];
      if (is_quantized_product(n)) made = product(id);
      if (made >= 0) continue;
      xs.clear();
      for (const std::int32_t x : g_.operands(id)) xs.push_back(now_.items[x]);
      made = b_.emit({n.kind, n.type, n.shape_id, xs, g_.attributes(id), n.value});
    }
    for (const std::int32_t out : g_.output_ids()) b_.output(now_.items[out]);
    return without_dead_nodes(b_.take());
  }

 private:
  using label_list = inplace_vector<std::int32_t, max_rank>;
  /// An operand as it may be handed to the product.
  struct operand {
    std::int32_t id = -1;
    label_list labels;
    constexpr ids list() const { return {labels.data(), labels.size()}; }
  };
  struct transposition {
    std::int32_t of, copy;
    label_list order;
  };
  const graph_view& g_;
  builder b_;
  buffer<std::int32_t> now_, narrow_;  // by node; narrow_: its 8-bit values
  buffer<transposition> copies_;
  /// Of operands' bits, whether each is transposed: the product is taken in no order.
  static constexpr unsigned none = 4;
  struct decision {
    int id;  // the product
    product_types types;
    access at[2];  // its narrow operands
    unsigned transposed = none;
  };
  buffer<decision> decisions_;

  /// The same views of what was widened; -1 where x is none.
  constexpr std::int32_t narrow(int x) {
    std::int32_t& made = narrow_.items[x];
    if (made >= 0) return made;
    const node& n = g_.nodes[x];
    if (!is_view(n.kind)) return made = now_.items[g_.operand(x, 0)];
    const std::int32_t from = narrow(g_.operand(x, 0));
    return made = b_.emit({n.kind, b_.type_of(from), n.shape_id, {&from, 1}, g_.attributes(x), n.value});
  }

  /// Labels of operand k as the product wants them: batch and rows as in the result, then the sums in the
  /// order of the other's, or, of both, of the first's.
  static constexpr operand transposed(ids result, const operand (&x)[2], std::size_t k, unsigned which) {
    const operand &other = x[1 - k], &sums = which == 3 ? x[0] : other;
    operand y{x[k].id, {}};
    for (const bool shared : {true, false})
      for (const std::int32_t l : result)
        if (x[k].labels.contains(l) && other.labels.contains(l) == shared) y.labels.push_back(l);
    for (const std::int32_t l : sums.labels)
      if (x[k].labels.contains(l) && !row::has_label(result, l)) y.labels.push_back(l);
    return y;
  }
  /// `to` has the labels of `from` in another order: its node is made.
  constexpr void transpose(const operand& from, operand& to) {
    label_list order;
    for (const std::int32_t l : to.labels)
      order.push_back(static_cast<std::int32_t>(from.labels.index_of(l)));
    for (const transposition& known : copies_)
      if (known.of == from.id && known.order == order) {
        to.id = known.copy;
        return;
      }
    const std::int32_t turned = b_.permute(from.id, {order.data(), order.size()});
    to.id = b_.emit({op::cast, b_.type_of(turned), b_[turned].shape_id, {&turned, 1}, {}, 0});
    copies_.push_back({from.id, to.id, order});
  }
  /// What transpose would make, as it would lie.
  constexpr contraction_operand as_it_would_lie(const operand& from, const operand& to) const {
    shape s;
    for (const std::int32_t l : to.labels) s.push_back(b_.shape_of(from.id)[from.labels.index_of(l)]);
    return {to.list(), s, row_major_strides(s)};
  }

  /// As they lie; one transposed, its sums in the order of the other's; both. Equal layers ask alike.
  constexpr unsigned choose_transposed(int id, const operand (&x)[2]) {
    const row::einsum_labels labels(g_, id);
    decision now{id,
                 {b_.type_of(x[0].id), b_.type_of(x[1].id), g_.nodes[id].type},
                 {access_of(b_.view(), x[0].id), access_of(b_.view(), x[1].id)}};
    if (!now.at[0].possible || !now.at[1].possible) return none;
    for (const decision& known : decisions_)
      if (asks_alike(known, now)) return known.transposed;
    const shape to = g_.shape_of(id);
    const contraction_operand c{labels.result(), to, row_major_strides(to)};
    for (unsigned which = 0; which < none && now.transposed == none; ++which) {
      operand turned[2];
      contraction_operand tried[2];
      for (std::size_t k = 0; k < 2; ++k) {
        if ((which >> k & 1) != 0) turned[k] = transposed(labels.result(), x, k, which);
        tried[k] = (which >> k & 1) != 0 ? as_it_would_lie(x[k], turned[k])
                                         : contraction_operand{x[k].list(), b_.shape_of(x[k].id),
                                                               now.at[k].stride, now.at[k].offset};
      }
      if (Target::multiplies_8_bits(now.types, tried[0], tried[1], c)) now.transposed = which;
    }
    decisions_.push_back(now);
    return now.transposed;
  }
  constexpr bool asks_alike(const decision& p, const decision& q) const {
    for (int k = 0; k < 2; ++k)
      if (p.at[k].stride != q.at[k].stride || p.at[k].offset != q.at[k].offset) return false;
    return p.types == q.types && contract_alike(g_, p.id, q.id);
  }

  /// -1 where it stays as it is.
  constexpr std::int32_t product(int id) {
    const row::einsum_labels labels(g_, id);
    operand x[2];
    for (int k = 0; k < 2; ++k)
      if (find_widened(g_, g_.operand(id, k)) < 0) return -1;
    for (std::size_t k = 0; k < 2; ++k) {
      for (const std::int32_t l : labels.operand(k)) x[k].labels.push_back(l);
      x[k].id = narrow(g_.operand(id, static_cast<int>(k)));
    }
    const unsigned which = choose_transposed(id, x);
    if (which == none) return -1;
    std::int32_t operands[2];
    buffer<std::int32_t> all;
    for (std::size_t k = 0; k < 2; ++k) {
      operand now = x[k];
      if ((which >> k & 1) != 0) {
        now = transposed(labels.result(), x, k, which);
        transpose(x[k], now);
      }
      operands[k] = now.id;
      all.append(now.labels.data(), now.labels.size());
    }
    all.append(labels.result().data(), labels.result().size());
    return b_.emit({op::einsum,
                    g_.nodes[id].type,
                    g_.nodes[id].shape_id,
                    {operands, 2},
                    {all.data(), all.size()},
                    g_.nodes[id].value});
  }
};

}  // namespace detail

/// g, which is contracted, with those products that quantize_products made as Target::multiplies_8_bits takes
/// them: of operands of two dtypes that the result has not. What it takes in no order of axes stays as it is,
/// and so does what a program widens itself: that runs on every device.
template <class Target>
constexpr graph multiply_in_8_bits(graph&& g) {
  bool any = false;
  for (const node& n : g.nodes) any = any || is_quantized_product(n);
  if (!any) return static_cast<graph&&>(g);
  const graph_view before = g.view();
  return detail::narrow_multiplier<Target>(before).run();
}

}  // namespace passes
}  // namespace napkin
