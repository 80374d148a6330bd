// Whole plans on a GPU: kernels, products, movements.
#include <catch2/catch.hpp>

#include "support/device_graphs.hpp"
#include "support/device_here.hpp"
#include "support/device_kernels.hpp"
#include "support/device_run.hpp"
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
    runner.run(nk::on_cuda::frozen_plan<Make>::view(), kernels[next++], c.inputs, c.outputs(),
               [&](const auto& given) { c.check(given, tolerance); });
  });
}
