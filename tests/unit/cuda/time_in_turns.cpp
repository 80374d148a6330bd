// Ways that are timed in turns: how many calls a clock is given, which ways take no more, and what does not run.
#include "napkin/cuda/time_in_turns.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <utility>
#include <vector>

#include "support/fake_cuda.hpp"

namespace on_cuda = napkin::on_cuda;

namespace {

struct timed {
  std::vector<float> least;
  std::vector<int> calls;  // of each way
};

/// Ways of so many milliseconds a call; below 0: one that does not run.
timed time_ways(fake_cuda& cuda, const std::vector<float>& milliseconds) {
  const on_cuda::stream on(cuda);
  std::size_t last = 0;
  int in_a_row = 0;
  timed t{{}, std::vector<int>(milliseconds.size(), 0)};
  cuda.elapsed = [&] { return milliseconds[last] * static_cast<float>(std::exchange(in_a_row, 0)); };
  t.least = on_cuda::time_in_turns(on, milliseconds.size(), [&](std::size_t way) {
    last = way;
    ++in_a_row, ++t.calls[way];
    if (milliseconds[way] >= 0) return true;
    in_a_row = 0;
    return false;
  });
  CHECK(cuda.misuse.empty());
  return t;
}

}  // namespace

TEST_CASE("the shorter the calls, the more of them the clock is given", "[blas]") {
  fake_cuda cuda;
  CHECK(time_ways(cuda, {0.005f, 0.0051f}).calls == std::vector<int>{50, 50});  // 1, 1, 16, 16, 16
  CHECK(time_ways(cuda, {0.02f, 0.021f}).calls == std::vector<int>{32, 32});
  CHECK(time_ways(cuda, {1.0f, 1.1f}).calls == std::vector<int>{11, 11});
  CHECK(time_ways(cuda, {20.0f, 21.0f}).calls == std::vector<int>{4, 4});
  CHECK(time_ways(cuda, {1.0f}).calls == std::vector<int>{2});  // whether it runs
}

TEST_CASE("a way that is far behind, or does not run, takes no more turns", "[blas]") {
  fake_cuda cuda;
  const timed t = time_ways(cuda, {1.0f, 1.3f, 2.0f, -1.0f, 1.1f});
  CHECK(t.calls == std::vector<int>{11, 5, 2, 1, 11});
  CHECK(t.least[0] == Approx(1.0f));
  CHECK(t.least[1] == Approx(1.3f));
  CHECK(std::isinf(t.least[3]));
  const timed none = time_ways(cuda, {-1.0f, -1.0f});
  CHECK((std::isinf(none.least[0]) && std::isinf(none.least[1])));
  CHECK(std::isinf(time_ways(cuda, {-1.0f}).least[0]));
}
