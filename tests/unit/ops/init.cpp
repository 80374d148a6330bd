// Initialisers: the moments and bounds that each promises, and that an element depends on seed, name and
// place alone. Bounds on moments are five standard errors.
#include "napkin/ops/init.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <thread>
#include <vector>

namespace nk = napkin;

namespace {

constexpr std::size_t count = 200'000;

struct moments {
  double mean = 0, variance = 0, fourth = 0, low = 0, high = 0;
};
moments moments_of(const nk::init& i) {
  std::vector<float> values(count);
  i.fill(3, "weight", values.data(), count);
  moments m;
  for (const float v : values) m.mean += static_cast<double>(v) / count;
  m.low = m.high = static_cast<double>(values[0]);
  for (const float v : values) {
    const double x = static_cast<double>(v), d = x - m.mean;
    m.variance += d * d / count;
    m.fourth += d * d * d * d / count;
    m.low = std::min(m.low, x);
    m.high = std::max(m.high, x);
  }
  return m;
}

/// deviation: of the distribution; flat: its fourth moment over the variance squared.
void check(const nk::init& i, double deviation, double flat) {
  const moments m = moments_of(i);
  const double root = std::sqrt(static_cast<double>(count)), variance = deviation * deviation;
  CHECK(std::abs(m.mean) * root <= 5 * deviation);
  CHECK(std::abs(m.variance - variance) * root <= 5 * variance * std::sqrt(flat - 1));
  CHECK(std::abs(m.fourth / (variance * variance) - flat) <= 0.02 * flat);
}

}  // namespace

TEST_CASE("init: normal ones have the deviation that they say") {
  check(nk::init::normal(0.02), 0.02, 3);
  check(nk::init::xavier_normal(30, 50), std::sqrt(2.0 / 80), 3);
  check(nk::init::xavier_normal(30, 50, 2), 2 * std::sqrt(2.0 / 80), 3);
  check(nk::init::kaiming_normal(50), 0.2, 3);
  check(nk::init::kaiming_normal(25, 1), 0.2, 3);
  check(nk::init::residual(8), 0.005, 3);
  CHECK(std::abs(moments_of(nk::init::normal(0.02, 1)).mean - 1) <= 1e-3);
}

TEST_CASE("init: uniform ones fill their interval") {
  check(nk::init::uniform(-0.3, 0.3), 0.3 / std::sqrt(3.0), 1.8);
  check(nk::init::xavier_uniform(30, 50), std::sqrt(2.0 / 80), 1.8);
  check(nk::init::kaiming_uniform(50), 0.2, 1.8);
  for (const auto& [i, bound] : {std::pair{nk::init::xavier_uniform(30, 50), std::sqrt(6.0 / 80)},
                                 std::pair{nk::init::kaiming_uniform(50), std::sqrt(6.0 / 50)}}) {
    const moments m = moments_of(i);
    CHECK(m.low >= -bound * (1 + 1e-6));
    CHECK(m.high <= bound * (1 + 1e-6));
    CHECK(m.low <= -0.999 * bound);
    CHECK(m.high >= 0.999 * bound);
  }
}

TEST_CASE("init: a truncated normal ends at three deviations") {
  // E z^2 and E z^4 given |z| <= 3: by parts, from the density and the distribution function at 3.
  const double density = std::exp(-4.5) / std::sqrt(2 * 3.14159265358979323846);
  const double inside = std::erf(3 / std::sqrt(2.0));
  const double second = 1 - 2 * 3 * density / inside;
  const double fourth = 3 * second - 2 * 27 * density / inside;
  check(nk::init::fan_in(64), std::sqrt(second) / 8, fourth / (second * second));
  const moments m = moments_of(nk::init::fan_in(64));
  CHECK(m.low >= -3.0 / 8);
  CHECK(m.high <= 3.0 / 8);
  CHECK(m.low < -2.9 / 8);
  CHECK(m.high > 2.9 / 8);
  const moments narrow = moments_of(nk::init::truncated_normal(1, 0.5));
  CHECK(narrow.low >= -0.5);
  CHECK(narrow.high <= 0.5);
}

TEST_CASE("init: constants") {
  CHECK(moments_of(nk::init::zeros()).high == 0);
  CHECK(moments_of(nk::init::ones()).low == 1);
  CHECK(moments_of(nk::init::constant(0.25)).high == 0.25);
}

TEST_CASE("init: an element is a function of seed, name and place, on any thread") {
  const nk::init all[] = {nk::init::normal(1), nk::init::uniform(-1, 1), nk::init::fan_in(4)};
  for (const nk::init& i : all) {
    std::vector<float> one(1000), other(1000), shorter(10);
    i.fill(3, "weight", one.data(), one.size());
    std::thread([&] { i.fill(3, "weight", other.data(), other.size()); }).join();
    CHECK(std::memcmp(one.data(), other.data(), one.size() * sizeof(float)) == 0);
    i.fill(3, "weight", shorter.data(), shorter.size());
    CHECK(std::memcmp(one.data(), shorter.data(), shorter.size() * sizeof(float)) == 0);
    i.fill(4, "weight", other.data(), other.size());
    CHECK(std::memcmp(one.data(), other.data(), one.size() * sizeof(float)) != 0);
    i.fill(3, "bias", other.data(), other.size());
    CHECK(std::memcmp(one.data(), other.data(), one.size() * sizeof(float)) != 0);
  }
}
