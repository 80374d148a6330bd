// Reductions to few results: in two, of parts and of these, to the same numbers; and those that stay one.
#include "napkin/passes/split_reductions.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "napkin/passes/interpret.hpp"
#include "napkin/passes/print.hpp"
#include "napkin/passes/verify.hpp"

namespace nk = napkin;

namespace {

using nk::op;
constexpr nk::dtype f64 = nk::dtype::f64;
using numbers = std::vector<double>;
constexpr nk::passes::reduction_limits limits{.rows = 4, .length = 10};  // 17 parts of one result

struct simplifying : nk::builder {
  simplifying() { simplify = true; }
};

int count(const nk::graph& g, op kind) {
  int n = 0;
  for (const nk::node& node : g.nodes) n += node.kind == kind;
  return n;
}
nk::graph split(const nk::graph& g) {
  nk::graph made = nk::passes::split_reductions(nk::passes::same_graph(g.view()), limits);
  INFO(nk::to_string(made.view()));
  CHECK(nk::passes::verify(made.view()).sentence == "");
  return made;
}
/// Whole numbers, of which sums are exact in any order.
numbers whole(std::size_t n, int seed) {
  numbers x(n);
  for (std::size_t i = 0; i < n; ++i)
    x[i] = static_cast<double>((i * 37 + static_cast<std::size_t>(seed)) % 11) - 5;
  return x;
}
/// The builder's last node is a reduction; of what it makes, `reductions` are left where it was one.
nk::graph check_split(simplifying& b, int result, int reductions, const std::vector<numbers>& given) {
  b.output(result);
  const op kind = b[result].kind;
  const nk::graph before = b.take();
  nk::graph after = split(before);
  CAPTURE(nk::to_string(after.view()));
  CHECK(count(after, kind) == reductions);
  CHECK((nk::to_string(before.view()) == nk::to_string(after.view())) == (reductions == 1));
  CHECK(nk::interpret(after.view(), given) == nk::interpret(before.view(), given));
  return after;
}

constexpr std::int32_t first[] = {0}, second[] = {1}, both[] = {0, 1};

}  // namespace

TEST_CASE("split_reductions: a sum to one number is of rows' sums, or of runs of an axis") {
  simplifying b;
  SECTION("rows enough") {
    const nk::graph g = check_split(b, b.reduce(op::sum, b.input(0, f64, {20, 3}), both), 2, {whole(60, 1)});
    CHECK(count(g, op::reshape) == 0);
  }
  SECTION("of one axis: the fewest runs that are enough") {
    const nk::graph g = check_split(b, b.reduce(op::sum, b.input(0, f64, {60}), first), 2, {whole(60, 2)});
    CHECK(nk::to_string(g.view()).find("[20]") != std::string::npos);
  }
  SECTION("few rows, and runs of them") {
    check_split(b, b.reduce(op::sum, b.input(0, f64, {2, 60}), both), 2, {whole(120, 3)});
  }
  SECTION("of more rows than parts may be") {
    const nk::graph g =
        check_split(b, b.reduce(op::sum, b.input(0, f64, {70000, 2}), both), 2, {whole(140000, 4)});
    CHECK(nk::to_string(g.view()).find("[20]") != std::string::npos);
  }
  SECTION("fewer runs than are wanted are better than none") {
    check_split(b, b.reduce(op::sum, b.input(0, f64, {34}), first), 2, {whole(34, 5)});
  }
}

TEST_CASE("split_reductions: of what is one row in any case, results enough, or columns, nothing is split") {
  simplifying b;
  SECTION("short") { check_split(b, b.reduce(op::sum, b.input(0, f64, {10}), first), 1, {whole(10, 1)}); }
  SECTION("results enough") {
    check_split(b, b.reduce(op::sum, b.input(0, f64, {4, 60}), second), 1, {whole(240, 2)});
  }
  SECTION("columns") {
    check_split(b, b.reduce(op::sum, b.input(0, f64, {60, 3}), first), 1, {whole(180, 3)});
  }
  SECTION("a prime number") {
    check_split(b, b.reduce(op::sum, b.input(0, f64, {97}), first), 1, {whole(97, 4)});
  }
}

