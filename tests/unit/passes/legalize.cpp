// What the form that is planned makes of constants: stored once for readers that are near one another.
#include "napkin/passes/legalize.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "napkin/passes/interpret.hpp"
#include "napkin/passes/print.hpp"
#include "napkin/passes/verify.hpp"

namespace nk = napkin;

namespace {

constexpr nk::dtype f64 = nk::dtype::f64;
using numbers = std::vector<double>;
const nk::shape square{3, 3};
constexpr std::int32_t labels[] = {0, 1, 1, 2}, result[] = {0, 2};

int multiply(nk::builder& b, int x, int y) {
  const std::int32_t operands[] = {x, y};
  return b.einsum(operands, labels, result);
}
/// How often the ones are stored by which x, input 0, is multiplied, and so many nodes later its sine.
int stored(int nodes_between, nk::op leaf, nk::computed second = nk::computed::once) {
  nk::builder b;
  const int x = b.input(0, f64, square),
            ones = leaf == nk::op::iota ? b.iota(1, f64, square) : b.constant(1, f64, square);
  b.output(multiply(b, x, ones));
  int y = x;
  for (int i = 0; i < nodes_between; ++i) y = b.unary(nk::op::sin, y);
  b.when = second;
  b.output(multiply(b, y, ones));
  const nk::graph before = b.take(), after = nk::passes::legalize(before.view());
  const nk::graph_view g = after.view();
  INFO(nk::to_string(g));
  CHECK(nk::passes::verify(g).sentence == "");
  const std::vector<numbers> inputs{{1, -2, 3, 0.5, 5, -6, 7, 8, 0.25}};
  CHECK(nk::interpret(g, inputs) == nk::interpret(before.view(), inputs));
  int copies = 0;
  for (int id = 0; id < static_cast<int>(g.size()); ++id)
    copies += g[id].kind == nk::op::cast && g[g.operand(id, 0)].kind == leaf;
  return copies;
}

}  // namespace

TEST_CASE("constants and coordinates that products read are stored once for readers that are near",
          "[legalize]") {
  for (const nk::op leaf : {nk::op::constant, nk::op::iota}) {
    CHECK(stored(1, leaf) == 1);
    CHECK(stored(nk::passes::kernel_reach / 2, leaf) == 1);
    CHECK(stored(nk::passes::kernel_reach + 1, leaf) == 2);  // the first would be kept for the second
    CHECK(stored(1, leaf, nk::computed::later) == 2);
  }
}

// The casts are the parts', where they are stored: the reduction over a middle axis, which casts what it moves, had
// skipped those of the whole.
TEST_CASE("a reduction over a middle axis of what is joined of 16 bits has its operand", "[legalize]") {
  for (const bool of_inputs : {true, false}) {
    nk::builder b;
    const auto part = [&](int slot) {
      const int x = b.input(slot, nk::dtype::bf16, {2, 3, 4});
      return of_inputs ? x : b.unary(nk::op::neg, x);
    };
    const std::int32_t parts[] = {part(0), part(1)}, middle[] = {1};
    b.output(b.reduce(nk::op::sum, b.cast(b.concat(parts, 0), nk::dtype::f32), middle));
    const nk::graph before = b.take(), after = nk::passes::legalize(before.view());
    INFO(nk::to_string(after.view()));
    CHECK(nk::passes::verify(after.view()).sentence == "");
    std::vector<numbers> inputs(2, numbers(24));
    for (std::size_t i = 0; i < 48; ++i) inputs[i / 24][i % 24] = static_cast<double>(i) - 20;
    CHECK(nk::interpret(after.view(), inputs) == nk::interpret(before.view(), inputs));
  }
}
