// The pass that has products read 8 bits of what was rounded to them, for backends made up here: which products
// it takes, which copies are turned, and that every graph computes what it did.
#include "napkin/passes/multiply_in_8_bits.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "napkin/passes/differentiate.hpp"
#include "napkin/passes/interpret.hpp"
#include "napkin/passes/print.hpp"
#include "napkin/passes/quantize.hpp"
#include "napkin/passes/verify.hpp"

namespace multiply_in_8_bits_test {

namespace nk = napkin;
using nk::dtype;
using nk::passes::contraction_operand;
using nk::passes::product_types;

constexpr std::size_t batch = 2, rows = 3, inner = 4, columns = 5;

/// The sum of `Products` products of x [batch, rows, inner], each with a parameter of its own, and the
/// gradients of all parameters and of x.
template <int Products>
nk::graph quantized() {
  const std::int32_t labels[] = {0, 1, 2, 2, 3}, result[] = {0, 1, 3}, all[] = {0, 1, 2};
  nk::builder b;
  b.simplify = true;
  int w[Products], sum = -1;
  for (int i = 0; i < Products; ++i) w[i] = b.input(i, dtype::f32, {inner, columns});
  const int x = b.input(Products, dtype::f32, {batch, rows, inner});
  for (int i = 0; i < Products; ++i) {
    const std::int32_t xs[] = {x, w[i]};
    const int y = b.reduce(nk::op::sum, b.unary(nk::op::tanh, b.einsum(xs, labels, result)), all);
    sum = sum < 0 ? y : b.add(sum, y);
  }
  b.output(sum);
  const nk::graph loss =
      nk::passes::mark_quantized(nk::passes::compute_narrow(b.view(), dtype::bf16), Products);
  std::vector<std::int32_t> wanted;
  for (int i = 0; i <= Products; ++i) wanted.push_back(i);
  return nk::passes::quantize_products(
      nk::passes::differentiate(loss.view(), {wanted.data(), wanted.size()}).view(), loss.nodes.size(),
      dtype::bf16);
}

/// Elements from one of a label to the next.
std::ptrdiff_t stride_of(const contraction_operand& x, std::int32_t label) {
  for (std::size_t i = 0; i < x.labels.size(); ++i)
    if (x.labels.data()[i] == label) return x.strides[i];
  return 0;
}
/// Whether the last of the summed labels lies adjacent in it.
bool sums_adjacent(const contraction_operand& x, const contraction_operand& other,
                   const contraction_operand& result) {
  std::ptrdiff_t nearest = 0;
  for (const std::int32_t l : x.labels) {
    bool kept = false, shared = false;
    for (const std::int32_t r : result.labels) kept = kept || r == l;
    for (const std::int32_t o : other.labels) shared = shared || o == l;
    if (!kept && shared && (nearest == 0 || stride_of(x, l) < nearest)) nearest = stride_of(x, l);
  }
  return nearest == 1;
}

struct takes_all {
  static bool multiplies_8_bits(const product_types&, const contraction_operand&, const contraction_operand&,
                                const contraction_operand&) {
    return true;
  }
};
struct takes_none {
  static bool multiplies_8_bits(const product_types&, const contraction_operand&, const contraction_operand&,
                                const contraction_operand&) {
    return false;
  }
};
struct takes_adjacent_sums {
  static bool multiplies_8_bits(const product_types&, const contraction_operand& a,
                                const contraction_operand& b, const contraction_operand& c) {
    return sums_adjacent(a, b, c) && sums_adjacent(b, a, c);
  }
};
struct takes_values_alone {
  static bool multiplies_8_bits(const product_types& t, const contraction_operand&,
                                const contraction_operand&, const contraction_operand&) {
    return t.a == dtype::f8e4m3 && t.b == dtype::f8e4m3 && t.result == dtype::bf16;
  }
};

struct takes_whole_places {
  static bool multiplies_8_bits(const product_types&, const contraction_operand& a,
                                const contraction_operand& b, const contraction_operand&) {
    return a.offset % 16 == 0 && b.offset % 16 == 0;
  }
};

struct counted {
  int narrow = 0, wide = 0;  // products of 8-bit floats, and others
  int turned = 0;            // copies of 8 bits
  bool operator==(const counted&) const = default;
};
counted count_of(const nk::graph_view& g) {
  counted n;
  for (int id = 0; id < static_cast<int>(g.size()); ++id) {
    const bool of_8_bits = g[id].arity > 0 && nk::is_8_bit_float(g[g.operand(id, 0)].type);
    if (g[id].kind == nk::op::einsum)
      ++(of_8_bits && nk::is_8_bit_float(g[g.operand(id, 1)].type) ? n.narrow : n.wide);
    n.turned += g[id].kind == nk::op::cast && of_8_bits && g[id].type == g[g.operand(id, 0)].type;
  }
  return n;
}

/// What a graph gives for numbers between -1 and 1, and for scales of 64 with their reciprocals.
std::vector<std::vector<double>> results_of(const nk::graph_view& g, int plain_inputs) {
  std::vector<std::vector<double>> inputs(static_cast<std::size_t>(g.next_slot()));
  const int tensors = (g.next_slot() - plain_inputs) / 2;
  for (int id = 0; id < static_cast<int>(g.size()); ++id) {
    if (g[id].kind != nk::op::input) continue;
    const int slot = g.attribute(id, 0);
    std::vector<double>& x = inputs[static_cast<std::size_t>(slot)];
    x.resize(numel(g.shape_of(id)), slot < plain_inputs + tensors ? 64 : 1.0 / 64);
    if (slot < plain_inputs)
      for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = static_cast<float>(std::sin(0.37 * static_cast<double>(i + 1) + slot));
  }
  return nk::interpret(g, inputs, nk::rounding::as_typed);
}

/// The graph by a backend, which must compute what it did.
template <class Target, int Products>
counted count_by() {
  const nk::graph before = quantized<Products>();
  const nk::graph after = nk::passes::multiply_in_8_bits<Target>(quantized<Products>());
  INFO(nk::to_string(after.view()));
  REQUIRE(std::string(nk::passes::verify(after.view()).sentence) == "");
  CHECK(results_of(after.view(), Products + 1) == results_of(before.view(), Products + 1));
  return count_of(after.view());
}

}  // namespace multiply_in_8_bits_test

