// Copies of parameters as inputs: where a graph rounded parameters, or adds one to a product, it reads the copies, and
// computes what it did. (The interpreter, in doubles, rounds nothing: here a copy is what it is of.)
#include "napkin/passes/take_copies.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "napkin/passes/interpret.hpp"
#include "napkin/passes/precision.hpp"
#include "napkin/passes/print.hpp"
#include "napkin/passes/verify.hpp"

namespace nk = napkin;

namespace {

constexpr nk::dtype f32 = nk::dtype::f32, bf16 = nk::dtype::bf16;
using numbers = std::vector<double>;
using inputs = std::vector<numbers>;
const std::int32_t product_labels[] = {0, 1, 1, 2}, product_result[] = {0, 2}, per_column[] = {-1, 0};
constexpr int first_copy = 7;

numbers from(double first, std::size_t count) {
  numbers x;
  for (std::size_t i = 0; i < count; ++i) x.push_back(first + static_cast<double>(i) / 4);
  return x;
}
/// Inputs, of which the first so many are parameters, and these once more as inputs first_copy on.
inputs with_copies(inputs all, std::size_t parameters) {
  all.resize(first_copy);
  for (std::size_t p = 0; p < parameters; ++p) all.push_back(all[p]);
  return all;
}
void check_same(const nk::graph& before, const nk::graph& after, const inputs& given,
                std::size_t parameters) {
  CHECK(nk::interpret(after.view(), with_copies(given, parameters)) == nk::interpret(before.view(), given));
}

nk::graph taken(const nk::graph& g, std::size_t parameters) {
  nk::graph made = nk::passes::take_copies(g.view(), parameters, bf16, first_copy);
  INFO(nk::to_string(made.view()));
  CHECK(nk::passes::verify(made.view()).sentence == "");
  return made;
}
/// Whether the graph has an input of this number, and of which dtype.
bool reads(const nk::graph& g, int slot, nk::dtype type) {
  for (int id = 0; id < static_cast<int>(g.nodes.size()); ++id)
    if (g.nodes[id].kind == nk::op::input && g.view().attribute(id, 0) == slot)
      return g.nodes[id].type == type;
  return false;
}
int count(const nk::graph& g, nk::op kind, nk::dtype type) {
  int n = 0;
  for (const nk::node& x : g.nodes) n += x.kind == kind && x.type == type;
  return n;
}

nk::builder simplifying() {
  nk::builder b;
  b.simplify = true;
  return b;
}

}  // namespace

TEST_CASE("take_copies: a table, a matrix and a vector that is added are read as copies, a gain is not") {
  nk::builder b = simplifying();
  const int table = b.input(0, f32, {5, 3}), w = b.input(1, f32, {3, 4}), bias = b.input(2, f32, {4}),
            gain = b.input(3, f32, {4}), ids = b.input(4, nk::dtype::i32, {2});
  const std::int32_t xs[] = {b.gather(table, ids, 0), w};
  const int y = b.einsum(xs, product_labels, product_result);
  b.output(b.mul(b.add(y, b.expand(bias, {2, 4}, per_column)), b.expand(gain, {2, 4}, per_column)));
  const nk::graph before = nk::passes::compute_narrow(b.view(), bf16), after = taken(before, 4);

  for (const int p : {0, 1, 2}) {
    CHECK(reads(after, first_copy + p, bf16));
    CHECK(!reads(after, p, f32));
  }
  CHECK(!reads(after, first_copy + 3, bf16));
  CHECK(reads(after, 3, f32));
  CHECK(count(after, nk::op::gather, bf16) == 1);
  CHECK(count(after, nk::op::gather, f32) == 0);

  check_same(before, after, {from(-7, 15), from(-5, 12), from(1, 4), from(2, 4), {4, 1}}, 4);
}

TEST_CASE("take_copies: what is joined is joined of copies, each moved by an operation of its own") {
  nk::builder b = simplifying();
  const std::int32_t ws[] = {b.input(0, f32, {3, 2}), b.input(1, f32, {3, 2})};
  const std::int32_t vs[] = {b.input(2, f32, {2}), b.input(3, f32, {2})};
  const std::int32_t xs[] = {b.input(4, f32, {2, 3}), b.concat(ws, 1)};
  const int y = b.einsum(xs, product_labels, product_result);
  b.output(b.add(y, b.expand(b.concat(vs, 0), {2, 4}, per_column)));
  const nk::graph before = nk::passes::compute_narrow(b.view(), bf16), after = taken(before, 4);
  for (const int p : {0, 1, 2, 3}) {
    CHECK(reads(after, first_copy + p, bf16));
    CHECK(!reads(after, p, f32));
  }
  CHECK(count(after, nk::op::concat, bf16) == 2);
  CHECK(count(after, nk::op::concat, f32) == 0);
  for (int id = 0; id < static_cast<int>(after.nodes.size()); ++id)
    if (after.nodes[id].kind == nk::op::concat)
      for (const std::int32_t x : after.view().operands(id)) CHECK(after.nodes[x].kind == nk::op::cast);

  check_same(before, after, {from(-7, 6), from(5, 6), from(1, 2), from(-4, 2), from(2, 6)}, 4);
}

TEST_CASE("take_copies: what is read in f32 too stays, and so do data") {
  nk::builder b = simplifying();
  const int table = b.input(0, f32, {5, 3}), w = b.input(1, f32, {3, 4}),
            ids = b.input(2, nk::dtype::i32, {2}), data = b.input(3, f32, {2, 3});
  const int rows = b.gather(table, ids, 0);
  const std::int32_t of_rows[] = {b.cast(rows, bf16), b.cast(w, bf16)},
                     of_data[] = {b.cast(data, bf16), b.cast(w, bf16)};
  b.output(b.einsum(of_rows, product_labels, product_result));
  b.output(b.einsum(of_data, product_labels, product_result));
  b.output(b.unary(nk::op::exp, rows));
  b.output(b.unary(nk::op::exp, w));
  const nk::graph before = b.take(), after = taken(before, 2);
  CHECK(reads(after, 0, f32));
  CHECK(!reads(after, first_copy, bf16));
  CHECK(count(after, nk::op::gather, f32) == 1);
  CHECK(reads(after, 1, f32));
  CHECK(reads(after, first_copy + 1, bf16));
  CHECK(reads(after, 3, f32));
  check_same(before, after, {from(-7, 15), from(-5, 12), {4, 1}, from(1, 6)}, 2);
}
