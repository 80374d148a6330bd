// Random graphs and their gradients, lowered and planned for a GPU, and for the CPU, give what plain loops give:
// whatever is fused, joined, made again, split, stored once, put behind a product or added where it lies. Kernels are
// interpreted; all else is what runs on a device, and what an instruction does to memory that is not its own is told
// (instructions.cpp). How kernels are compiled is asked of graphs that are constants (tests/gpu, tests/emulated).
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>

#include "napkin/passes/differentiate.hpp"
#include "napkin/passes/interpret.hpp"
#include "napkin/passes/print.hpp"
#include "support/accumulated.hpp"
#include "support/host_device.hpp"
#include "support/host_interpreter.hpp"
#include "support/planned.hpp"
#include "support/product_graphs.hpp"
#include "support/rounding_noise.hpp"
#include "support/run_on_device.hpp"
#include "support/run_plan.hpp"
#include "support/tolerance.hpp"

namespace nk = napkin;
using nk::testing::in_place;
using nk::testing::random_graph_options;
using nk::testing::raw_bytes;

namespace {

/// How many times what two sound ways may differ by (support/rounding_noise.hpp) they do differ by at most.
/// Of all graphs below the worst is 8 in f32 and f64, 0.4 in 16 bits; a wrong operand is some 10^6 in f32.
constexpr double most_noise(nk::dtype of) { return nk::is_small_float(of) ? 1.5 : 32; }

/// What the graphs made the device do, so that a test whose graphs have become harmless fails.
struct tally {
  std::size_t judged = 0, unsteady = 0;  // elements; unsteady: roundings decide what they are
  std::size_t columns = 0, epilogues = 0, attentions = 0, movements = 0;

