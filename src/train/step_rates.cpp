// The FLOPs of a step's model, and which of a device's rates its products are measured by.
#include "napkin/train/step_rates.hpp"

#include <map>
#include <numeric>
#include <vector>

#include "napkin/cost/conventions.hpp"
#include "napkin/cost/time.hpp"
#include "napkin/passes/differentiate.hpp"

namespace napkin::detail {
namespace {

/// Of the products that take longest, as step_account has it.
dense_flops peak_of(const step_description& step, const device& on) {
  std::map<arithmetic, std::uint64_t> flops;
  const auto add = [&](const planned_graph& plan) {
    for (std::size_t i = 0; i < plan.lines.size(); ++i)
      if (const plan_line& line = plan.lines[i]; line.flops.matmul != 0)
        flops[products_of(line, arithmetic::f32)] += plan.times * line.flops.matmul;
  };
  add(step.gradient);
  for (const planned_graph& plan : step.update) add(plan);
  dense_flops peak;
  double longest = 0;
  for (const auto& [operands, count] : flops) {
    const dense_flops rate = on.peak(operands);
    if (rate.per_second == 0) return {};
    const double seconds = static_cast<double>(count) / static_cast<double>(rate.per_second);
    if (seconds > longest) longest = seconds, peak = rate;
  }
  return peak;
}

}  // namespace

step_work work_of(const step_description& step, const device* on) {
  std::vector<std::int32_t> wanted(step.parameters.size());
  std::iota(wanted.begin(), wanted.end(), 0);
  const graph differentiated = passes::differentiate(step.traced, {wanted.data(), wanted.size()});
  const conventions::counts exact =
      conventions::exact_of(step.traced, differentiated.view()).times(step.gradient.times);
  return {step.tokens, exact.total(), on == nullptr ? dense_flops{} : peak_of(step, *on)};
}

}  // namespace napkin::detail
