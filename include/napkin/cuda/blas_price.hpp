// What a product takes beyond one call that reads nothing twice, for passes/order_results.hpp: of plan_blas's answer.
#pragma once

#include "napkin/cuda/blas_plan.hpp"
#include "napkin/passes/order_results.hpp"

namespace napkin::on_cuda {

/// By a nominal machine. A kernel of our own is taken to need three times as long as cuBLASLt would.
constexpr passes::layout_price price_of(dtype type, const passes::contraction_operand& a,
                                        const passes::contraction_operand& b,
                                        const passes::contraction_operand& c) {
  const passes::contraction_groups g = passes::group_labels(a, b, c);
  if (g.empty) return {};
  detail::distinct_elements all;
  std::uint64_t points = 1;
  for (const contraction_loops* group : {&g.batch, &g.rows, &g.columns, &g.summed})
    for (const contraction_loop& l : *group) {
      all.times(l);
      points *= l.size;
    }
  // Bytes that have to move, or might while it is computed.
  const std::uint64_t least = (all.a + all.b + all.c) * size_of(type),
                      arithmetic = detail::bytes_meanwhile(type, 2 * points),
                      longest = arithmetic > least ? arithmetic : least, hidden = longest - least;
  const blas_product p = plan_blas(type, type, a, b, c);
  if (!p.possible) return {1, 2 * longest};
  std::uint64_t launches = p.calls();
  if (p.has_address_arrays() && 1 + blas_product::size_of(p.outer_k) < launches)
    launches = 1 + blas_product::size_of(p.outer_k);  // what writes the addresses first
  return {0, (p.bytes_again > hidden ? p.bytes_again - hidden : 0) + (launches - 1) * passes::bytes_a_launch};
}

}  // namespace napkin::on_cuda