  void add(const nk::on_cuda::plan& p) {
    columns += p.columns.size(), attentions += p.attentions.size(), movements += p.movements.size();
    for (const auto& c : p.contractions) epilogues += c.members > 0;
  }
};

/// A graph's inputs as tensors, and as what these hold.
struct drawn_inputs {
  std::vector<raw_bytes> typed;
  std::vector<std::vector<double>> values;
};
drawn_inputs draw_inputs(const nk::graph_view& g, std::uint64_t seed) {
  drawn_inputs made;
  made.typed = nk::testing::typed_inputs(g, nk::testing::random_inputs(g, seed));
  made.values.resize(made.typed.size());
  for (int id = 0; id < static_cast<int>(g.size()); ++id)
    if (g[id].kind == nk::op::input) {
      const auto slot = static_cast<std::size_t>(g.attribute(id, 0));
      made.values[slot] = nk::testing::to_doubles(made.typed[slot], g[id].type);
    }
  return made;
}

/// `lowered`, which is `g` for a device, run there on inputs drawn by `seed`; empty where all is well.
std::string fault_on_device(const nk::graph& g, const nk::graph& lowered, std::uint64_t seed, tally& seen,
                            in_place same = {}) {
  const drawn_inputs inputs = draw_inputs(g.view(), seed);
  const auto expected = nk::interpret(g.view(), inputs.values, nk::rounding::as_typed);
  const auto noise = nk::testing::rounding_noise(g.view(), inputs.values, seed);
  nk::dtype narrowest = nk::dtype::f64;
  for (const nk::node& n : g.nodes)
    if (n.kind == nk::op::input && nk::is_small_float(n.type)) narrowest = n.type;
  const auto type_of_output = [&](std::size_t o) { return lowered.nodes[lowered.outputs[o]].type; };

  const nk::on_cuda::plan plan = nk::testing::planned<nk::on_cuda::target>(lowered.view());
  const nk::on_cuda::plan_view view = nk::planning::view_of(plan);
  seen.add(plan);
  std::vector<raw_bytes> room;
  for (std::size_t o = 0; o < expected.size(); ++o)
    room.emplace_back(expected[o].size() * nk::size_of(type_of_output(o)), std::byte{0x7f});
  std::string fault;
  const auto check_at = [&](const char* where, const std::vector<raw_bytes>& given) {
    for (std::size_t o = 0; o < given.size(); ++o) {
      const std::vector<double> found = nk::testing::to_doubles(given[o], type_of_output(o));
      for (std::size_t i = 0; i < found.size(); ++i) {
        const double x = found[i], y = expected[o][i];
        const bool overflows = narrowest == nk::dtype::f16 && !std::isfinite(y);  // on the way, perhaps
        const bool steady = noise[o][i] < std::numeric_limits<double>::infinity() && !overflows;
        ++(steady ? seen.judged : seen.unsteady);
        const bool near = x == y || (std::isnan(x) && std::isnan(y)) ||
                          std::fabs(x - y) <= most_noise(narrowest) * noise[o][i];
        if (steady && !near && fault.empty())
          fault = where + (" output " + std::to_string(o)) + ' ' + nk::testing::difference_at(i, x, y);
      }
    }
  };
  check_at("on the CPU", nk::testing::run_lowered(nk::testing::lowered<nk::on_cpu::target>(g.view()).view(),
                                                  {}, inputs.typed, std::byte{0x7f}));
  const auto check = [&](const std::vector<raw_bytes>& given) { check_at("on the device", given); };
  const nk::testing::interpreted_launches kernels(view);
  nk::testing::host_device d;
  d.cuda.random.seed(static_cast<unsigned>(seed));
  nk::testing::device_runner(d.cuda, d.blas).run(view, kernels.table(), inputs.typed, room, check, same);
  if (fault.empty() && !d.cuda.misuse.empty()) fault = d.cuda.misuse.front();
  return fault.empty() ? fault : fault + "\n" + nk::to_string(lowered.view());
}
std::string fault_on_device(const nk::graph& g, std::uint64_t seed, tally& seen, in_place same = {}) {
  return fault_on_device(g, nk::testing::lowered<nk::on_cuda::target>(g.view()), seed, seen, same);
}

/// The gradient by the first three inputs of what a loss might be of a graph's outputs; with the loss. None
/// of it are outputs of large numbers, whose sines are roundings.
nk::graph gradients_of(const nk::graph& g, std::uint64_t seed) {
  const auto values = nk::interpret(g.view(), nk::testing::random_inputs(g.view(), seed), nk::rounding::none);
  nk::builder b;
  b.result = g;
  std::int32_t loss = b.constant(0, nk::dtype::f64, {});
  for (std::size_t o = 0; o < values.size(); ++o) {
    const std::int32_t out = g.outputs[o];
    const bool small =
        std::all_of(values[o].begin(), values[o].end(), [](double x) { return std::fabs(x) < 1000; });
    if (!nk::is_floating(g.nodes[out].type) || !small) continue;
    std::vector<std::int32_t> axes;
    for (std::size_t i = 0; i < b.shape_of(out).size(); ++i) axes.push_back(static_cast<std::int32_t>(i));
    std::int32_t x = b.unary(nk::op::sin, out);
    if (!axes.empty()) x = b.reduce(nk::op::sum, x, {axes.data(), axes.size()});
    loss = b.add(loss, b.cast(x, nk::dtype::f64));
  }
  b.result.outputs.clear();
  b.output(loss);
  const std::int32_t inputs[] = {0, 1, 2};
  return nk::passes::differentiate(b.view(), inputs);
}

std::string first_fault(std::uint64_t seeds, tally& seen, const random_graph_options& options) {
  for (std::uint64_t seed = 0; seed < seeds; ++seed)
    if (const std::string fault = fault_on_device(nk::testing::random_graph(seed, options), seed, seen);
        !fault.empty())
      return "seed " + std::to_string(seed) + ": " + fault;
  return {};
}
/// Of products, as they are and added to what lies there.
std::string first_fault_of_products(std::uint64_t seeds, tally& seen, nk::dtype type) {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const nk::graph g = nk::testing::product_graphs(seed, type).run();
    std::string fault = fault_on_device(g, seed, seen);
    if (fault.empty()) {
      const nk::testing::accumulated a = nk::testing::accumulate_all(g);
      fault = fault_on_device(a.g, seed, seen, a.same);
    }
    if (!fault.empty()) return "seed " + std::to_string(seed) + ": " + fault;
  }
  return {};
}
template <class Draw>
std::string first_fault_of_gradients(std::uint64_t seeds, tally& seen, Draw&& draw) {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const nk::graph g = gradients_of(draw(seed), seed);
    if (const std::string fault = fault_on_device(g, nk::testing::lowered_step(g.view()), seed, seen);
        !fault.empty())
      return "seed " + std::to_string(seed) + ": " + fault;
  }
  return {};
}

