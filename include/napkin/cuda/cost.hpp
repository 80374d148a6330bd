// What lazy expressions and gradients cost on the GPU: the answers of cost<E, cuda> and plan_of<E, cuda>.
#pragma once

#include "napkin/cost/gradient.hpp"
#include "napkin/cuda/attention.hpp"
#include "napkin/cuda/plan.hpp"
#include "napkin/plan/cost.hpp"

namespace napkin {

template <class E>
struct lowering<E, cuda> {
  using frozen = on_cuda::frozen_plan<on_cuda::device_expression<E>>;
  static constexpr cost_sheet sheet() {
    return planning::cost_of_expression<on_cuda::target, on_cuda::attention_fits>(
        detail::replay_of<E>::value);
  }
  static constexpr cost_sheet sheet_at(const std::size_t* sizes) {
    return planning::cost_at_sizes<on_cuda::target, on_cuda::attention_fits>(detail::replay_of<E>::value,
                                                                             sizes);
  }
  static constexpr auto plan() { return planning::summary_of(frozen{}); }
};

template <class Gradient, class... Xs>
struct lowering<detail::gradient_costs<Gradient, Xs...>, cuda> {
  using frozen = on_cuda::frozen_plan<
      typename detail::gradient_costs<Gradient, Xs...>::template rewritten<on_cuda::gradient_rewrite>>;
  static constexpr cost_sheet sheet() { return planning::cost_of(frozen::view(), frozen::graph()); }
  static constexpr auto plan() { return planning::summary_of(frozen{}); }
};

}  // namespace napkin
