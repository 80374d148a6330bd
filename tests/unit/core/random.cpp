// The distributions: moments, Kolmogorov-Smirnov distance and independence of neighbours at fixed seeds, and
// the same bits in constant evaluation, one by one and in a vector loop. Bounds are five standard errors.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <napkin/core/random.hpp>
#include <vector>

#include "support/compare.hpp"

namespace nk = napkin;

namespace {

constexpr std::size_t count = 200'000;
constexpr nk::random_stream stream = nk::stream_of(1, "tests.random");

template <class Draw>
std::vector<double> sample(Draw draw) {
  std::vector<double> values(count);
  std::size_t finite = 0;
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<double>(draw(i));
    finite += std::isfinite(values[i]);
  }
  REQUIRE(finite == count);
  return values;
}

/// The larger error, NaN being the largest.
double worse(double a, double b) { return a <= b || std::isnan(b) ? b : a; }

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

/// The mean of the k-th power of the distance from centre.
double moment(const std::vector<double>& values, double centre, int k) {
  double sum = 0;
  for (const double v : values) sum += std::pow(v - centre, k);
  return sum / static_cast<double>(values.size());
}

/// sqrt(n) times the largest distance between the sample's and the given distribution function; above 1.95
/// with a probability of 0.001.
template <class Distribution>
double kolmogorov_smirnov(std::vector<double> values, Distribution distribution) {
  std::sort(values.begin(), values.end());
  const double n = static_cast<double>(values.size());
  double distance = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double f = distribution(values[i]), rank = static_cast<double>(i);
    for (const double step : {rank, rank + 1})
      distance = nk::testing::worst_of(distance, std::abs(f - step / n));
  }
  return std::sqrt(n) * distance;
}

/// The correlation of element i and i + lag, times sqrt(n): a standard normal if they are independent.
double correlation(const std::vector<double>& values, std::size_t lag) {
  const double centre = mean(values), variance = moment(values, centre, 2);
  double sum = 0;
  for (std::size_t i = lag; i < values.size(); ++i) sum += (values[i] - centre) * (values[i - lag] - centre);
  return sum / variance / std::sqrt(static_cast<double>(values.size()));
}

const double root_count = std::sqrt(static_cast<double>(count));

double normal_distribution(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

}  // namespace

TEMPLATE_TEST_CASE("uniform is uniform on [0, 1)", "[random]", float, double) {
  const auto values = sample([](std::size_t i) { return nk::uniform<TestType>(stream, i); });
  CHECK(*std::min_element(values.begin(), values.end()) >= 0);
  CHECK(*std::max_element(values.begin(), values.end()) < 1);
  CHECK(std::abs(mean(values) - 0.5) * root_count <= 5 * std::sqrt(1.0 / 12));
  CHECK(std::abs(moment(values, 0.5, 2) - 1.0 / 12) * root_count <= 5 * std::sqrt(1.0 / 180));
  CHECK(kolmogorov_smirnov(values, [](double x) { return x; }) <= 1.95);
  for (const std::size_t lag : {1u, 2u, 3u, 4u, 8u, 16u}) CHECK(std::abs(correlation(values, lag)) <= 5);
}

TEMPLATE_TEST_CASE("normal is standard normal", "[random]", float, double) {
  const auto values = sample([](std::size_t i) { return nk::normal<TestType>(stream, i); });
  CHECK(std::abs(mean(values)) * root_count <= 5);
  CHECK(std::abs(moment(values, 0, 2) - 1) * root_count <= 5 * std::sqrt(2.0));
  CHECK(std::abs(moment(values, 0, 3)) * root_count <= 5 * std::sqrt(15.0));
  CHECK(std::abs(moment(values, 0, 4) - 3) * root_count <= 5 * std::sqrt(96.0));
  CHECK(kolmogorov_smirnov(values, normal_distribution) <= 1.95);
  for (const std::size_t lag : {1u, 2u, 3u, 4u, 8u, 16u}) CHECK(std::abs(correlation(values, lag)) <= 5);
  auto squares = values;
  for (double& v : squares) v *= v;
  for (const std::size_t lag : {1u, 2u, 3u, 4u}) CHECK(std::abs(correlation(squares, lag)) <= 5);
}

TEST_CASE("a pair of normals is a radius and an angle", "[random]") {
  double worst = 0;
  for (std::uint64_t j = 0; j < 10'000; ++j) {
    const nk::philox_counter words = nk::random_block(stream, j);
    for (std::uint64_t pair = 0; pair < 2; ++pair) {
      const double u = (static_cast<double>(words[2 * pair] >> 1) + 1) * 0x1p-31;
      const double angle = 2 * 3.14159265358979323846 * static_cast<double>(words[2 * pair + 1]) * 0x1p-32;
      const double r = std::sqrt(-2 * std::log(u));
      const double cosine = nk::normal<float>(stream, 4 * j + 2 * pair) - r * std::cos(angle);
      const double sine = nk::normal<float>(stream, 4 * j + 2 * pair + 1) - r * std::sin(angle);
      worst = worse(worst, worse(std::abs(cosine), std::abs(sine)) * r / (1 + r * r));
    }
  }
  // u near 1 is rounded by up to 2^-25, which changes r by 2^-25 / r; elsewhere a few ulp of r.
  CHECK(worst <= 0x1p-22);
}

