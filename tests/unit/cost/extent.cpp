// Distinct elements of a strided access, against those of a set.
#include <catch2/catch.hpp>
#include <random>
#include <set>
#include <vector>

#include "napkin/cpu/cost.hpp"

namespace nk = napkin;
using nk::planning::detail::access_extent;

namespace {

struct axis {
  std::size_t size;
  std::ptrdiff_t stride;
};
std::uint64_t distinct(const std::vector<axis>& axes) {
  std::set<std::ptrdiff_t> at{0};
  for (const axis& a : axes) {
    std::set<std::ptrdiff_t> next;
    for (const std::ptrdiff_t p : at)
      for (std::size_t i = 0; i < a.size; ++i) next.insert(p + a.stride * static_cast<std::ptrdiff_t>(i));
    at = next;
  }
  return at.size();
}
std::uint64_t run_of(const std::vector<axis>& axes) {
  std::uint64_t run = 1;
  for (const axis& a : axes)
    run += static_cast<std::uint64_t>(a.stride < 0 ? -a.stride : a.stride) * (a.size - 1);
  return run;
}
std::uint64_t found(const std::vector<axis>& axes) {
  access_extent e;
  for (const axis& a : axes) e.add(a.size, a.stride);
  return e.elements();
}

}  // namespace

TEST_CASE("windows, however they move, count each element once", "[cost]") {
  // channels innermost, columns and rows as positions and taps, batches
  for (std::ptrdiff_t step = 1; step <= 4; ++step)
    for (std::ptrdiff_t dilation = 1; dilation <= 3; ++dilation)
      for (std::size_t taps = 1; taps <= 4; ++taps)
        for (std::size_t positions = 1; positions <= 4; ++positions) {
          const std::ptrdiff_t channels = 3, row = channels * 32, image = row * 32;
          const std::vector<axis> axes{{2, image}, {positions, step * row}, {positions, step * channels},
                                       {3, 1},     {taps, dilation * row},  {taps, dilation * channels}};
          INFO(step << ' ' << dilation << ' ' << taps << ' ' << positions);
          const std::uint64_t expected = distinct(axes);
          CHECK(found(axes) == expected);
        }
}

TEST_CASE("any strides: never less than the set, never more than the run", "[cost]") {
  std::mt19937 random(1);
  const auto draw = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  int exact = 0;
  for (int i = 0; i < 2000; ++i) {
    std::vector<axis> axes;
    for (int k = draw(0, 4); k > 0; --k) axes.push_back({static_cast<std::size_t>(draw(1, 5)), draw(-9, 9)});
    const std::uint64_t expected = distinct(axes), counted = found(axes);
    REQUIRE(counted >= expected);
    REQUIRE(counted <= run_of(axes));
    exact += counted == expected;
  }
  CHECK(exact > 1200);
  CHECK(found({{0, 3}, {4, 1}}) == 0);
  CHECK(found({}) == 1);
}
