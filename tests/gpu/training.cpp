// Training and tensors on a GPU against the CPU: 20 steps to 1e-4, two runs to the bit.
#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "napkin/napkin.hpp"
#include "support/compare.hpp"
#include "support/device_here.hpp"
#include "support/device_images.hpp"
#include "support/device_training.hpp"
#include "support/skip.hpp"

namespace nk = napkin;
namespace images = nk::testing::images;
using nk::testing::largest_difference;

namespace {

using nk::testing::training;
using enum nk::launch_order;

/// Returns the CPU's losses.
std::vector<float> compare(training (*on_cpu)(std::size_t),
                           training (*on_gpu)(std::size_t, nk::launch_order)) {
  const training expected = on_cpu(20), first = on_gpu(20, in_order), second = on_gpu(20, by_data);
  const double losses = largest_difference(first.losses, expected.losses);
  const double norms = largest_difference(first.norms, expected.norms);
  // On average: AdamW divides by the root of a gradient's square, so that where the gradient is nearly none,
  // rounding is its sign, and a few parameters go elsewhere.
  double values = 0;
  for (std::size_t i = 0; i < first.values.size(); ++i)
    values += std::fabs(static_cast<double>(first.values[i]) - static_cast<double>(expected.values[i]));
  values /= static_cast<double>(first.values.size());
  CAPTURE(losses, norms, values);
  CHECK(losses <= 1e-4);
  CHECK(norms <= 1e-3);
  CHECK(values <= 1e-4);
  CHECK(first.losses == second.losses);
  CHECK(first.values == second.values);
  return expected.losses;
}

}  // namespace

TEST_CASE("20 steps on the GPU are the CPU's to 1e-4, and two runs equal to the bit") {
  if (const std::string reason = nk::testing::why_no_device(); !reason.empty()) SKIP(reason);
  SECTION("llama") {
    const std::vector<float> losses =
        compare(nk::testing::train_llama_on_cpu, nk::testing::train_llama_on_gpu);
    CHECK(losses.back() < losses.front());
  }
  SECTION("gpt, in two micro-batches") {
    const std::vector<float> losses =  // of other text each
        compare(nk::testing::train_gpt_in_two_on_cpu, nk::testing::train_gpt_in_two_on_gpu);
    CHECK(*std::min_element(losses.begin(), losses.end()) < losses.front());
  }
}

TEST_CASE("20 steps of a small convolutional network with dropout on the GPU are the CPU's") {
  if (const std::string reason = nk::testing::why_no_device(); !reason.empty()) SKIP(reason);
  const images::training expected = images::train_on_cpu(20), first = images::train_on_gpu(20, in_order),
                         second = images::train_on_gpu(20, by_data);
  CHECK(expected.losses.back() < 0.9f * expected.losses.front());
  CHECK(largest_difference(first.losses, expected.losses) <= 1e-4);
  CHECK(largest_difference(first.norms, expected.norms) <= 1e-4);
  CHECK(largest_difference(first.values, expected.values) <= 1e-4);
  CHECK(first.losses == second.losses);
  CHECK(first.values == second.values);
}

TEST_CASE("tensors on the GPU: copies, expressions, indices") {
  if (const std::string reason = nk::testing::why_no_device(); !reason.empty()) SKIP(reason);
  CHECK(nk::testing::check_tensors_on_gpu() == "");
}
