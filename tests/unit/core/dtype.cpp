// Conversions of the 16- and 8-bit floats against a reference that shares nothing with them: a table of every
// value by the format's definition, searched for the nearest.
#include "napkin/core/dtype.hpp"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace nk = napkin;

namespace {

struct format {
  int exponent_bits, mantissa_bits;
  bool has_infinity;

  unsigned codes() const { return 1u << (exponent_bits + mantissa_bits); }  // of one sign
  unsigned finite_codes() const { return has_infinity ? codes() - (1u << mantissa_bits) : codes() - 1; }

  // The value of a code without its sign; past the last finite one, what it would be were the range longer.
  double value(unsigned code) const {
    const unsigned exponent = code >> mantissa_bits;
    const unsigned mantissa = code & ((1u << mantissa_bits) - 1);
    const unsigned hidden = exponent == 0 ? 0 : 1u << mantissa_bits;
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const int scale = (exponent == 0 ? 1 : static_cast<int>(exponent)) - bias - mantissa_bits;
    return std::ldexp(static_cast<double>(hidden + mantissa), scale);
  }
};

template <class T>
constexpr format format_of{};
template <>
constexpr format format_of<nk::f16>{5, 10, true};
template <>
constexpr format format_of<nk::bf16>{8, 7, true};
template <>
constexpr format format_of<nk::f8e4m3>{4, 3, false};
template <>
constexpr format format_of<nk::f8e5m2>{5, 2, true};

template <class T>
class reference {
 public:
  reference() {
    for (unsigned code = 0; code <= shape_.finite_codes(); ++code) values_.push_back(shape_.value(code));
  }

  // Nearest, ties to the even code. The middle of two neighbours is exact as a double.
  unsigned round(double x) const {
    const unsigned sign = std::signbit(x) ? shape_.codes() : 0;
    const double magnitude = std::fabs(x);
    const auto above = std::upper_bound(values_.begin(), values_.end(), magnitude);
    if (above == values_.end()) return sign | shape_.finite_codes();
    const auto high = static_cast<unsigned>(above - values_.begin());
    const double middle = (values_[high - 1] + values_[high]) / 2;
    if (magnitude < middle) return sign | (high - 1);
    if (magnitude > middle) return sign | high;
    return sign | (high % 2 == 0 ? high : high - 1);
  }

  const std::vector<double>& values() const { return values_; }  // ascending; the last is past the range

 private:
  format shape_ = format_of<T>;
  std::vector<double> values_;
};

template <class T>
T from_bits(unsigned bits) {
  return std::bit_cast<T>(static_cast<typename T::storage>(bits));
}

// Counts rather than asserts in the loop: millions of Catch assertions take minutes.
struct mismatches {
  std::size_t checked = 0, wrong = 0;
  double first = 0;
  unsigned got = 0, expected = 0;

  void compare(double x, unsigned got_bits, unsigned expected_bits) {
    ++checked;
    if (got_bits == expected_bits) return;
    if (wrong++ == 0) first = x, got = got_bits, expected = expected_bits;
  }
};

template <class T>
void compare(mismatches& seen, const reference<T>& expected, double x) {
  seen.compare(x, T(x).bits, expected.round(x));
  const float narrow = static_cast<float>(x);
  if (!std::isinf(narrow)) seen.compare(narrow, T(narrow).bits, expected.round(narrow));
}

#define CHECK_NO_MISMATCH(seen)                                                                             \
  INFO("first of " << (seen).wrong << ": " << (seen).first << " gives code " << (seen).got << ", expected " \
                   << (seen).expected);                                                                     \
  CHECK((seen).wrong == 0)

}  // namespace

TEMPLATE_TEST_CASE("every bit pattern has its format's value and comes back", "[dtype]", nk::f16, nk::bf16,
                   nk::f8e4m3, nk::f8e5m2) {
  const format shape = format_of<TestType>;
  std::size_t wrong_value = 0, wrong_bits = 0, nans = 0, infinities = 0;
  for (unsigned bits = 0; bits < 2 * shape.codes(); ++bits) {
    const auto x = from_bits<TestType>(bits);
    const double wide = double(x);
    const float narrow = float(x);
    const unsigned code = bits % shape.codes();
    const double sign = bits < shape.codes() ? 1 : -1;
    if (code < shape.finite_codes()) {
      const double value = sign * shape.value(code);
      const bool right = std::bit_cast<std::uint64_t>(wide) == std::bit_cast<std::uint64_t>(value) &&
                         std::bit_cast<std::uint64_t>(double{narrow}) == std::bit_cast<std::uint64_t>(value);
      wrong_value += !right;
      wrong_bits += TestType(wide).bits != bits || TestType(narrow).bits != bits;
    } else if (shape.has_infinity && code == shape.finite_codes()) {
      ++infinities;
      wrong_value += !(wide == sign * HUGE_VAL) || !(narrow == static_cast<float>(wide));
      wrong_bits += TestType(wide).bits != bits || TestType(narrow).bits != bits;
    } else {
      ++nans;
      wrong_value += !std::isnan(wide) || !std::isnan(narrow) || std::signbit(narrow) != (sign < 0);
      const unsigned quiet = bits | (1u << (shape.mantissa_bits - 1));
      wrong_bits += TestType(wide).bits != quiet || TestType(narrow).bits != quiet;
    }
  }
  CHECK(wrong_value == 0);
  CHECK(wrong_bits == 0);
  CHECK(infinities == (shape.has_infinity ? 2 : 0));
  CHECK(nans == (shape.has_infinity ? 2 * ((1u << shape.mantissa_bits) - 1) : 2));
}

