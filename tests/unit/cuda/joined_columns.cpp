// How many launches join the column sums of a kernel: one for those of a kind and a dtype, as many as one takes.
#include <catch2/catch.hpp>
#include <initializer_list>

#include "napkin/cuda/plan.hpp"
#include "support/planned.hpp"

namespace nk = napkin;

namespace {

/// Launches of the one kernel that reduces the columns of x, x^2, x^3, ... each by one of these.
std::uint64_t launches_of(std::initializer_list<nk::op> reductions) {
  nk::builder b;
  const std::int32_t x = b.input(0, nk::dtype::f32, {512, 32}), rows[] = {0};
  std::int32_t power = x;
  for (const nk::op o : reductions) {
    b.output(b.reduce(o, power, rows));
    power = b.mul(power, x);
  }
  const auto p = nk::testing::planned<nk::on_cuda::target>(nk::testing::lowered(b.take().view()).view());
  REQUIRE(p.kernels.size() == 1);
  REQUIRE(p.kernels[0].columns == static_cast<std::int32_t>(reductions.size()));
  return nk::on_cuda::product::launches(p.kernels[0]);
}

}  // namespace

TEST_CASE("sums of columns are joined by one launch, what else is reduced by its own") {
  using nk::op;
  CHECK(launches_of({op::sum}) == 2);
  CHECK(launches_of({op::sum, op::sum, op::sum}) == 2);
  CHECK(launches_of({op::sum, op::max, op::sum}) == 3);
  CHECK(launches_of({op::sum, op::sum, op::sum, op::sum, op::sum, op::sum, op::sum, op::sum}) == 2);
  CHECK(launches_of({op::sum, op::sum, op::sum, op::sum, op::max, op::sum, op::sum, op::sum, op::sum,
                     op::sum}) == 4);  // nine sums
}
