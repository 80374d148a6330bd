// A transformer trained on a device that is the host: what tests/gpu/training.cpp asks of a GPU.
#include <catch2/catch.hpp>

#include "napkin/train/cuda_trainer.hpp"
#include "support/compare.hpp"
#include "support/device_training.hpp"
#include "support/host_kernels.hpp"
#include "support/precision_training.hpp"

namespace nk = napkin;
namespace on_cuda = napkin::on_cuda;
using nk::testing::largest_difference;

TEST_CASE("20 steps of a llama on the device are the CPU's to 1e-4", "[cuda]") {
  using step = nk::testing::llama_step;
  nk::trainer<step> cpu(nk::seed{5});
  const nk::testing::training expected = nk::testing::train_small(cpu, 20);
  std::vector<nk::testing::training> runs;
  for (const unsigned seed : {1u, 2u}) {
    nk::testing::host_device d;
    d.cuda.random.seed(seed);
    on_cuda::session s(d.cuda, d.blas);
    nk::trainer<step, nk::cuda> t(nk::seed{5}, {}, s);
    runs.push_back(nk::testing::train_small(t, 20));
    CHECK(d.cuda.misuse.empty());
  }
  CHECK(expected.losses.back() < expected.losses.front());
  CHECK(largest_difference(runs[0].losses, expected.losses) <= 1e-4);
  CHECK(largest_difference(runs[0].norms, expected.norms) <= 1e-3);
  CHECK(runs[0].losses == runs[1].losses);
  CHECK(runs[0].values == runs[1].values);
}

TEST_CASE("a GPT in bf16 on the device, attention and all, is the CPU's but for roundings", "[cuda]") {
  namespace precision = nk::testing::precision;
  using step = precision::step<nk::bf16, nk::cuda>;
  static_assert(step::attention == nk::passes::attention_choice{2, 0, nk::passes::attention_fit::fits});
  constexpr int steps = 6;
  nk::trainer<precision::step<nk::bf16>> cpu(nk::seed{5});
  const std::vector<float> expected = precision::losses_of(cpu, steps);
  nk::testing::host_device d;
  on_cuda::session s(d.cuda, d.blas);
  nk::trainer<step> t(nk::seed{5}, {}, s);
  const std::vector<float> losses = precision::losses_of(t, steps);
  const double worst = precision::largest_share(expected, losses);
  CAPTURE(worst);
  CHECK(worst <= 1e-4);
  CHECK(losses.back() < losses.front());
  CHECK(d.cuda.misuse.empty());
}
