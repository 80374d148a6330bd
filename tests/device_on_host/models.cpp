// Models trained on a device that is the host, beside the CPU: what tests/gpu asks of nvcc's kernels, here of the host's
// compiler's. Where nvcc is, tests/emulated runs its kernels, and this is for --all.
#include "device_on_host/compare_training.hpp"
#include "support/device_images.hpp"
#include "support/device_training.hpp"
#include "support/precision_training.hpp"

namespace nk = napkin;
namespace images = nk::testing::images;

TEST_CASE("20 steps of a llama on the device are the CPU's to 1e-4", "[cuda]") {
  nk::testing::compare_with_cpu<nk::testing::llama_step>(
      nk::testing::train_llama_on_cpu(20), nk::seed{5}, 1e-3,
      [](auto& trainer) { return nk::testing::train_small(trainer, 20); });
}

TEST_CASE("20 steps of a small convolutional network with dropout on the device are the CPU's", "[cuda]") {
  const images::training expected = images::train_on_cpu(20),
                         given = nk::testing::compare_with_cpu<images::step>(
                             expected, nk::seed{3}, 1e-4,
                             [](auto&trainer) { return images::train(trainer, 20); });
  CHECK(expected.losses.back() < 0.9f * expected.losses.front());
  CHECK(nk::testing::largest_difference(given.values, expected.values) <= 1e-4);
}

TEST_CASE("a GPT in bf16 on the device, attention and all, is the CPU's but for roundings", "[cuda]") {
  namespace precision = nk::testing::precision;
  constexpr int steps = 6;
  const std::vector<float> expected = precision::losses_on_cpu<nk::bf16>(steps);
  nk::testing::host_device d;
  nk::on_cuda::session s(d.cuda, d.blas);
  nk::trainer<precision::step<nk::bf16, nk::cuda>> t(nk::seed{5}, {.order = nk::launch_order::by_data}, s);
  const std::vector<float> losses = precision::losses_of(t, steps);
  const double worst = precision::largest_share(expected, losses);
  CAPTURE(worst);
  CHECK(worst <= 1e-4);
  CHECK(losses.back() < losses.front());
  CHECK(d.cuda.misuse.empty());
}
