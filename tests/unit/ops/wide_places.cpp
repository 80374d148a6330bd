// Places, steps and strides are attributes of 32 bits: those that are wider are refused, not cut off.
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>

#include "napkin/ops/concat.hpp"
#include "napkin/ops/expression_graph.hpp"
#include "napkin/ops/movement.hpp"
#include "napkin/ops/window.hpp"
#include "napkin/passes/differentiate.hpp"

namespace nk = napkin;

namespace {
constexpr std::size_t long_size = std::size_t{1} << 32;
constexpr std::ptrdiff_t farthest = 0x7fff'ffff;
const char* const too_far =
    "a part of an axis that begins, or steps, 2^31 elements or more further on is not computed with";
using axis = nk::dim<"n", long_size>;
using taps = nk::dim<"k", 2>;
using seen = nk::dim<"n", 1>;
}  // namespace

TEST_CASE("parts of an axis begin and step within 32 bits") {
  const nk::shape s{long_size};
  CHECK(nk::detail::slice_move(s, 0, farthest, -farthest - 1, 2).start[0] == farthest);
  CHECK(nk::detail::slice_move(s, 0, farthest, -farthest - 1, 2).step[0] == -farthest - 1);
  CHECK_THROWS_WITH(nk::detail::slice_move(s, 0, farthest + 1, 1, 2), too_far);
  CHECK_THROWS_WITH(nk::detail::slice_move(s, 0, 0, long_size - 2, 2), too_far);
  CHECK_THROWS_WITH(nk::detail::index_move(s, 0, long_size - 1), too_far);
}

TEST_CASE("windows step, spread and are padded within 32 bits") {
  nk::builder b;
  const std::int32_t x = b.input(0, nk::dtype::f32, {long_size});
  using of_axis = nk::axes<axis>;
  CHECK_THROWS_WITH((nk::detail::window_op<of_axis, 0, taps, seen, 1, 0, 0, long_size - 2>::emit(b, &x)),
                    too_far);
  CHECK_THROWS_WITH((nk::detail::window_op<of_axis, 0, taps, seen, long_size, 0, 0, 1>::emit(b, &x)),
                    too_far);
  CHECK_THROWS_WITH((nk::detail::window_op<of_axis, 0, taps, seen, 1, long_size, 0, 1>::emit(b, &x)),
                    too_far);
}

TEST_CASE("the gradient of what stands far along a concatenation is refused") {
  nk::builder b;
  const std::int32_t x = b.input(0, nk::dtype::f32, {long_size}), y = b.input(1, nk::dtype::f32, {3});
  const std::int32_t both[] = {x, y}, only[] = {0}, wanted[] = {y};
  b.output(b.reduce(nk::op::sum, b.concat(both, 0), only));
  CHECK_THROWS_WITH(nk::passes::differentiate(b.view(), wanted), too_far);
}

TEST_CASE("an operand's strides are within 32 bits") {
  nk::builder b;
  const nk::shape s{2, 3};
  std::ptrdiff_t strides[] = {farthest, -farthest - 1};
  nk::detail::replay_step leaf;
  leaf.sizes = &s;
  leaf.strides = strides;
  leaf.is_strided = true;
  const std::int32_t node = nk::detail::emit_leaf(b, 0, leaf);
  CHECK(b.attribute(node, 1) == farthest);
  CHECK(b.attribute(node, 2) == -farthest - 1);
  strides[0] = farthest + 1;
  CHECK_THROWS_WITH(nk::detail::emit_leaf(b, 0, leaf),
                    "a view whose strides pass 2^31 elements is not computed with: contiguous(x) copies it");
}
