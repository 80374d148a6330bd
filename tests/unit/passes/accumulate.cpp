// Gradients of a batch's share of the loss, added to what lies there: several batches come to the mean's
// gradient, and what is added has the shape that the sum is computed in.
#include "napkin/passes/accumulate.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <vector>

#include "napkin/passes/fuse.hpp"
#include "napkin/passes/interpret.hpp"
#include "napkin/passes/scaled_gradients.hpp"
#include "napkin/passes/verify.hpp"

namespace nk = napkin;

namespace {

constexpr nk::dtype f64 = nk::dtype::f64;
using numbers = std::vector<double>;
using inputs = std::vector<numbers>;

/// The mean of (x w)^2 + b x over x [4]: w [4] is slot 0 and is reshaped from [2, 2], b is slot 1, x slot 2.
nk::graph mean_loss() {
  nk::builder b;
  b.simplify = true;
  const int w = b.reshape(b.input(0, f64, {2, 2}), {4}), bias = b.input(1, f64, {4}),
            x = b.input(2, f64, {4});
  const int product = b.mul(x, w);
  const std::int32_t all[] = {0};
  const int sum = b.reduce(nk::op::sum, b.add(b.mul(product, product), b.mul(bias, x)), all);
  b.output(b.scale(sum, 0.25));
  return b.take();
}
constexpr std::array<std::int32_t, 2> parameters{0, 1};

nk::graph gradients(double share) {
  const nk::graph loss = mean_loss();
  std::vector<std::int32_t> wanted;
  for (const std::int32_t slot : parameters)
    for (int id = 0; id < static_cast<int>(loss.nodes.size()); ++id)
      if (loss.nodes[id].kind == nk::op::input && loss.view().attribute(id, 0) == slot) wanted.push_back(id);
  return nk::passes::differentiate_share(loss.view(), {wanted.data(), wanted.size()}, share);
}

}  // namespace

TEST_CASE("differentiate_share: the gradients are the share's, the loss is whole") {
  const inputs given{{1, 2, 3, 4}, {0.5, 1, 1.5, 2}, {2, -1, 4, 3}};
  const auto whole = nk::interpret(gradients(1).view(), given),
             part = nk::interpret(gradients(0.5).view(), given);
  REQUIRE(whole.size() == 3);
  REQUIRE(part.size() == 3);
  CHECK(part[0] == whole[0]);
  for (std::size_t o = 1; o < 3; ++o) {
    REQUIRE(whole[o].size() == 4);
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(whole[o][i] != 0);
      CHECK(part[o][i] == 0.5 * whole[o][i]);
    }
  }
}

TEST_CASE("accumulate: batch after batch, the sum is the mean's gradient") {
  const nk::graph one = gradients(0.5), adding = nk::passes::accumulate(one.view(), 1, 2);
  CHECK(nk::passes::verify(adding.view()).sentence == "");
  CHECK(one.view().next_slot() == 3);
  CHECK(adding.view().next_slot() == 5);
  const inputs batches{{2, -1, 4, 3}, {-3, 5, 1, 2}};
  inputs sums{{0, 0, 0, 0}, {0, 0, 0, 0}}, expected = sums;
  for (const numbers& x : batches) {
    const inputs given{{1, 2, 3, 4}, {0.5, 1, 1.5, 2}, x};
    inputs with_sums = given;
    with_sums.insert(with_sums.end(), sums.begin(), sums.end());
    const auto found = nk::interpret(adding.view(), with_sums);
    const auto whole = nk::interpret(gradients(1).view(), given);
    CHECK(found[0] == whole[0]);
    for (std::size_t p = 0; p < 2; ++p) {
      sums[p] = found[1 + p];
      for (std::size_t i = 0; i < 4; ++i) expected[p][i] += whole[1 + p][i] / 2;
    }
  }
  CHECK(sums == expected);
}

TEST_CASE("accumulate: each sum is made where its gradient is, of one node however many") {
  nk::builder b;
  const int x = b.input(0, f64, {3}), z = b.unary(nk::op::exp, x), y = b.unary(nk::op::neg, x),
            last = b.unary(nk::op::abs, x);
  for (const int out : {z, y, y, last}) b.output(out);
  const nk::graph adding = nk::passes::accumulate(b.view(), 1, 2);
  CHECK(nk::passes::verify(adding.view()).sentence == "");
  CHECK(adding.outputs[0] < adding.outputs[1]);
  CHECK(adding.outputs[1] < adding.outputs[2]);
  CHECK(adding.outputs[2] < adding.outputs[3]);
  for (const std::size_t o : {1u, 2u}) CHECK(nk::passes::is_accumulation(adding.nodes[adding.outputs[o]]));
  for (const std::size_t o : {0u, 3u}) CHECK(!nk::passes::is_accumulation(adding.nodes[adding.outputs[o]]));
  const auto found = nk::interpret(adding.view(), inputs{{0, 0, 0}, {1, 2, 3}, {4, 5, 6}});
  CHECK(found == inputs{{1, 1, 1}, {1, 2, 3}, {4, 5, 6}, {0, 0, 0}});
}

TEST_CASE("accumulate: what is added lies as the sum is computed, not as it is reshaped") {
  nk::builder b;
  const int x = b.input(0, f64, {2, 3});
  b.output(b.reshape(b.unary(nk::op::neg, x), {6}));
  const nk::graph adding = nk::passes::accumulate(b.view(), 0, 1);
  int added = -1;
  for (int id = 0; id < static_cast<int>(adding.nodes.size()); ++id)
    if (adding.nodes[id].kind == nk::op::input && adding.view().attribute(id, 0) == 1) added = id;
  REQUIRE(added >= 0);
  CHECK(adding.view().shape_of(added) == nk::shape{2, 3});
  CHECK(adding.view().shape_of(adding.outputs[0]) == nk::shape{6});
  const auto found = nk::interpret(adding.view(), inputs{{1, 2, 3, 4, 5, 6}, {10, 20, 30, 40, 50, 60}});
  CHECK(found[0] == numbers{9, 18, 27, 36, 45, 54});
}
