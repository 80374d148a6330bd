// Which sums of columns their kernel adds to what is there, and which stay as they are.
#include "napkin/passes/add_to_columns.hpp"

#include <catch2/catch.hpp>

#include "napkin/graph/builder.hpp"

namespace nk = napkin;

namespace {

constexpr std::int32_t leading[] = {0};
constexpr std::size_t any_columns = 1000;

/// Of a graph with one sum over rows [6, 4]: whether it is added where it is joined.
struct sum_of_columns {
  nk::builder b;
  int x, there, sum;

  explicit sum_of_columns(nk::dtype type = nk::dtype::f32)
      : x(b.input(0, type, {6, 4})),
        there(b.input(1, type, {4})),
        sum(b.reduce(nk::op::sum, b.unary(nk::op::sin, x), leading)) {}

  bool is_added(std::size_t most_columns = any_columns) const {
    nk::passes::fusion f = nk::passes::fuse(b.view());
    const auto at = static_cast<std::size_t>(sum);
    REQUIRE(f.role_of[at] == nk::passes::role::column);
    nk::passes::add_to_columns(b.view(), f, most_columns);
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

TEST_CASE("add_to_columns: a sum that only an addition to an input reads") {
  sum_of_columns first, second;
  first.b.output(first.b.add(first.sum, first.there));
  CHECK(first.is_added());
  CHECK(first.is_added(5));
  CHECK(!first.is_added(4));  // as many are no columns
  second.b.output(second.b.add(second.there, second.sum));
  CHECK(second.is_added());
}

TEST_CASE("add_to_columns: not one that is read otherwise, or stored narrower than it is summed") {
  sum_of_columns twice, output, itself, multiplied, computed, turned, narrow(nk::dtype::bf16);
  twice.b.output(twice.b.add(twice.sum, twice.there));
  twice.b.output(twice.b.unary(nk::op::neg, twice.sum));
  CHECK(!twice.is_added());
  output.b.output(output.b.add(output.sum, output.there));
  output.b.output(output.sum);
  CHECK(!output.is_added());
  itself.b.output(itself.b.add(itself.sum, itself.sum));
  CHECK(!itself.is_added());
  multiplied.b.output(multiplied.b.mul(multiplied.sum, multiplied.there));
  CHECK(!multiplied.is_added());
  computed.b.output(computed.b.add(computed.sum, computed.b.unary(nk::op::neg, computed.there)));
  CHECK(!computed.is_added());
  const int square = turned.b.input(2, nk::dtype::f32, {2, 2});
  turned.b.output(turned.b.add(turned.sum, turned.b.reshape(square, {4})));
  CHECK(!turned.is_added());
  narrow.b.output(narrow.b.add(narrow.sum, narrow.there));
  CHECK(!narrow.is_added());
}
