// Where a test looks at memory between the instructions of a plan: it defines these two in place of the library's,
// which do nothing, and puts what looks into the stream. So it is captured with the calls, and sees each replay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "napkin/cuda/movement.hpp"
#include "napkin/cuda/plan.hpp"
#include "napkin/cuda/stream.hpp"

namespace napkin::on_cuda {

/// A plan and the memory that it runs in.
struct bound_plan {
  const plan_view& plan;
  std::byte* arena;
  std::span<const void* const> inputs;  // by slot
  std::span<void* const> outputs;       // in order
  index_fault* fault;
  std::span<const std::int32_t> taken_by;  // by instruction: the kernel that does its product; -1: none
};

/// As the calls of instruction `i` are put into a stream, before the first and behind the last of them.
void before_instruction(const bound_plan& of, std::size_t i, const stream& on);
void after_instruction(const bound_plan& of, std::size_t i, const stream& on);

}  // namespace napkin::on_cuda
