// Draws follow the softmax, at any temperature and top k, and repeat.
#include "napkin/train/sampling.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>

#include "napkin/core/error.hpp"

namespace nk = napkin;

namespace {

constexpr std::array<float, 5> logits = {0.5f, 2, -1, 2, 0};
const nk::random_stream stream = nk::stream_of(3, "test");

std::array<double, 5> frequencies(nk::sampling_options how, std::uint64_t draws) {
  nk::token_sampler draw(how);
  std::array<double, 5> f{};
  for (std::uint64_t i = 0; i < draws; ++i) f[draw(logits, stream, i)] += 1.0 / static_cast<double>(draws);
  return f;
}

}  // namespace

TEST_CASE("sampling: frequencies are the softmax of what is left in") {
  constexpr std::uint64_t draws = 100'000;
  for (const double temperature : {0.5, 1.0, 3.0})
    for (const std::size_t k : {0u, 1u, 3u, 9u}) {
      std::array<double, 5> expected{};
      double sum = 0;
      for (std::size_t i = 0; i < 5; ++i) {
        const bool kept = k == 0 || k == 9 || (k == 1 && i == 1) || (k == 3 && (i == 0 || i == 1 || i == 3));
        expected[i] = kept ? std::exp(static_cast<double>(logits[i]) / temperature) : 0;
        sum += expected[i];
      }
      const std::array<double, 5> found = frequencies({temperature, k}, draws);
      for (std::size_t i = 0; i < 5; ++i) {
        const double p = expected[i] / sum;
        const double deviation = std::sqrt(p * (1 - p) / static_cast<double>(draws));
        INFO("temperature " << temperature << ", k " << k << ", token " << i);
        CHECK(std::abs(found[i] - p) <= 5 * deviation + 1e-9);
      }
    }
}

TEST_CASE("sampling: top p keeps the fewest likeliest that reach it, of those that top k left") {
  // Probabilities of tokens 1, 3, 0, 4, 2: 0.415, 0.415, 0.093, 0.056, 0.021.
  constexpr std::uint64_t draws = 20'000;
  const auto drawn = [&](nk::sampling_options how) {
    std::string kept;
    const std::array<double, 5> f = frequencies(how, draws);
    for (std::size_t i = 0; i < 5; ++i)
      if (f[i] > 0) kept += static_cast<char>('0' + i);
    return kept;
  };
  CHECK(drawn({1, 0, 1}) == "01234");
  CHECK(drawn({1, 0, 0.95}) == "0134");
  CHECK(drawn({1, 0, 0.9}) == "013");
  CHECK(drawn({1, 0, 0.8}) == "13");
  CHECK(drawn({1, 0, 0.4}) == "1");
  CHECK(drawn({1, 0, 1e-9}) == "1");
  CHECK(drawn({1, 2, 0.45}) == "1");  // each has half of what is left
  CHECK(drawn({1, 2, 0.55}) == "13");
  const std::array<double, 5> f = frequencies({1, 0, 0.9}, 100'000);
  const double sum = 2 * std::exp(2.0) + std::exp(0.5);
  CHECK(std::abs(f[0] - std::exp(0.5) / sum) <= 0.005);
  CHECK_THROWS_AS(nk::token_sampler({1, 0, 0}), nk::input_error);
  CHECK_THROWS_AS(nk::token_sampler({1, 0, 1.5}), nk::input_error);
  CHECK_THROWS_AS(nk::token_sampler({1, 0, std::nan("")}), nk::input_error);
}

TEST_CASE("sampling: temperature 0 takes the likeliest, the first of equals") {
  nk::token_sampler draw({0, 4});
  for (std::uint64_t i = 0; i < 100; ++i) CHECK(draw(logits, stream, i) == 1);
}

TEST_CASE("sampling: an excluded token is never drawn; a diverged model is an error") {
  const float inf = std::numeric_limits<float>::infinity();
  nk::token_sampler draw({});
  std::size_t wrong = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) wrong += draw(std::array<float, 3>{0, -inf, 0}, stream, i) == 1;
  CHECK(wrong == 0);
  CHECK_THROWS_AS(draw(std::array<float, 2>{-inf, -inf}, stream, 0), nk::error);
  CHECK_THROWS_AS(draw(std::array<float, 2>{inf, 0}, stream, 0), nk::error);
  CHECK_THROWS_AS(draw(std::array<float, 2>{0, std::numeric_limits<float>::quiet_NaN()}, stream, 0),
                  nk::error);
  CHECK_THROWS_AS(nk::token_sampler({-1, 0}), nk::input_error);
  CHECK_THROWS_AS(nk::token_sampler({std::nan(""), 0}), nk::input_error);
}
