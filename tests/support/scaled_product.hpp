// A product, and a kernel that reads its rows whole, with sums of its columns, which may take the product in.
#pragma once

#include <cstddef>
#include <cstdint>

#include "napkin/graph/builder.hpp"

namespace napkin::testing {

/// Each row of a product times the mean of its squares, and the columns' sums of squares of that: outputs, of
/// inputs 0 and 1.
constexpr void scaled_product(builder& b, dtype type, std::size_t rows, std::size_t terms,
                              std::size_t columns) {
  constexpr std::int32_t labels[] = {0, 1, 1, 2}, result[] = {0, 2}, of_rows[] = {0, -1};
  constexpr std::int32_t along[] = {1}, across[] = {0};
  const std::int32_t operands[] = {b.input(0, type, {rows, terms}), b.input(1, type, {terms, columns})};
  const std::int32_t x = b.cast(b.einsum(operands, labels, result), dtype::f32);
  const std::int32_t mean =
      b.scale(b.reduce(op::sum, b.mul(x, x), along), 1.0 / static_cast<double>(columns));
  const std::int32_t scaled = b.mul(x, b.expand(mean, {rows, columns}, of_rows));
  b.output(b.cast(scaled, type));
  b.output(b.reduce(op::sum, b.mul(scaled, scaled), across));
}

}  // namespace napkin::testing
