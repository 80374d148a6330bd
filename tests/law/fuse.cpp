// Fused equals unfused, bit for bit, on random graphs over every operation, at any number of threads, with
// whatever the arena held before; and both are what each operation's own formula gives.
#include "napkin/passes/fuse.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>

#include "napkin/cpu/threads.hpp"
#include "napkin/passes/interpret.hpp"
#include "napkin/passes/print.hpp"
#include "napkin/passes/verify.hpp"
#include "support/planned.hpp"
#include "support/random_graph.hpp"
#include "support/run_plan.hpp"

namespace nk = napkin;
namespace cpu = napkin::on_cpu;
using nk::testing::random_graph_options;
using nk::testing::raw_bytes;

namespace {

constexpr auto as_ones = std::byte{0xff};  // NaN, -1, true

cpu::plan_options with(nk::passes::fuse_options fuse) {
  cpu::plan_options options;
  options.fuse = fuse;
  return options;
}

std::string difference(const nk::graph_view& g, const std::vector<raw_bytes>& a,
                       const std::vector<raw_bytes>& b) {
  for (std::size_t k = 0; k < a.size(); ++k) {
    const nk::dtype type = g[g.outputs[k]].type;
    const std::ptrdiff_t i = nk::testing::first_difference(a[k], b[k], type);
    if (i < 0) continue;
    const auto at = static_cast<std::size_t>(i);
    return "output " + std::to_string(k) + " (%" + std::to_string(g.outputs[k]) + ") element " +
           std::to_string(i) + ": " + std::to_string(nk::testing::to_doubles(a[k], type)[at]) + " and " +
           std::to_string(nk::testing::to_doubles(b[k], type)[at]);
  }
  return {};
}

/// No two buffers that live at a time share a byte.
std::string overlap(const nk::graph_view& lowered, cpu::plan_options options) {
  const cpu::plan p = nk::testing::planned<nk::on_cpu::target>(lowered, options);
  const auto& lives = p.lives;
  const nk::passes::memory_plan memory = cpu::plan_memory_of(lives.data(), lives.size());
  for (std::size_t a = 0; a < lives.size(); ++a) {
    if (memory.offsets[a] + lives[a].bytes > p.peak) return "a buffer ends beyond the arena";
    for (std::size_t b = 0; b < a; ++b)
      if (lives[a].first <= lives[b].last && lives[b].first <= lives[a].last &&
          memory.offsets[a] < memory.offsets[b] + lives[b].bytes &&
          memory.offsets[b] < memory.offsets[a] + lives[a].bytes)
        return "buffers " + std::to_string(a) + " and " + std::to_string(b) + " overlap";
  }
  return {};
}

/// Node `id` of g alone, over inputs in its operands' place; their magnitudes if asked for.
nk::graph alone(const nk::graph_view& g, int id, bool magnitudes) {
  nk::builder b;
  std::vector<std::int32_t> xs;
  for (std::int32_t x : g.operands(id)) {
    const int in = b.input(static_cast<int>(xs.size()), g[x].type, g.shape_of(x));
    xs.push_back(magnitudes && nk::is_floating(g[x].type) ? b.unary(nk::op::abs, in) : in);
  }
  const nk::node& n = g[id];
  b.output(b.emit(
      {n.kind, n.type, b.result.intern(g.shape_of(id)), {xs.data(), xs.size()}, g.attributes(id), n.value}));
  return b.result;
}

/// Every node of `lowered`, from the operands that the kernels themselves made, against its own formula.
/// Elementwise operations and movement are exact; what is summed may differ by the order of summing.
std::string broken_node(const nk::graph& lowered, const std::vector<raw_bytes>& inputs) {
  const nk::graph_view g = lowered.view();
  nk::graph all = lowered;
  all.outputs.clear();
  for (int id = 0; id < static_cast<int>(g.size()); ++id) all.outputs.push_back(id);
  const nk::graph every = nk::passes::legalize(all.view());
  const auto out = nk::testing::run_lowered(every.view(), with({false}), inputs, as_ones);
  std::vector<std::vector<double>> values;
  for (int id = 0; id < static_cast<int>(g.size()); ++id)
    values.push_back(nk::testing::to_doubles(out[static_cast<std::size_t>(id)], g[id].type));
  for (int id = 0; id < static_cast<int>(g.size()); ++id) {
    const nk::node& n = g[id];
    const auto& found = values[static_cast<std::size_t>(id)];
    std::vector<std::vector<double>> operands;
    for (std::int32_t x : g.operands(id)) operands.push_back(values[static_cast<std::size_t>(x)]);
    const auto want =
        n.kind == nk::op::input
            ? nk::testing::to_doubles(inputs[static_cast<std::size_t>(g.attribute(id, 0))], n.type)
            : interpret(alone(g, id, false).view(), operands, nk::rounding::as_typed)[0];
    const bool adds = n.kind == nk::op::sum || n.kind == nk::op::product || n.kind == nk::op::einsum ||
                      n.kind == nk::op::scatter_add;
    std::vector<double> slack(want.size(), 0);
    if (adds && nk::is_floating(n.type)) {
      double terms = 2;
      for (std::int32_t x : g.operands(id)) terms *= 1 + static_cast<double>(numel(g.shape_of(x)));
      terms = n.kind == nk::op::einsum ? std::sqrt(terms) : terms;  // at most the smaller operand's elements
      if (!(terms < 1000)) terms = 1000;
      const bool half = n.type == nk::dtype::f16 || n.type == nk::dtype::bf16;
      const double unit = n.type == nk::dtype::f64 ? 0x1p-53 : n.type == nk::dtype::f32 ? 0x1p-24 : 0x1p-8;
      const double least = n.type == nk::dtype::f64 ? 0x1p-1074 : half ? 0x1p-24 : 0x1p-149;  // subnormal
      slack = interpret(alone(g, id, true).view(), operands, nk::rounding::none)[0];
      for (double& s : slack) s = terms * (s * unit + least);
    }
    if (nk::category_of(n.kind) ==
        nk::category::attention) {  // of operands that random_graph bounds, but for dy
      double size = 1;
      for (std::size_t k = 0; k < operands.size() && k < 4; ++k)
        for (const double x : operands[k]) size = std::fmax(size, std::fabs(x));
      const double unit = n.type == nk::dtype::f64 ? 0x1p-53 : n.type == nk::dtype::f32 ? 0x1p-24 : 0x1p-8;
      slack.assign(want.size(), 1000 * size * unit);
    }
    for (std::size_t i = 0; i < want.size(); ++i) {
      const bool both_nan = want[i] != want[i] && found[i] != found[i];
      if (both_nan || want[i] == found[i] || std::abs(want[i] - found[i]) <= slack[i]) continue;
      return "%" + std::to_string(id) + " element " + std::to_string(i) + ": " + std::to_string(found[i]) +
             ", not " + std::to_string(want[i]);
    }
  }
  return {};
}

struct seen {
  std::size_t kernels_fused = 0, kernels_unfused = 0, values = 0, not_finite = 0, blocks = 0;
};

/// Empty where all is well. `seed` is the inputs'.
std::string broken(const nk::graph& g, std::uint64_t seed, seen* tally = nullptr) {
  const nk::graph lowered = nk::testing::lowered(g.view());
  if (const auto flaw = nk::passes::verify(lowered.view()); !flaw.none())
    return "lowered: node " + std::to_string(flaw.node) + ": " + std::string(flaw.sentence);
  const auto inputs = nk::testing::typed_inputs(g.view(), nk::testing::random_inputs(g.view(), seed));
  cpu::set_threads(1);
  const auto run = [&](nk::passes::fuse_options fuse, std::byte poison) {
    return nk::testing::run_lowered(lowered.view(), with(fuse), inputs, poison);
  };
  const auto unfused = run({false}, as_ones);
  const auto named = [](const char* what, const std::string& text) {
    return text.empty() ? text : what + (": " + text);
  };
  std::string fault = named("fused", difference(lowered.view(), run({true}, as_ones), unfused));
  if (fault.empty()) fault = named("arena of zeros", difference(lowered.view(), run({true}, {}), unfused));
  for (const std::size_t most : {2u, 5u})
    if (fault.empty())
      fault = named("small kernels", difference(lowered.view(), run({true, most}, as_ones), unfused));
  for (const std::size_t threads : {2u, 3u}) {
    if (!fault.empty()) break;
    cpu::set_threads(threads);
    fault = named("threads", difference(lowered.view(), run({true}, as_ones), unfused));
    cpu::set_threads(1);
  }
  if (fault.empty()) fault = named("one node", broken_node(lowered, inputs));
  for (const bool fuse : {true, false})
    if (fault.empty()) fault = overlap(lowered.view(), with({fuse}));
  if (tally != nullptr) {
    const cpu::plan fused = nk::testing::planned<nk::on_cpu::target>(lowered.view(), with({true}));
    tally->kernels_fused += fused.kernels.size();
    tally->kernels_unfused +=
        nk::testing::planned<nk::on_cpu::target>(lowered.view(), with({false})).kernels.size();
    for (const auto& k : fused.kernels) tally->blocks = k.blocks > tally->blocks ? k.blocks : tally->blocks;
    for (std::size_t k = 0; k < unfused.size(); ++k)
      for (double x : nk::testing::to_doubles(unfused[k], lowered.view()[lowered.outputs[k]].type))
        ++tally->values, tally->not_finite += !(x - x == 0);
  }
  return fault.empty() ? fault : fault + "\n" + nk::to_string(lowered.view());
}

std::string broken(std::uint64_t seed, const random_graph_options& options, seen* tally = nullptr) {
  return broken(nk::testing::random_graph(seed, options), seed, tally);
}

/// The first fault among `count` graphs, of the shortest graph with that seed that has one.
std::string first_fault(std::uint64_t first, std::uint64_t count, random_graph_options options, seen& tally) {
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    if (broken(seed, options, &tally).empty()) continue;
    for (options.operations = 1; broken(seed, options).empty();) ++options.operations;
    return "seed " + std::to_string(seed) + ", " + std::to_string(options.operations) +
           " operations: " + broken(seed, options);
  }
  return {};
}

}  // namespace

