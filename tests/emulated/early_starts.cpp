// Kernels start early where the code that a device has of them waits then: a plan's and the library's.
#include <catch2/catch.hpp>

#include "emulated/device.hpp"
#include "napkin/cuda/launch.hpp"
#include "support/device_kernels.hpp"

namespace on_cuda = napkin::on_cuda;

TEST_CASE("emulated: kernels that were compiled for earlier devices are known not to wait") {
  const auto plans = napkin::testing::device_plans();
  for (const int version : {90, 100, 89, 75}) {
    napkin::testing::said_ptx_version = version;
    CAPTURE(version);
    CHECK(on_cuda::library_waits_for_earlier() == (version >= 90));
    std::size_t kernels = 0;
    for (const napkin::testing::compiled_plan& made : plans)
      for (std::size_t k = 0; k < made.plan.count.kernels; ++k)
        if (made.kernels[k].waits != nullptr) {
          ++kernels;
          CHECK(made.kernels[k].waits() == (version >= 90));
        }
    CHECK(kernels > 100);
  }
  napkin::testing::said_ptx_version = 90;
}
