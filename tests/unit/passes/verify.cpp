// Each thing that verify says is seen where it is wrong, at the node where it is wrong.
#include "napkin/passes/verify.hpp"

#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "support/random_graph.hpp"

namespace nk = napkin;
using nk::dtype;
using nk::op;

namespace {

constexpr std::int32_t i0[] = {0}, i1[] = {1}, i00[] = {0, 0}, i01[] = {0, 1};

struct mistake {
  const char* sentence;
  std::function<int(nk::builder&)> make;  // the id of the wrong node
};

/// With f32 x (2, 3), f64 d (2, 3), b8 t (2, 3) and f32 v (3) as nodes 0 to 3.
const std::vector<mistake>& mistakes() {
  using nk::builder;
  const auto raw = [](builder& b, op kind, dtype t, nk::shape s, std::vector<std::int32_t> xs,
                      std::vector<std::int32_t> attributes) {
    return b.emit({kind, t, b.result.intern(s), xs, attributes, 0});
  };
  static const std::vector<mistake> all = {
      {"the number of operands is not the row's",
       [=](builder& b) {
         return raw(b, op::add, dtype::f32, {2, 3}, {0}, {});
       }},
      {"an operand does not stand before its node",
       [=](builder& b) {
         return raw(b, op::neg, dtype::f32, {2, 3}, {4}, {});
       }},
      {"an operand does not stand before its node",
       [=](builder& b) {
         return raw(b, op::neg, dtype::f32, {2, 3}, {-1}, {});
       }},
      {"an elementwise operand has another shape than the result", [](builder& b) { return b.add(0, 3); }},
      {"an elementwise operation mixes dtypes without a cast", [](builder& b) { return b.add(0, 1); }},
      {"an elementwise operation changes the dtype without a cast",
       [=](builder& b) {
         return raw(b, op::neg, dtype::f64, {2, 3}, {0}, {});
       }},
      {"the attributes of an elementwise operation are no order of its axes",
       [=](builder& b) {
         return raw(b, op::neg, dtype::f32, {2, 3}, {0}, {1});
       }},
      {"the attributes of an elementwise operation are no order of its axes",
       [=](builder& b) {
         return raw(b, op::neg, dtype::f32, {2, 3}, {0}, {1, 1});
       }},
      {"a comparison does not give b8",
       [=](builder& b) {
         return raw(b, op::less, dtype::f32, {2, 3}, {0, 0}, {});
       }},
      {"random bits are not of i64", [](builder& b) { return b.binary(op::random_bits, 0, 0); }},
      {"a logical operation is not on b8", [](builder& b) { return b.binary(op::logical_and, 0, 0); }},
      {"the condition of a select is not b8", [](builder& b) { return b.select(0, 0, 0); }},
      {"a select mixes dtypes without a cast", [](builder& b) { return b.select(2, 0, 1); }},
      {"arithmetic is not on numbers", [](builder& b) { return b.add(2, 2); }},
      {"an operation on floating point has another dtype",
       [](builder& b) { return b.unary(op::exp, b.cast(0, dtype::i32)); }},
      {"an expand changes an axis's size",
       [](builder& b) {
         return b.expand(0, {2, 4}, i01);
       }},
      {"an expand names an axis twice",
       [](builder& b) {
         return b.expand(0, {2, 2}, i00);
       }},
      {"an expand leaves an axis of the operand out", [](builder& b) { return b.expand(0, {2}, i0); }},
      {"an expand names an axis that the operand lacks", [](builder& b) { return b.expand(3, {3}, i1); }},
      {"an expand does not name an axis for each of the result",
       [](builder& b) {
         return b.expand(0, {2, 3, 1}, i01);
       }},
      {"a reshape changes the number of elements", [](builder& b) { return b.reshape(0, {5}); }},
      {"a slice or pad leaves the axis", [](builder& b) { return b.slice(3, {3}, i1, i1); }},
      {"a slice or pad leaves the axis", [](builder& b) { return b.slice(3, {3}, i0, i0); }},
      {"a slice or pad leaves the axis", [](builder& b) { return b.pad(3, {3}, i1, i1); }},
      {"a slice or pad changes the rank", [](builder& b) { return b.slice(0, {3}, i0, i1); }},
      {"a slice or pad does not have a start and a step for each axis",
       [=](builder& b) { return raw(b, op::slice, dtype::f32, {3}, {3}, {0}); }},
      {"a diagonal joins axes of unequal sizes", [](builder& b) { return b.diagonal(0, {2}, i00); }},
      {"a diagonal leaves an axis of the result out",
       [](builder& b) {
         return b.diagonal(3, {3, 3}, i0);
       }},
      {"a diagonal names an axis that the result lacks", [](builder& b) { return b.diagonal(0, {2}, i01); }},
      {"a window leaves the axis", [](builder& b) { return b.window(3, 0, 2, 3, 0, 1, 1); }},
      {"a window leaves the axis", [](builder& b) { return b.window(3, 0, 2, 2, 0, 1, -1); }},
      {"a window's axis is not one that becomes two",
       [=](builder& b) {
         return raw(b, op::window, dtype::f32, {2, 2}, {3}, {1, 0, 1, 1});
       }},
      {"a window changes another axis than its own",
       [=](builder& b) {
         return raw(b, op::window, dtype::f32, {2, 2, 2}, {0}, {0, 0, 1, 1});
       }},
      {"a window does not have an axis, a start, a step and a dilation",
       [=](builder& b) {
         return raw(b, op::window, dtype::f32, {2, 2}, {3}, {0});
       }},
      {"a concat's sizes do not add up",
       [=](builder& b) {
         return raw(b, op::concat, dtype::f32, {5}, {3, 3}, {0});
       }},
      {"a concat's operands differ in rank",
       [=](builder& b) {
         return raw(b, op::concat, dtype::f32, {2, 6}, {0, 3}, {1});
       }},
      {"a concat's operands differ on another axis than the joined",
       [=](builder& b) {
         return raw(b, op::concat, dtype::f32, {3, 6}, {0, 0}, {1});
       }},
      {"a movement changes the dtype",
       [=](builder& b) { return raw(b, op::reshape, dtype::f64, {6}, {0}, {}); }},
      {"a reduction has no axis",
       [=](builder& b) {
         return raw(b, op::sum, dtype::f32, {2, 3}, {0}, {});
       }},
      {"a reduction's axes are not ascending axes of its operand",
       [=](builder& b) {
         return raw(b, op::sum, dtype::f32, {2}, {0}, {1, 0});
       }},
      {"a reduction's shape is not what its axes leave",
       [=](builder& b) { return raw(b, op::sum, dtype::f32, {3}, {0}, {1}); }},
      {"a reduction is not of numbers", [](builder& b) { return b.reduce(op::sum, 2, i0); }},
      {"any or all does not give b8", [=](builder& b) { return raw(b, op::any, dtype::f32, {3}, {0}, {0}); }},
      {"one label of an einsum has two sizes",
       [=](builder& b) {
         return raw(b, op::einsum, dtype::f32, {}, {0}, {0, 0});
       }},
      {"an einsum's result has a label of no operand",
       [=](builder& b) {
         return raw(b, op::einsum, dtype::f32, {3}, {3}, {0, 1});
       }},
      {"an einsum's result has a label twice",
       [=](builder& b) {
         return raw(b, op::einsum, dtype::f32, {3, 3}, {3}, {0, 0, 0});
       }},
      {"an einsum's result has not a label for each axis",
       [=](builder& b) {
         return raw(b, op::einsum, dtype::f32, {3, 3}, {3}, {0, 0});
       }},
      {"an einsum lacks labels", [=](builder& b) { return raw(b, op::einsum, dtype::f32, {}, {0}, {0}); }},
      {"an einsum's label is out of range",
       [=](builder& b) { return raw(b, op::einsum, dtype::f32, {}, {3}, {64}); }},
      {"an einsum mixes dtypes without a cast",
       [=](builder& b) {
         return raw(b, op::einsum, dtype::f32, {}, {0, 1}, {0, 1, 0, 1});
       }},
      {"an index is not of integers", [](builder& b) { return b.gather(0, 3, 0); }},
      {"the shapes of a gather or scatter_add do not fit its index",
       [=](builder& b) {
         return raw(b, op::gather, dtype::f32, {2, 2}, {0, b.iota(0, dtype::i32, {4})}, {1});
       }},
      {"the axis of a gather or scatter_add is not one of the shape",
       [=](builder& b) {
         return raw(b, op::gather, dtype::f32, {2, 4}, {0, b.iota(0, dtype::i32, {4})}, {2});
       }},
      {"an iota's axis is not one of the shape", [](builder& b) { return b.iota(1, dtype::i32, {4}); }},
      {"an input's slot is out of range", [](builder& b) { return b.input(-1, dtype::f32, {}); }},
      {"two inputs of one slot differ in dtype or shape",
       [](builder& b) { return b.input(0, dtype::f32, {}); }},
      {"a complex number is computed with",
       [](builder& b) { return b.unary(op::neg, b.input(9, dtype::c64, {})); }},
      {"a complex number is computed with", [](builder& b) { return b.constant(1, dtype::c64, {}); }},
  };
  return all;
}

nk::builder beginning() {
  nk::builder b;
  b.input(0, dtype::f32, {2, 3});
  b.input(1, dtype::f64, {2, 3});
  b.input(2, dtype::b8, {2, 3});
  b.input(3, dtype::f32, {3});
  return b;
}

}  // namespace