TEST_CASE("fused equals unfused on small random graphs") {
  seen tally;
  CHECK(first_fault(0, 800, {.type = nk::dtype::f64}, tally) == "");
  CHECK(first_fault(1000, 800, {.type = nk::dtype::f32}, tally) == "");
  // The evidence is worth something: much is fused, and values are numbers.
  CHECK(tally.kernels_fused * 2 < tally.kernels_unfused);
  CHECK(tally.not_finite * 50 < tally.values);
}

TEST_CASE("fused equals unfused on rows longer than the lanes") {
  seen tally;
  random_graph_options options{.operations = 25, .max_numel = 3000};
  options.inputs = {nk::shape{3, 37}, nk::shape{2, 3, 37}, nk::shape{37}};
  CHECK(first_fault(2000, 250, options, tally) == "");
  options.inputs = {nk::shape{16, 17}, nk::shape{3, 16, 17}, nk::shape{17}};
  options.type = nk::dtype::f32;
  CHECK(first_fault(3000, 250, options, tally) == "");
}

TEST_CASE("fused equals unfused where kernels have several blocks") {
  seen tally;
  random_graph_options options{.type = nk::dtype::f32, .operations = 16, .max_numel = 120000};
  options.inputs = {nk::shape{300, 96}, nk::shape{2, 300, 96}, nk::shape{96}};
  options.only_elementwise_and_reductions = true;
  CHECK(first_fault(4000, 60, options, tally) == "");
  CHECK(tally.blocks > 4);
}

