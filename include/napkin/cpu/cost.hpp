// What lazy expressions cost on the CPU: the answers of cost<E> and plan_of<E>.
#pragma once

#include "napkin/cpu/plan.hpp"
#include "napkin/plan/cost.hpp"

namespace napkin {

template <class E>
struct lowering<E, cpu> {
  using frozen = on_cpu::frozen_plan<expression_graph<E>>;
  /// In one constant evaluation, nothing kept: most expressions are costed alone, or run and never costed.
  static constexpr cost_sheet sheet() {
    graph made = expression_graph<E>::make_simplified();
    return planning::cost_of<on_cpu::target>(planning::lower_graph(static_cast<graph&&>(made), {}).view());
  }
  static constexpr auto plan() { return on_cpu::summary_of(frozen{}); }
};

}  // namespace napkin