TEMPLATE_TEST_CASE("truncated_normal is the normal within its bounds", "[random]", float, double) {
  const std::array<std::array<double, 2>, 5> intervals{{{-2, 2}, {-0.5, 3}, {1, 1.5}, {2.5, 4}, {-5, 5}}};
  for (const auto& [low, high] : intervals) {
    CAPTURE(low, high);
    const TestType from = static_cast<TestType>(low), to = static_cast<TestType>(high);
    const auto values =
        sample([&](std::size_t i) { return nk::truncated_normal<TestType>(stream, i, from, to); });
    CHECK(*std::min_element(values.begin(), values.end()) >= low);
    CHECK(*std::max_element(values.begin(), values.end()) <= high);
    const double below = normal_distribution(low), inside = normal_distribution(high) - below;
    CHECK(kolmogorov_smirnov(values, [&](double z) { return (normal_distribution(z) - below) / inside; }) <=
          1.95);
  }
}

TEST_CASE("truncated_normal inverts the distribution function", "[random]") {
  double worst = 0;
  for (std::uint64_t i = 0; i < 50'000; ++i) {
    const double z = nk::truncated_normal<double>(stream, i, -4.0, 4.0);
    const double inside = std::erf(4 / std::sqrt(2.0));
    const double u = (std::erf(z / std::sqrt(2.0)) / inside + 1) / 2;
    worst = worse(worst, std::abs(u - nk::uniform<double>(stream, i)));
  }
  CHECK(worst <= 1e-12);
}

TEST_CASE("integer is uniform below its bound", "[random]") {
  for (const std::uint32_t bound : {1u, 2u, 3u, 10u, 1000u}) {
    CAPTURE(bound);
    std::vector<double> seen(bound);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint32_t v = nk::integer(stream, i, bound);
      REQUIRE(v < bound);
      seen[v] += 1;
    }
    const double expected = static_cast<double>(count) / bound;
    double chi_square = 0;
    for (const double s : seen) chi_square += (s - expected) * (s - expected) / expected;
    CHECK(chi_square <= bound - 1 + 5 * std::sqrt(2.0 * bound));
  }
  CHECK(nk::integer(stream, 3, 0) == 0);
  for (std::uint64_t i = 0; i < 100; ++i)  // 2^31 takes the top 31 bits
    CHECK(nk::integer(stream, i, 1u << 31) == nk::uniform_bits64(stream, i) >> 33);
}

TEST_CASE("streams of different names are uncorrelated", "[random]") {
  const nk::random_stream other = nk::stream_of(1, "tests.random", 1);
  double sum = 0;
  for (std::uint64_t i = 0; i < count; ++i)
    sum += static_cast<double>(nk::normal(stream, i)) * nk::normal(other, i);
  CHECK(std::abs(sum) / root_count <= 5);
}

namespace {

template <class T>
[[gnu::noinline]] void fill_lanes(nk::random_stream s, std::uint64_t start, std::array<T, 16>& u,
                                  std::array<T, 16>& z, std::array<T, 16>& t) {
  for (std::size_t l = 0; l < 16; ++l) u[l] = nk::uniform<T>(s, start + l);
  for (std::size_t l = 0; l < 16; ++l) z[l] = nk::normal<T>(s, start + l);
  for (std::size_t l = 0; l < 16; ++l) t[l] = nk::truncated_normal<T>(s, start + l, T{-2}, T{2});
}

template <class T>
constexpr std::array<T, 3> draw_one(nk::random_stream s, std::uint64_t i) {
  return {nk::uniform<T>(s, i), nk::normal<T>(s, i), nk::truncated_normal<T>(s, i, T{-2}, T{2})};
}

template <class T>
constexpr auto constants = [] {
  std::array<std::array<T, 3>, 16> table{};
  for (std::size_t i = 0; i < 16; ++i) table[i] = draw_one<T>(stream, i);
  return table;
}();

}  // namespace

TEMPLATE_TEST_CASE("a vector loop, one by one and constants have the same bits", "[random]", float, double) {
  std::array<TestType, 16> u{}, z{}, t{};
  volatile std::uint64_t seed = stream.seed;
  const nk::random_stream opaque{seed, stream.stream};
  for (std::uint64_t start = 0; start < 1600; start += 16) {
    fill_lanes(opaque, start, u, z, t);
    for (std::size_t l = 0; l < 16; ++l) {
      volatile std::uint64_t i = start + l;
      CHECK(draw_one<TestType>(opaque, i) == std::array<TestType, 3>{u[l], z[l], t[l]});
    }
  }
  fill_lanes(opaque, 0, u, z, t);
  for (std::size_t l = 0; l < 16; ++l)
    CHECK(constants<TestType>[l] == std::array<TestType, 3>{u[l], z[l], t[l]});
}
