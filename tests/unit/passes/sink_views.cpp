// Flips of computed values: the value is computed of flipped operands where these are stored anyway, and is what it
// was; all other views stay.
#include "napkin/passes/sink_views.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "napkin/nn/transformer.hpp"
#include "napkin/ops/reflect.hpp"
#include "napkin/passes/differentiate.hpp"
#include "napkin/passes/fuse.hpp"
#include "napkin/passes/interpret.hpp"
#include "napkin/passes/legalize.hpp"
#include "napkin/passes/print.hpp"
#include "napkin/passes/verify.hpp"

namespace nk = napkin;

namespace {

struct config {
  struct batch : nk::dim<"batch", 2> {};
  struct seq : nk::dim<"seq", 6> {};
  struct vocab : nk::dim<"vocab", 10> {};
  struct embed : nk::dim<"embed", 8> {};
  struct ffn : nk::dim<"ffn", 12> {};
  struct kv_heads : nk::dim<"kv_heads", 2> {};
  struct group : nk::dim<"group", 1> {};
  struct hidden : nk::dim<"hidden", 4> {};
  static constexpr std::size_t layers = 2;
};

constexpr nk::dtype f64 = nk::dtype::f64;
using numbers = std::vector<double>;
const nk::shape square{2, 3};

struct simplifying : nk::builder {
  simplifying() { simplify = true; }
  int flip(int x, int axis = 1) {
    const nk::shape s = shape_of(x);
    const std::int32_t start[] = {axis == 0 ? static_cast<std::int32_t>(s[0]) - 1 : 0,
                                  axis == 1 ? static_cast<std::int32_t>(s[1]) - 1 : 0};
    const std::int32_t step[] = {axis == 0 ? -1 : 1, axis == 1 ? -1 : 1};
    return slice(x, s, start, step);
  }
};

/// Slices that read what is computed element by element: it is stored for them.
int flips_of_computed(const nk::graph_view& g) {
  int n = 0;
  for (int id = 0; id < static_cast<int>(g.size()); ++id)
    n += g[id].kind == nk::op::slice && nk::is_elementwise(g[g.operand(id, 0)].kind);
  return n;
}
bool same(const nk::graph& a, const nk::graph& b) {
  return nk::to_string(a.view()) == nk::to_string(b.view());
}
nk::graph sunk(const nk::graph& g) {
  nk::graph made = nk::passes::sink_views(nk::passes::same_graph(g.view()));
  INFO(nk::to_string(made.view()));
  CHECK(nk::passes::verify(made.view()).sentence == "");
  return made;
}
/// Of x [2, 3], input 0, and y [3], input 1: the same numbers, and whether flips are left.
void check_sunk(simplifying& b, int output, int left) {
  b.output(output);
  const nk::graph before = b.take(), after = sunk(before);
  CHECK(flips_of_computed(before.view()) == 1);
  CHECK(flips_of_computed(after.view()) == left);
  CHECK(same(before, after) == (left == 1));
  const std::vector<numbers> given{{1, -2, 3, 0.5, 4, -1}, {2, 0.25, -3}};
  CHECK(nk::interpret(after.view(), given) == nk::interpret(before.view(), given));
}

}  // namespace

TEST_CASE("sink_views: a flip of what is computed of tensors, repeated ones too, and numbers is gone") {
  const std::int32_t rows[] = {-1, 0};
  simplifying b;
  const int x = b.input(0, f64, square), y = b.expand(b.input(1, f64, {3}), square, rows);
  SECTION("along the last axis") { check_sunk(b, b.add(x, b.flip(b.mul(b.unary(nk::op::exp, x), y))), 0); }
  SECTION("along the first") { check_sunk(b, b.flip(b.scale(b.mul(x, y), 3), 0), 0); }
  SECTION("what it is computed of is read as it is too") {
    const int e = b.unary(nk::op::exp, x);
    check_sunk(b, b.add(e, b.flip(b.mul(e, y))), 0);
  }
}

TEST_CASE("sink_views: a value stays stored that is read as it is, or is of much, or of what is not stored") {
  const std::int32_t rows[] = {-1, 0};
  simplifying b;
  const int x = b.input(0, f64, square), y = b.expand(b.input(1, f64, {3}), square, rows);
  const int product = b.mul(x, y);
  SECTION("read as it is") { check_sunk(b, b.add(product, b.flip(product)), 1); }
  SECTION("a result") {
    b.output(product);
    check_sunk(b, b.flip(product), 1);
  }
  SECTION("many operations") {
    int z = product;
    for (int k = 0; k < 8; ++k) z = b.unary(k % 2 == 0 ? nk::op::tanh : nk::op::exp, z);
    check_sunk(b, b.flip(z), 1);
  }
  SECTION("of a view of what is computed") {
    const std::int32_t turn[] = {1, 0};
    check_sunk(b, b.flip(b.unary(nk::op::exp, b.expand(product, {3, 2}, turn))), 1);
  }
  SECTION("of positions") { check_sunk(b, b.flip(b.mul(product, b.iota(1, f64, square))), 1); }
}

TEST_CASE("sink_views: a part of a computed value is no flip") {
  simplifying b;
  const int x = b.input(0, f64, square), e = b.unary(nk::op::exp, x);
  const std::int32_t start[] = {0, 1}, step[] = {1, 1};
  b.output(b.slice(e, {2, 2}, start, step));
  const nk::graph before = b.take();
  CHECK(same(before, sunk(before)));
}

TEST_CASE("sink_views: a llama's rotary positions are turned back without a value stored to be flipped") {
  using model = nk::nn::llama<config>;
  constexpr std::size_t parameters = nk::model_graph<model>::parameters;
  std::vector<std::int32_t> wanted;
  for (std::size_t p = 0; p < parameters; ++p) wanted.push_back(static_cast<std::int32_t>(p));
  const nk::graph loss = nk::model_graph<model>::make();
  const nk::graph before = nk::passes::differentiate(loss.view(), {wanted.data(), wanted.size()});
  CHECK(flips_of_computed(before.view()) > 0);
  const nk::graph after = sunk(before);
  CHECK(flips_of_computed(after.view()) == 0);
  const auto units = [](const nk::graph& g) {
    const nk::graph legal = nk::passes::legalize(g.view());
    return nk::passes::fuse(legal.view()).units.size();
  };
  CHECK(units(after) < units(before));
}
