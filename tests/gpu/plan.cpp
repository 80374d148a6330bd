// Whole plans on a GPU: kernels, products, movements.
#include <catch2/catch.hpp>

#include "support/device_graphs.hpp"
#include "support/device_here.hpp"
#include "support/device_kernels.hpp"
#include "support/device_run.hpp"
#include "support/launch_check.hpp"
#include "support/run_on_device.hpp"
#include "support/skip.hpp"

namespace nk = napkin;

TEST_CASE(
    "a plan gives on the device what it gives on the CPU, the same bits each time; so do kernels that take "
    "in a product") {
  if (const std::string reason = nk::testing::why_no_device(); !reason.empty()) SKIP(reason);
  nk::testing::device_runner runner;
  const auto plans = nk::testing::device_plans();
  std::size_t next = 0, taken = 0;
  nk::testing::for_each_device_graph([&]<class Make>(std::type_identity<Make>, double tolerance) {
    INFO("graph " << next);
    const nk::testing::device_case c(Make::make().view());
    const nk::testing::compiled_plan& made = plans[next++];
    const nk::testing::launch_check launches(made.plan, made.lowered);
    runner.run(made.plan, made.kernels, c.inputs, c.outputs(), [&](const auto& given) {
      launches.check();
      c.check(given, tolerance);
    });
    taken += runner.run_with_taken(made.plan, made.kernels, c.inputs, c.outputs(),
                                   [&](const auto& given) { c.check(given, tolerance); });
  });
  CHECK(taken > 0);
}
