// Which values a step makes again to save memory, by name: from its lowered plan. recompute_to_fit decides,
// passes/recompute_choice.hpp says by what.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "napkin/cost/flops.hpp"
#include "napkin/cpu/plan.hpp"

namespace napkin {

namespace on_cuda {
struct product;
}

/// What a budget does to a value of the forward pass.
///   again  the backward pass makes it a second time, instead of finding it kept
///   later  the backward pass alone reads it and makes it, once; the forward pass leaves it out
///   kept   it is kept because values are made again of it, and for nothing else
enum class remade : std::uint8_t { again, later, kept };
constexpr std::string_view name_of(remade how) {
  constexpr std::string_view names[] = {"again", "later", "kept"};
  return names[static_cast<std::size_t>(how)];
}

/// A value that is made again, or kept for those, in one run of a plan.
struct remade_value {
  remade how = remade::again;
  std::size_t instruction = 0;  // that makes it
  std::int32_t origin = -1;     // node::origin: the parameter whose layer it belongs to
  op kind = op::input;
  std::uint16_t composite = 0;  // node::composite
  dtype type = dtype::f32;
  shape result;
  std::uint64_t bytes = 0;  // of memory that its not being kept frees (kept: that keeping it takes), padded
                            // to the alignment; 0 where it would not be kept but is on the way to one that is
  flop_counts flops{};      // done once more
};

namespace detail {
/// Sorted by instruction; `lowered` is the graph that the plan was made of.
std::vector<remade_value> remade_values(const on_cpu::plan_view& plan, const graph_view& lowered);
std::vector<remade_value> remade_values(const planning::plan_view<on_cuda::product>& plan,
                                        const graph_view& lowered);
}  // namespace detail

}  // namespace napkin
