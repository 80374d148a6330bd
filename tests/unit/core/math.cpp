// The elementary functions: accuracy in ulp against long double, special values against <cmath>, and bits
// that are the same in a vector loop, one by one and in constant evaluation.
#include <algorithm>
#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <napkin/core/math.hpp>
#include <random>

namespace nm = napkin::math;

namespace {

template <class T>
constexpr T inf = std::numeric_limits<T>::infinity();
template <class T>
constexpr T not_a_number = std::numeric_limits<T>::quiet_NaN();

/// |got - want| in units of the last place of T at want; huge where one is NaN or infinite and the other not.
template <class T>
double ulps(T got, long double want) {
  constexpr double wrong = 1e30;
  if (std::isnan(want)) return std::isnan(got) ? 0 : wrong;
  if (std::isnan(got)) return wrong;
  const T nearest = static_cast<T>(want);
  if (std::isinf(nearest) || std::isinf(got)) return nearest == got ? 0 : wrong;
  int exponent = 0;
  static_cast<void>(std::frexp(want, &exponent));
  exponent = std::max(exponent, std::numeric_limits<T>::min_exponent);
  const long double ulp = std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits);
  return static_cast<double>(std::abs(static_cast<long double>(got) - want) / ulp);
}

constexpr int samples = 100'000;

/// The largest error over samples that are uniform on [low, high].
template <class T, class Function, class Reference>
double worst_uniform(Function function, Reference reference, double low, double high) {
  std::mt19937_64 bits{42};
  std::uniform_real_distribution<double> draw{low, high};
  double worst = 0;
  for (int i = 0; i < samples; ++i) {
    const T x = static_cast<T>(draw(bits));
    worst = std::max(worst, ulps<T>(function(x), reference(static_cast<long double>(x))));
  }
  return worst;
}

/// The same over +-2^u with u uniform on [low, high]; only positive where the function needs it.
template <class T, class Function, class Reference>
double worst_by_exponent(Function function, Reference reference, double low, double high, bool signs) {
  std::mt19937_64 bits{43};
  std::uniform_real_distribution<double> draw{low, high};
  double worst = 0;
  for (int i = 0; i < samples; ++i) {
    const T magnitude = static_cast<T>(std::exp2(draw(bits)));
    const T x = signs && (bits() & 1) ? -magnitude : magnitude;
    worst = std::max(worst, ulps<T>(function(x), reference(static_cast<long double>(x))));
  }
  return worst;
}

template <class T>
bool same_bits(T a, T b) {
  return (std::isnan(a) && std::isnan(b)) || nm::detail::to_bits(a) == nm::detail::to_bits(b);
}

template <class T>
constexpr std::array<T, 22> special_values{T{0},
                                           -T{0},
                                           T{1},
                                           -T{1},
                                           T{0.5},
                                           T{-0.5},
                                           T{2},
                                           T{-2},
                                           T{3},
                                           T{-3},
                                           T{2.5},
                                           T{-2.5},
                                           inf<T>,
                                           -inf<T>,
                                           not_a_number<T>,
                                           std::numeric_limits<T>::denorm_min(),
                                           -std::numeric_limits<T>::denorm_min(),
                                           std::numeric_limits<T>::min(),
                                           std::numeric_limits<T>::max(),
                                           -std::numeric_limits<T>::max(),
                                           static_cast<T>(8388609),
                                           static_cast<T>(-9007199254740991.0)};

constexpr auto exp_of = [](auto x) { return nm::exp(x); };
constexpr auto log_of = [](auto x) { return nm::log(x); };
constexpr auto tanh_of = [](auto x) { return nm::tanh(x); };
constexpr auto erf_of = [](auto x) { return nm::erf(x); };
constexpr auto sin_of = [](auto x) { return nm::sin(x); };
constexpr auto cos_of = [](auto x) { return nm::cos(x); };
constexpr auto sqrt_of = [](auto x) { return nm::sqrt(x); };
constexpr auto rsqrt_of = [](auto x) { return nm::rsqrt(x); };
constexpr auto floor_of = [](auto x) { return nm::floor(x); };
constexpr auto pow_of = [](auto x) { return nm::pow(nm::abs(x), decltype(x){1.7f}); };

using long_real = long double;

}  // namespace

TEMPLATE_TEST_CASE("exp, log, tanh and erf are within 2 ulp", "[math]", float, double) {
  constexpr bool single = sizeof(TestType) == 4;
  constexpr double smallest = single ? -149 : -1074, largest = single ? 128 : 1024;
  const auto exp_reference = [](long_real x) { return std::exp(x); };
  const auto log_reference = [](long_real x) { return std::log(x); };
  const auto tanh_reference = [](long_real x) { return std::tanh(x); };
  const auto erf_reference = [](long_real x) { return std::erf(x); };
  CHECK(worst_uniform<TestType>(exp_of, exp_reference, single ? -104 : -746, single ? 89 : 710) <= 1);
  CHECK(worst_uniform<TestType>(exp_of, exp_reference, -1, 1) <= 1);
  CHECK(worst_by_exponent<TestType>(exp_of, exp_reference, smallest, largest, true) <= 1);
  CHECK(worst_uniform<TestType>(log_of, log_reference, 0.5, 2) <= 1);
  CHECK(worst_by_exponent<TestType>(log_of, log_reference, smallest, largest, false) <= 1);
  CHECK(worst_uniform<TestType>(tanh_of, tanh_reference, -2, 2) <= 2);
  CHECK(worst_by_exponent<TestType>(tanh_of, tanh_reference, smallest, largest, true) <= 2);
  CHECK(worst_uniform<TestType>(erf_of, erf_reference, -4, 4) <= 2);
  CHECK(worst_uniform<TestType>(erf_of, erf_reference, 0.9, 1.1) <= 2);
  CHECK(worst_by_exponent<TestType>(erf_of, erf_reference, smallest, largest, true) <= 2);
}

