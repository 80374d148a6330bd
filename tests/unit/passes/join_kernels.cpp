// Small kernels that do the same to parts of one tensor are one: which are, and which stay apart.
#include "napkin/passes/join_kernels.hpp"

#include <catch2/catch.hpp>
#include <initializer_list>

#include "napkin/cpu/plan.hpp"
#include "napkin/cuda/plan.hpp"
#include "support/planned.hpp"

namespace nk = napkin;

namespace {

template <class Target>
std::size_t kernels_of(const nk::graph& g) {
  return nk::testing::planned<Target>(nk::testing::lowered(g.view()).view()).kernels.size();
}
using cpu = nk::on_cpu::target;
using cuda = nk::on_cuda::target;

/// Inputs of so many columns, cast and joined.
nk::graph joined(std::initializer_list<std::size_t> columns, bool second_is_read = false) {
  nk::builder b;
  std::vector<std::int32_t> parts;
  for (const std::size_t n : columns)
    parts.push_back(b.cast(b.input(b.size(), nk::dtype::f32, {4, n}), nk::dtype::bf16));
  nk::graph g;
  const std::int32_t whole = b.concat({parts.data(), parts.size()}, 1);
  b.output(whole);
  if (second_is_read) b.output(b.unary(nk::op::sin, parts[1]));
  g = b.take();
  std::int32_t slot = 0;
  for (const nk::node& n : g.nodes)
    if (n.kind == nk::op::input) g.pool[static_cast<std::size_t>(n.first_attribute)] = slot++;
  return g;
}

/// A product taken apart: each part a result, but for the first, if that is bent before.
nk::graph taken_apart(std::initializer_list<std::size_t> columns, bool first_is_bent = false) {
  nk::builder b;
  std::size_t all = 0;
  for (const std::size_t n : columns) all += n;
  const std::int32_t both[] = {b.input(0, nk::dtype::f32, {8, 8}), b.input(1, nk::dtype::f32, {8, all})};
  const std::int32_t labels[] = {0, 1, 1, 2}, result[] = {0, 2}, step[] = {1, 1};
  const std::int32_t product = b.einsum(both, labels, result);
  std::int32_t start[] = {0, 0};
  for (const std::size_t n : columns) {
    const std::int32_t part = b.slice(product, {8, n}, start, step);
    b.output(first_is_bent && start[1] == 0 ? b.unary(nk::op::sin, part) : part);
    start[1] += static_cast<std::int32_t>(n);
  }
  return b.take();
}

}  // namespace

TEST_CASE("what is joined in another dtype is cast by one kernel for all parts of a shape") {
  CHECK(kernels_of<cuda>(joined({8, 8, 8})) == 1);
  CHECK(kernels_of<cpu>(joined({8, 8, 8})) == 3);  // calls, not launches
  CHECK(kernels_of<cuda>(joined({8, 8, 4})) == 2);
}

TEST_CASE("a part that is read otherwise too stays with what reads it") {
  CHECK(kernels_of<cuda>(joined({8, 8, 8}, true)) == 2);  // the second with its sine; the others
}

TEST_CASE("results that are parts of one value are copied by one kernel") {
  CHECK(kernels_of<cuda>(taken_apart({8, 8, 8})) == 1);
  CHECK(kernels_of<cpu>(taken_apart({8, 8, 8})) == 3);
  CHECK(kernels_of<cuda>(taken_apart({8, 16, 8})) == 2);
}

TEST_CASE("one that does otherwise stays apart") {
  CHECK(kernels_of<cuda>(taken_apart({8, 8, 8}, true)) == 2);
}

TEST_CASE("a kernel takes no more parts than it has room for") {
  std::initializer_list<std::size_t> parts = {4, 4, 4, 4, 4};
  nk::planning::plan_options options;
  options.fuse.max_members = 2;
  const nk::graph lowered = nk::testing::lowered(joined(parts).view());
  CHECK(nk::testing::planned<cuda>(lowered.view(), options).kernels.size() == 3);
}
