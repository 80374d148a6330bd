// From a graph to the form that is planned: contractions pairwise, intermediates and products as a backend wants them,
// reductions and views as kernels take them; then what the backward pass makes again. Of a Target
// (plan/planner.hpp) it asks what products cost and multiply, what attention's kernels make themselves, and arithmetic.
#pragma once

#include "napkin/passes/contract.hpp"
#include "napkin/passes/leave_out_deltas.hpp"
#include "napkin/passes/make_again.hpp"
#include "napkin/passes/multiply_in_8_bits.hpp"
#include "napkin/passes/order_results.hpp"
#include "napkin/passes/sink_views.hpp"
#include "napkin/passes/split_reductions.hpp"

namespace napkin::planning {

struct plan_options {
  passes::fuse_options fuse{};
  passes::objective order = passes::objective::least_time;
  /// Not: the plan is only asked what it costs, and products whose form decides nothing of that are left out.
  bool runs = true;
};

/// A contracted graph in whose orders a backend's products take the least, and which of them multiply 8-bit
/// floats as such; void: of no backend.
template <class Target>
constexpr graph suit_products(graph&& g) {
  if constexpr (requires { &Target::price; }) g = passes::order_results<Target>(static_cast<graph&&>(g));
  if constexpr (requires { &Target::multiplies_8_bits; })
    g = passes::multiply_in_8_bits<Target>(static_cast<graph&&>(g));
  return static_cast<graph&&>(g);
}

/// A contracted graph in the form that is planned.
template <class Target>
constexpr graph finish_lowering(graph&& contracted) {
  if constexpr (requires { &Target::sums_deltas; })
    contracted = passes::leave_out_deltas<Target>(static_cast<graph&&>(contracted));
  if constexpr (requires { Target::reductions; })
    contracted = passes::split_reductions(static_cast<graph&&>(contracted), Target::reductions);
  return passes::legalize(suit_products<Target>(passes::sink_views(static_cast<graph&&>(contracted))));
}

/// The graph as it is lowered: contractions pairwise, reductions and views in the form kernels take; with a
/// Target, intermediates in the orders that suit that backend.
template <class Target = void>
constexpr graph lower_graph(const graph_view& g, plan_options options = {}, bool simplified = false) {
  // contract simplifies on the way, as legalize does
  return finish_lowering<Target>(passes::contract(g, options.order, simplified));
}
/// The same of a graph that its builder simplified, which is that itself where nothing is to be done.
template <class Target = void>
constexpr graph lower_simplified(graph&& g, plan_options options = {}) {
  if (passes::is_contracted(g.view())) return finish_lowering<Target>(static_cast<graph&&>(g));
  return finish_lowering<Target>(passes::contract(g.view(), options.order, true));
}

/// How a backend's graphs are fused.
template <class Target>
constexpr passes::fuse_options fusing(passes::fuse_options options) {
  options.adjoints_at_once = Target::adjoints_at_once;
  return options;
}

/// Whether there may be something that pays to be made again: kernels behind the graph's first output.
constexpr bool may_make_again(const graph_view& lowered, plan_options options) {
  return options.fuse.fuse && lowered.output_count > 1 &&
         static_cast<std::int32_t>(lowered.size()) > lowered.outputs[0] + 1 + passes::kernel_reach;
}
/// A graph that lower_graph has made, with that made again. By itself, so that each constant evaluation
/// stays within the compilers' limits.
template <class Target>
constexpr graph make_again(const graph_view& lowered, plan_options options) {
  options.fuse = fusing<Target>(options.fuse);
  passes::fusion fused;
  passes::fuse(lowered, options.fuse, fused);
  return passes::make_again(lowered, fused, options.fuse, Target::arithmetic);
}

}  // namespace napkin::planning
