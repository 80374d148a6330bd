// Training in bf16, and in f8, beside training in f32: the curve of the loss, and that a seed repeats.
#include <catch2/catch.hpp>
#include <vector>

#include "napkin/cpu/threads.hpp"
#include "support/compare.hpp"
#include "support/precision_training.hpp"

namespace nk = napkin;

using nk::testing::precision::losses_on_cpu;

// Two runs in f32 whose parameters begin apart by half a unit in the last place of bf16 part too, the faster
// the higher the rate: at this one by a twentieth of a percent. What is left is what bf16 does.
TEST_CASE("training in bf16, and in f8: each of 500 losses is within 1% of f32's") {
  const std::vector<float> exact = losses_on_cpu<nk::f32>(500), narrow = losses_on_cpu<nk::bf16>(500),
                           perturbed = losses_on_cpu<nk::f32>(500, 0x1p-9);
  const auto largest_difference = [&exact](const std::vector<float>& losses) {
    return nk::testing::precision::largest_share(exact, losses);
  };
  INFO("perturbed: " << 100 * largest_difference(perturbed) << "%");
  CHECK(largest_difference(narrow) <= 0.01);
  CHECK(largest_difference(narrow) <= 10 * largest_difference(perturbed));
  CHECK(largest_difference(narrow) > 0);  // another computation
  CHECK(exact.back() < 0.6 * exact.front());

  const std::vector<float> narrowest = losses_on_cpu<nk::f8>(500);
  CHECK(largest_difference(narrowest) <= 0.01);
  CHECK(largest_difference(narrowest) > largest_difference(narrow));
}

TEMPLATE_TEST_CASE("training in few bits repeats, bit for bit, at any number of threads", "", napkin::bf16,
                   napkin::f8) {
  const std::size_t before = nk::on_cpu::threads();
  const std::vector<float> first = losses_on_cpu<TestType>(5);
  for (const std::size_t threads : {1u, 2u, 3u}) {
    nk::on_cpu::set_threads(threads);
    CHECK(nk::testing::same_bits(losses_on_cpu<TestType>(5), first));
  }
  nk::on_cpu::set_threads(before);
}
