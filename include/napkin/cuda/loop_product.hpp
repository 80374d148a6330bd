// Contractions that no GEMM says: sums of products by loops over any strides. One element of the result a
// thread or, where the sum is long and results are few, a warp; the order of a sum depends on sizes alone.
#pragma once

#include "napkin/cuda/plan.hpp"
#include "napkin/plan/scalar.hpp"

#if defined(__CUDACC__)
#define NAPKIN_BOTH __host__ __device__
#else
#define NAPKIN_BOTH
#endif

namespace napkin::on_cuda {

/// The loops with what divides an index into them: C's axes, then the summed ones, outermost first.
struct loop_product {
  static constexpr int most = static_cast<int>(max_rank);
  struct loop {
    std::uint64_t size;
    std::int64_t a, b, c;
  };
  loop of_result[most], summed[most];
  int result_rank = 0, summed_rank = 0;
  std::uint64_t results = 1, terms = 1;
  unsigned lanes = 1;  // threads that share a sum: 1 or 32
};

constexpr loop_product loops_of(const product& p) {
  loop_product l{};
  const auto add = [](loop_product::loop* to, int& rank, std::uint64_t& points,
                      const passes::contraction_loops& group) {
    for (const passes::contraction_loop& x : group) {
      to[rank++] = {x.size, x.a, x.b, x.c};
      points *= x.size;
    }
  };
  add(l.of_result, l.result_rank, l.results, p.loops.batch);
  add(l.of_result, l.result_rank, l.results, p.loops.rows);
  add(l.of_result, l.result_rank, l.results, p.loops.columns);
  add(l.summed, l.summed_rank, l.terms, p.loops.summed);
  if (p.loops.empty) l.results = 0;
  if (p.loops.nothing_to_sum) l.terms = 0;
  l.lanes = l.terms >= 64 && l.results < 1 << 16 ? 32 : 1;
  return l;
}

/// Offsets into a, b and c of point i of some loops.
struct loop_offsets {
  std::int64_t a = 0, b = 0, c = 0;
};
NAPKIN_BOTH constexpr loop_offsets offsets_at(const loop_product::loop* loops, int rank, std::uint64_t i) {
  loop_offsets at;
  for (int d = rank; d-- > 0;) {
    const auto x = static_cast<std::int64_t>(i % loops[d].size);
    i /= loops[d].size;
    at.a += x * loops[d].a;
    at.b += x * loops[d].b;
    at.c += x * loops[d].c;
  }
  return at;
}

/// The part of result `i` that lane `lane` sums: terms lane, lane + lanes, ... in order.
template <dtype Type>
NAPKIN_BOTH constexpr auto sum_of_lane(const loop_product& l, std::uint64_t i, unsigned lane,
                                       const type_of<Type>* a, const type_of<Type>* b) {
  using A = type_of<accumulator_of(Type)>;
  const loop_offsets from = offsets_at(l.of_result, l.result_rank, i);
  A sum = A(0);
  for (std::uint64_t t = lane; t < l.terms; t += l.lanes) {
    const loop_offsets at = offsets_at(l.summed, l.summed_rank, t);
    sum += static_cast<A>(planning::loaded<Type>(a[from.a + at.a])) *
           static_cast<A>(planning::loaded<Type>(b[from.b + at.b]));
  }
  return sum;
}
template <dtype Type, class A>
NAPKIN_BOTH constexpr void store_result(const loop_product& l, std::uint64_t i, type_of<Type>* c, A sum) {
  c[offsets_at(l.of_result, l.result_rank, i).c] = planning::stored<Type>(planning::rounded<Type>(sum));
}

}  // namespace napkin::on_cuda
