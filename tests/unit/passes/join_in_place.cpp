// What a concatenation joins is written where it goes: which parts are, and what is left to copy.
#include "napkin/passes/join_in_place.hpp"

#include <catch2/catch.hpp>

#include "napkin/cuda/plan.hpp"
#include "support/device_graphs.hpp"
#include "support/planned.hpp"

namespace nk = napkin;
using nk::passes::unit_kind;

namespace {

struct counts {
  int kernels = 0, movements = 0, attentions = 0;
  bool operator==(const counts&) const = default;
};
counts counts_of(const nk::graph& g) {
  const auto p = nk::testing::planned<nk::on_cuda::target>(nk::testing::lowered(g.view()).view());
  counts n;
  for (const nk::planning::instruction& i : p.instructions) {
    n.kernels += i.kind == unit_kind::kernel;
    n.attentions += i.kind == unit_kind::attention;
    n.movements += i.kind == unit_kind::concat || i.kind == unit_kind::pad;
  }
  return n;
}
std::int32_t part_of(nk::builder& b, int x, std::int32_t start, std::size_t size) {
  const std::int32_t starts[] = {0, start}, steps[] = {1, 1};
  return b.slice(x, {4, size}, starts, steps);
}
/// The gradient of x from the sines of its parts.
nk::graph gradient_of_parts(std::initializer_list<std::pair<std::int32_t, std::size_t>> parts) {
  nk::builder b;
  b.simplify = true;
  const int x = b.input(0, nk::dtype::f64, {4, 9});
  const std::int32_t both[] = {0, 1};
  int sum = -1;
  for (const auto& [start, size] : parts) {
    const int bent = b.unary(nk::op::sin, part_of(b, x, start, size));
    const int s = b.reduce(nk::op::sum, bent, both);
    sum = sum < 0 ? s : b.add(sum, s);
  }
  b.output(sum);
  const std::int32_t wanted[] = {0};
  return nk::passes::differentiate(b.take().view(), wanted);
}
nk::op kind_of_gradient(const nk::graph& g) { return g.nodes[static_cast<std::size_t>(g.outputs[1])].kind; }

}  // namespace

TEST_CASE("kernels write their parts where they are joined; what no kernel makes is copied") {
  CHECK(counts_of(nk::testing::made_by<&nk::testing::joined<nk::dtype::f32, 4, 5>>::make()) ==
        counts{2, 1, 0});
}

TEST_CASE("a part that something else reads is a tensor of its own") {
  nk::builder b;
  const int x = b.input(0, nk::dtype::f32, {4, 5}), bent = b.unary(nk::op::sin, x);
  const std::int32_t parts[] = {bent, b.unary(nk::op::exp, x)}, both[] = {bent, x};
  const std::int32_t labels[] = {0, 1, 2, 1}, result[] = {0, 2};
  b.output(b.concat(parts, 0));
  b.output(b.einsum(both, labels, result));
  CHECK(counts_of(b.take()) == counts{1, 1, 0});
}

TEST_CASE("a part that is joined twice is copied") {
  nk::builder b;
  const int bent = b.unary(nk::op::sin, b.input(0, nk::dtype::f32, {4, 5}));
  const std::int32_t parts[] = {bent, bent};
  b.output(b.concat(parts, 0));
  CHECK(counts_of(b.take()) == counts{1, 2, 0});
}

TEST_CASE("a part that is made long before is copied: the whole would be alive all along") {
  const auto after = [](int products) {
    nk::builder b;
    const std::int32_t labels[] = {0, 1, 1, 2}, result[] = {0, 2};
    const auto times = [&](std::int32_t x, std::int32_t w) {
      const std::int32_t both[] = {x, w};
      return b.einsum(both, labels, result);
    };
    const std::int32_t w = b.input(0, nk::dtype::f32, {4, 4});
    std::int32_t x = times(b.input(1, nk::dtype::f32, {4, 4}), w);
    const std::int32_t early = b.unary(nk::op::sin, x);
    for (int i = 0; i < products; ++i) x = times(x, w);
    const std::int32_t parts[] = {early, b.unary(nk::op::cos, x)};
    b.output(b.concat(parts, 0));
    return counts_of(b.take()).movements;
  };
  CHECK(after(1) == 0);
  CHECK(after(nk::passes::kernel_reach) == 1);
}

TEST_CASE("parts of one kernel are in place, however many nodes lie between them") {
  nk::builder b;
  const std::int32_t early = b.unary(nk::op::sin, b.input(0, nk::dtype::f32, {4, 4}));
  std::int32_t x = early;
  for (int i = 0; i < 2 * nk::passes::kernel_reach / 3; ++i) x = b.mul(b.unary(nk::op::cos, x), early);
  const std::int32_t parts[] = {early, x};
  b.output(b.concat(parts, 0));
  const counts n = counts_of(b.take());
  CHECK(n.kernels == 1);
  CHECK(n.movements == 0);
}

TEST_CASE("parameters that are joined in another dtype are cast to where they go") {
  nk::builder b;
  const nk::shape row{8};
  const std::int32_t parts[] = {b.reshape(b.input(0, nk::dtype::f32, {2, 4}), row),
                                b.input(1, nk::dtype::f32, row)};
  b.output(b.cast(b.concat(parts, 0), nk::dtype::bf16));
  CHECK(counts_of(b.take()) == counts{1, 0, 0});
}

TEST_CASE("the gradients of packed queries, keys and values are packed as they are made") {
  using packed = nk::testing::attention_gradients<nk::dtype::bf16, 16, 64, true, true>;
  using apart = nk::testing::attention_gradients<nk::dtype::bf16, 16, 64, true>;
  const counts n = counts_of(packed::make());
  CHECK(n.attentions == 3);
  CHECK(n.movements == 0);
  CHECK(n == counts_of(apart::make()));
}

TEST_CASE("the gradient of what was cut in pieces is their gradients joined") {
  CHECK(kind_of_gradient(gradient_of_parts({{0, 2}, {2, 4}, {6, 3}})) == nk::op::concat);
  CHECK(kind_of_gradient(gradient_of_parts({{6, 3}, {0, 2}, {2, 4}})) == nk::op::concat);
  CHECK(kind_of_gradient(gradient_of_parts({{0, 2}, {2, 3}, {6, 3}})) == nk::op::add);  // one is missing
  CHECK(kind_of_gradient(gradient_of_parts({{0, 3}, {2, 4}, {6, 3}})) == nk::op::add);  // one is there twice
}
