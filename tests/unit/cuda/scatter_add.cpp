// scatter_add by the GPU's threads: the CPU's sums, to the same bits whoever comes first.
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "support/movement_cases.hpp"

using namespace movement_test;

TEST_CASE("scatter_add by the GPU's threads gives the CPU's sums") {
  dice d(4711);
  std::map<std::string, int> vectors;
  int faults = 0, wide = 0, looked = 0;
  for (int i = 0; i < 3000; ++i) {
    const dtype type = d.one_of({dtype::f64, dtype::f64, dtype::f32, dtype::i64, dtype::i32});
    const example e = random_example(d, unit_kind::scatter_add, type);
    const std::size_t shift = d.below(4) == 0 ? size_of(type) * d.below(3) : 0;
    const answer expected = by_cpu(e), given = by_threads(d, e, d.below(3) != 0, shift, d.below(3) == 0);
    INFO(describe(e.record) << ", shift " << shift << ", " << given.unit);
    CHECK(given.error.empty() == expected.error.empty());
    if (!expected.error.empty()) {
      ++faults;
      continue;
    }
    ++vectors[given.unit];
    wide += !given.narrow;
    const std::vector<double> x = nk::testing::to_doubles(expected.to, type),
                              y = nk::testing::to_doubles(given.to, type);
    double worst = 0;
    for (std::size_t k = 0; k < x.size(); ++k) worst = std::fmax(worst, std::fabs(x[k] - y[k]));
    REQUIRE(std::none_of(y.begin(), y.end(), [](double v) { return std::isnan(v); }));
    if (is_integer(type))
      REQUIRE(given.to == expected.to);
    else
      REQUIRE(worst <= (type == dtype::f64 ? 1e-12 : 1e-3));
    looked += given.looked;
    if (given.looked || cu::detail::layout_of_scatter(e.record).pieces <= 1) REQUIRE(given.to == expected.to);
  }
  CHECK(faults > 50);
  CHECK(wide > 300);
  CHECK(looked > 300);
  for (const char* vector : {"v1", "v2", "v4"}) {
    INFO(vector);
    CHECK(vectors[vector] > 50);
  }
}

TEST_CASE("scatter_add: segments over many pieces, the same bits whichever thread comes first") {
  dice d(3);
  for (const dtype type : {dtype::f64, dtype::f32, dtype::f16, dtype::bf16, dtype::f8e4m3, dtype::f8e5m2,
                           dtype::i64, dtype::i32, dtype::i16, dtype::i8, dtype::u32, dtype::u16, dtype::u8})
    for (const double often : {0.0, 0.3, 1.0})
      for (const std::size_t width : {std::size_t{3}, std::size_t{32}}) {
        const example e = embedding(d, type, 2000, 40, width, often);
        const answer given = by_threads(d, e, true, 0, false);
        INFO(name_of(type) << ", " << often << " of one token, " << given.unit);
        REQUIRE(given.to == by_threads(d, e, true, 0, false).to);
        CHECK(given.unit ==
              (width == 3 || is_integer(type) ? "v1" : "v" + std::to_string(16 / size_of(type))));
        CHECK(cu::detail::layout_of_scatter(e.record).pieces > 60);

        // sums in f64, rounded at last to the dtype
        const std::vector<double> x = nk::testing::to_doubles(e.from, type),
                                  index = nk::testing::to_doubles(e.index, dtype::i32),
                                  y = nk::testing::to_doubles(given.to, type);
        std::vector<double> sums(40 * width);
        for (std::size_t i = 0; i < x.size(); ++i)
          sums[static_cast<std::size_t>(index[i / width]) * width + i % width] += x[i];
        if (is_integer(type)) {
          raw_bytes wrapped(sums.size() * size_of(type));
          for (std::size_t i = 0; i < sums.size(); ++i) {
            const auto whole = static_cast<std::int64_t>(sums[i]);
            std::memcpy(wrapped.data() + i * size_of(type), &whole,
                        size_of(type));  // the low bytes come first
          }
          CHECK(given.to == wrapped);
          continue;
        }
        const std::vector<double> rounded = nk::testing::to_doubles(nk::testing::to_bytes(sums, type), type);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < sums.size(); ++i) {
          const double scale = std::fmax(std::fabs(rounded[i]), 1);
          const double tolerance = type == dtype::f64 ? 1e-12 : type == dtype::f32 ? 1e-5 : 0;
          const bool same = std::isfinite(rounded[i]) ? std::fabs(y[i] - rounded[i]) <= tolerance * scale
                                                      : !std::isfinite(y[i]);
          wrong += !same;
        }
        CHECK(wrong == 0);
      }
}

