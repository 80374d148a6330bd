// The plans of the steps that tests/support/trained compiles, with their kernels.
#pragma once

#include <vector>

#include "napkin/cpu/plan.hpp"
#include "napkin/cpu/tables.hpp"

namespace napkin::testing {

struct compiled_cpu_plan {
  on_cpu::plan_view plan;
  graph_view graph;  // not lowered
  const on_cpu::kernel_pointer* kernels = nullptr;
};

/// Of a step: its gradient's, its norm's and its update's.
std::vector<compiled_cpu_plan> plans_of_llama_on_cpu();
std::vector<compiled_cpu_plan> plans_of_gpt_on_cpu();
std::vector<compiled_cpu_plan> plans_of_gpt_in_two_on_cpu();
std::vector<compiled_cpu_plan> plans_of_images_on_cpu();

}  // namespace napkin::testing
