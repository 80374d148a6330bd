// What an executor looks up while it runs a plan: the arguments of every kernel, product and movement, in one
// piece of memory whose size is a constant of the plan. So it may lie in the allocation that holds the arena,
// and a training step's memory is known to the byte.
#pragma once

#include <cstddef>

#include "napkin/cpu/kernel_arguments.hpp"
#include "napkin/cpu/movement.hpp"
#include "napkin/passes/plan_memory.hpp"

namespace napkin::on_cpu {

using kernel_pointer = void (*)(const kernel_arguments&, std::size_t block);
/// Joins the blocks' partial columns from `begin` to `end`, in order of block, adds what lies at `added`, if
/// that is not null, and writes the result.
using join_pointer = void (*)(const std::byte* partials, std::size_t per_block, std::size_t blocks,
                              std::size_t begin, std::size_t end, const void* added, void* to);

struct kernel_call {
  kernel_arguments arguments;
  kernel_pointer run = nullptr;
};
struct column_call {
  join_pointer join = nullptr;
  const void* added = nullptr;
  void* to = nullptr;
};
struct contraction_call {
  const std::byte *a = nullptr, *b = nullptr;
  std::byte *c = nullptr, *workspace = nullptr;
};

/// Addresses of an attention's tensors; null for what its record lacks.
struct attention_call {
  std::byte* of[passes::attention_tensors] = {};
};

/// The tables of one plan, each as long as the plan's own of that name.
struct tables {
  kernel_call* kernels = nullptr;
  kernel_memory* accesses = nullptr;
  column_call* columns = nullptr;
  std::size_t* column_begins = nullptr;
  movement* movements = nullptr;
  contraction_call* contractions = nullptr;
  attention_call* attentions = nullptr;

  /// Bytes of all of them, a multiple of passes::alignment.
  static constexpr std::size_t bytes(const planning::plan_sizes& n) {
    return passes::aligned(n.kernels * sizeof(kernel_call) + n.accesses * sizeof(kernel_memory) +
                           n.columns * (sizeof(column_call) + sizeof(std::size_t)) +
                           n.movements * sizeof(movement) + n.contractions * sizeof(contraction_call) +
                           n.attentions * sizeof(attention_call));
  }
  /// Made at `at`, bytes(n) bytes that are aligned for a pointer. Nothing is to be destroyed.
  static tables make(const planning::plan_sizes& n, std::byte* at);
};

}  // namespace napkin::on_cpu