namespace {

/// A product of few rows or one, perhaps of several matrices, and what follows it: bias, relu, and what reads
/// that. `cut` counts products that kernels follow in several blocks of one row.
nk::graph product_and_more(std::uint64_t seed, int& cut) {
  nk::testing::random_source random(seed);
  const auto one_of = [&](std::initializer_list<std::size_t> all) {
    return all.begin()[random.below(all.size())];
  };
  const nk::dtype type = random.chance(0.5)   ? nk::dtype::f32
                         : random.chance(0.5) ? nk::dtype::f64
                                              : nk::dtype::bf16;
  const std::size_t batch = one_of({1, 1, 1, 3}), rows = one_of({1, 1, 1, 2, 7}),
                    columns = one_of({130, 1200, 3001, 9001, 20000}),
                    summed = columns > 8192 ? 70 : one_of({64, 784});
  nk::builder b;
  const int a = b.input(0, type, {batch, rows, summed}), w = b.input(1, type, {batch, summed, columns}),
            bias = b.input(2, type, {columns});
  const std::int32_t product_labels[] = {0, 1, 2, 0, 2, 3}, result_labels[] = {0, 1, 3},
                     along[] = {-1, -1, 0};
  const std::int32_t operands[] = {a, w};
  const nk::shape all{batch, rows, columns};
  int y = b.einsum(operands, product_labels, result_labels);
  if (random.chance(0.7)) y = b.add(y, b.expand(bias, all, along));
  y = b.binary(nk::op::maximum, y, b.constant(0, type, all));
  if (random.chance(0.5)) {
    y = b.mul(y, b.constant(2, type, all));
    const std::int32_t next[] = {y, b.input(3, type, {columns, 8})}, next_labels[] = {0, 1, 2, 2, 3},
                       of_next[] = {0, 1, 3};
    b.output(b.einsum(next, next_labels, of_next));
  }
  const std::int32_t last[] = {2};
  if (random.chance(0.3)) b.output(b.reduce(nk::op::max, y, last));
  if (b.result.outputs.empty() || random.chance(0.6)) b.output(y);
  const nk::graph lowered = nk::testing::lowered(b.view());
  const cpu::plan p = nk::testing::planned<nk::on_cpu::target>(lowered.view());
  for (const nk::planning::instruction& now : p.instructions) {
    if (now.epilogue < 0) continue;
    const auto& product =
        p.products[static_cast<std::size_t>(p.contractions[static_cast<std::size_t>(now.index)].product)];
    cut += product.m == 1 && product.n_blocks() > 1;
  }
  return b.result;
}

}  // namespace

