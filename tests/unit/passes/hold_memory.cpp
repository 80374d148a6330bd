// Where intermediates of a plan for a GPU lie apart so that launches need not wait for one another. That no more
// tasks follow one another than need each other's data is tests/law/hold_memory.cpp's.
#include "napkin/plan/hold_memory.hpp"

#include <catch2/catch.hpp>

#include "napkin/cuda/plan.hpp"
#include "napkin/plan/task_order.hpp"
#include "support/planned.hpp"

namespace nk = napkin;
namespace planning = nk::planning;

namespace {

constexpr nk::shape square{64, 64}, large{512, 512};

std::int32_t product(nk::builder& b, std::int32_t x, std::int32_t y) {
  const std::int32_t xs[] = {x, y}, labels[] = {0, 1, 1, 2}, result[] = {0, 2};
  return b.einsum(xs, labels, result);
}
/// x and w squared times something; with `room`, behind products that take more memory than all others do.
nk::on_cuda::plan two_products_twice(bool room) {
  nk::builder b;
  const std::int32_t x = b.input(0, nk::dtype::f32, square), w = b.input(1, nk::dtype::f32, square);
  if (room) {
    const std::int32_t y = b.input(2, nk::dtype::f32, large);
    b.output(product(b, product(b, y, y), y));
  }
  const std::int32_t first = product(b, x, x);
  b.output(product(b, first, w));
  b.output(product(b, product(b, w, w), x));
  return nk::testing::planned<nk::on_cuda::target>(nk::testing::lowered(b.take().view()).view());
}
std::uint64_t chain_of(const nk::on_cuda::plan& p) {
  const nk::on_cuda::plan_view view = nk::on_cuda::view_of(p);
  return planning::longest_chain(view, planning::order_tasks(view, true, false));
}
nk::passes::lifetime life_of(const nk::on_cuda::plan& p, std::size_t contraction) {
  const nk::on_cuda::plan_view view = nk::on_cuda::view_of(p);
  const auto placed = planning::plan_memory_of(view.lives, view.count.lives);
  for (std::size_t l = 0; l < view.count.lives; ++l)
    if (placed.offsets[l] == p.contractions[contraction].c.at &&
        view.lives[l].first == static_cast<std::int32_t>(contraction))
      return view.lives[l];
  return {};
}

}  // namespace

TEST_CASE("memory is held while launches that may run side by side are to come, if there is room") {
  const nk::on_cuda::plan p = two_products_twice(true);
  REQUIRE(p.contractions.size() == 6);
  CHECK(p.contractions[2].c.where == planning::region::arena);
  CHECK(p.contractions[2].c != p.contractions[4].c);
  CHECK(life_of(p, 2).last == 3);
  CHECK(life_of(p, 2).held == 2);
  CHECK(life_of(p, 0).held == 4);
  CHECK(life_of(p, 4).held == 0);
  CHECK(chain_of(p) == 2);
  CHECK(p.peak == p.lower_bound);
}

TEST_CASE("an arena is not made larger for it") {
  const nk::on_cuda::plan p = two_products_twice(false);
  REQUIRE(p.contractions.size() == 4);
  CHECK(p.contractions[0].c == p.contractions[2].c);
  CHECK(life_of(p, 0).held == 0);
  CHECK(chain_of(p) == 4);
  CHECK(p.peak == p.lower_bound);
}

TEST_CASE("what joins a kernel's sums reads where they are kept, a level later") {
  nk::builder b;
  const std::int32_t x = b.input(0, nk::dtype::f32, {512, 32}), w = b.input(1, nk::dtype::f32, square);
  const std::int32_t rows[] = {0};
  b.output(b.reduce(nk::op::sum, b.unary(nk::op::sin, x), rows));
  b.output(product(b, product(b, w, w), w));
  const auto p =
      nk::testing::planned_unsettled<nk::on_cuda::target>(nk::testing::lowered(b.take().view()).view());
  REQUIRE(p.instructions.size() == 3);
  REQUIRE((p.kernels.size() == 1 && p.kernels[0].joins == 1));
  auto lives = p.lives;
  const nk::buffer<std::int32_t> ends = planning::find_ends_of_holds(p, p.counts());
  planning::hold(lives, {ends.data(), ends.size()}, ~std::size_t{0} / 2);
  std::size_t partial_sums = 0;
  for (const planning::workspace_record& kept : p.workspaces)
    if (kept.kernel == 0) {
      ++partial_sums;
      CHECK(lives[static_cast<std::size_t>(kept.life)].last == 0);
      CHECK(lives[static_cast<std::size_t>(kept.life)].held == 2);
    }
  CHECK(partial_sums == 1);
}

TEST_CASE("a plan of nothing holds nothing") {
  nk::builder b;
  CHECK(nk::testing::planned<nk::on_cuda::target>(b.take().view()).peak == 0);
}
