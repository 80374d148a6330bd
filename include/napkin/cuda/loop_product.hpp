// Contractions that no GEMM says, of which a tile would be all but empty (few rows, or few columns): sums of
// products by loops over any strides. One element of the result a thread or, where the sum is long and results
// are few, a warp; the order of a sum depends on sizes alone. Others are cuda/tile_product.hpp's.
#pragma once

#include "napkin/cuda/plan.hpp"
#include "napkin/plan/scalar.hpp"

namespace napkin::on_cuda {

/// C's loops and the summed ones.
struct loop_product {
  product_loops of_result, summed;
  std::uint64_t results = 1, terms = 1;
  unsigned lanes = 1;  // threads that share a sum: 1 or 32
};

constexpr loop_product loops_of(const product& p) {
  loop_product l{};
  for (const passes::contraction_loops* group : {&p.loops.batch, &p.loops.rows, &p.loops.columns})
    l.of_result.add(*group);
  l.summed.add(p.loops.summed);
  l.results = p.loops.empty ? 0 : l.of_result.points;
  l.terms = p.loops.nothing_to_sum ? 0 : l.summed.points;
  l.lanes = l.terms >= 64 && l.results < 1 << 16 ? 32 : 1;
  return l;
}

/// The part of result `i` that lane `lane` sums: terms lane, lane + lanes, ... in order.
template <dtype Type>
NAPKIN_BOTH constexpr auto sum_of_lane(const loop_product& l, std::uint64_t i, unsigned lane,
                                       const type_of<Type>* a, const type_of<Type>* b) {
  using A = type_of<accumulator_of(Type)>;
  const loop_offsets from = offsets_at(l.of_result, i);
  A sum = A(0);
  for (std::uint64_t t = lane; t < l.terms; t += l.lanes) {
    const loop_offsets at = offsets_at(l.summed, t);
    sum += static_cast<A>(planning::loaded<Type>(a[from.a + at.a])) *
           static_cast<A>(planning::loaded<Type>(b[from.b + at.b]));
  }
  return sum;
}
template <dtype Type, class A>
NAPKIN_BOTH constexpr void store_result(const loop_product& l, std::uint64_t i, type_of<Type>* c, A sum) {
  c[offsets_at(l.of_result, i).c] = planning::stored<Type>(planning::rounded<Type>(sum));
}

}  // namespace napkin::on_cuda
