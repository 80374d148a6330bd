// Scales as powers of two, by the bits of what was largest: against the library's logarithms.
#include "napkin/core/delayed_scale.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

namespace nk = napkin;

static_assert(nk::ceil_log2(1) == 0);
static_assert(nk::ceil_log2(1.5f) == 1);
static_assert(nk::ceil_log2(std::numeric_limits<float>::denorm_min()) == -149);
static_assert(nk::power_of_two(-126) == std::numeric_limits<float>::min());
static_assert(nk::scale_power(0.26f, 0) == 1);

TEST_CASE("ceil_log2: of every exponent, subnormal ones too, below, at and above a power of two") {
  for (int e = -149; e <= 127; ++e) {
    const float power = std::ldexp(1.0f, e);
    CHECK(nk::ceil_log2(power) == e);
    if (e < 127) CHECK(nk::ceil_log2(std::nextafter(power, 2 * power)) == e + 1);
    const float below = std::nextafter(power, 0.0f);
    if (e > -148) CHECK(nk::ceil_log2(below) == e);
    if (e >= -126) CHECK(nk::power_of_two(e) == power);
  }
  CHECK(nk::ceil_log2(std::numeric_limits<float>::max()) == 128);
}

TEST_CASE("a scale's power: what was largest, scaled, is in the upper half of what is left, within limits") {
  for (const int margin : {0, 1, 5})
    for (float most = 0x1p-40f; most < 0x1p40f; most *= 1.7f) {
      const float scaled = most * nk::power_of_two(nk::scale_power(most, margin));
      CHECK(scaled <= std::ldexp(1.0f, -margin));
      CHECK(scaled > std::ldexp(0.5f, -margin));
    }
  CHECK(nk::scale_power(std::numeric_limits<float>::max(), 0) == -63);
  CHECK(nk::scale_power(std::numeric_limits<float>::denorm_min(), 0) == 63);
  CHECK(nk::scale_power(1, std::numeric_limits<int>::min()) == 63);
  CHECK(nk::scale_power(1, std::numeric_limits<int>::max()) == -63);
  for (const float unknown : {0.0f, std::numeric_limits<float>::quiet_NaN()})
    CHECK(nk::scale_power(unknown, 3) == 0);
}

TEST_CASE("the larger of two numbers, in either order: one that is none is not lost") {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const auto larger = [](float x, float y) { return nk::scale_memory::larger(x, y); };
  CHECK(larger(1, 2) == 2);
  CHECK(larger(2, 1) == 2);
  CHECK(larger(inf, 1) == inf);
  for (const float x : {0.0f, 3.0f, inf, nan}) {
    CHECK(std::isnan(larger(nan, x)));
    CHECK(std::isnan(larger(x, nan)));
  }
}
