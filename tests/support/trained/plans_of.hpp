// What this folder's files give of a step for plans.hpp: only they include it, since it compiles the step's kernels.
#pragma once

#include <utility>

#include "napkin/train/trainer.hpp"
#include "support/trained/plans.hpp"

namespace napkin::testing {

template <class Plan>
struct graph_of;
template <class Target, class Make, planning::plan_options Options>
struct graph_of<planning::frozen_plan<Target, Make, Options>> {
  using type = Make;
};

template <class Step>
std::vector<compiled_cpu_plan> plans_of_step() {
  std::vector<compiled_cpu_plan> all;
  const auto add = [&all]<class Plan>(std::type_identity<Plan>) {
    all.push_back(
        {Plan::view(), frozen<typename graph_of<Plan>::type>::view(), on_cpu::kernels_of<Plan>.data()});
  };
  if constexpr (Step::adds_gradients) add(std::type_identity<typename Step::zero_plan>{});
  add(std::type_identity<typename Step::gradient_plan>{});
  add(std::type_identity<typename Step::norm_plan>{});
  [&]<std::size_t... Run>(std::index_sequence<Run...>) {
    (add(std::type_identity<typename Step::template update_plan<Run>>{}), ...);
  }
  (std::make_index_sequence<Step::update_runs>{});
  return all;
}

}  // namespace napkin::testing