namespace {

/// An embedding's gradient of tokens that come so often each, in any order. `rounds`: sums in f32 do.
example embedding_of(dice& d, dtype type, const std::vector<std::size_t>& often, std::size_t width,
                     bool rounds = false) {
  std::vector<double> index;
  for (std::size_t word = 0; word < often.size(); ++word)
    index.insert(index.end(), often[word], static_cast<double>(word));
  std::shuffle(index.begin(), index.end(), d.engine);
  example e = embedding(d, type, index.size(), often.size(), width, 0);
  e.index = nk::testing::to_bytes(index, e.record.index_type);
  if (!rounds) return e;
  std::vector<double> values(index.size() * width);
  for (double& x : values) x = std::exp(static_cast<double>(d.below(10000)) / 1000) - 150;
  e.from = nk::testing::to_bytes(values, type);
  return e;
}
std::vector<std::size_t> zipf(std::size_t words, std::size_t tokens) {
  std::vector<std::size_t> often;
  double all = 0, before = 0;
  for (std::size_t w = 0; w < words; ++w) all += 1.0 / static_cast<double>(w + 1);
  std::size_t given = 0;
  for (std::size_t w = 0; w < words; ++w) {
    before += 1.0 / static_cast<double>(w + 1);
    const auto until = static_cast<std::size_t>(before / all * static_cast<double>(tokens));
    often.push_back(until - given);
    given = until;
  }
  return often;
}

}  // namespace

TEST_CASE(
    "scatter_add: tokens that come often and seldom, and segments as long as a piece or a block's round") {
  dice d(13);
  const std::vector<std::vector<std::size_t>> texts = {
      zipf(65, 768),  // letters: the first comes every fifth time
      zipf(65, 4000),
      {768},  // one word only
      {0, 0, 2048, 0},
      {5000},  // 157 pieces
      {3, 4000, 0, 1, 2},
      {31, 32, 33, 63, 64, 65, 96, 1, 1, 95, 97},  // pieces of 32
      {32, 32, 32, 1, 31, 32 * 8, 32 * 8 + 1, 32 * 32 - 1, 32 * 32, 32 * 32 + 1, 2},
      {1, 1, 1, 1, 1, 1, 1, 1, 1},
      {8, 8, 1},
      {7, 0, 9, 1},
      {255, 2},
      {256, 1},
      {257},
  };
  for (const auto& often : texts)
    for (const dtype type : {dtype::f32, dtype::bf16})
      for (const bool may_look : {true, false}) {
        const std::size_t width = often.size() == 65 ? 128 : 24;
        const example e = embedding_of(d, type, often, width);
        const answer given = by_threads(d, e, d.below(2) != 0, 0, may_look);
        INFO(name_of(type) << ", " << often.size() << " words, " << e.record.index_shape[0] << " tokens"
                           << (given.looked ? ", looked" : ""));
        const std::vector<double> x = nk::testing::to_doubles(e.from, type),
                                  index = nk::testing::to_doubles(e.index, dtype::i32);
        std::vector<double> sums(often.size() * width);
        for (std::size_t i = 0; i < x.size(); ++i)
          sums[static_cast<std::size_t>(index[i / width]) * width + i % width] += x[i];
        CHECK(given.to == nk::testing::to_bytes(sums, type));  // exact in f32, whatever the order
        CHECK(given.looked == (may_look && e.record.index_shape[0] <= 2048));
      }
}

// Which threads there are, and how much each takes at once, follows from addresses too.
TEST_CASE(
    "scatter_add: the bits are those of shapes and indices, wherever the values lie and whoever comes "
    "first") {
  dice d(14);
  for (const dtype type : {dtype::f32, dtype::bf16})
    for (const bool may_look : {true, false})
      for (const auto& often : {zipf(65, 768), std::vector<std::size_t>{2000}, zipf(300, 1900)}) {
        const example e = embedding_of(d, type, often, 32, true);
        const answer wide = by_threads(d, e, true, 0, may_look),
                     single = by_threads(d, e, may_look, size_of(type), may_look);
        INFO(name_of(type) << ", " << often.size() << " words");
        CHECK(wide.unit != single.unit);
        CHECK(wide.looked == may_look);
        CHECK(wide.to == single.to);
        // in f32 another order gives other bits, and the sums are still right
        const std::vector<double> x = nk::testing::to_doubles(e.from, type),
                                  index = nk::testing::to_doubles(e.index, dtype::i32),
                                  y = nk::testing::to_doubles(wide.to, type);
        std::vector<double> sums(y.size()), sizes(y.size());
        for (std::size_t i = 0; i < x.size(); ++i) {
          const std::size_t to = static_cast<std::size_t>(index[i / 32]) * 32 + i % 32;
          sums[to] += x[i];
          sizes[to] += std::fabs(x[i]);
        }
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < y.size(); ++i)
          wrong += !(std::fabs(y[i] - sums[i]) <=
                     (type == dtype::f32 ? 4e-6 * sizes[i] : std::fabs(sums[i]) / 200 + 4e-6 * sizes[i]));
        CHECK(wrong == 0);
      }
}
