// What is counted of a computation, in exact 64-bit integers. A count that does not fit is an error: in
// constant evaluation the compiler's, at run time std::overflow_error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "napkin/graph/graph.hpp"

namespace napkin {

namespace detail {
constexpr std::uint64_t counted_sum(std::uint64_t a, std::uint64_t b) {
  if (a > ~std::uint64_t{0} - b) throw std::overflow_error("napkin: a count does not fit 64 bits");
  return a + b;
}
constexpr std::uint64_t counted_product(std::uint64_t a, std::uint64_t b) {
  if (b != 0 && a > ~std::uint64_t{0} / b) throw std::overflow_error("napkin: a count does not fit 64 bits");
  return a * b;
}
/// a - b, of which b was a part.
constexpr std::uint64_t counted_rest(std::uint64_t a, std::uint64_t b) {
  if (b > a) throw std::overflow_error("napkin: a part is counted larger than its whole");
  return a - b;
}
constexpr std::uint64_t counted_numel(const shape& s) {
  std::uint64_t n = 1;
  for (const std::size_t size : s) n = counted_product(n, size);
  return n;
}
}  // namespace detail

/// Floating-point operations (integer arithmetic counts alike), as executed.
struct flop_counts {
  std::uint64_t matmul = 0;          // 2 for each term of a contraction: a multiplication and an addition
  std::uint64_t elementwise = 0;     // 1 for each element of each arithmetic operation
  std::uint64_t reduce = 0;          // n - 1 for each reduced value; 1 for each value scattered
  std::uint64_t transcendental = 0;  // exp, log, sqrt, tanh, ...: calls, kept apart
  std::uint64_t recomputed = 0;  // those of the first three that are done once more, to save memory or bytes

  /// Without the transcendental, as XLA's `flops`.
  constexpr std::uint64_t total() const {
    return detail::counted_sum(detail::counted_sum(matmul, elementwise), reduce);
  }
  constexpr flop_counts& operator+=(const flop_counts& x) {
    matmul = detail::counted_sum(matmul, x.matmul);
    elementwise = detail::counted_sum(elementwise, x.elementwise);
    reduce = detail::counted_sum(reduce, x.reduce);
    transcendental = detail::counted_sum(transcendental, x.transcendental);
    recomputed = detail::counted_sum(recomputed, x.recomputed);
    return *this;
  }
  /// What a whole has beyond one of its parts: a step's backward pass, given its forward pass.
  constexpr flop_counts operator-(const flop_counts& part) const {
    return {detail::counted_rest(matmul, part.matmul), detail::counted_rest(elementwise, part.elementwise),
            detail::counted_rest(reduce, part.reduce),
            detail::counted_rest(transcendental, part.transcendental),
            detail::counted_rest(recomputed, part.recomputed)};
  }
  constexpr bool operator==(const flop_counts&) const = default;
};

/// Bytes moved to and from memory: of each kernel or library call its distinct inputs once, its outputs once,
/// and what it keeps in workspace where that is no cache's (plan/bytes.hpp).
struct byte_counts {
  std::uint64_t read = 0, written = 0;

  constexpr std::uint64_t total() const { return detail::counted_sum(read, written); }
  constexpr byte_counts& operator+=(const byte_counts& x) {
    read = detail::counted_sum(read, x.read);
    written = detail::counted_sum(written, x.written);
    return *this;
  }
  constexpr bool operator==(const byte_counts&) const = default;
};

struct cost_sheet {
  flop_counts flops;
  byte_counts bytes;           // of the lowered plan; 0 in a sheet of a graph alone
  std::uint64_t launches = 0;  // kernels and library calls of the plan

  /// FLOPs for each byte moved; 0 where nothing is moved.
  constexpr double intensity() const {
    const std::uint64_t moved = bytes.total();
    return moved == 0 ? 0 : static_cast<double>(flops.total()) / static_cast<double>(moved);
  }
  constexpr cost_sheet& operator+=(const cost_sheet& x) {
    flops += x.flops;
    bytes += x.bytes;
    launches = detail::counted_sum(launches, x.launches);
    return *this;
  }
  constexpr bool operator==(const cost_sheet&) const = default;
};

/// Bytes, by what they are for. A plan knows inputs, outputs, workspace and the arena; a training step fills
/// in what its inputs and its arena hold.
struct memory_sheet {
  std::uint64_t parameters = 0;
  std::uint64_t master_copies = 0;  // of those, what a narrower dtype computes with copies of
  std::uint64_t narrow_copies = 0;  // beside those, the copies, where they last from step to step
  std::uint64_t gradients = 0;
  std::uint64_t optimizer_state = 0;
  std::uint64_t activations = 0;        // kept from the forward pass for the backward pass
  std::uint64_t workspace = 0;          // the most that one instruction needs beside its operands
  std::uint64_t inputs = 0;             // tensors handed in
  std::uint64_t staging = 0;            // of those, what a batch is copied into
  std::uint64_t outputs = 0;            // tensors handed out
  std::uint64_t arena = 0;              // what is allocated for every intermediate together
  std::uint64_t arena_lower_bound = 0;  // the most that is alive at once: no plan of this order needs less
  std::uint64_t tables = 0;             // what running a plan looks up
  std::uint64_t peak = 0;               // inputs, outputs and arena; of a step all that it allocates

  constexpr bool operator==(const memory_sheet&) const = default;
};

}  // namespace napkin
