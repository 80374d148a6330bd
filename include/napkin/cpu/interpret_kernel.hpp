// Running the programs of kernels without compiling them: what makes a plan that was made at run time (in a
// test, a fuzzer, a debugger) runnable, and a program compiled with NAPKIN_INTERPRET quick to build. The same
// formulas in the same order on the same lanes as compiled kernels (cpu/kernel.hpp), so results have the same
// bits. Each step is a loop over a stretch of a row that stays in the cache.
#pragma once

#include <cstddef>
#include <span>

#include "napkin/cpu/kernel_arguments.hpp"
#include "napkin/cpu/plan.hpp"

namespace napkin::on_cpu {

/// As kernel_function<...>::run of the program that k.steps lists.
void interpret_kernel(const kernel_arguments& k, std::size_t block);

/// Run a plan once, every kernel interpreted. inputs: by slot; outputs: in order. The arena, allocated for
/// the call, is filled with `poison` first: a plan that reads what nobody has written shows.
void run_plan_interpreted(const plan_view& plan, std::span<const void* const> inputs,
                          std::span<void* const> outputs, std::byte poison = std::byte{0});

}  // namespace napkin::on_cpu
