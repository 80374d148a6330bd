// What the GPU's threads compute, run on the host: the same as the CPU's kernels, to the rounding of sums.
#include "napkin/cuda/fused.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "support/device_graphs.hpp"
#include "support/device_run.hpp"
#include "support/run_teams.hpp"

namespace nk = napkin;

TEST_CASE("a plan for the device, its kernels by teams of threads, gives what the CPU gives") {
  nk::testing::for_each_device_graph([]<class Make>(std::type_identity<Make>, double tolerance) {
    const nk::testing::device_case<Make> c;
    std::vector<const void*> from;
    for (const auto& x : c.inputs) from.push_back(x.data());
    auto given = c.outputs();
    std::vector<void*> to;
    for (auto& o : given) to.push_back(o.data());
    nk::testing::team_executor<nk::on_cuda::frozen_plan<Make>>(from, to).run();
    c.check(given, tolerance);
  });
}
