// A lowered plan as a reader sees it: one line for each kernel or library call, whatever the backend.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "napkin/cost/sheet.hpp"
#include "napkin/passes/fuse.hpp"

namespace napkin {

struct plan_line {
  passes::unit_kind kind = passes::unit_kind::kernel;
  op last = op::input;          // the operation that gives the result, of a kernel its last
  dtype type = dtype::f32;      // of the result
  shape result;                 // its shape
  std::int32_t operations = 1;  // nodes computed together
  std::int32_t origin = -1;     // node::origin: the parameter whose layer this belongs to
  std::uint16_t composite = 0;  // node::composite
  flop_counts flops;
  byte_counts bytes;
  std::uint64_t launches = 1;                 // kernels and library calls
  dtype operands = dtype::f32;                // what its products multiply, if it has any
  dtype others = dtype::f32;                  // what all else that counts computes in: f64, or f32 some of it
  arithmetic f32_products = arithmetic::f32;  // what they read where those are f32
  passes::epilogue_form follows;              // of a contraction: what its own call does beside
  std::string_view refused;  // of one that is no call of the library's but a kernel of our own: why

  constexpr bool operator==(const plan_line&) const = default;
};

constexpr cost_sheet sheet_of(const plan_line& line) { return {line.flops, line.bytes, line.launches}; }

constexpr std::string_view name_of(passes::unit_kind kind) {
  switch (kind) {
    case passes::unit_kind::kernel:
      return "kernel";
    case passes::unit_kind::contraction:
      return "contraction";
    case passes::unit_kind::gather:
      return "gather";
    case passes::unit_kind::scatter_add:
      return "scatter_add";
    case passes::unit_kind::pad:
      return "pad";
    case passes::unit_kind::concat:
      return "concat";
    case passes::unit_kind::attention:
      return "attention";
  }
  return "?";
}

/// What `plan_of<E, backend>` is: the lowering of an expression as a constant.
template <std::size_t Lines>
struct plan_summary {
  std::uint64_t launches = 0;  // kernels and library calls of all instructions
  byte_counts bytes;
  std::uint64_t workspace = 0;  // bytes: the most that one instruction needs beside its operands
  std::uint64_t peak = 0;       // bytes of the arena: intermediates and workspace; inputs and outputs apart
  memory_sheet memory;
  std::size_t refused_products = 0;  // those that no library call computes
  std::array<plan_line, Lines> instructions{};
};

}  // namespace napkin
