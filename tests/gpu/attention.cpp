// The library's kernels of attention on a GPU, against plain loops in f64: every one that is compiled.
#include "support/attention_on_device.hpp"
#include "support/checked_by.hpp"
#include "support/device_here.hpp"
#include "support/skip.hpp"

namespace nk = napkin;
using namespace nk::testing::attention;

namespace {

/// What the fast kernels take, and what only the general ones do. Under racecheck some of it: few keys, masks
/// and wide heads are in plan.cpp's plans too.
template <class T>
void check_on_device(double tolerance) {
  check_all<T>(tolerance, on_device);
  if (nk::testing::is_checked_by("racecheck")) return;
  check_short<T>(tolerance, on_device);
  check_masked<T>(tolerance, on_device);
  check_general<T>(tolerance, on_device);
}

}  // namespace

// Tolerances are of a tensor's largest element: PyTorch's for the dtype.
TEST_CASE("attention's kernels in f32 on the device") {
  if (const std::string reason = nk::testing::why_no_device(); !reason.empty()) SKIP(reason);
  check_on_device<float>(1e-5);
  check_endless_scores<float>(on_device);
}
TEST_CASE("attention's kernels in bf16 on the device") {
  if (const std::string reason = nk::testing::why_no_device(); !reason.empty()) SKIP(reason);
  check_on_device<nk::bf16>(1.6e-2);
  check_endless_scores<nk::bf16>(on_device);
}
TEST_CASE("attention's kernels in f16 on the device") {
  if (const std::string reason = nk::testing::why_no_device(); !reason.empty()) SKIP(reason);
  check_on_device<nk::f16>(2e-3);
}
TEST_CASE("attention's kernels in f64 on the device") {  // the general ones
  if (const std::string reason = nk::testing::why_no_device(); !reason.empty()) SKIP(reason);
  check_all<double>(1e-13, on_device);
  if (!nk::testing::is_checked_by("racecheck")) check_general<double>(1e-13, on_device);
}
TEST_CASE("attention's masks in f64 on the device", "[slowly_checked]") {
  if (const std::string reason = nk::testing::why_no_device(); !reason.empty()) SKIP(reason);
  check_masked<double>(1e-13, on_device);
}
