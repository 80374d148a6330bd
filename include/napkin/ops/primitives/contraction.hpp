// einsum over integer labels, any number of operands.
#pragma once

#include "napkin/ops/primitives/row.hpp"

namespace napkin {

inline constexpr std::size_t max_einsum_operands = 32;

namespace row {
/// A node's einsum attributes, taken apart: they are the labels of each operand's axes in turn, then of the
/// result's axes. A label may repeat within an operand (its diagonal) but not in the result.
struct einsum_labels {
  buffer<std::int32_t> all;
  inplace_vector<std::size_t, max_einsum_operands + 1>
      first;  // where operand k's labels begin; then where the result's begin
  constexpr einsum_labels(const graph_view& g, int n) {
    const ids attributes = g.attributes(n);
    all.append(attributes.data(), attributes.size());
    std::size_t at = 0;
    for (int k = 0; k < g[n].arity; ++k) {
      first.push_back(at);
      at += g.shape_of(g.operand(n, k)).size();
    }
    first.push_back(at);
  }
  constexpr std::size_t arity() const { return first.size() - 1; }
  constexpr ids operand(std::size_t k) const { return {all.data() + first[k], first[k + 1] - first[k]}; }
  constexpr ids result() const { return {all.data() + first.back(), all.size() - first.back()}; }
};

constexpr bool has_label(ids labels, std::int32_t label) {
  for (std::int32_t l : labels)
    if (l == label) return true;
  return false;
}
}  // namespace row

template <>
struct primitive<op::einsum> : row::base {
  static constexpr auto name = "einsum";
  static constexpr int arity = -1;
  static constexpr int examples = 6;
  static constexpr double low = -2, high = 2;
  static constexpr int example(builder& g, int variant) {
    const std::int32_t two[] = {g.input(0, dtype::f64, {2, 3}), g.input(1, dtype::f64, {3, 4})};
    const std::int32_t square = g.input(2, dtype::f64, {3, 3});
    const std::int32_t matmul[] = {0, 1, 1, 2}, ik[] = {0, 2}, outer[] = {0, 1, 2, 3}, il[] = {0, 3},
                       trace[] = {0, 0}, diagonal[] = {0}, chain[] = {0, 1, 1, 2, 1, 3}, out[] = {3, 0, 2};
    const std::int32_t three[] = {two[0], two[1], square};
    switch (variant) {
      case 0:
        return g.einsum(two, matmul, ik);
      case 1:
        return g.einsum(two, outer, il);  // labels of one operand summed
      case 2:
        return g.einsum({&square, 1}, trace, {});
      case 3:
        return g.einsum({&square, 1}, trace, diagonal);
      case 4:
        return g.einsum(three, chain, out);
      default: {
        const std::int32_t batched[] = {g.input(3, dtype::f64, {2, 3, 2}), g.input(4, dtype::f64, {2, 2, 4})};
        const std::int32_t labels[] = {0, 1, 2, 0, 2, 3}, to[] = {0, 3, 1};
        return g.einsum(batched, labels, to);
      }
    }
  }
  /// The adjoint of operand k contracts dy with the other operands to k's labels; a label that only k had
  /// (it was summed alone) repeats, a label that k had twice lands on its diagonal.
  static constexpr void gradient(builder& g, int n, int dy, auto give) {
    const row::einsum_labels labels(g.view(), n);
    const ids before = g.view().operands(n);
    buffer<std::int32_t> operands;
    operands.append(before.data(), before.size());
    for (std::size_t k = 0; k < operands.size(); ++k) {
      if (!is_floating(g.type_of(operands[k]))) continue;
      buffer<std::int32_t> xs, from;
      xs.push_back(dy);
      from.append(labels.result().data(), labels.result().size());
      for (std::size_t j = 0; j < operands.size(); ++j) {
        if (j == k) continue;
        xs.push_back(operands[j]);
        from.append(labels.operand(j).data(), labels.operand(j).size());
      }
      const shape full = g.shape_of(operands[k]);
      inplace_vector<std::int32_t, max_rank> own, have, map;  // distinct labels of k; those dy can supply
      bool repeats = false;
      for (std::int32_t l : labels.operand(k)) {
        if (own.contains(l))
          repeats = true;
        else
          own.push_back(l);
      }
      for (std::int32_t l : own)
        if (row::has_label({from.data(), from.size()}, l)) have.push_back(l);
      int adjoint = g.einsum({xs.data(), xs.size()}, {from.data(), from.size()}, {have.data(), have.size()},
                             static_cast<objective>(g[n].value));
      if (!repeats && have.size() == full.size()) {
        give(static_cast<int>(k), adjoint);
        continue;
      }
      // every axis of the operand, its diagonal spread out by a mask
      inplace_vector<std::int32_t, max_rank> seen, seen_axis;
      int mask = -1;
      for (std::size_t i = 0; i < full.size(); ++i) {
        const std::int32_t l = labels.operand(k)[i];
        const std::size_t earlier = seen.index_of(l);
        if (earlier < seen.size()) {
          map.push_back(-1);
          const int on = g.binary(op::equal, g.iota(seen_axis[earlier], dtype::i32, full),
                                  g.iota(static_cast<int>(i), dtype::i32, full));
          mask = mask < 0 ? on : g.binary(op::logical_and, mask, on);
          continue;
        }
        seen.push_back(l);
        seen_axis.push_back(static_cast<std::int32_t>(i));
        const std::size_t at = have.index_of(l);
        map.push_back(at < have.size() ? static_cast<std::int32_t>(at) : -1);
      }
      adjoint = g.expand(adjoint, full, {map.data(), map.size()});
      if (mask >= 0) adjoint = g.select(mask, adjoint, g.zeros_like(adjoint));
      give(static_cast<int>(k), adjoint);
    }
  }
};

}  // namespace napkin
