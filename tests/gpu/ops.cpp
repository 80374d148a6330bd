// Every operation of the table in every dtype on a GPU, against plain loops in f64 and the CPU's kernels.
#include <catch2/catch.hpp>

#include "napkin/cuda/plan.hpp"
#include "support/device_here.hpp"
#include "support/device_kernels.hpp"
#include "support/op_case.hpp"
#include "support/op_graphs.hpp"
#include "support/run_on_device.hpp"
#include "support/skip.hpp"

namespace nk = napkin;

TEST_CASE("each operation in each dtype on the device is its formula in f64") {
  if (const std::string reason = nk::testing::why_no_device(); !reason.empty()) SKIP(reason);
  nk::testing::device_runner runner;
  const auto plans = nk::testing::op_plans();
  std::size_t next = 0;
  nk::testing::for_each_op_graph_of_gpus([&]<class Make>(std::type_identity<Make>) {
    const nk::testing::op_case c(Make::make());
    const nk::testing::compiled_plan& made = plans[next++];
    runner.run(made.plan, made.kernels, c.inputs, c.outputs(), [&](const auto& given) { c.check(given); });
  });
}
