// Whether the comparison that plans on a device are judged by sees what is wrong.
#include "support/device_run.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "support/device_graphs.hpp"

namespace nk = napkin;

namespace {

/// How many elements of an output can each be moved by so much of its largest without being noticed.
std::size_t unnoticed(const nk::testing::device_case& c, std::vector<double> y, std::size_t output,
                      double by) {
  double largest = 0;
  for (const double x : y) largest = std::fmax(largest, std::fabs(x));
  std::size_t n = 0;
  for (double& x : y)
    for (const double sign : {1.0, -1.0}) {
      const double right = x;
      x += sign * by * largest;
      n += c.far_from_exact(y, output, 1e-5).empty();
      x = right;
    }
  return n;
}

}  // namespace

TEST_CASE(
    "a device's sums of products may be off as their terms make them, and no element by 1e-5 of the "
    "largest") {
  const nk::testing::device_case c(nk::testing::layer_gradients<nk::dtype::f32>::make().view());
  REQUIRE(c.expected.size() == 5);
  for (std::size_t o = 0; o < c.expected.size(); ++o) {
    INFO("output " << o);
    const std::vector<double> y = nk::testing::to_doubles(c.expected[o], nk::dtype::f32);
    CHECK(c.far_from_exact(y, o, 1e-5) == "");
    CHECK(unnoticed(c, y, o, 1e-5) == 0);
    CHECK(unnoticed(c, y, o, 1e-6) == 2 * y.size());
  }
}
