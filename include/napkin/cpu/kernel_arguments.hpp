// What a kernel of the CPU is called with. Not the kernel: cpu/kernel.hpp.
#pragma once

#include <cstddef>

#include "napkin/core/shape.hpp"
#include "napkin/passes/kernels.hpp"

namespace napkin::on_cpu {

/// Memory that a kernel walks, with strides in elements over the collapsed axes.
struct kernel_memory {
  std::byte* data = nullptr;
  std::ptrdiff_t outer[max_rank]{};
  std::ptrdiff_t inner[max_rank]{};
};

/// What a kernel is called with; filled once, before the first call.
struct kernel_arguments {
  std::size_t index = 0;  // of the plan's kernels
  std::size_t outer_rank = 0, inner_rank = 0;
  std::size_t outer[max_rank]{}, inner[max_rank]{};
  std::size_t row_length = 1;
  std::size_t chunk = 1, chunks = 1;
  std::size_t walks = 1, walks_per_block = 1;
  const kernel_memory* memory = nullptr;
  const double* constants = nullptr;
  std::byte* scratch = nullptr;  // scratch_per_block bytes for each block; 0: a thread has its own
  std::size_t scratch_per_block = 0;
  const std::size_t* slots = nullptr;  // where each scratch row begins in its block's scratch
  std::byte* partials = nullptr;       // column reductions: a row for each block, columns behind one another
  std::size_t partials_per_block = 0;
  const std::size_t* columns = nullptr;
  const passes::kernel_step* steps = nullptr;  // the program, for who interprets it
  std::size_t step_count = 0;
};

}  // namespace napkin::on_cpu
