// What a training step costs, as the tables that a program prints. train/step_account.hpp has all of it by
// kernel, and on a device.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "napkin/train/recomputed_values.hpp"
#include "napkin/train/step.hpp"

namespace napkin {

namespace detail {

/// A buffer in a plan's arena, from its first instruction to its last.
struct planned_buffer {
  std::size_t offset = 0, bytes = 0;  // with the padding that aligns the next
  std::size_t first = 0, last = 0;    // instructions, both included
};

/// What is told of a plan.
struct planned_graph {
  std::string name;         // "gradient", "update 2"
  std::size_t times = 1;    // as often as a step runs it
  buffer<plan_line> lines;  // of its instructions
  buffer<bool> forward;     // whether the loss needs them
  cost_sheet sum;           // of one run
  std::vector<planned_buffer> buffers;
  std::vector<std::vector<std::size_t>> reads_from;  // by instruction: those whose results it reads
  std::vector<std::vector<op>> operations;           // by instruction: what it computes, in order
  std::vector<remade_value> remade;                  // to save memory
  std::map<dtype, std::uint64_t> kept;               // bytes for the backward pass, by what they are kept in
};
/// A line for Memory: how much is kept in which dtype; none where all is in one.
std::string kept_text(const std::map<dtype, std::uint64_t>& kept);
planned_graph describe(const on_cpu::plan_view& plan, const graph_view& lowered);
planned_graph describe(const planning::plan_view<on_cuda::product>& plan, const graph_view& lowered);

struct step_description {
  std::vector<planned_graph> before;  // what runs before the gradient: zeros that micro-batches add to
  planned_graph gradient;
  std::vector<planned_graph> update;  // in the order that they run in
  graph_view traced;
  std::span<const parameter_info> parameters;
  step_memory memory;
  recomputation recomputed;
  passes::attention_choice attention;
  std::uint64_t tokens = 0;  // of the first input of the loss, in all micro-batches
};
memory_sheet sheet_of(const step_memory& memory);
/// A line; none where no budget was set.
std::string recomputation_text(const recomputation& r);
/// A line; none where the model has no attention.
std::string attention_text(const passes::attention_choice& choice);
std::string step_report(const step_description& step);
std::uint64_t step_flops(const step_description& step);

template <class Plan>
planned_graph describe_plan(std::string name, std::size_t times = 1) {
  planned_graph p = describe(Plan::view(), Plan::graph());
  p.name = static_cast<std::string&&>(name);
  p.times = times;
  return p;
}

template <TrainingStep Step>
step_description describe() {
  step_description d;
  if constexpr (Step::adds_gradients) d.before.push_back(describe_plan<typename Step::zero_plan>("zeros"));
  d.gradient = describe_plan<typename Step::gradient_plan>("gradient", Step::micro_batches);
  d.update.push_back(describe_plan<typename Step::norm_plan>("norm"));
  [&d]<std::size_t... Run>(std::index_sequence<Run...>) {
    (d.update.push_back(
         describe_plan<typename Step::template update_plan<Run>>("update " + std::to_string(Run))),
     ...);
  }
  (std::make_index_sequence<Step::update_runs>{});
  d.traced = Step::forward_graph();
  d.parameters = parameter_table<typename Step::model>;
  d.memory = Step::memory;
  d.recomputed = Step::recomputed;
  d.attention = Step::attention;
  d.tokens = Step::tokens;
  return d;
}

}  // namespace detail

/// Tables: the step's plan by layer (forward and backward together, then the optimizer), its FLOPs by three
/// conventions, its memory. Every number is the compiler's; nothing is measured.
///
/// Rules  no_training_step
template <detail::TrainingStep Step>
std::string step_report() {
  return detail::step_report(detail::describe<Step>());
}
template <class NoStep>
auto step_report() {  // refused
  return detail::step_misfit<NoStep>::raise();
}

/// FLOPs that a step executes: forward, backward, clipping and update; exponentials and their like apart.
///
/// Rules  no_training_step
template <detail::TrainingStep Step>
std::uint64_t step_flops() {
  return detail::step_flops(detail::describe<Step>());
}
template <class NoStep>
auto step_flops() {  // refused
  return detail::step_misfit<NoStep>::raise();
}

}  // namespace napkin
