// Floats as integers, at the ends of every range and beyond.
#include "napkin/core/truncate.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>

namespace {

using napkin::truncated;

template <class To, class From>
void check() {
  using of = std::numeric_limits<To>;
  const auto beyond = std::ldexp(From(1), of::digits);
  const auto least = of::is_signed ? -beyond : From(0);
  const auto below = std::nextafter(beyond, From(0)), infinite = std::numeric_limits<From>::infinity();
  CHECK(truncated<To>(below) == static_cast<To>(below));
  for (const From x : {beyond, std::nextafter(beyond, infinite), infinite})
    CHECK(truncated<To>(x) == of::max());
  for (const From x : {least, std::nextafter(least, -infinite), -infinite})
    CHECK(truncated<To>(x) == of::min());
  CHECK(truncated<To>(std::numeric_limits<From>::quiet_NaN()) == 0);
  for (const From x : {From(-0.75), From(-0.0), From(0.75)}) CHECK(truncated<To>(x) == 0);
  CHECK(truncated<To>(From(100.75)) == 100);
  if (of::is_signed) CHECK(truncated<To>(From(-100.75)) == static_cast<To>(-100));
}

}  // namespace

TEST_CASE("truncated: what C++ leaves open saturates, and NaN is 0") {
  const auto all = []<class From>(From) {
    check<std::int8_t, From>();
    check<std::int16_t, From>();
    check<std::int32_t, From>();
    check<std::int64_t, From>();
    check<std::uint8_t, From>();
    check<std::uint16_t, From>();
    check<std::uint32_t, From>();
  };
  all(1.0f);
  all(1.0);
  static_assert(truncated<std::int32_t>(std::numeric_limits<double>::quiet_NaN()) == 0);
  static_assert(truncated<std::int32_t>(1e300) == std::numeric_limits<std::int32_t>::max());
}