/// All that the tests below ask, of `share` times as many graphs.
void check_random_graphs(std::uint64_t share) {
  tally seen;
  for (const nk::dtype type : {nk::dtype::f64, nk::dtype::f32})
    CHECK(first_fault(50 * share, seen, {.type = type}) == "");
  CHECK(seen.unsteady * 20 < seen.judged);
  CHECK(seen.attentions > 20 * share);
  CHECK(seen.movements > 100 * share);
}
void check_rows(std::uint64_t share) {
  tally seen;
  random_graph_options longer{.type = nk::dtype::f64, .operations = 25, .max_numel = 3000};
  longer.inputs = {nk::shape{3, 37}, nk::shape{2, 3, 37}, nk::shape{37}};
  CHECK(first_fault(10 * share, seen, longer) == "");
  // Of the largest the sums are split.
  random_graph_options more{.type = nk::dtype::f32, .operations = 16, .max_numel = 320000};
  more.inputs = {nk::shape{300, 512}, nk::shape{2, 300, 512}, nk::shape{512}};
  more.only_elementwise_and_reductions = true;
  CHECK(first_fault(2 * share, seen, more) == "");
  CHECK(seen.unsteady * 20 < seen.judged);
  for (const std::size_t size : {0u, 1u}) {
    random_graph_options empty{.type = nk::dtype::f32, .operations = 20};
    empty.only_elementwise_and_reductions = true;
    empty.inputs = {nk::shape{3, size}, nk::shape{size, 3, 1}, nk::shape{size}};
    CHECK(first_fault(10 * share, seen, empty) == "");
  }
}
void check_products(std::uint64_t share) {
  for (const nk::dtype type : {nk::dtype::f64, nk::dtype::f32, nk::dtype::bf16, nk::dtype::f16}) {
    CAPTURE(nk::name_of(type));
    tally seen;
    CHECK(first_fault_of_products(15 * share, seen, type) == "");
    CHECK(seen.epilogues > share);
    CHECK(seen.columns > 10 * share);
    CHECK(seen.unsteady < seen.judged);
  }
}
void check_gradients(std::uint64_t share) {
  tally seen;
  for (const nk::dtype type : {nk::dtype::f64, nk::dtype::f32}) {
    CAPTURE(nk::name_of(type));
    CHECK(first_fault_of_gradients(20 * share, seen, [=](std::uint64_t seed) {
            return nk::testing::random_graph(seed, {.type = type, .operations = 20});
          }) == "");
    CHECK(first_fault_of_gradients(10 * share, seen, [=](std::uint64_t seed) {
            return nk::testing::product_graphs(seed, type).run();
          }) == "");
  }
  CHECK(seen.unsteady * 2 < seen.judged);
  CHECK(seen.epilogues > share);
  CHECK(seen.attentions > 5 * share);
}

}  // namespace

TEST_CASE("random graphs give on the device and on the CPU what plain loops give") { check_random_graphs(1); }
TEST_CASE("so do those of longer rows, of more of them, and of none") { check_rows(1); }
TEST_CASE("so do products, what stands behind them, and what these are added to") { check_products(1); }
TEST_CASE("so do gradients, with what is made again") { check_gradients(1); }

TEST_CASE("twenty times as many random graphs give what plain loops give", "[.long]") {
  check_random_graphs(20);
  check_rows(20);
  check_products(20);
  check_gradients(20);
}
