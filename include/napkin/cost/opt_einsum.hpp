// The costs that opt_einsum and numpy.einsum_path report of an einsum, to compare orders with theirs.
#pragma once

#include "napkin/cost/conventions.hpp"

namespace napkin::conventions {

struct opt_einsum_counts {
  std::uint64_t naive = 0;    // one loop over all labels
  std::uint64_t optimal = 0;  // the cheapest order of pairs
  constexpr bool operator==(const opt_einsum_counts&) const = default;
};

/// Of the einsum `id`. Each point of a step costs max(1, operands - 1), and 1 more where a step of the order
/// sums something; of the naive count, where operands share a label, even if nothing is summed.
///
/// Errors  `error` of more than 8 operands
/// Source  opt_einsum.helpers.flop_count and opt_einsum.contract_path
constexpr opt_einsum_counts opt_einsum_of(const graph_view& g, int id) {
  const passes::detail::contraction_problem p(g, id, passes::objective::least_flops);
  std::uint64_t all = 0, shared = 0;
  for (const std::uint64_t labels : p.operands) {
    shared |= all & labels;
    all |= labels;
  }
  const std::uint64_t points = p.points(all), n = p.operands.size();
  const std::uint64_t factor = (n > 2 ? n - 1 : 1) + (shared != 0 ? 1 : 0);
  const std::uint64_t alone = all == p.result ? points : detail::counted_product(2, points);
  return {detail::counted_product(factor, points), n == 1 ? alone : passes::contraction_flops(g, id)};
}

}  // namespace napkin::conventions
