// Training in 16 and in 8 bits on a GPU, beside the CPU.
#include <catch2/catch.hpp>

#include "napkin/napkin.hpp"
#include "support/device_here.hpp"
#include "support/precision_training.hpp"
#include "support/skip.hpp"

namespace nk = napkin;
namespace precision = nk::testing::precision;
using enum nk::launch_order;

TEST_CASE("training in bf16 and in f16 on the GPU: each of 300 losses is within 1% of f32's",
          "[slowly_checked]") {
  if (const std::string reason = nk::testing::why_no_device(); !reason.empty()) SKIP(reason);
  constexpr int steps = 300;
  const std::vector<float> exact = precision::losses_on_cpu<nk::f32>(steps),
                           bf16 = precision::losses_in_bf16_on_gpu(steps, fastest),
                           f16 = precision::losses_in_f16_on_gpu(steps, fastest);
  const double of_bf16 = precision::largest_share(exact, bf16), of_f16 = precision::largest_share(exact, f16);
  CAPTURE(of_bf16, of_f16);
  CHECK(of_bf16 <= 0.01);
  CHECK(of_f16 <= 0.01);
  CHECK(of_bf16 > of_f16);  // 8 bits, and 11
  CHECK(of_f16 > 0);
  CHECK(exact.back() < 0.8 * exact.front());
  CHECK(precision::losses_in_bf16_on_gpu(steps, by_data) == bf16);  // to the bit
}

TEST_CASE("training in f8 on the GPU: each of 300 losses is within 1% of f32's", "[slowly_checked]") {
  if (const std::string reason = nk::testing::why_no_8_bit_products(); !reason.empty()) SKIP(reason);
  constexpr int steps = 300;
  const std::vector<float> exact = precision::losses_on_cpu<nk::f32, precision::by_sixteens>(steps),
                           f8 = precision::losses_in_f8_on_gpu(steps, fastest);
  const double of_f8 = precision::largest_share(exact, f8);
  CAPTURE(of_f8);
  CHECK(of_f8 <= 0.01);
  CHECK(of_f8 > 0);
  CHECK(exact.back() < 0.8 * exact.front());
}

TEST_CASE("training in f8 on the GPU: the first losses are those of the CPU, two runs equal to the bit") {
  if (const std::string reason = nk::testing::why_no_8_bit_products(); !reason.empty()) SKIP(reason);
  constexpr int steps = 3;
  const std::vector<float> cpu = precision::losses_on_cpu<nk::f8, precision::by_sixteens>(steps),
                           f8 = precision::losses_in_f8_on_gpu(steps, in_order);
  CHECK(precision::largest_share(cpu, f8) <= 1e-3);
  CHECK(precision::losses_in_f8_on_gpu(steps, by_data) == f8);
}

TEST_CASE(
    "training in bf16 on the GPU, products within the kernels that read them: the CPU's losses, in any "
    "order") {
  if (const std::string reason = nk::testing::why_no_device(); !reason.empty()) SKIP(reason);
  constexpr int steps = 2;
  std::size_t taken = 0;
  const std::vector<float> cpu = precision::losses_on_cpu<nk::bf16>(steps),
                           bf16 =
                               precision::losses_in_bf16_with_products_taken_on_gpu(steps, in_order, taken);
  CHECK(taken >= 4 * precision::config::layers);
  CHECK(precision::largest_share(cpu, bf16) <= 1e-4);
  CHECK(precision::losses_in_bf16_with_products_taken_on_gpu(steps, by_data, taken) == bf16);
}

TEST_CASE("training in bf16 on the GPU: the first losses are those of the CPU, two runs equal to the bit") {
  if (const std::string reason = nk::testing::why_no_device(); !reason.empty()) SKIP(reason);
  constexpr int steps = 6;
  const std::vector<float> cpu = precision::losses_on_cpu<nk::bf16>(steps),
                           bf16 = precision::losses_in_bf16_on_gpu(steps, in_order);
  CHECK(precision::largest_share(cpu, bf16) <= 1e-4);
  CHECK(precision::losses_in_bf16_on_gpu(steps, by_data) == bf16);
  CHECK(bf16.back() < bf16.front());
}
