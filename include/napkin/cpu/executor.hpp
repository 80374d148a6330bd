// Running a plan: arguments are laid out once, then each run walks the table. Nothing is allocated in a run.
#pragma once

#include <cstddef>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "napkin/cpu/interpret_kernel.hpp"
#include "napkin/cpu/kernel_across_rows.hpp"
#include "napkin/cpu/plan.hpp"
#include "napkin/cpu/tables.hpp"

namespace napkin::on_cpu {

namespace detail {

template <class Plan, class Watch, int P>
constexpr kernel_pointer kernel_of() {
  if constexpr (programs_of<Plan>::programs[P].across_rows)
    return &kernel_function<machine_across_rows, program_of<Plan, P>, Watch>::run;
  else
    return &kernel_function<machine, program_of<Plan, P>, Watch>::run;
}
template <class Plan, class Watch, std::size_t... P>
constexpr std::array<kernel_pointer, sizeof...(P)> kernel_table(std::index_sequence<P...>) {
  if constexpr (std::is_same_v<Watch, interpreted<Plan>>)
    return {{(static_cast<void>(P), &interpret_kernel)...}};
  else
    return {{kernel_of<Plan, Watch, static_cast<int>(P)>()...}};
}

}  // namespace detail

/// One function for each distinct program of a frozen plan: compiled, or the one that interprets them all,
/// where NAPKIN_INTERPRET is defined (in every file of a program, or in none).
template <class Plan, class Watch = NAPKIN_WATCH<Plan>>
inline constexpr auto kernels_of = detail::kernel_table<Plan, Watch>(
    std::make_index_sequence<planning::programs_of<Plan>::programs.size()>{});

/// Runs one plan over tensors bound to its inputs and outputs.
class executor {
 public:
  /// Of no plan: to be assigned to.
  executor() = default;
  /// `arena` holds plan.peak bytes, 64-byte aligned, and outlives the executor; may be null if peak is 0.
  /// Its tables are allocated.
  executor(const plan_view& plan, const kernel_pointer* kernels, std::byte* arena);
  /// Allocates nothing: the tables lie at `memory`, tables::bytes(plan.count) bytes that outlive the
  /// executor.
  executor(const plan_view& plan, const kernel_pointer* kernels, std::byte* arena, std::byte* memory);
  executor(executor&&) noexcept = default;
  executor& operator=(executor&&) noexcept = default;

  /// Once before the first run, and again whenever a tensor moves. inputs: by slot; outputs: in order.
  void bind(std::span<const void* const> inputs, std::span<void* const> outputs);
  void run();
  /// The same as run(), with a clock: each instruction's seconds are added to its place in `seconds`.
  void run_timed(std::span<double> seconds);
  /// Only what the graph's first output needs: of a training step, the loss.
  void run_first_output();
  /// Only the i-th, for who looks at memory between them: run() is each of plan.count.instructions.
  void run_instruction(std::size_t i);

 private:
  plan_view plan_{};
  std::byte* arena_ = nullptr;
  std::vector<std::byte> own_;  // where the tables lie, unless the caller said
  tables tables_;

  void fill(const kernel_pointer* kernels);
};

}  // namespace napkin::on_cpu
