// Runs of 16- and 8-bit floats to f32 and back: the same bits as one by one.
#include "../../../src/cpu/convert.hpp"

#include <bit>
#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace nk = napkin;
namespace detail = napkin::on_cpu::detail;

namespace {

/// Every number that T has.
template <class T>
std::vector<T> all_numbers() {
  std::vector<T> all(std::size_t{1} << (8 * sizeof(T)));
  for (std::size_t i = 0; i < all.size(); ++i) all[i].bits = static_cast<decltype(T::bits)>(i);
  return all;
}
std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }
/// As widening may leave it: a NaN is quiet.
std::uint32_t widened_bits(float x) { return bits_of(x) | (x != x ? 0x400000u : 0u); }

}  // namespace

TEMPLATE_TEST_CASE("a run is widened as each number is", "[convert]", nk::f16, nk::bf16, nk::f8e4m3,
                   nk::f8e5m2) {
  const std::vector<TestType> all = all_numbers<TestType>();
  std::vector<float> wide(all.size());
  detail::convert_run(all.data(), 1, all.size(), wide.data(), 1);
  int wrong = 0;
  for (std::size_t i = 0; i < all.size(); ++i)
    wrong += widened_bits(wide[i]) != widened_bits(static_cast<float>(all[i]));
  CHECK(wrong == 0);

  detail::convert_run(all.data() + all.size() - 1, -2, all.size() / 2, wide.data(), 2);
  for (std::size_t i = 0; i < all.size() / 2; ++i)
    wrong += widened_bits(wide[2 * i]) != widened_bits(static_cast<float>(all[all.size() - 1 - 2 * i]));
  CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("a run is rounded as each number is", "[convert]", nk::f16, nk::bf16, nk::f8e4m3,
                   nk::f8e5m2) {
  std::vector<float> wide;
  for (const TestType& x : all_numbers<TestType>())  // these, halfway to the next, and what is beside either
    for (const std::uint32_t by :
         {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xfffu, 0x1000u, 0x1001u, 0x80000u, 0xffffffu})
      wide.push_back(std::bit_cast<float>(bits_of(static_cast<float>(x)) + by));
  std::mt19937 random(3);
  for (int i = 0; i < 100'000; ++i)
    wide.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  wide.push_back(std::numeric_limits<float>::quiet_NaN());

  std::vector<TestType> narrow(wide.size());
  detail::convert_run(wide.data(), 1, wide.size(), narrow.data(), 1);
  int wrong = 0;
  for (std::size_t i = 0; i < wide.size(); ++i)
    wrong += narrow[i].bits != static_cast<TestType>(wide[i]).bits;
  CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("lines are widened into a strip, and nothing beside it is touched", "[convert]", nk::f16,
                   nk::bf16, nk::f8e4m3, nk::f8e5m2) {
  const std::vector<TestType> all = all_numbers<TestType>();
  constexpr std::size_t width = 36, k = 3, apart = 40;
  int wrong = 0;
  for (std::size_t extent = 1; extent <= width; ++extent) {
    std::vector<float> strip(k * width, -7);
    detail::best_conversions<TestType>().widen_lines(all.data() + 100, extent, k, apart, width, strip.data());
    for (std::size_t p = 0; p < k; ++p)
      for (std::size_t i = 0; i < width; ++i) {
        const float expected = i < extent ? static_cast<float>(all[100 + p * apart + i]) : -7;
        wrong += widened_bits(strip[p * width + i]) != widened_bits(expected);
      }
  }
  CHECK(wrong == 0);
}
