// Which results are put where an operand lies, and which may not be: told by how many buffers a plan has
// before memory is shared and after. That sharing changes no bit is tests/law/fuse.cpp's; of products on a
// GPU, tests/device_on_host/gpt.cpp's.
#include "napkin/plan/share_memory.hpp"

#include <catch2/catch.hpp>

#include "napkin/cpu/plan.hpp"
#include "napkin/cuda/plan.hpp"
#include "support/planned.hpp"

namespace nk = napkin;

namespace {

constexpr nk::shape square{8, 8};

/// A node that is computed by a unit of its own, and so has a buffer.
std::int32_t product(nk::builder& b, std::int32_t x) {
  const std::int32_t w = b.input(b.size() + 100, nk::dtype::f32, square);
  const std::int32_t xs[] = {x, w}, labels[] = {0, 1, 1, 2}, result[] = {0, 2};
  return b.einsum(xs, labels, result);
}
/// Inputs are numbered as they come.
nk::graph finished(nk::builder& b, std::initializer_list<std::int32_t> outputs) {
  for (const std::int32_t out : outputs) b.output(product(b, out));
  nk::graph g = b.take();
  std::int32_t slot = 0;
  for (const nk::node& n : g.nodes)
    if (n.kind == nk::op::input) g.pool[static_cast<std::size_t>(n.first_attribute)] = slot++;
  return g;
}

template <class Target>
std::size_t shared_in(const nk::graph& g) {
  const nk::graph lowered = nk::testing::lowered(g.view());
  auto p = nk::testing::planned_unsettled<Target>(lowered.view());
  const std::size_t before = p.lives.size();
  nk::planning::settle(p);
  return before - p.lives.size();
}
using cpu = nk::on_cpu::target;
using cuda = nk::on_cuda::target;

}  // namespace

TEST_CASE("an elementwise result lies where its operand did") {
  nk::builder b;
  const auto a = product(b, b.input(0, nk::dtype::f32, square));
  const nk::graph g = finished(b, {b.unary(nk::op::sin, a)});
  CHECK(shared_in<cuda>(g) == 1);
  CHECK(shared_in<cpu>(g) == 1);  // block by block, behind the product
}

TEST_CASE("a softmax lies where the logits did, though it reads them again and again") {
  nk::builder b;
  const auto a = product(b, b.input(0, nk::dtype::f32, square));
  const std::int32_t row[] = {1}, along[] = {0, -1};
  const auto e = b.unary(nk::op::exp, b.sub(a, b.expand(b.reduce(nk::op::max, a, row), square, along)));
  const nk::graph g = finished(b, {b.div(e, b.expand(b.reduce(nk::op::sum, e, row), square, along))});
  CHECK(shared_in<cuda>(g) == 1);
  CHECK(shared_in<cpu>(g) == 1);
}

TEST_CASE("what is read later is not written over") {
  nk::builder b;
  const auto a = product(b, b.input(0, nk::dtype::f32, square));
  const nk::graph g = finished(b, {b.unary(nk::op::sin, a), a});
  CHECK(shared_in<cuda>(g) == 0);
  CHECK(shared_in<cpu>(g) == 0);
}

TEST_CASE("nor what a later phase of the kernel reads again") {
  nk::builder b;
  const auto a = product(b, b.input(0, nk::dtype::f32, square));
  const std::int32_t row[] = {1}, along[] = {0, -1};
  const auto e = b.unary(nk::op::sin, a);
  const auto y = b.mul(a, b.expand(b.reduce(nk::op::sum, e, row), square, along));
  CHECK(shared_in<cuda>(finished(b, {e, y})) == 1);  // y, written when all is read, and not e
}

