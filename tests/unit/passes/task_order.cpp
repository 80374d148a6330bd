// What of a plan for a GPU waits for what, as read from its tables; that every order it allows comes to the same
// bits is tests/law/plan_order.cpp's.
#include "napkin/plan/task_order.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "napkin/cuda/plan.hpp"
#include "support/planned.hpp"

namespace nk = napkin;
namespace planning = nk::planning;

namespace {

using nk::on_cuda::plan;

plan plan_of(nk::builder& b) {
  return nk::testing::planned<nk::on_cuda::target>(nk::testing::lowered(b.take().view()).view());
}
/// "0: ; 1: 0; 2: 0; 3: 2 1; ": each task and what it waits for, j behind one that joins sums.
std::string text_of(const planning::task_order& order) {
  std::string s;
  for (std::size_t t = 0; t < order.tasks.size(); ++t) {
    s += std::to_string(order.tasks[t].instruction) + (order.tasks[t].joins ? "j:" : ":");
    for (const std::int32_t before : order.waits(t)) s += " " + std::to_string(before);
    s += "; ";
  }
  return s;
}
/// Without a workspace of cuBLASLt's.
planning::task_order order_of(const plan& p) {
  return planning::order_tasks(nk::on_cuda::view_of(p), true, false);
}

constexpr nk::shape square{64, 64};

std::int32_t product(nk::builder& b, std::int32_t x, std::int32_t y) {
  const std::int32_t xs[] = {x, y}, labels[] = {0, 1, 1, 2}, result[] = {0, 2};
  return b.einsum(xs, labels, result);
}

}  // namespace

TEST_CASE("products of what one made wait for it, and one that reads both waits for both") {
  nk::builder b;
  const std::int32_t x = b.input(0, nk::dtype::f32, square), w = b.input(1, nk::dtype::f32, square);
  const std::int32_t y = product(b, x, w);
  b.output(product(b, product(b, y, w), product(b, x, y)));
  const plan p = plan_of(b);
  REQUIRE(p.instructions.size() == 4);
  const planning::task_order order = order_of(p);
  CHECK(text_of(order) == "0:; 1: 0; 2: 0; 3: 2 1; ");
  CHECK(!order.is_a_line());
  CHECK(planning::longest_chain(nk::on_cuda::view_of(p), order) == 3);
  CHECK((order.followed[0] && order.followed[1] && order.followed[2] && !order.followed[3]));
  // All that use one workspace, which they do unless told otherwise, follow one another.
  const planning::task_order in_workspace = planning::order_tasks(nk::on_cuda::view_of(p), true);
  CHECK(in_workspace.is_a_line());
  CHECK(planning::longest_chain(nk::on_cuda::view_of(p), in_workspace) == 4);
}

TEST_CASE("what lies where something else lay waits for those that read it there") {
  nk::builder b;
  std::int32_t x = b.input(0, nk::dtype::f32, square);
  const std::int32_t w = b.input(1, nk::dtype::f32, square);
  const std::int32_t first = product(b, x, w);
  b.output(product(b, first, first));  // read here, and then nowhere
  b.output(product(b, product(b, x, x), w));
  const plan p = plan_of(b);
  const planning::task_order order = order_of(p);
  REQUIRE(p.contractions[0].c == p.contractions[2].c);  // in the arena, one behind the other
  CHECK(text_of(order) == "0:; 1: 0; 2: 1; 3: 2; ");
}

TEST_CASE("what joins the sums of a kernel's columns is a task that its rows do not wait for") {
  nk::builder b;
  const std::int32_t x = b.input(0, nk::dtype::f32, {512, 32}), w = b.input(1, nk::dtype::f32, {32, 32});
  const std::int32_t rows[] = {0};
  const std::int32_t y = b.unary(nk::op::sin, x);
  b.output(b.reduce(nk::op::sum, y, rows));
  b.output(product(b, y, w));
  const plan p = plan_of(b);
  REQUIRE(p.kernels.size() == 1);
  REQUIRE(p.kernels[0].joins == 1);
  const planning::task_order order = order_of(p);
  CHECK(text_of(order) == "0:; 0j: 0; 1: 0; ");
  CHECK(planning::longest_chain(nk::on_cuda::view_of(p), order) == 2);
}

TEST_CASE("parts of one tensor are written beside one another, and read when all are there") {
  nk::builder b;
  const std::int32_t x = b.input(0, nk::dtype::f32, square), y = b.input(1, nk::dtype::f32, square);
  const std::int32_t turned[] = {1, 0}, parts[] = {b.permute(x, turned), y};
  b.output(product(b, b.concat({parts, 2}, 0), y));
  const plan p = plan_of(b);
  CAPTURE(p.instructions.size(), p.movements.size());
  REQUIRE(p.instructions.size() == 3);
  CHECK(text_of(order_of(p)) == "0:; 1:; 2: 1 0; ");
}

TEST_CASE("so are parts that a kernel writes beside those that are copied") {
  for (const std::size_t first : {std::size_t{16}, std::size_t{17}}) {
    nk::builder b;
    const std::int32_t x = b.input(0, nk::dtype::f32, {first}), y = b.input(1, nk::dtype::f32, {48}),
                       z = b.input(2, nk::dtype::f32, {64});
    const std::int32_t parts[] = {x, b.unary(nk::op::sin, y), z};
    b.output(b.concat({parts, 3}, 0));
    const plan p = plan_of(b);
    CAPTURE(first, p.instructions.size());
    CHECK(planning::longest_chain(nk::on_cuda::view_of(p), order_of(p)) == 1);
  }
}

TEST_CASE("rows that are looked up note what is amiss one after the other, so that the same is told") {
  nk::builder b;
  const std::int32_t table = b.input(0, nk::dtype::f32, square), at = b.input(1, nk::dtype::i32, {8});
  const std::int32_t other = b.input(2, nk::dtype::i32, {8});
  b.output(b.gather(table, at, 0));
  b.output(b.gather(table, other, 0));
  CHECK(text_of(order_of(plan_of(b))) == "0:; 1: 0; ");
}

TEST_CASE("a plan of one instruction, and of none") {
  nk::builder one, none;
  one.output(one.unary(nk::op::sin, one.input(0, nk::dtype::f32, square)));
  CHECK(order_of(plan_of(one)).is_a_line());
  const planning::task_order empty = order_of(plan_of(none));
  CHECK(empty.tasks.size() == 0);
  CHECK(empty.is_a_line());
  CHECK(planning::longest_chain(nk::on_cuda::view_of(plan{}), empty) == 0);
}