TEST_CASE("split_reductions: all kinds, of each result's own elements") {
  for (const op kind : {op::sum, op::product, op::max, op::min}) {
    simplifying b;
    CAPTURE(static_cast<int>(kind));
    check_split(b, b.reduce(kind, b.input(0, f64, {3, 60}), second), 2, {whole(180, 5)});
  }
  for (const op kind : {op::any, op::all}) {
    simplifying b;
    const int x = b.input(0, f64, {3, 60}), zero = b.constant(0, f64, {3, 60});
    check_split(b, b.reduce(kind, b.binary(op::less, x, zero), second), 2, {whole(180, 6)});
  }
}

TEST_CASE(
    "split_reductions: what only the sum reads is computed in its parts, of repeated tensors and positions") {
  constexpr std::int32_t along_columns[] = {0, -1}, along_rows[] = {-1, 0};
  const nk::shape all{3, 60};
  simplifying b;
  const int x = b.input(0, f64, all), y = b.expand(b.input(1, f64, {60}), all, along_rows),
            z = b.expand(b.input(2, f64, {3}), all, along_columns);
  const std::vector<numbers> given{whole(180, 1), whole(60, 2), whole(3, 3)};
  const int value = b.add(b.mul(x, y), b.add(z, b.mul(b.iota(1, f64, all), b.iota(0, f64, all))));
  const auto of_computed = [](const nk::graph& g) {
    int n = 0;
    for (const nk::node& node : g.nodes)
      n += node.kind == op::reshape &&
           g.nodes[static_cast<std::size_t>(g.view().pool[node.first_operand])].kind != op::input;
    return n;
  };
  SECTION("by it alone") {
    CHECK(of_computed(check_split(b, b.reduce(op::max, value, second), 2, given)) == 0);
  }
  SECTION("and as it is: it is stored, and read in runs") {
    b.output(value);
    CHECK(of_computed(check_split(b, b.reduce(op::max, value, second), 2, given)) == 1);
  }
}

TEST_CASE("split_reductions: positions are what they were, of dtypes that do not have all of them") {
  constexpr std::size_t many = 60000;
  for (const nk::detail::dtype_row& row : nk::detail::dtype_table) {
    if (row.kind != nk::detail::dtype_kind::floating && row.kind != nk::detail::dtype_kind::integer) continue;
    const nk::dtype type = row.type;
    INFO(row.name);
    simplifying b;
    b.output(b.reduce(op::sum, b.cast(b.iota(0, type, {many}), f64), first));
    b.output(b.reduce(op::max, b.cast(b.cast(b.iota(0, nk::dtype::i64, {many}), type), f64), first));
    const nk::graph before = b.take(), after = split(before);
    CHECK(count(after, op::sum) == 2);
    const auto x = nk::interpret(before.view(), {}, nk::rounding::as_typed),
               y = nk::interpret(after.view(), {}, nk::rounding::as_typed);
    REQUIRE(x.size() == y.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      CAPTURE(i, x[i][0], y[i][0]);
      CHECK((x[i] == y[i] || (std::isnan(x[i][0]) && std::isnan(y[i][0]))));  // f8e4m3 ends at 448
    }
  }
}

TEST_CASE("split_reductions: parts of 16-bit floats' sums are f32, their largest what they are") {
  const auto parts_of = [](op kind) {
    simplifying b;
    b.output(b.reduce(kind, b.input(0, nk::dtype::bf16, {60}), first));
    const nk::graph g = split(b.take());
    std::vector<nk::dtype> types;
    for (const nk::node& n : g.nodes)
      if (n.kind == kind) types.push_back(n.type);
    CHECK(g.nodes[static_cast<std::size_t>(g.outputs[0])].type == nk::dtype::bf16);
    return types;
  };
  CHECK(parts_of(op::sum) == std::vector{nk::dtype::f32, nk::dtype::f32});
  CHECK(parts_of(op::max) == std::vector{nk::dtype::bf16, nk::dtype::bf16});
}

TEST_CASE("split_reductions: of as many axes as there may be none is cut in two") {
  for (const std::size_t axes : {nk::max_rank - 1, nk::max_rank}) {
    simplifying b;
    nk::shape all(axes, 1);
    all[axes - 1] = 8192;
    std::vector<std::int32_t> every;
    for (std::size_t i = 0; i < axes; ++i) every.push_back(static_cast<std::int32_t>(i));
    const int x = b.input(0, f64, all);
    const int result = b.reduce(op::sum, x, {every.data(), every.size()});
    CAPTURE(axes);
    check_split(b, result, axes < nk::max_rank ? 2 : 1, {whole(8192, 1)});
  }
}
