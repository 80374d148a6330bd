// A transformer trained on a device that is the host: what tests/gpu/training.cpp asks of a GPU.
#include <catch2/catch.hpp>
#include <functional>

#include "napkin/train/cuda_trainer.hpp"
#include "support/compare.hpp"
#include "support/device_training.hpp"
#include "support/host_kernels.hpp"
#include "support/precision_training.hpp"

namespace nk = napkin;
namespace on_cuda = napkin::on_cuda;
using nk::testing::largest_difference;

namespace {

template <class step>
void compare(const std::function<void(nk::testing::host_device&)>& prepare,
             const std::function<void(const nk::testing::host_device&)>& look) {
  nk::trainer<step> cpu(nk::seed{5});
  const nk::testing::training expected = nk::testing::train_small(cpu, 20);
  std::vector<nk::testing::training> runs;
  for (const unsigned seed : {1u, 2u}) {
    nk::testing::host_device d;
    d.cuda.random.seed(seed);
    prepare(d);
    on_cuda::session s(d.cuda, d.blas);
    { const nk::trainer<step, nk::cuda> first(nk::seed{6}, {}, s); }  // times products, once in a session
    d.blas.epilogues.clear();
    nk::trainer<step, nk::cuda> t(nk::seed{5}, {}, s);
    runs.push_back(nk::testing::train_small(t, 20));
    CHECK(d.cuda.misuse.empty());
    look(d);
  }
  CHECK(expected.losses.back() < expected.losses.front());
  CHECK(largest_difference(runs[0].losses, expected.losses) <= 1e-4);
  CHECK(largest_difference(runs[0].norms, expected.norms) <= 1e-3);
  CHECK(runs[0].losses == runs[1].losses);
  CHECK(runs[0].values == runs[1].values);
}

}  // namespace

TEST_CASE("20 steps of a llama on the device are the CPU's to 1e-4", "[cuda]") {
  compare<nk::testing::llama_step>([](auto&) {}, [](auto&) {});
}

TEST_CASE("20 steps of a gpt, products with epilogues, are the CPU's to 1e-4", "[cuda]") {
  using on_cuda::blas_epilogue;
  SECTION("by cuBLASLt") {
    compare<nk::testing::gpt_step>([](auto&) {},
                                   [](const nk::testing::host_device& d) {
                                     const auto ran = [&](blas_epilogue e) { return d.blas.epilogues.at(e); };
                                     // of two layers, in so many calls as were captured
                                     const int forward = ran(blas_epilogue::gelu_saved_bias),
                                               backward = ran(blas_epilogue::gelu_gradient_bias);
                                     CHECK(forward > 0);
                                     CHECK(backward > 0);
                                     CHECK(2 * ran(blas_epilogue::bias) == (2 * 5 - 1) * forward);
                                     CHECK(ran(blas_epilogue::bias_gradient_a) == 3 * backward);
                                     CHECK(d.blas.written_over > 0);
                                   });
  }
  SECTION("which has none of them") {
    compare<nk::testing::gpt_step>([](nk::testing::host_device& d) { d.blas.has_epilogues = false; },
                                   [](const nk::testing::host_device& d) {
                                     CHECK(d.blas.epilogues.size() == 1);
                                     CHECK(d.blas.epilogues.count(blas_epilogue::none) == 1);
                                   });
  }
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