TEMPLATE_TEST_CASE("the middle of two neighbours goes to the even one, next to it to the nearer", "[dtype]",
                   nk::f16, nk::bf16, nk::f8e4m3, nk::f8e5m2) {
  const reference<TestType> expected;
  const auto& values = expected.values();
  mismatches seen;
  std::size_t float_would_differ = 0;
  for (std::size_t i = 0; i + 1 < values.size(); ++i) {
    const double middle = (values[i] + values[i + 1]) / 2;
    const float narrow = static_cast<float>(middle);
    REQUIRE(double{narrow} == middle);
    for (const double sign : {1.0, -1.0}) {
      for (const double x :
           {middle, std::nextafter(middle, 0.0), std::nextafter(middle, HUGE_VAL),
            double{std::nextafter(narrow, 0.0f)}, double{std::nextafter(narrow, HUGE_VALF)}}) {
        compare(seen, expected, sign * x);
        float_would_differ += TestType(x).bits != TestType(static_cast<float>(x)).bits;
      }
    }
  }
  CHECK_NO_MISMATCH(seen);
  CHECK(float_would_differ >= values.size() - 1);  // one of the two doubles beside each tie
}

TEMPLATE_TEST_CASE("random doubles and floats round to the nearest", "[dtype]", nk::f16, nk::bf16, nk::f8e4m3,
                   nk::f8e5m2) {
  const reference<TestType> expected;
  std::mt19937_64 random(20240607);
  std::uniform_real_distribution<double> mantissa(-2.0, 2.0);
  const int lowest = std::ilogb(nk::finfo<TestType>::smallest_subnormal) - 3;
  const int highest = std::ilogb(nk::finfo<TestType>::max) + 2;
  std::uniform_int_distribution<int> exponent(lowest, highest);
  mismatches seen;
  for (int i = 0; i < 300'000; ++i) compare(seen, expected, std::ldexp(mantissa(random), exponent(random)));
  for (int i = 0; i < 100'000; ++i) {  // any bits at all, of which most are far out of range
    const auto x = std::bit_cast<double>(random());
    if (!std::isnan(x)) compare(seen, expected, x);
    const auto y = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (!std::isnan(y)) compare(seen, expected, double{y});
  }
  CHECK_NO_MISMATCH(seen);
}

TEMPLATE_TEST_CASE("random 64-bit integers are rounded once", "[dtype]", nk::f16, nk::bf16, nk::f8e4m3,
                   nk::f8e5m2) {
  static_assert(std::numeric_limits<long double>::digits >= 64);
  const format shape = format_of<TestType>;
  std::mt19937_64 random(7);
  mismatches seen;
  for (int i = 0; i < 200'000; ++i) {
    const int bits = static_cast<int>(random() % 63);
    std::int64_t x = static_cast<std::int64_t>(random() >> 1) >> bits;
    if (random() % 2 == 0 && bits < 50) {  // beside a tie
      const int kept = shape.mantissa_bits + 2;
      const int cut = std::max(0, 63 - bits - kept);
      x = ((x >> cut) << cut) + static_cast<std::int64_t>(random() % 3) - 1;
    }
    // Nearest by comparing with the neighbours of the truncated value, in 64 bits.
    const auto exact = static_cast<long double>(x);
    const unsigned start = TestType(static_cast<double>(x)).bits;
    unsigned best = start;
    for (unsigned code = start < 2 ? 0 : start - 2; code <= start + 2 && code <= shape.finite_codes();
         ++code) {
      const auto distance = std::fabs(static_cast<long double>(shape.value(code)) - exact);
      const auto least = std::fabs(static_cast<long double>(shape.value(best)) - exact);
      if (distance < least || (distance == least && code % 2 == 0)) best = code;
    }
    seen.compare(static_cast<double>(x), TestType(x).bits, best);
    if (x > 0) seen.compare(static_cast<double>(-x), TestType(-x).bits, shape.codes() | best);
  }
  CHECK_NO_MISMATCH(seen);
}

TEMPLATE_TEST_CASE("infinities, NaN and signed zeros", "[dtype]", nk::f16, nk::bf16, nk::f8e4m3, nk::f8e5m2) {
  const format shape = format_of<TestType>;
  const unsigned sign = shape.codes();
  CHECK(TestType(HUGE_VAL).bits == shape.finite_codes());  // infinity, or NaN where there is none
  CHECK(TestType(-HUGE_VALF).bits == (sign | shape.finite_codes()));
  CHECK(TestType(std::numeric_limits<double>::max()).bits == shape.finite_codes());
  CHECK(std::isnan(double(TestType(HUGE_VAL))) == !shape.has_infinity);
  CHECK(TestType(-0.0).bits == sign);
  CHECK(TestType(-0.0f).bits == sign);
  CHECK(TestType(std::numeric_limits<float>::denorm_min()).bits == 0);
  for (const std::uint32_t pattern : {0x7fc00000u, 0x7f800001u, 0x7fffffffu, 0xffc00000u, 0xff800001u}) {
    const TestType x(std::bit_cast<float>(pattern));
    CAPTURE(pattern, x.bits);
    CHECK(std::isnan(float(x)));
    CHECK(((x.bits & sign) != 0) == (pattern >> 31 != 0));
    CHECK_FALSE(x == x);
  }
}

TEST_CASE("dispatch calls with the type that the value names, and refuses any other value", "[dtype]") {
  for (const nk::dtype type : nk::all_dtypes) {
    std::size_t calls = 0;
    nk::dispatch(type, [&]<class T>(std::type_identity<T>) {
      ++calls;
      CHECK(nk::dtype_of<T> == type);
      CHECK(sizeof(T) == nk::size_of(type));
    });
    CHECK(calls == 1);
  }
  CHECK_THROWS_AS(nk::dispatch(static_cast<nk::dtype>(16), [](auto) {}), nk::error);
}