TEST_CASE("nor what lies otherwise, or in another dtype") {
  nk::builder b;
  const auto a = product(b, b.input(0, nk::dtype::f32, square));
  const std::int32_t turned[] = {1, 0};
  CHECK(shared_in<cuda>(finished(b, {b.unary(nk::op::sin, b.permute(a, turned))})) == 0);

  nk::builder both;
  const auto c = product(both, both.input(0, nk::dtype::f32, square));
  CHECK(shared_in<cuda>(finished(both, {both.mul(c, both.unary(nk::op::sin, both.permute(c, turned)))})) ==
        0);

  nk::builder cast;
  const auto d = product(cast, cast.input(0, nk::dtype::f32, square));
  const auto whole = cast.cast(d, nk::dtype::i32);
  const std::int32_t xs[] = {whole, whole}, labels[] = {0, 1, 1, 2}, result[] = {0, 2};
  cast.output(cast.einsum(xs, labels, result));
  CHECK(shared_in<cuda>(cast.take()) == 0);
}

TEST_CASE("nor, where a kernel runs behind a product block by block, what the product still multiplies") {
  nk::builder b;
  const auto a = b.unary(nk::op::sin, b.input(0, nk::dtype::f32, square));
  const nk::graph g = finished(b, {b.mul(product(b, a), a)});
  CHECK(shared_in<cpu>(g) == 1);   // the product's own result alone is left
  CHECK(shared_in<cuda>(g) == 1);  // there either: the first is taken
}

TEST_CASE("a product of the GPU lies where what its call adds did") {
  nk::builder b;
  const auto residual = product(b, b.input(0, nk::dtype::f32, square));
  const auto last = product(b, product(b, b.input(1, nk::dtype::f32, square)));
  CHECK(shared_in<cuda>(finished(b, {b.add(last, residual)})) == 1);
}

TEST_CASE("unless that is read later, or multiplied too") {
  nk::builder later;
  const auto residual = product(later, later.input(0, nk::dtype::f32, square));
  const auto last = product(later, product(later, later.input(1, nk::dtype::f32, square)));
  CHECK(shared_in<cuda>(finished(later, {later.add(last, residual), residual})) == 0);

  nk::builder multiplied;
  const auto both = product(multiplied, multiplied.input(0, nk::dtype::f32, square));
  CHECK(shared_in<cuda>(finished(multiplied, {multiplied.add(product(multiplied, both), both)})) == 0);
}

namespace {

/// Of a product's result two halves, and what a kernel makes of them, joined.
std::size_t shared_by_halves(std::int32_t second_from, bool second_backwards) {
  nk::builder b;
  const auto a = product(b, b.input(0, nk::dtype::f32, square));
  const std::int32_t left[] = {0, 0}, right[] = {0, second_from}, forth[] = {1, 1},
                     back[] = {1, second_backwards ? -1 : 1};
  const nk::shape half{8, 4};
  const auto x = b.slice(a, half, left, forth), y = b.slice(a, half, right, back);
  const auto bent = b.mul(x, b.unary(nk::op::sin, y));
  const std::int32_t parts[] = {bent, b.add(bent, y)};
  return shared_in<cuda>(finished(b, {b.concat(parts, 1)}));
}

}  // namespace

TEST_CASE("parts of a tensor lie where those of an operand did, if each is read where it is written") {
  CHECK(shared_by_halves(4, false) == 1);
  CHECK(shared_by_halves(7, true) == 0);   // another thread's element is written over
  CHECK(shared_by_halves(2, false) == 0);  // half of what is read lies where the other half is written
}

static_assert([] {
  nk::builder b;
  const std::int32_t x = b.input(0, nk::dtype::f32, square), w = b.input(1, nk::dtype::f32, square);
  const std::int32_t labels[] = {0, 1, 1, 2}, result[] = {0, 2};
  const std::int32_t first[] = {x, w};
  const std::int32_t second[] = {b.unary(nk::op::sin, b.einsum(first, labels, result)), w};
  b.output(b.einsum(second, labels, result));
  const nk::graph g = b.take();
  return nk::planning::make_plan<nk::on_cpu::target>(nk::planning::lower_graph(g.view()).view()).peak;
}() == 8 * 8 * sizeof(float));
