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

TEST_CASE("a plan gives on the device what it gives on the CPU, the same bits each time") {
  if (const std::string reason = nk::testing::why_no_device(); !reason.empty()) SKIP(reason);
  nk::testing::device_runner runner;
  const auto kernels = nk::testing::device_kernels();
  std::size_t next = 0;
  nk::testing::for_each_device_graph([&]<class Make>(std::type_identity<Make>, double tolerance) {
    INFO("graph " << next);
    const nk::testing::device_case<Make> c;
    using plan = nk::on_cuda::frozen_plan<Make>;
    const nk::testing::launch_check launches(plan::view(), plan::graph());
    runner.run(plan::view(), kernels[next++], c.inputs, c.outputs(), [&](const auto& given) {
      launches.check();
      c.check(given, tolerance);
    });
  });
}
