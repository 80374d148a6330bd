// What every backend asks first of a pairwise contraction: which of its labels are batch, rows, columns or
// summed, by which strides each is walked, and which of them are one axis in memory. How the groups become
// matrix products is the backend's to say.
#pragma once

#include <cstddef>
#include <cstdint>

#include "napkin/core/dtype.hpp"
#include "napkin/core/error.hpp"
#include "napkin/graph/ids.hpp"
#include "napkin/graph/strides.hpp"

namespace napkin::passes {

/// A tensor in a contraction: a label, a size and a stride (in elements) for each axis. Labels are distinct.
struct contraction_operand {
  ids labels;
  shape sizes;
  stride_list strides;
  std::ptrdiff_t offset = 0;  // of the first element in its buffer, elements
};

/// The dtypes of a product's operands and of its result.
struct product_types {
  dtype a = dtype::f32, b = dtype::f32, result = dtype::f32;
  constexpr bool operator==(const product_types&) const = default;
};

/// Numbers in memory that a product of scaled operands is multiplied by: one for each at most.
inline constexpr std::uint8_t most_factors = 2;

/// One axis, or several merged, with its stride (in elements) in each tensor: 0 in one that lacks it.
struct contraction_loop {
  std::size_t size = 1;
  std::ptrdiff_t a = 0, b = 0, c = 0;
  constexpr bool operator==(const contraction_loop&) const = default;
};
using contraction_loops = inplace_vector<contraction_loop, max_rank>;

/// The loops of C[batch, rows, columns] = sum over summed of A[batch, rows, summed] * B[batch, summed,
/// columns]. Axes of size 1 are left out.
struct contraction_groups {
  contraction_loops batch, rows, columns, summed;
  bool empty = false;           // C has no elements; the groups mean nothing
  bool nothing_to_sum = false;  // every element of C is a sum of no products; `summed` is empty

  /// Products of two elements, unless there are none to sum.
  constexpr std::uint64_t points() const {
    std::uint64_t n = 1;
    for (const contraction_loops* group : {&batch, &rows, &columns, &summed})
      for (const contraction_loop& l : *group) n *= l.size;
    return n;
  }
};

/// y lies within x: walking x's axis and y's inside it is walking one axis with y's strides.
constexpr bool can_merge(const contraction_loop& x, const contraction_loop& y) {
  const auto size = static_cast<std::ptrdiff_t>(y.size);
  return x.a == y.a * size && x.b == y.b * size && x.c == y.c * size;
}

/// Merge whatever merges; which pairs are taken first does not matter, as chains have one order.
constexpr void merge_all(contraction_loops& group) {
  for (std::size_t i = 0; i < group.size(); ++i)
    for (std::size_t j = 0; j < group.size(); ++j) {
      if (i == j || !can_merge(group[i], group[j])) continue;
      group[j].size *= group[i].size;
      group[i] = group.back();
      group.pop_back();
      i = static_cast<std::size_t>(-1);  // begin again
      break;
    }
}

/// Columns adjacent, rows apart by at least a row.
constexpr bool is_row_major(std::size_t rows, std::size_t columns, std::ptrdiff_t row,
                            std::ptrdiff_t column) {
  return (columns == 1 || column == 1) && (rows == 1 || row >= static_cast<std::ptrdiff_t>(columns));
}
constexpr bool is_matrix(std::size_t rows, std::size_t columns, std::ptrdiff_t row, std::ptrdiff_t column) {
  return is_row_major(rows, columns, row, column) || is_row_major(columns, rows, column, row);
}

/// Sort the labels of c = a * b, summed over those that c lacks, into groups, and merge what merges.
///
/// Errors  `error` where a label has two sizes or stands in one of the three only.
/// Source  the classes of labels (batch, M, N, K) and their merging: Springer & Bientinesi, "Design of a
///         high-performance GEMM-like tensor-tensor multiplication", 2016.
constexpr contraction_groups group_labels(const contraction_operand& a, const contraction_operand& b,
                                          const contraction_operand& c) {
  contraction_groups g;
  const auto find = [](const contraction_operand& x, std::int32_t label) {
    std::size_t i = 0;
    while (i < x.labels.size() && x.labels[i] != label) ++i;
    return i;
  };
  const auto classify = [&](const contraction_operand& owner, std::size_t axis) {
    const std::int32_t label = owner.labels[axis];
    const std::size_t in_a = find(a, label), in_b = find(b, label), in_c = find(c, label);
    const bool has_a = in_a < a.labels.size(), has_b = in_b < b.labels.size(), has_c = in_c < c.labels.size();
    if (has_a + has_b + has_c < 2) throw error("contraction: a label stands in one tensor only");
    const std::size_t size = owner.sizes[axis];
    if ((has_a && a.sizes[in_a] != size) || (has_b && b.sizes[in_b] != size) ||
        (has_c && c.sizes[in_c] != size))
      throw error("contraction: a label has two sizes");
    const contraction_loop l{size, has_a ? a.strides[in_a] : 0, has_b ? b.strides[in_b] : 0,
                             has_c ? c.strides[in_c] : 0};
    if (size == 0) (has_c ? g.empty : g.nothing_to_sum) = true;
    if (size <= 1) return;
    (!has_c ? g.summed : has_a && has_b ? g.batch : has_a ? g.rows : g.columns).push_back(l);
  };
  for (std::size_t i = 0; i < c.labels.size(); ++i) classify(c, i);
  for (std::size_t i = 0; i < a.labels.size(); ++i)
    if (find(c, a.labels[i]) == c.labels.size()) classify(a, i);
  for (std::size_t i = 0; i < b.labels.size(); ++i)
    if (find(c, b.labels[i]) == c.labels.size() && find(a, b.labels[i]) == a.labels.size()) classify(b, i);

  if (g.nothing_to_sum) g.summed.clear();
  if (!g.empty)
    for (contraction_loops* group : {&g.batch, &g.rows, &g.columns, &g.summed}) merge_all(*group);
  return g;
}

}  // namespace napkin::passes
