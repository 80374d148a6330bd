// The text of a graph, attribute by attribute: golden files rely on it.
#include "napkin/passes/print.hpp"

#include <bit>
#include <catch2/catch.hpp>

#include "napkin/graph/builder.hpp"

namespace nk = napkin;
using nk::dtype;
using nk::op;

TEST_CASE("a printed graph shows every attribute") {
  nk::builder b;
  const int x = b.input(2, dtype::f32, {2, 3});
  const std::int32_t map[] = {1, -1, 0}, start[] = {1, 2}, step[] = {1, -1}, both[] = {0, 2}, xs[] = {x, x},
                     labels[] = {0, 1, 0, 60}, to[] = {60, 1};
  b.composite = 3;
  b.origin = 7;
  const int e = b.expand(x, {3, 4, 2}, map);
  b.composite = 0;
  b.origin = -1;
  b.output(b.reduce(op::sum, e, both));
  b.slice(x, {1, 3}, start, step);
  b.einsum(xs, labels, to);
  b.scale(x, 0.1);
  b.output(b.gather(x, b.iota(0, dtype::i32, {5}), 1));
  const std::int32_t same[] = {x, x, x}, attended[] = {0, 2, 1, 2, 1, 3, 0, 3, 1, 0, 0, 1};
  b.emit({op::attention, dtype::f32, b.result.intern({2}), same, attended, 0.5});
  const std::int32_t masked[] = {x, x, x, x},
                     of_masked[] = {0, 2, 1, 2, 1, 3, 0, 1, 0, 3, 1, 2, std::bit_cast<std::int32_t>(-1e9f),
                                    5};
  b.emit({op::attention, dtype::f32, b.result.intern({2}), masked, of_masked, 1});
  CHECK(nk::to_string(b.view()) ==
        "%0 f32[2,3] = input slot=2\n"
        "%1 f32[3,4,2] = expand(%0) axes=[1,_,0] composite=3 origin=7\n"
        "%2 f32[4] = sum(%1) axes=[0,2]\n"
        "%3 f32[1,3] = slice(%0) start=[1,2] step=[1,-1]\n"
        "%4 f32[3,3] = einsum(%0, %0) \"ab,a{60}->{60}b\"\n"
        "%5 f32[2,3] = constant 0.1\n"
        "%6 f32[2,3] = mul(%0, %5)\n"
        "%7 i32[5] = iota axis=0\n"
        "%8 f32[2,5] = gather(%0, %7) axis=1\n"
        "%9 f32[2] = attention(%0, %0, %0) \"ac,bc,bd->ad\" causal log_sum scale=0.5\n"
        "%10 f32[2] = attention(%0, %0, %0, %0) \"ac,bc,bd,ab->ad\" causal window=2 hidden=-1e+09 "
        "largest "
        "scale=1\n"
        "return %2, %8\n");
}
