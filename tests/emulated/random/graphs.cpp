// Random graphs and their gradients, each as nvcc compiles its kernels, against plain loops: whatever a program
// and a geometry make of a kernel's template.
#include <catch2/catch.hpp>

#include "emulated/random/compiled.hpp"
#include "support/random_case.hpp"
#include "support/run_on_device.hpp"

namespace nk = napkin;

TEST_CASE("kernels of random graphs, as nvcc compiles them, give what plain loops give") {
  std::size_t kernels = 0, taken = 0, judged = 0, unsteady = 0;
  for (const nk::testing::random_graphs::compiled_graph& of : nk::testing::random_graphs::all()) {
    INFO(of.kind << " of seed " << of.seed);
    nk::testing::random_case c(of.make(), of.seed);
    const auto check = [&](const std::vector<nk::testing::raw_bytes>& given) {
      CHECK(c.fault_of(given) == "");
    };
    nk::testing::device_runner runner;
    runner.run(of.plan.plan, of.plan.kernels, c.inputs, c.outputs(), check, of.same);
    if (of.same.count == 0)
      taken += runner.run_with_taken(of.plan.plan, of.plan.kernels, c.inputs, c.outputs(), check);
    kernels += of.plan.plan.count.kernels;
    judged += c.judged, unsteady += c.unsteady;
  }
  CAPTURE(kernels, taken, judged, unsteady);
  CHECK(kernels > 800);
  CHECK(taken > 0);
  CHECK(unsteady < judged);
}
