// Tensors and a training step on a GPU. What is there says so in its type: nk::cuda::tensor. nvcc compiles
// this file, and the kernels that it needs with it.
#include <cmath>
#include <cstdio>
#include <napkin/cuda.hpp>
#include <vector>

namespace nk = napkin;

struct batch : nk::dim<"batch", 256> {};
struct feature : nk::dim<"feature", 64> {};
struct unit : nk::dim<"unit", 128> {};

struct perceptron {
  BOOST_HANA_DEFINE_STRUCT(perceptron, (nk::param<feature, unit>, up), (nk::param<unit>, down));

  constexpr auto loss(nk::input<nk::f32, batch, feature> x, nk::input<nk::f32, batch> y) const {
    const auto hidden = nk::tanh(nk::einsum<"batch feature, feature unit -> batch unit">(x, up));
    const auto error = nk::dot<"unit">(hidden, down) - y;  // [batch]
    return nk::mean(error * error);
  }
};
using step = nk::train_step<perceptron, nk::adamw, nk::cuda>;
static_assert(step::memory.peak < 3'000'000);  // bytes: all that training takes of the device

int main() try {
  // Copies are asked for; an expression of tensors on the GPU is computed there, when it is assigned.
  const auto x = nk::randn<nk::f32, batch, feature>(nk::seed{1});
  const auto a = nk::to_cuda(x);
  const auto gram = nk::einsum<"batch feature, batch other -> feature other">(a, a);
  static_assert(nk::plan_of<decltype(gram), nk::cuda>.launches == 1);  // cuBLASLt's
  const nk::cuda::tensor scaled = gram / 256;
  std::printf("the first feature's mean square: %f\n", static_cast<double>(nk::to_host(scaled)(0, 0)));

  // A step is one launch. The batch after it goes over while the device computes.
  nk::trainer<step> trainer(nk::seed{1});
  const auto targets = nk::eval(nk::sin(nk::sum<"feature">(x)));
  trainer.stage(x, targets);
  nk::step_result last;
  for (int i = 0; i < 200; ++i) {
    trainer.launch(1e-2);
    trainer.stage(x, targets);
    last = trainer.wait();
  }
  std::printf("loss after %d steps: %f\n", static_cast<int>(trainer.steps()), static_cast<double>(last.loss));
  return last.loss < 0.5f ? 0 : 1;
} catch (const nk::error& e) {
  std::fprintf(stderr, "11_on_a_gpu: %s\n", e.what());
  return 1;
}
