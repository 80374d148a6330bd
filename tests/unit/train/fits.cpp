// The search for the largest batch that fits: few batches are asked for, since each is a plan that the compiler
// makes, and the one found fits while one more does not.
#include "napkin/train/fits.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

#include "napkin/core/random.hpp"

namespace nk = napkin;
using nk::detail::batch_search;

namespace {

struct found {
  std::size_t batch;
  std::vector<std::size_t> asked;
};

template <class Peak>
found search(std::size_t bytes, std::size_t most, Peak peak) {
  batch_search s{bytes, {1, peak(1)}, {}, {most + 1, 0}, 0};
  found f{0, {1}};
  while (!s.done()) {
    const std::size_t next = s.next();
    REQUIRE((next > s.fits.batch && next < s.exceeds.batch));
    f.asked.push_back(next);
    s = s.with({next, peak(next)});
  }
  f.batch = s.fits.batch;
  return f;
}

}  // namespace

TEST_CASE("largest batch: a line whose first step is another than the rest is found in six") {
  // A convolutional network's: batches 1 and 2 say 15,552 bytes each, all others 16,192.
  const auto peak = [](std::size_t batch) {
    return batch == 1 ? std::size_t{152'192} : 135'360 + 16'192 * batch;
  };
  const found f = search(16'000'000, 65'536, peak);
  CHECK(f.batch == 979);
  CHECK(f.asked.size() <= 6);
}

TEST_CASE("largest batch: all fit, or one alone does") {
  const auto peak = [](std::size_t batch) { return 100 * batch; };
  const found all = search(1'000'000, 500, peak);
  CHECK(all.batch == 500);
  CHECK(all.asked.size() <= 3);
  const found one = search(150, 500, peak);
  CHECK(one.batch == 1);
  CHECK(one.asked == std::vector<std::size_t>{1, 2});
  CHECK(search(100, 1, peak).batch == 1);
}

TEST_CASE("largest batch: whatever the peaks, a border, in at most three times as many as halving takes") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const nk::random_stream draw = nk::stream_of(seed, "peaks");
    const auto number = [&](std::uint64_t at, std::size_t below) {
      return static_cast<std::size_t>(nk::integer(draw, at, static_cast<std::uint32_t>(below)));
    };
    const std::size_t most = 1 + number(0, 65'536), each = 1 + number(1, 100'000),
                      border = 1 + number(2, 65'536);
    const bool jumps = seed % 2 == 1, bends = seed % 3 == 2;
    const auto peak = [&](std::size_t batch) {
      std::size_t bytes = each * batch;
      if (jumps) bytes += number(2 + batch, 40 * each);
      if (bends) bytes += batch * batch / 16;
      return bytes;
    };
    const std::size_t bytes = std::max(each * border, peak(1));
    const found f = search(bytes, most, peak);
    INFO("seed " << seed << ", most " << most);
    CHECK(peak(f.batch) <= bytes);
    CHECK((f.batch == most || peak(f.batch + 1) > bytes));
    CHECK(f.asked.size() <= 3 + 3 * 17);
    if (!jumps && !bends) CHECK(f.asked.size() <= 6);
  }
}
