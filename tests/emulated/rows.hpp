// Kernels whose accesses are all adjacent; each returns once it has run.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "napkin/cost/sheet.hpp"

namespace napkin::testing {

void run_elementwise();             // of bf16, with branches in it
void run_long_softmax();            // of bf16, of rows that are walked again
void run_column_sums();             // of f32, over rows
void run_scattered_sums();          // of bf16, by indices
void run_attention(bool backward);  // of bf16, causal

/// Of bf16, of which a tensor of f32 is added to the scores, or of one that shows keys and positions; with a
/// window of 256 positions.
void run_biased_attention(bool backward);
void run_padded_attention(bool backward);
void run_window_attention(bool backward);

/// Of heads that are 256 wide, in bf16; of 64, in f64. Both see all keys.
void run_wide_attention(bool backward);
void run_exact_attention(bool backward);

/// Of f64, rows in one kernel with phases that join two values to six: on the CPU, and here.
inline constexpr std::size_t joined_elements = 3 * 12000;
std::array<std::vector<double>, 2> run_many_joins();

/// A layer norm's gradient, with its weights', in bf16 computed in f32.
inline constexpr std::size_t normed_rows = 2112, normed_width = 768;
void run_norm_gradient();

/// What the plan says that each moves; all of f32, and no operand is read twice. Sums over rows, whose parts
/// one kernel hands to another; a softmax whose rows lie in scratch between phases; both in one kernel, which
/// adds each row to the sums in memory.
byte_counts move_column_sums();
byte_counts move_scratch_rows();
byte_counts move_scratch_and_sums();

/// Of bf16 logits: its gradient.
inline constexpr std::size_t logits = 3 * 50304;
std::vector<std::byte> run_cross_entropy();

}  // namespace napkin::testing