TEST_CASE("multiply_in_8_bits: a backend that takes any order of axes is handed what lies there") {
  using namespace multiply_in_8_bits_test;
  CHECK(count_by<takes_all, 1>() == counted{3, 0, 0});
  CHECK(count_by<takes_all, 2>() == counted{6, 0, 0});
}

TEST_CASE("multiply_in_8_bits: what a backend takes in no order stays of the widened values") {
  using namespace multiply_in_8_bits_test;
  CHECK(count_by<takes_none, 1>() == counted{0, 3, 0});
  CHECK(count_by<takes_values_alone, 1>() == counted{1, 2, 0});
}

TEST_CASE("multiply_in_8_bits: what does not lie as it is wanted is turned, once for all products") {
  using namespace multiply_in_8_bits_test;
  // w for the loss; for w's gradient x and the adjoint; the adjoint by w lies as it is
  CHECK(count_by<takes_adjacent_sums, 1>() == counted{3, 0, 3});
  // x once more for two gradients; a weight and an adjoint for each
  CHECK(count_by<takes_adjacent_sums, 2>() == counted{6, 0, 5});
}

TEST_CASE("multiply_in_8_bits: a part of what was rounded is copied where a backend refuses its place") {
  using namespace multiply_in_8_bits_test;
  for (const std::int32_t first : {16, 8}) {
    nk::builder b;
    const std::int32_t labels[] = {0, 1, 1, 2}, result[] = {0, 2}, start[] = {0, first}, step[] = {1, 1};
    std::int32_t xs[] = {b.input(0, dtype::bf16, {4, 32}), b.input(1, dtype::bf16, {16, 4})};
    for (std::int32_t& x : xs) x = b.cast(b.cast(x, dtype::f8e4m3), dtype::bf16);
    xs[0] = b.slice(xs[0], {4, 16}, start, step);
    b.composite = static_cast<std::uint16_t>(nk::composite::quantized_product);
    b.output(b.einsum(xs, labels, result));
    const nk::graph after = nk::passes::multiply_in_8_bits<takes_whole_places>(b.take());
    INFO(nk::to_string(after.view()));
    CHECK(std::string(nk::passes::verify(after.view()).sentence) == "");
    CHECK(count_of(after.view()) == counted{1, 0, first % 16 == 0 ? 0 : 1});
  }
}

TEST_CASE("multiply_in_8_bits: what a program widens itself, and a graph without such products, stay") {
  using namespace multiply_in_8_bits_test;
  const std::int32_t labels[] = {0, 1, 1, 2}, result[] = {0, 2};
  for (const bool rounds : {true, false}) {
    nk::builder b;
    b.simplify = true;
    std::int32_t xs[] = {b.input(0, dtype::bf16, {4, 4}), b.input(1, dtype::bf16, {4, 4})};
    if (rounds)
      for (std::int32_t& x : xs) x = b.cast(b.cast(x, dtype::f8e4m3), dtype::bf16);
    b.output(b.einsum(xs, labels, result));
    const std::string before = nk::to_string(b.view());
    const nk::graph after = nk::passes::multiply_in_8_bits<takes_all>(b.take());
    CHECK(nk::to_string(after.view()) == before);
  }
}
