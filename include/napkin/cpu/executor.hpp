// Running a plan: arguments are laid out once, then each run walks the table. Nothing is allocated in a run.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <tuple>
#include <utility>

#include "napkin/cpu/plan.hpp"
#include "napkin/cpu/kernel.hpp"

namespace napkin::on_cpu {

using kernel_pointer = void (*)(const kernel_arguments&, std::size_t block);

namespace detail {

/// A frozen plan's programs alone: g++ takes time by the size of the constant that it reads from, and less
/// through pointers into it.
template <class Plan>
struct programs_of {
  static constexpr plan_sizes count = Plan::view().count;
  static constexpr std::array<program_record, count.programs> copy_programs() {
    const plan_view p = Plan::view();
    std::array<program_record, count.programs> copy{};
    copy_run(p.programs, count.programs, copy.data());
    return copy;
  }
  static constexpr std::array<passes::kernel_step, count.steps> copy_steps() {
    const plan_view p = Plan::view();
    std::array<passes::kernel_step, count.steps> copy{};
    copy_run(p.steps, count.steps, copy.data());
    return copy;
  }
  static constexpr std::array<program_record, count.programs> programs = copy_programs();
  static constexpr std::array<passes::kernel_step, count.steps> steps = copy_steps();
};

template <class Plan, int P, std::size_t... I>
constexpr auto program_type(std::index_sequence<I...>) {
  constexpr auto first = static_cast<std::size_t>(programs_of<Plan>::programs[P].first_step);
  constexpr const passes::kernel_step* at = programs_of<Plan>::steps.data() + first;
  return std::type_identity<program<step<at[I].what, at[I].kind, at[I].type, at[I].at, at[I].along,
                                         at[I].phase, at[I].a, at[I].b, at[I].c>...>>{};
}

template <class Plan, std::size_t... P>
constexpr std::array<kernel_pointer, sizeof...(P)> kernel_table(std::index_sequence<P...>) {
  return {{&kernel_function<typename decltype(program_type<Plan, static_cast<int>(P)>(
      std::make_index_sequence<static_cast<std::size_t>(programs_of<Plan>::programs[P].steps)>{}))::type>::
               run...}};
}

}  // namespace detail

/// One compiled function for each distinct program of a frozen plan.
template <class Plan>
inline constexpr auto kernels_of =
    detail::kernel_table<Plan>(std::make_index_sequence<detail::programs_of<Plan>::programs.size()>{});

/// Runs one plan over tensors bound to its inputs and outputs. Not copyable: arguments point into it.
class executor {
 public:
  /// `arena` holds plan.peak bytes, 64-byte aligned, and outlives the executor; may be null if peak is 0.
  executor(const plan_view& plan, const kernel_pointer* kernels, std::byte* arena);
  ~executor();
  executor(const executor&) = delete;
  executor& operator=(const executor&) = delete;

  /// Once before the first run, and again whenever a tensor moves. inputs: by slot; outputs: in order.
  void bind(std::span<const void* const> inputs, std::span<void* const> outputs);
  void run();
  /// Only what the graph's first output needs: of a training step, the loss.
  void run_first_output();

 private:
  struct state;
  void run_instruction(std::size_t i);
  std::unique_ptr<state> state_;
};

}  // namespace napkin::on_cpu
