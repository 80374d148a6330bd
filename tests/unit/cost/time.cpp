// What is refused of devices and measured times while running.
#include "napkin/cost/time.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>

#include "napkin/cpu/cost.hpp"
#include "napkin/ops/matmul.hpp"

namespace nk = napkin;

namespace {
struct m : nk::dim<"m", 8> {};
struct k : nk::dim<"k", 16> {};
struct n : nk::dim<"n", 4> {};
using product = decltype(nk::matmul(std::declval<nk::tensor<nk::f32, m, k>>(),
                                    std::declval<nk::tensor<nk::f32, k, n>>()));
}  // namespace

TEST_CASE("a device is found by the name that its driver reports, and no other stands in for it", "[time]") {
  CHECK(&nk::device_named("NVIDIA H100 80GB HBM3") == &nk::h100_sxm);
  CHECK(&nk::device_named("NVIDIA H100 PCIe") == &nk::h100_pcie);
  for (const nk::listed_device& d : nk::known_devices)
    CHECK(&nk::device_named(std::string_view(d.is->name)) == d.is);
  for (const char* unknown : {"", "NVIDIA H100", "nvidia h200", "NVIDIA L40S", "NVIDIA H200 NVL"})
    CHECK_THROWS_AS(nk::device_named(unknown), nk::input_error);
  try {
    nk::device_named("NVIDIA L40S");
  } catch (const nk::input_error& e) {
    CHECK(std::string(e.what()).find("NVIDIA L40S") != std::string::npos);
    CHECK(std::string(e.what()).find("NVIDIA H200 SXM") != std::string::npos);
  }
}

TEST_CASE("the documents name every device and where its vendor publishes it", "[time]") {
  std::ifstream in(NAPKIN_SOURCE_DIR "/docs/accounting.md");
  std::ostringstream text;
  text << in.rdbuf();
  for (const nk::listed_device& d : nk::known_devices) {
    INFO(std::string_view(d.is->name));
    CHECK(text.str().find(std::string_view(d.is->name)) != std::string::npos);
    CHECK(text.str().find(d.address) != std::string::npos);
  }
}

TEST_CASE("a utilisation above 1 is no measurement", "[time]") {
  CHECK(nk::utilisation(500, 100, {10}) == 0.5);
  CHECK(nk::utilisation(1'000, 100, {10}) == 1);
  CHECK_THROWS_AS(nk::utilisation(1'001, 100, {10}), nk::input_error);
  CHECK_THROWS_AS(nk::utilisation(1, 0, {10}), nk::input_error);
  CHECK_THROWS_AS(nk::utilisation(1, -1, {10}), nk::input_error);
  CHECK_THROWS_AS(nk::utilisation(1, std::nan(""), {10}), nk::input_error);
  CHECK_THROWS_AS(nk::utilisation(1, 1, {}), nk::input_error);
}

TEST_CASE("a peak that is not known is not guessed", "[time]") {
  nk::plan_line line;
  line.flops.matmul = 10;
  line.operands = line.others = nk::dtype::f64;
  CHECK_THROWS_AS(nk::bound_of(line, nk::h100_sxm), nk::input_error);
  const nk::device with_f64 = nk::h100_sxm.with(nk::arithmetic::f64, {5});
  CHECK(nk::bound_of(line, with_f64).seconds() == 2);
  line.operands = line.type = nk::dtype::f8e4m3;
  CHECK_NOTHROW(nk::bound_of(line, nk::h100_sxm));
  CHECK_THROWS_AS(nk::bound_of(line, nk::a100_80gb), nk::input_error);
  CHECK_THROWS_AS(nk::bound_of({}, nk::device{"nothing"}), nk::input_error);
}

TEST_CASE("the bound of a device known while running is that of the constant", "[time]") {
  const nk::time_bound t = nk::time_on_device<product>(nk::device_named("NVIDIA H200"));
  CHECK(t.seconds == nk::time_on<nk::h200, product>.seconds);
  CHECK(t.seconds > 0);
  CHECK(nk::mfu<product>(nk::h200, 2 * t.seconds) <= 0.5);
  CHECK_THROWS_AS(nk::mfu<product>(nk::h200, 1e-15), nk::input_error);
}