TEST_CASE("verify names the first wrong node and what is wrong") {
  for (const mistake& m : mistakes()) {
    nk::builder b = beginning();
    b.output(0);
    REQUIRE(nk::passes::verify(b.view()).none());
    const int wrong = m.make(b);
    INFO(m.sentence);
    const nk::passes::flaw found = nk::passes::verify(b.view());
    CHECK(found.node == wrong);
    CHECK(found.sentence == m.sentence);
  }
}

TEST_CASE("verify sees what is wrong with no node") {
  nk::builder b = beginning();
  CHECK(nk::passes::verify(b.view()).sentence == "the graph has no output");
  b.output(4);
  CHECK(nk::passes::verify(b.view()).sentence == "an output is no node");
  b.result.outputs[0] = 0;
  CHECK(nk::passes::verify(b.view()).none());
  b.result.shapes.push_back({2, 3});
  CHECK(nk::passes::verify(b.view()).sentence == "the table of shapes has a shape twice");
  b.result.shapes.back() = {std::size_t{1} << 40, std::size_t{1} << 40};
  CHECK(nk::passes::verify(b.view()).sentence == "a shape has more elements than can be counted");
}

TEST_CASE("verify reads only the graph, whatever is in it") {
  // Every integer of a legal graph replaced in turn: with the sanitizers, nothing outside is read.
  const nk::graph g = nk::testing::random_graph(1, {.operations = 30});
  REQUIRE(nk::passes::verify(g.view()).none());
  int refused = 0;
  for (std::size_t i = 0; i < g.pool.size(); ++i)
    for (std::int32_t value : {-2, 1000, 2147483647}) {
      nk::graph broken = g;
      broken.pool[i] = value;
      refused += !nk::passes::verify(broken.view()).none();
    }
  CHECK(refused >= static_cast<int>(2 * g.pool.size()));
  for (std::size_t i = 0; i < g.nodes.size(); ++i) {
    nk::graph broken = g;
    broken.nodes[i].shape_id = 99;
    CHECK(nk::passes::verify(broken.view()).node == static_cast<int>(i));
    broken = g;
    broken.nodes[i].first_operand = 2147483647;
    CHECK(!nk::passes::verify(broken.view()).none());
    broken = g;
    broken.nodes[i].kind = op::count_;
    CHECK(nk::passes::verify(broken.view()).node == static_cast<int>(i));
    broken = g;
    broken.nodes[i].type = static_cast<dtype>(16);
    CHECK(nk::passes::verify(broken.view()).node == static_cast<int>(i));
  }
}

