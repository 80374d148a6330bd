// A whole step at the sizes that a device is given, where rows are many to a team and memory is reused as it is there:
// no access races, and the CPU's losses.
#include "emulated/steps/nanogpt.hpp"

#include <catch2/catch.hpp>

#include "emulated/device.hpp"
#include "support/compare.hpp"

namespace nk = napkin;
namespace nanogpt = nk::testing::nanogpt;
using nk::testing::largest_difference;
using enum nk::launch_order;

namespace {

template <class T>
nanogpt::losses_and_norms train_on_cpu(std::size_t steps) {
  nk::trainer<nanogpt::step<T>> t(nanogpt::first);
  return nanogpt::run(t, steps);
}
void check(const nanogpt::losses_and_norms& given, const nanogpt::losses_and_norms& expected,
           double tolerance) {
  const double losses = largest_difference(given.losses, expected.losses),
               norms = largest_difference(given.norms, expected.norms);
  CAPTURE(losses, norms);
  CHECK(losses <= tolerance);
  CHECK(norms <= 10 * tolerance);  // of some 5: in bf16 half a unit of their last place
}

}  // namespace

TEST_CASE("emulated: nanoGPT's smallest model at its own sizes, in f32") {
  check(nanogpt::train_in_f32(2, in_order), train_on_cpu<nk::f32>(2), 1e-5);
  CHECK(nanogpt::train_in_f32(1, by_data) == nanogpt::train_in_f32(1, in_order));
}

TEST_CASE("emulated: nanoGPT's smallest model at its own sizes, in bf16") {
  check(nanogpt::train_in_bf16(2, in_order), train_on_cpu<nk::bf16>(2), 1e-3);
  CHECK(nanogpt::train_in_bf16(1, by_data) == nanogpt::train_in_bf16(1, in_order));
}

TEST_CASE("emulated: nanoGPT's smallest model at its own sizes, in bf16, products within kernels") {
  std::size_t taken = 0;
  const auto given = nanogpt::train_in_bf16_with_products_taken(1, in_order, taken);
  CHECK(taken == 16);  // of each layer's kernels four
  check(given, train_on_cpu<nk::bf16>(1), 1e-3);
  CHECK(nanogpt::train_in_bf16_with_products_taken(1, by_data, taken) == given);
}
