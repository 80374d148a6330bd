// Memory is asked for in whole sectors, and written in them: nvcc takes stores of 16 bytes apart if it may.
#include "emulated/rows.hpp"

#include <catch2/catch.hpp>

#include "emulated/device.hpp"

namespace {

void check_sectors(void (*run)()) {
  napkin::testing::counts_since();
  run();
  const napkin::testing::ptx::counts c = napkin::testing::counts_since();
  CAPTURE(c.load_bytes, c.load_sectors, c.store_bytes, c.store_sectors, c.instructions);
  REQUIRE(c.store_sectors > 0);
  CHECK(c.store_bytes >= 31 * c.store_sectors);  // single numbers are written too
  CHECK(c.load_bytes >= 31 * c.load_sectors);
}

}  // namespace

TEST_CASE("emulated: adjacent elements move in whole sectors") {
  SECTION("elementwise") { check_sectors(napkin::testing::run_elementwise); }
  SECTION("softmax of long rows") { check_sectors(napkin::testing::run_long_softmax); }
  SECTION("sums over rows") { check_sectors(napkin::testing::run_column_sums); }
  SECTION("sums by indices") { check_sectors(napkin::testing::run_scattered_sums); }
}
