// Which sums of columns their kernel adds to what is there, which stay as they are; what the first output
// needs adds nothing.
#include "napkin/passes/place_accumulations.hpp"

#include <catch2/catch.hpp>

#include "napkin/graph/builder.hpp"
#include "napkin/passes/fuse.hpp"

namespace nk = napkin;

namespace {

constexpr std::int32_t leading[] = {0};
constexpr std::size_t any_columns = 1000;

/// Of a graph with one sum over rows [6, 4] behind its first output: whether it is added where it is joined.
struct sum_of_columns {
  nk::builder b;
  int x, there, sum;

  explicit sum_of_columns(nk::dtype type = nk::dtype::f32)
      : x(b.input(0, type, {6, 4})), there(b.input(1, type, {4})) {
    b.output(b.unary(nk::op::tanh, b.input(2, type, {4})));
    sum = b.reduce(nk::op::sum, b.unary(nk::op::sin, x), leading);
  }

  void accumulate(int a, int c) {
    b.composite = static_cast<std::uint16_t>(nk::composite::accumulation);
    b.output(b.add(a, c));
    b.composite = 0;
  }
  bool is_added(std::size_t most_columns = any_columns) const {
    nk::passes::fusion f = nk::passes::fuse(b.view());
    const auto at = static_cast<std::size_t>(sum);
    REQUIRE(f.role_of[at] == nk::passes::role::column);
    nk::passes::place_accumulations(b.view(), f, most_columns);
    const nk::passes::added_column* const found = f.find_added(sum);
    CHECK(f.materialized[at] == (found == nullptr));
    if (found == nullptr) return false;
    const auto result = static_cast<std::size_t>(found->result);
    CHECK(found->added == there);
    CHECK(f.unit_of[result] == f.unit_of[at]);
    CHECK(f.materialized[result]);
    return true;
  }
};

}  // namespace

TEST_CASE("place_accumulations: a sum that only an accumulation reads") {
  sum_of_columns first, second;
  first.accumulate(first.sum, first.there);
  CHECK(first.is_added());
  CHECK(first.is_added(5));
  CHECK(!first.is_added(4));  // as many are no columns
  second.accumulate(second.there, second.sum);
  CHECK(second.is_added());
}

TEST_CASE("place_accumulations: not one that is read otherwise, or stored narrower than it is summed") {
  sum_of_columns plain, twice, output, computed, turned, narrow(nk::dtype::bf16);
  plain.b.output(plain.b.add(plain.sum, plain.there));  // an addition like any other
  CHECK(!plain.is_added());
  twice.accumulate(twice.sum, twice.there);
  twice.b.output(twice.b.unary(nk::op::neg, twice.sum));
  CHECK(!twice.is_added());
  output.accumulate(output.sum, output.there);
  output.b.output(output.sum);
  CHECK(!output.is_added());
  computed.accumulate(computed.sum, computed.b.unary(nk::op::neg, computed.there));
  CHECK(!computed.is_added());
  const int square = turned.b.input(3, nk::dtype::f32, {2, 2});
  turned.accumulate(turned.sum, turned.b.reshape(square, {4}));
  CHECK(!turned.is_added());
  narrow.accumulate(narrow.sum, narrow.there);
  CHECK(!narrow.is_added());
}

TEST_CASE(
    "place_accumulations: what the first output needs, which is computed alone at times, adds nothing") {
  nk::builder b;
  const int x = b.input(0, nk::dtype::f32, {6, 4}), there = b.input(1, nk::dtype::f32, {4}),
            all = b.input(2, nk::dtype::f32, {6, 4});
  const int sines = b.unary(nk::op::sin, x);
  const std::int32_t last[] = {1};
  const int loss = b.reduce(nk::op::sum, sines, last), sum = b.reduce(nk::op::sum, sines, leading);
  b.output(loss);
  b.composite = static_cast<std::uint16_t>(nk::composite::accumulation);
  const int column = b.add(sum, there), element = b.add(sines, all);
  b.composite = 0;
  for (const int out : {column, element}) b.output(out);
  nk::passes::fusion f = nk::passes::fuse(b.view());
  const auto unit_of = [&f](int id) { return f.unit_of[static_cast<std::size_t>(id)]; };
  REQUIRE(unit_of(element) == unit_of(loss));
  nk::passes::place_accumulations(b.view(), f, any_columns);
  CHECK(f.find_added(sum) == nullptr);
  for (const int id : {sum, sines}) CHECK(f.materialized[static_cast<std::size_t>(id)]);
  CHECK(unit_of(sum) == unit_of(loss));
  CHECK(unit_of(column) != unit_of(loss));
  CHECK(unit_of(element) != unit_of(loss));
  CHECK(unit_of(element) != unit_of(column));
}
