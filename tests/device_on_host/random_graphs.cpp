// Random graphs and their gradients, lowered and planned for a GPU, and for the CPU, give what plain loops give:
// whatever is fused, joined, made again, split, stored once, put behind a product or added where it lies. Kernels are
// interpreted; all else is what runs on a device, and what an instruction does to memory that is not its own is told
// (instructions.cpp). How kernels are compiled is asked of graphs that are constants (tests/gpu, tests/emulated).
#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "napkin/passes/print.hpp"
#include "support/accumulated.hpp"
#include "support/host_device.hpp"
#include "support/host_interpreter.hpp"
#include "support/planned.hpp"
#include "support/product_graphs.hpp"
#include "support/random_case.hpp"
#include "support/run_on_device.hpp"
#include "support/run_plan.hpp"

namespace nk = napkin;
using nk::testing::in_place;
using nk::testing::random_graph_options;
using nk::testing::raw_bytes;

namespace {

/// What the graphs made the device do, so that a test whose graphs have become harmless fails.
struct tally {
  std::size_t judged = 0, unsteady = 0;  // elements; unsteady: roundings decide what they are
  std::size_t columns = 0, epilogues = 0, attentions = 0, movements = 0;

  void add(const nk::on_cuda::plan& p) {
    columns += p.columns.size(), attentions += p.attentions.size(), movements += p.movements.size();
    for (const auto& c : p.contractions) epilogues += c.members > 0;
  }
};

/// `lowered`, which is `g` for a device, run there on inputs drawn by `seed`; empty where all is well.
std::string fault_on_device(nk::graph g, const nk::graph& lowered, std::uint64_t seed, tally& seen,
                            in_place same = {}) {
  nk::testing::random_case c(std::move(g), seed);
  const nk::on_cuda::plan plan = nk::testing::planned<nk::on_cuda::target>(lowered.view());
  const nk::on_cuda::plan_view view = nk::planning::view_of(plan);
  seen.add(plan);
  std::string fault;
  const auto check_at = [&](const char* where, const std::vector<raw_bytes>& given) {
    const std::string here = c.fault_of(given);
    if (fault.empty() && !here.empty()) fault = where + (' ' + here);
  };
  check_at("on the CPU", nk::testing::run_lowered(nk::testing::lowered<nk::on_cpu::target>(c.g.view()).view(),
                                                  {}, c.inputs, std::byte{0x7f}));
  const auto check = [&](const std::vector<raw_bytes>& given) { check_at("on the device", given); };
  const nk::testing::interpreted_launches kernels(view);
  nk::testing::host_device d;
  d.cuda.random.seed(static_cast<unsigned>(seed));
  nk::testing::device_runner(d.cuda, d.blas).run(view, kernels.table(), c.inputs, c.outputs(), check, same);
  seen.judged += c.judged, seen.unsteady += c.unsteady;
  if (fault.empty() && !d.cuda.misuse.empty()) fault = d.cuda.misuse.front();
  return fault.empty() ? fault : fault + "\n" + nk::to_string(lowered.view());
}
std::string fault_on_device(const nk::graph& g, std::uint64_t seed, tally& seen, in_place same = {}) {
  return fault_on_device(g, nk::testing::lowered<nk::on_cuda::target>(g.view()), seed, seen, same);
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
    const nk::graph g = nk::testing::gradients_of(draw(seed), seed);
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
