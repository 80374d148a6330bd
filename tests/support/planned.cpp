#include "support/planned.hpp"

namespace napkin::testing {

template <class Target>
graph lowered(const graph_view& g, planning::plan_options options, bool simplified) {
  return planning::lower_graph<Target>(g, options, simplified);
}
template <class Target>
planning::plan<typename Target::product> planned(const graph_view& lowered, planning::plan_options options) {
  return planning::make_plan<Target>(lowered, options);
}
template <class Target>
planning::plan<typename Target::product> planned_unsettled(const graph_view& lowered,
                                                           planning::plan_options options) {
  return planning::make_unsettled_plan<Target>(lowered, options);
}

graph lowered_step(const graph_view& gradients) {
  using target = on_cuda::target;
  graph g = planning::lower_graph<target>(gradients, {}, true);
  if (planning::may_make_again(g.view(), {})) g = planning::make_again<target>(g.view(), {});
  return g;
}

template graph lowered<void>(const graph_view&, planning::plan_options, bool);
template graph lowered<on_cpu::target>(const graph_view&, planning::plan_options, bool);
template graph lowered<on_cuda::target>(const graph_view&, planning::plan_options, bool);

template on_cpu::plan planned<on_cpu::target>(const graph_view&, planning::plan_options);
template on_cuda::plan planned<on_cuda::target>(const graph_view&, planning::plan_options);
template on_cpu::plan planned_unsettled<on_cpu::target>(const graph_view&, planning::plan_options);
template on_cuda::plan planned_unsettled<on_cuda::target>(const graph_view&, planning::plan_options);

}  // namespace napkin::testing
