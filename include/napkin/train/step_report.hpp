// What a training step costs, as the tables that a program prints.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "napkin/train/step.hpp"

namespace napkin {

namespace on_cuda {
struct product;
}

namespace detail {

/// What is told of a plan.
struct planned_graph {
  buffer<plan_line> lines;  // of its instructions
  buffer<bool> forward;     // whether the loss needs them
  cost_sheet sum;
};
planned_graph describe(const on_cpu::plan_view& plan, const graph_view& lowered);
planned_graph describe(const planning::plan_view<on_cuda::product>& plan, const graph_view& lowered);

struct step_description {
  planned_graph gradient;
  std::size_t micro_batches = 1;  // as often it runs
  std::vector<planned_graph> update;
  graph_view traced;
  std::span<const parameter_info> parameters;
  step_memory memory;
  std::uint64_t tokens = 0;  // of the first input of the loss, in all micro-batches
};
std::string step_report(const step_description& step);
std::uint64_t step_flops(const step_description& step);

template <class Plan>
planned_graph describe_plan() {
  return describe(Plan::view(), Plan::graph());
}

template <class Step>
step_description describe() {
  step_description d;
  d.gradient = describe_plan<typename Step::gradient_plan>();
  d.micro_batches = Step::micro_batches;
  if constexpr (Step::micro_batches > 1)
    d.update.assign(Step::micro_batches, describe_plan<typename Step::accumulate_plan>());
  d.update.push_back(describe_plan<typename Step::norm_plan>());
  [&d]<std::size_t... Run>(std::index_sequence<Run...>) {
    (d.update.push_back(describe_plan<typename Step::template update_plan<Run>>()), ...);
  }
  (std::make_index_sequence<Step::update_runs>{});
  d.traced = frozen<model_graph<typename Step::model>>::view();
  d.parameters = parameter_table<typename Step::model>;
  d.memory = Step::memory;
  d.tokens = Step::tokens;
  return d;
}

}  // namespace detail

/// Tables: the step's plan by layer (forward and backward together, then the optimizer), its FLOPs by three
/// conventions, its memory. Every number is the compiler's; nothing is measured.
template <class Step>
std::string step_report() {
  return detail::step_report(detail::describe<Step>());
}

/// FLOPs that a step executes: forward, backward, clipping and update; exponentials and their like apart.
template <class Step>
std::uint64_t step_flops() {
  return detail::step_flops(detail::describe<Step>());
}

}  // namespace napkin
