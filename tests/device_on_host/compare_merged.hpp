// A training step whose products of one operand are made one (passes/merge_products.hpp), on a device that is the host.
#pragma once

#include <catch2/catch.hpp>
#include <vector>

#include "napkin/train/cuda_trainer.hpp"
#include "support/counted_nodes.hpp"
#include "support/device_training.hpp"
#include "support/host_kernels.hpp"
#include "support/precision_training.hpp"

namespace napkin::testing {

template <class Model, class... Policies>
using narrow_step = train_step<Model, adamw, compute_in<bf16>, Policies...>;

/// 6 steps of which so many products are part of others, their gradients too.
template <class Model, class... Policies>
void compare_merged(std::size_t fewer) {
  using step = narrow_step<Model, cuda, Policies...>;
  using apart = gradient_graph<Model, bf16, attention_as_one<on_cuda::attention_fits>, step::micro_batches>;
  CHECK(products_in(frozen<typename step::gradients>::view()) ==
        products_in(apart::make().view()) - 3 * fewer);
  trainer<narrow_step<Model, Policies...>> cpu(seed{5});
  const std::vector<float> expected = train_small(cpu, 6).losses;
  std::vector<std::vector<float>> runs;
  for (const unsigned order : {1u, 2u}) {
    host_device d;
    d.cuda.random.seed(order);
    on_cuda::session s(d.cuda, d.blas);
    trainer<step> t(seed{5}, {}, s);
    runs.push_back(train_small(t, 6).losses);
    CHECK(d.cuda.misuse.empty());
  }
  const double worst = precision::largest_share(expected, runs[0]);
  CAPTURE(worst);
  CHECK(worst <= 1e-3);
  CHECK(runs[0] == runs[1]);
}

}  // namespace napkin::testing
