// What lowers graphs and plans them, as functions that are compiled once. The library's are constexpr: a test that
// calls them while it runs has all passes compiled in its file.
#pragma once

#include "napkin/cpu/plan.hpp"
#include "napkin/cuda/plan.hpp"

namespace napkin::testing {

/// Target: on_cpu::target, on_cuda::target, or void: of no backend.
template <class Target = void>
graph lowered(const graph_view& g, planning::plan_options options = {}, bool simplified = false);

/// Of what was lowered. Target: on_cpu::target or on_cuda::target.
template <class Target>
planning::plan<typename Target::product> planned(const graph_view& lowered,
                                                 planning::plan_options options = {});
/// The same, but for where intermediates lie.
template <class Target>
planning::plan<typename Target::product> planned_unsettled(const graph_view& lowered,
                                                           planning::plan_options options = {});
/// A step's gradients as on_cuda::frozen_plan lowers them: with what pays made again.
graph lowered_step(const graph_view& gradients);

}  // namespace napkin::testing
