// What plan_blas would find, in a word, without making it: for passes/order_results.hpp, which asks of hundreds of
// orders in one constant evaluation. With plan_blas itself a llama of two layers whose attention is products took
// more than the 33,554,432 operations that g++ grants one. tests/unit/cuda/blas_plan.cpp holds the two together.
#pragma once

#include "napkin/cuda/blas_plan.hpp"
#include "napkin/passes/order_results.hpp"

namespace napkin::on_cuda {

namespace detail {

/// One of plan_blas's candidates, by its numbers alone.
struct priced_candidate {
  std::uint64_t calls = 0, launches = 0, again = 0, points = 0;
  bool found = false;
  constexpr bool is_better_than(const priced_candidate& y) const {
    if (!y.found || (calls <= most_calls) != (y.calls <= most_calls)) return !y.found || calls <= most_calls;
    if (again != y.again) return again < y.again;
    return calls != y.calls ? calls < y.calls : points > y.points;
  }
};

struct pricer {
  const passes::contraction_groups& g;
  dtype type;
  std::uint64_t a = 1, b = 1, c = 1, all = 1;  // distinct elements; points
  std::uint64_t summed = 1;
  priced_candidate best;

  constexpr pricer(dtype t, const passes::contraction_groups& groups) : g(groups), type(t) {
    for (const contraction_loops* group : {&g.batch, &g.rows, &g.columns, &g.summed})
      for (std::size_t i = 0; i < group->count; ++i) {
        const contraction_loop& l = group->items[i];
        if (l.a != 0) a *= l.size;
        if (l.b != 0) b *= l.size;
        if (l.c != 0) c *= l.size;
        all *= l.size;
      }
    for (std::size_t i = 0; i < g.summed.count; ++i) summed *= g.summed.items[i].size;
  }
  constexpr std::uint64_t bytes(std::uint64_t elements) const { return elements * size_of(type); }
  /// Bytes that have to move, or might while it is computed.
  constexpr std::uint64_t least() const { return bytes(a + b + c); }
  constexpr std::uint64_t longest() const {
    const std::uint64_t arithmetic = bytes_meanwhile(type, 2 * all);
    return arithmetic > least() ? arithmetic : least();
  }

  static constexpr contraction_loop nothing{};
  static constexpr const contraction_loop& loop(const contraction_loops& from, std::size_t i) {
    return i < from.count ? from.items[i] : nothing;
  }
  /// The largest of a group that may be the batch, but for `taken`.
  static constexpr void widen(std::uint64_t& batch, const contraction_loops& group, std::size_t taken) {
    for (std::size_t t = 0; t < group.count; ++t) {
      const contraction_loop& l = group.items[t];
      if (t != taken && l.size > batch && l.a >= 0 && l.b >= 0 && l.c >= 0) batch = l.size;
    }
  }

  constexpr void consider(std::size_t i, std::size_t j, std::size_t k) {
    const contraction_loop &m = loop(g.rows, i), &n = loop(g.columns, j), &s = loop(g.summed, k);
    if (!passes::is_matrix(m.size, n.size, m.c, n.c) || !passes::is_matrix(m.size, s.size, m.a, s.a) ||
        !passes::is_matrix(s.size, n.size, s.b, n.b))
      return;
    const std::uint64_t sums = summed / s.size, matrices = all / summed / (m.size * n.size);
    std::uint64_t batch = 1;
    widen(batch, g.batch, g.batch.count);
    widen(batch, g.rows, i);
    widen(batch, g.columns, j);
    if (!fits_int(m.size) || !fits_int(n.size) || !fits_int(s.size) || !fits_int(batch)) return;
    if (sums > 1 && is_small_float(type)) return;
    const std::uint64_t outer = matrices / batch;
    const bool by_addresses =
        outer > 1 && (m.size >= 8 || n.size >= 8) && matrices * (2 + 2 * sums) * sizeof(void*) <= 32u << 20;
    priced_candidate x{outer * sums, outer * sums, 0, m.size * n.size * s.size, true};
    if (x.calls > most_calls && !(by_addresses && sums <= most_calls)) return;
    if (by_addresses && 1 + sums < x.launches) x.launches = 1 + sums;  // what writes the addresses first
    x.again = bytes(all / n.size - a + all / m.size - b + 2 * (sums - 1) * c);
    if (least() + x.again > 4 * longest()) return;
    if (x.is_better_than(best)) best = x;
  }
  constexpr void run() {
    for (std::size_t i = 0; i <= g.rows.count; ++i)
      for (std::size_t j = 0; j <= g.columns.count; ++j)
        for (std::size_t k = 0; k <= g.summed.count; ++k) consider(i, j, k);
  }
};

}  // namespace detail

/// What a product takes beyond one call that reads nothing twice. A kernel of our own is taken to need three
/// times as long as cuBLASLt would.
constexpr passes::layout_price price_of(dtype type, const passes::contraction_groups& g) {
  if (g.empty) return {};
  detail::pricer p(type, g);
  if (detail::has_blas({type, type, type}) && !g.nothing_to_sum) p.run();
  if (!p.best.found) return {1, 2 * p.longest()};
  const std::uint64_t hidden = p.longest() - p.least();
  return {0, (p.best.again > hidden ? p.best.again - hidden : 0) +
                 (p.best.launches - 1) * passes::bytes_a_launch};
}

}  // namespace napkin::on_cuda
