// What lazy expressions and gradients cost on the CPU: the answers of cost<E> and plan_of<E>.
#pragma once

#include "napkin/cost/gradient.hpp"
#include "napkin/cpu/attention.hpp"
#include "napkin/cpu/plan.hpp"
#include "napkin/plan/cost.hpp"

namespace napkin {

template <class E>
struct lowering<E, cpu> {
  using frozen = on_cpu::frozen_plan<on_cpu::host_expression<E>>;
  static constexpr cost_sheet sheet() {
    return planning::cost_of_expression<on_cpu::target, on_cpu::attention_fits>(detail::replay_of<E>::value);
  }
  static constexpr cost_sheet sheet_at(const std::size_t* sizes) {
    return planning::cost_at_sizes<on_cpu::target, on_cpu::attention_fits>(detail::replay_of<E>::value,
                                                                           sizes);
  }
  static constexpr auto plan() { return on_cpu::summary_of(frozen{}); }
};

template <class Gradient, class... Xs>
struct lowering<detail::gradient_costs<Gradient, Xs...>, cpu> {
  using frozen = on_cpu::frozen_plan<
      typename detail::gradient_costs<Gradient, Xs...>::template rewritten<on_cpu::gradient_rewrite>>;
  static constexpr cost_sheet sheet() { return on_cpu::cost_of(frozen::view(), frozen::graph()); }
  static constexpr auto plan() { return on_cpu::summary_of(frozen{}); }
};

}  // namespace napkin