TEST_CASE("verify sees what is wrong with an attention") {
  using form = nk::row::attention_form;
  constexpr std::int32_t q = form::query, k = form::key, d = form::hidden, w = form::value,
                         o = form::first_outer;
  struct attempt {
    const char* sentence;
    std::vector<std::int32_t> attributes;
    dtype type = dtype::f32;
    nk::shape result{5, 2, 3};
    nk::shape mask{};  // of as many axes as there are labels behind v's
    dtype mask_type = dtype::f32;
  };
  // q (5, 2, 4), k (5, 6, 4), v (5, 6, 3)
  const std::vector<std::int32_t> good{o, q, d, o, k, d, o, k, w, o, q, w, 1, 0, 0, 0};
  const auto with = [&](std::size_t at, std::int32_t value) {
    std::vector<std::int32_t> changed = good;
    changed[at] = value;
    return changed;
  };
  const auto masked = [&](std::int32_t first, std::int32_t second, std::int32_t part = 0) {
    std::vector<std::int32_t> changed = good;
    changed.insert(changed.begin() + 9, {first, second});
    changed.back() = part;
    return changed;
  };
  std::vector<std::int32_t> shorter(good.begin(), good.begin() + 5);
  const std::vector<attempt> attempts = {
      {"", good},
      {"an attention lacks labels", shorter},
      {"an attention's label is out of range", with(0, static_cast<std::int32_t>(form::label_count))},
      {"an attention's label is out of range", with(4, -1)},
      {"an attention's operand has a label twice", with(2, q)},
      {"one label of an attention has two sizes", with(5, q)},
      {"an attention's output has a label of no operand", with(9, o + 1)},
      {"an attention's labels are not those of queries, keys, values, their mask and their output",
       with(11, d)},
      {"an attention is neither causal nor full", with(12, 2)},
      {"", with(13, 1)},
      {"an attention of a window is not causal", with(13, -1)},
      {"an attention has no such part", with(15, 2)},
      {"an attention has no such part", with(15, 5)},
      {"an attention has no such part", with(15, 6)},
      {"", masked(q, k), dtype::f32, {5, 2, 3}, {2, 6}},
      {"", masked(o, k), dtype::f32, {5, 2, 3}, {5, 6}, dtype::b8},
      {"", masked(q, k, 5), dtype::f32, {5, 2}, {2, 6}},
      {"one label of an attention has two sizes", masked(q, k), dtype::f32, {5, 2, 3}, {6, 2}},
      {"an attention's operand has a label twice", masked(k, k), dtype::f32, {5, 2, 3}, {6, 6}},
      {"an attention's labels are not those of queries, keys, values, their mask and their output",
       masked(k, d),
       dtype::f32,
       {5, 2, 3},
       {6, 4}},
      {"an attention's labels are not those of queries, keys, values, their mask and their output",
       masked(k, w),
       dtype::f32,
       {5, 2, 3},
       {6, 3}},
      {"an attention's mask is neither numbers nor truths",
       masked(q, k),
       dtype::f32,
       {5, 2, 3},
       {2, 6},
       dtype::i32},
      {"an attention changes the dtype without a cast", good, dtype::f64},
      {"an attention's shape is not its part's", good, dtype::f32, {5, 3, 2}},
      {"an attention's shape is not its part's", with(15, 1)},
      {"", with(15, 1), dtype::f32, {5, 2}},
  };
  for (const attempt& a : attempts) {
    nk::builder b;
    const std::int32_t xs[] = {b.input(0, dtype::f32, {5, 2, 4}), b.input(1, dtype::f32, {5, 6, 4}),
                               b.input(2, dtype::f32, {5, 6, 3}), b.input(3, a.mask_type, a.mask)};
    b.output(b.emit(
        {op::attention, a.type, b.result.intern(a.result), {xs, a.mask.empty() ? 3u : 4u}, a.attributes, 1}));
    INFO(a.sentence);
    CHECK(nk::passes::verify(b.view()).sentence == a.sentence);
  }
  nk::builder b;
  const int y = nk::primitive<op::attention_backward>::example(b, 0);
  b.output(y);
  CHECK(nk::passes::verify(b.view()).none());
  for (const int operand : {3, 4, 5}) {
    nk::builder wrong;
    wrong.result = b.result;
    const std::int32_t other = wrong.input(9, dtype::f64, {7});
    std::vector<std::int32_t> xs, attributes;
    for (const std::int32_t x : b.view().operands(y)) xs.push_back(x);
    for (const std::int32_t l : b.view().attributes(y)) attributes.push_back(l);
    xs[static_cast<std::size_t>(operand)] = other;
    wrong.emit({op::attention_backward, dtype::f64, wrong[y].shape_id, xs, attributes, 1});
    CHECK(nk::passes::verify(wrong.view()).sentence ==
          (operand == 3 ? "an attention's adjoint has another shape than its output"
                        : "an attention's sums have another shape than its queries"));
  }
  // Without deltas, which one with a mask has.
  for (const bool with_mask : {false, true}) {
    nk::builder without;
    const int given = nk::primitive<op::attention_backward>::example(without, with_mask ? 3 : 0);
    std::vector<std::int32_t> xs, attributes;
    for (const std::int32_t x : without.view().operands(given)) xs.push_back(x);
    for (const std::int32_t l : without.view().attributes(given)) attributes.push_back(l);
    xs.erase(xs.begin() + 5);
    without.output(
        without.emit({op::attention_backward, dtype::f64, without[given].shape_id, xs, attributes, 1}));
    CHECK(nk::passes::verify(without.view()).sentence ==
          (with_mask ? "the number of operands is not the row's" : ""));
  }
}
