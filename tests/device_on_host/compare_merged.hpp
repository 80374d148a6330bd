// A training step whose products of one operand are made one (passes/merge_products.hpp), of parameters that are stored
// as one, on a device that is the host.
#pragma once

#include "device_on_host/compare_training.hpp"
#include "support/counted_nodes.hpp"
#include "support/device_training.hpp"
#include "support/precision_training.hpp"

namespace napkin::testing {

template <class Model, class... Policies>
using narrow_step = train_step<Model, adamw, compute_in<bf16>, Policies...>;

/// Largest difference, as a share of the largest magnitude.
inline double share_apart(const std::vector<float>& a, const std::vector<float>& b) {
  double most = 0;
  for (const float x : a) most = std::fmax(most, std::fabs(static_cast<double>(x)));
  CHECK(most > 0);
  return largest_difference(a, b) / most;
}

/// What the host has is each parameter as it is, however the device stores it: it is what the CPU's trainer
/// has, there and back, and the gradients are.
template <class Step, class OnCpu>
void compare_host_copies() {
  host_device d;
  on_cuda::session s(d.cuda, d.blas);
  trainer<Step, cuda> t(seed{5}, {}, s);
  trainer<OnCpu> on_cpu(seed{5});
  CHECK(values_of(t) == values_of(on_cpu));
  t.fetch();
  CHECK(everything_of(t) == everything_of(on_cpu));

  const auto tokens = [](std::size_t shift) { return tokens_of_step<Step>(0, shift); };
  on_cpu.step(3e-3, tokens(0), tokens(1)), t.step(3e-3, tokens(0), tokens(1));
  t.fetch();
  CHECK(share_apart(gradients_of(on_cpu), gradients_of(t)) <= 2e-2);
  const std::vector<float> before = everything_of(t);
  t.store();
  CHECK(everything_of(t) == before);
  t.fetch();
  CHECK(everything_of(t) == before);
  CHECK(d.cuda.misuse.empty());
}

/// 6 steps of which so many products are part of others, their gradients too, and so many parameters.
template <class Model, class... Policies>
void compare_merged(std::size_t fewer, std::size_t fewer_tensors) {
  using step = narrow_step<Model, cuda, Policies...>;
  using on_cpu_step = narrow_step<Model, Policies...>;
  using apart = gradient_graph<Model, bf16, attention_as_one<on_cuda::attention_fits>, step::micro_batches>;
  CHECK(products_in(frozen<typename step::gradients>::view()) ==
        products_in(apart::make().view()) - 3 * fewer);
  CHECK(step::layout.tensors.size() == parameter_table<Model>.size() - fewer_tensors);
  compare_host_copies<step, on_cpu_step>();
  const auto train = [](auto& t) { return train_small(t, 6); };
  trainer<on_cpu_step> on_cpu(seed{5});
  const double worst =
      precision::largest_share(train(on_cpu).losses, train_twice<step>(seed{5}, train).losses);
  CAPTURE(worst);
  CHECK(worst <= 1e-3);
}

}  // namespace napkin::testing