TEMPLATE_TEST_CASE("sin and cos are within 2 ulp", "[math]", float, double) {
  constexpr bool single = sizeof(TestType) == 4;
  const auto sin_reference = [](long_real x) { return std::sin(x); };
  const auto cos_reference = [](long_real x) { return std::cos(x); };
  CHECK(worst_uniform<TestType>(sin_of, sin_reference, -10, 10) <= 2);
  CHECK(worst_uniform<TestType>(cos_of, cos_reference, -10, 10) <= 2);
  CHECK(worst_uniform<TestType>(sin_of, sin_reference, -1e7, 1e7) <= 2);
  CHECK(worst_uniform<TestType>(cos_of, cos_reference, -1e7, 1e7) <= 2);
  const double smallest = single ? -149 : -1074, largest = single ? 128 : 23;
  CHECK(worst_by_exponent<TestType>(sin_of, sin_reference, smallest, largest, true) <= 2);
  CHECK(worst_by_exponent<TestType>(cos_of, cos_reference, smallest, largest, true) <= 2);
  double worst = 0;  // where the reduction cancels most
  for (int k = 1; k < 6'000'000; k += 37) {
    const TestType x =
        static_cast<TestType>(static_cast<long_real>(k) * 1.57079632679489661923132169163975144L);
    worst = std::max({worst, ulps<TestType>(nm::sin(x), std::sin(static_cast<long_real>(x))),
                      ulps<TestType>(nm::cos(x), std::cos(static_cast<long_real>(x)))});
  }
  CHECK(worst <= 2);
}

TEST_CASE("sin and cos of the float nearest to a multiple of pi/2", "[math]") {
  const float x = std::ldexp(16367173.0f, 72);
  CHECK(ulps<float>(nm::cos(x), std::cos(static_cast<long_real>(x))) <= 2);
  CHECK(ulps<float>(nm::sin(x), std::sin(static_cast<long_real>(x))) <= 2);
}

TEST_CASE("sin and cos of large doubles stay within [-1, 1]", "[math]") {
  std::mt19937_64 bits{44};
  std::uniform_real_distribution<double> draw{23, 1024};
  int outside = 0;
  for (int i = 0; i < samples; ++i) {
    const double x = std::exp2(draw(bits));
    if (!(std::abs(nm::sin(x)) <= 1 + 1e-15) || !(std::abs(nm::cos(x)) <= 1 + 1e-15)) ++outside;
  }
  CHECK(outside == 0);
}

TEMPLATE_TEST_CASE("sqrt is correctly rounded, rsqrt within 1.5 ulp, floor exact", "[math]", float, double) {
  constexpr bool single = sizeof(TestType) == 4;
  const double smallest = single ? -149 : -1074, largest = single ? 128 : 1024;
  const auto sqrt_reference = [](long_real x) { return std::sqrt(x); };
  const auto rsqrt_reference = [](long_real x) { return 1 / std::sqrt(x); };
  const auto floor_reference = [](long_real x) { return std::floor(x); };
  CHECK(worst_by_exponent<TestType>(sqrt_of, sqrt_reference, smallest, largest, false) <= 0.5);
  CHECK(worst_by_exponent<TestType>(rsqrt_of, rsqrt_reference, smallest, largest, false) <= 1.5);
  CHECK(worst_by_exponent<TestType>(floor_of, floor_reference, smallest, largest, true) == 0);
  CHECK(worst_uniform<TestType>(floor_of, floor_reference, -100, 100) == 0);
}

TEMPLATE_TEST_CASE("pow is within 2 ulp", "[math]", float, double) {
  constexpr bool single = sizeof(TestType) == 4;
  constexpr double smallest = single ? -149 : -1074, largest = single ? 128 : 1024;
  std::mt19937_64 bits{45};
  double worst = 0;
  for (const double range : {1.0, 1e-2, 1e-4}) {
    std::uniform_real_distribution<double> log2_x{smallest * range, largest * range},
        log2_result{smallest, largest};
    for (int i = 0; i < samples; ++i) {
      const TestType x = static_cast<TestType>(std::exp2(log2_x(bits)));
      const TestType y = static_cast<TestType>(log2_result(bits) / (std::abs(std::log2(x)) + 1e-9));
      worst = std::max(worst, ulps<TestType>(nm::pow(x, y),
                                             std::pow(static_cast<long_real>(x), static_cast<long_real>(y))));
    }
  }
  CHECK(worst <= 2);
}