TEST_CASE("fused equals unfused where kernels follow products that are cut into blocks") {
  int cut = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    INFO("seed " << seed);
    REQUIRE(broken(product_and_more(seed, cut), seed) == "");
  }
  CHECK(cut >= 5);
}

TEST_CASE("fused equals unfused in 16 bits") {
  seen tally;
  for (const nk::dtype type : {nk::dtype::bf16, nk::dtype::f16}) {
    random_graph_options options{.type = type};
    options.only_elementwise_and_reductions = true;
    CHECK(first_fault(5000, 100, options, tally) == "");
    options.inputs = {nk::shape{3, 37}, nk::shape{2, 3, 37}, nk::shape{37}};
    options.max_numel = 3000;
    CHECK(first_fault(6000, 20, options, tally) == "");
  }
}

TEST_CASE("fused equals unfused over empty axes") {
  seen tally;
  for (const std::size_t size : {0u, 1u}) {
    random_graph_options options{.type = nk::dtype::f32, .operations = 20};
    options.only_elementwise_and_reductions = true;
    options.inputs = {nk::shape{3, size}, nk::shape{size, 3, 1}, nk::shape{size}};
    CHECK(first_fault(7000, 120, options, tally) == "");
  }
}

TEST_CASE("a value per row that is also read across rows stays outside the kernel") {
  nk::builder b;
  const nk::shape square{5, 5};
  const std::int32_t last[] = {1}, along[] = {0, -1}, across[] = {-1, 0};
  const int x = b.input(0, nk::dtype::f32, square);
  const int per_row = b.unary(nk::op::tanh, b.input(1, nk::dtype::f32, {5}));
  const int y = b.add(x, b.expand(per_row, square, along));
  const int centred = b.sub(y, b.expand(b.reduce(nk::op::sum, y, last), square, along));
  b.output(centred);
  CHECK(broken(b.result, 1) == "");
  CHECK(nk::testing::planned<nk::on_cpu::target>(nk::testing::lowered(b.view()).view()).kernels.size() == 1);
  b.output(b.mul(centred, b.expand(per_row, square, across)));
  CHECK(broken(b.result, 1) == "");
  CHECK(nk::testing::planned<nk::on_cpu::target>(nk::testing::lowered(b.view()).view()).kernels.size() == 2);
}
