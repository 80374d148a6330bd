// Sums of counts: exact, and refused where they do not fit.
#include "napkin/cost/sheet.hpp"

#include <catch2/catch.hpp>

#include "napkin/cost/flops.hpp"
#include "napkin/cost/rules_of_thumb.hpp"

namespace nk = napkin;

namespace {
constexpr std::uint64_t most = ~std::uint64_t{0};
}

TEST_CASE("sheets add up part by part", "[cost]") {
  nk::cost_sheet a{{1, 2, 3, 4, 5}, {6, 7}, 8};
  a += nk::cost_sheet{{10, 20, 30, 40, 50}, {60, 70}, 80};
  CHECK(a == nk::cost_sheet{{11, 22, 33, 44, 55}, {66, 77}, 88});
  CHECK(a.flops.total() == 66);
  CHECK(a.bytes.total() == 143);
  CHECK(a.flops - nk::flop_counts{1, 2, 3, 4, 5} == nk::flop_counts{10, 20, 30, 40, 50});
}

TEST_CASE("intensity is FLOPs for each byte", "[cost]") {
  CHECK(nk::cost_sheet{{90, 5, 5, 1000, 0}, {30, 20}, 1}.intensity() == 2.0);
  CHECK(nk::cost_sheet{{90, 0, 0, 0, 0}, {}, 0}.intensity() == 0.0);
}

TEST_CASE("a count that does not fit is an error", "[cost]") {
  nk::flop_counts f{most, 0, 0, 0, 0};
  CHECK_NOTHROW(f += nk::flop_counts{});
  CHECK_THROWS_AS((f += nk::flop_counts{1, 0, 0, 0, 0}), std::overflow_error);
  CHECK_THROWS_AS((nk::flop_counts{most, 1, 0, 0, 0}.total()), std::overflow_error);
  CHECK_THROWS_AS((nk::flop_counts{} - nk::flop_counts{1, 0, 0, 0, 0}), std::overflow_error);
}

TEST_CASE("an einsum of three operands is refused until it is ordered", "[cost]") {
  nk::builder b;
  const std::int32_t xs[] = {b.input(0, nk::dtype::f32, {2, 3}), b.input(1, nk::dtype::f32, {3, 4}),
                             b.input(2, nk::dtype::f32, {4, 5})},
                     labels[] = {0, 1, 1, 2, 2, 3}, to[] = {0, 3};
  b.output(b.einsum(xs, labels, to));
  CHECK_THROWS_AS(nk::flops_of(b.view()), nk::error);
}

TEST_CASE("a napkin refuses what no run reaches", "[cost]") {
  nk::rules_of_thumb::training_run run{70e9, 15e12, nk::h100_sxm, 1024, 1.0};
  CHECK(nk::rules_of_thumb::training_days(run) < 72);
  run.mfu = 1.01;
  CHECK_THROWS_AS(nk::rules_of_thumb::training_days(run), nk::input_error);
  run.mfu = 0.5;
  run.devices = 0;
  CHECK_THROWS_AS(nk::rules_of_thumb::training_days(run), nk::input_error);
  run.devices = 1;
  run.device = run.device.with(nk::arithmetic::bf16, {});
  CHECK_THROWS_AS(nk::rules_of_thumb::training_days(run), nk::input_error);
}
