// A training step whose products of one operand are made one (passes/merge_products.hpp), on a device that is the host.
#pragma once

#include "device_on_host/compare_training.hpp"
#include "support/counted_nodes.hpp"
#include "support/device_training.hpp"
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
  const auto train = [](auto& t) { return train_small(t, 6); };
  trainer<narrow_step<Model, Policies...>> on_cpu(seed{5});
  const double worst =
      precision::largest_share(train(on_cpu).losses, train_twice<step>(seed{5}, train).losses);
  CAPTURE(worst);
  CHECK(worst <= 1e-3);
}

}  // namespace napkin::testing
