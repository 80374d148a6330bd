// The step's plans as lines, and the lines as tables.
#include "napkin/train/step_report.hpp"

#include <numeric>

#include "napkin/cost/conventions.hpp"
#include "napkin/cost/report.hpp"
#include "napkin/cuda/plan.hpp"

namespace napkin::detail {
namespace {

template <class Product>
planned_graph description_of(const planning::plan_view<Product>& plan, const graph_view& lowered) {
  planned_graph p;
  p.lines = planning::lines_of(plan, lowered);
  for (std::size_t i = 0; i < plan.count.instructions; ++i)
    p.forward.push_back(plan.instructions[i].first_output);
  p.sum = planning::cost_of(plan, lowered);
  return p;
}

std::string convention(const char* name, const conventions::counts& c) {
  return std::string(name) + flops_text(c.total()) + " (" + flops_text(c.forward) + " forward, " +
         flops_text(c.backward) + " backward)\n";
}

}  // namespace

planned_graph describe(const on_cpu::plan_view& plan, const graph_view& lowered) {
  return description_of(plan, lowered);
}
planned_graph describe(const on_cuda::plan_view& plan, const graph_view& lowered) {
  return description_of(plan, lowered);
}

std::string step_report(const step_description& step) {
  std::vector<std::string_view> paths;
  std::uint64_t parameters = 0;
  for (const parameter_info& p : step.parameters) {
    paths.push_back(p.name);
    parameters += p.count;
  }
  const buffer<plan_line>& once = step.gradient.lines;
  buffer<plan_line> lines;  // of every micro-batch
  for (std::size_t k = 0; k < step.micro_batches; ++k)
    for (std::size_t i = 0; i < once.size(); ++i) lines.push_back(once[i]);
  std::vector<cost_row> rows = rows_by_layer({lines.data(), lines.size()}, paths);
  rows.push_back({"optimizer", {}});
  for (const planned_graph& p : step.update) rows.back().sheet += p.sum;

  memory_sheet memory;
  memory.parameters = step.memory.parameters;
  memory.gradients = step.memory.gradients;
  memory.optimizer_state = step.memory.optimizer_state;
  memory.activations = step.memory.activations;
  memory.workspace = step.memory.workspace;
  memory.inputs = step.memory.inputs;
  memory.staging = step.memory.staging;
  memory.arena = step.memory.intermediates;
  memory.arena_lower_bound = step.memory.intermediates_lower_bound;
  memory.tables = step.memory.tables;
  memory.peak = step.memory.peak;

  std::string text = "One step on " + with_separators(step.tokens) + " tokens, " +
                     with_separators(parameters) + " parameters:\n" +
                     cost_table("layer, forward and backward", rows);
  cost_sheet forward, backward;
  for (std::size_t i = 0; i < lines.size(); ++i)
    (step.gradient.forward[i % once.size()] ? forward : backward) += {lines[i].flops, lines[i].bytes, 1};
  const cost_row phases[] = {{"forward", forward}, {"backward", backward}, rows.back()};
  text += "\n" + cost_table("phase", phases);
  std::vector<std::int32_t> wanted(step.parameters.size());
  std::iota(wanted.begin(), wanted.end(), 0);
  const graph differentiated = passes::differentiate(step.traced, {wanted.data(), wanted.size()});
  const graph_view both = differentiated.view();
  text += "\nFLOPs of its matrix products\n";
  text += convention("  causal as a triangle   ",
                     conventions::exact_of(step.traced, both).times(step.micro_batches));
  text += convention(
      "  as PyTorch counts      ",
      conventions::torch_of(step.traced, {wanted.data(), wanted.size()}).times(step.micro_batches));
  text += convention("  by the rule of 6 N D   ", conventions::rule_6nd_of(parameters, step.tokens));
  return text + "\nMemory\n" + memory_table(memory);
}

std::uint64_t step_flops(const step_description& step) {
  std::uint64_t sum = step.micro_batches * step.gradient.sum.flops.total();
  for (const planned_graph& p : step.update) sum += p.sum.flops.total();
  return sum;
}

}  // namespace napkin::detail
