// A graph run on the CPU at run time, kernels interpreted: from doubles to typed memory and back. Memory is
// watched between instructions.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "napkin/cpu/plan.hpp"
#include "napkin/cpu/tables.hpp"

namespace napkin::testing {

using raw_bytes = std::vector<std::byte>;

raw_bytes to_bytes(const std::vector<double>& values, dtype type);
std::vector<double> to_doubles(const raw_bytes& from, dtype type);

/// The inputs of a graph as tensors of their dtypes hold them.
std::vector<raw_bytes> typed_inputs(const graph_view& g, const std::vector<std::vector<double>>& values);

/// Run a plan once by these kernels, its memory and `looked_at` watched; `error` where an instruction
/// changes what is not its own. inputs: by slot; outputs: in order.
void run_plan_watched(const on_cpu::plan_view& p, const on_cpu::kernel_pointer* kernels,
                      std::span<const void* const> from, std::span<void* const> to,
                      std::vector<std::span<std::byte>> looked_at);
void run_plan_watched(const on_cpu::plan_view& p, const on_cpu::kernel_pointer* kernels,
                      const std::vector<raw_bytes>& inputs, std::vector<raw_bytes>& outputs);
/// By kernels that are interpreted.
std::vector<on_cpu::kernel_pointer> interpreted_kernels(const on_cpu::plan_view& p);
void run_plan_watched(const on_cpu::plan_view& p, const std::vector<raw_bytes>& inputs,
                      std::vector<raw_bytes>& outputs);

/// Run a graph that cpu::lower_graph has made. The outputs hold `poison` before.
std::vector<raw_bytes> run_lowered(const graph_view& lowered, on_cpu::plan_options options,
                                   const std::vector<raw_bytes>& inputs, std::byte poison);

/// Equal bits, or both NaN (which NaN it is, is left open): the first element that differs, -1 for none.
std::ptrdiff_t first_difference(const raw_bytes& a, const raw_bytes& b, dtype type);

}  // namespace napkin::testing