TEMPLATE_TEST_CASE("special values are those of <cmath>", "[math]", float, double) {
  for (const TestType x : special_values<TestType>) {
    CAPTURE(x);
    const auto agrees = [](TestType got, TestType want) {  // zeros and infinities with their signs
      if (want == 0 || std::isinf(want) || std::isnan(want)) return same_bits(got, want);
      return ulps<TestType>(got, static_cast<long_real>(want)) <= 2;
    };
    CHECK(agrees(nm::exp(x), std::exp(x)));
    CHECK(agrees(nm::log(x), std::log(x)));
    CHECK(agrees(nm::tanh(x), std::tanh(x)));
    CHECK(agrees(nm::erf(x), std::erf(x)));
    CHECK(same_bits(nm::floor(x), std::floor(x)));
    CHECK(same_bits(nm::sqrt(x), std::sqrt(x)));
    CHECK(agrees(nm::rsqrt(x), TestType{1} / std::sqrt(x)));
    CHECK(same_bits(nm::abs(x), std::abs(x)));
    if (sizeof(TestType) == 4 || !(std::abs(x) >= TestType{1e7})) {
      CHECK(agrees(nm::sin(x), std::sin(x)));
      CHECK(agrees(nm::cos(x), std::cos(x)));
    }
    for (const TestType y : special_values<TestType>) {
      CAPTURE(y);
      CHECK(agrees(nm::pow(x, y), std::pow(x, y)));
      CHECK(same_bits(nm::copysign(x, y), std::copysign(x, y)));
    }
  }
  CHECK(std::isnan(nm::sin(inf<TestType>)));
  CHECK(std::isnan(nm::cos(-inf<TestType>)));
  CHECK(std::isnan(nm::sin(not_a_number<TestType>)));
}

namespace {

template <class T, class Function>
[[gnu::noinline]] void apply_lanes(Function function, const std::array<T, 16>& x, std::array<T, 16>& y) {
  for (std::size_t l = 0; l < 16; ++l) y[l] = function(x[l]);
}

template <class T, class Function>
[[gnu::noinline]] T apply_one(Function function, T x) {
  return function(x);
}

template <class T, class Function>
int lanes_that_differ(Function function, double low, double high) {
  std::mt19937_64 bits{46};
  std::uniform_real_distribution<double> draw{low, high};
  int differ = 0;
  for (int i = 0; i < samples / 16; ++i) {
    std::array<T, 16> x{}, y{};
    for (T& v : x) v = static_cast<T>(std::exp2(draw(bits))) * (bits() & 1 ? T{1} : T{-1});
    apply_lanes(function, x, y);
    for (std::size_t l = 0; l < 16; ++l) differ += !same_bits(y[l], apply_one(function, x[l]));
  }
  return differ;
}

/// Arguments over many exponents, made and mapped in constant evaluation.
template <class T, class Function>
constexpr std::array<std::array<T, 2>, 40> constants(Function function) {
  std::array<std::array<T, 2>, 40> table{};
  T x = static_cast<T>(0x1p-19);
  for (auto& row : table) {
    row = {x, function(x)};
    x = x * T{-1.75} + static_cast<T>(1e-7);
  }
  return table;
}

template <class T>
int constants_that_differ(const std::array<std::array<T, 2>, 40>& table, auto function) {
  int differ = 0;
  for (const auto& [x, y] : table) {
    volatile T opaque = x;
    differ += !same_bits(y, function(T{opaque}));
  }
  return differ;
}

}  // namespace

TEMPLATE_TEST_CASE("a vector loop, a scalar and a constant have the same bits", "[math]", float, double) {
  const auto check = [](auto function) {
    CHECK(lanes_that_differ<TestType>(function, -8, 8) == 0);
    CHECK(lanes_that_differ<TestType>(function, -127, 127) == 0);
    static constexpr auto table = constants<TestType>(decltype(function){});
    CHECK(constants_that_differ<TestType>(table, function) == 0);
  };
  check(exp_of);
  check(log_of);
  check(tanh_of);
  check(erf_of);
  check(sin_of);
  check(cos_of);
  check(sqrt_of);
  check(rsqrt_of);
  check(floor_of);
  check(pow_of);
}

static_assert(nm::exp(0.0) == 1 && nm::exp(1.0f) == 0x1.5bf0a8p+1f && nm::cos(0.0) == 1);
static_assert(nm::sqrt(2.0) == 0x1.6a09e667f3bcdp+0 && nm::sqrt(0x1p-1074) == 0x1p-537);
static_assert(nm::pow(2.0, 10.0) == 1024 && nm::pow(-2.0f, 3.0f) == -8 &&
              nm::pow(10.0f, 40.0f) == inf<float>);
static_assert(nm::exp(-745.13) == 0x1p-1074 && nm::exp(-745.14) == 0 && nm::exp(1000.0) == inf<double>);
static_assert(nm::tanh(1e-40f) == 1e-40f && nm::log(0.0) == -inf<double> && nm::erf(10.0f) == 1);
