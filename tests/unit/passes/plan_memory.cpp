// Offsets in an arena: no two buffers that live at a time overlap, and the peak is near what must be there.
#include "napkin/passes/plan_memory.hpp"

#include <catch2/catch.hpp>

#include "support/random_graph.hpp"

namespace nk = napkin;
using nk::passes::lifetime;
using lifetimes = nk::buffer<lifetime>;

namespace {

lifetimes of(std::initializer_list<lifetime> list) {
  lifetimes out;
  for (const lifetime& l : list) out.push_back(l);
  return out;
}

/// What every plan must be, found by looking at every pair and every step.
void check_legal(const lifetimes& buffers) {
  const nk::passes::memory_plan plan = nk::passes::plan_memory(buffers, steps_of(buffers));
  REQUIRE(plan.offsets.size() == buffers.size());
  std::size_t end = 0, bound = 0;
  bool apart = true, placed = true;
  for (std::size_t a = 0; a < buffers.size(); ++a) {
    const std::size_t top = plan.offsets[a] + nk::passes::aligned(buffers[a].bytes);
    placed = placed && plan.offsets[a] % nk::passes::alignment == 0;
    if (buffers[a].bytes > 0 && top > end) end = top;
    for (std::size_t b = 0; b < a; ++b)
      if (buffers[a].first <= buffers[b].end() && buffers[b].first <= buffers[a].end())
        apart = apart && (plan.offsets[a] >= plan.offsets[b] + buffers[b].bytes ||
                          plan.offsets[b] >= plan.offsets[a] + buffers[a].bytes);
  }
  for (std::int32_t t = 0; t < steps_of(buffers); ++t) {
    std::size_t alive = 0;
    for (const lifetime& l : buffers)
      if (l.first <= t && t <= l.end()) alive += nk::passes::aligned(l.bytes);
    bound = alive > bound ? alive : bound;
  }
  CHECK(apart);
  CHECK(placed);
  CHECK(plan.peak == end);
  CHECK(plan.lower_bound == bound);
  CHECK(plan.peak >= bound);
}

/// Forward through layers of some buffers each, some kept for the way back, and back: gradients live shortly.
lifetimes training_step(nk::testing::random_source& random, int layers, int per_layer, std::size_t unit) {
  lifetimes out;
  const std::size_t widths[] = {1, 1, 1, 3, 4, 4, 2};
  const std::int32_t half = layers * per_layer;
  for (std::int32_t t = 0; t < half; ++t) {
    const std::size_t bytes = unit * widths[t % per_layer % 7];
    const bool kept = random.chance(0.6);
    const std::int32_t mirrored = 2 * half - t;
    out.push_back({bytes, t, kept ? mirrored : t + 1 + random.below(3)});
    out.push_back({bytes, mirrored - 1, mirrored + random.below(2)});
  }
  return out;
}

}  // namespace

TEST_CASE("a small arena, step by step") {
  // 0 and 1 are there first; 2 takes 0's place; 3 is too large for the hole that 1 leaves; 4 is not.
  const lifetimes buffers = of({{128, 0, 1}, {64, 0, 2}, {128, 2, 5}, {192, 3, 4}, {10, 4, 5}});
  const nk::passes::memory_plan plan = nk::passes::detail::scan(buffers, 6, false);
  const std::size_t expected[] = {0, 128, 0, 128, 320};
  for (std::size_t i = 0; i < 5; ++i) CHECK(plan.offsets[i] == expected[i]);
  CHECK(plan.peak == 384);
  CHECK(plan.lower_bound == 384);
}

TEST_CASE("a hole grows upwards, joins its neighbours, and is shared") {
  check_legal(of({{64, 0, 1}, {64, 0, 1}, {64, 0, 3}, {128, 2, 3}, {256, 4, 4}}));
  check_legal(of({{64, 0, 0}, {64, 0, 2}, {64, 0, 0}, {64, 1, 2}, {64, 1, 2}, {192, 3, 3}}));
  CHECK(nk::passes::plan_memory(of({{64, 0, 0}, {64, 0, 0}, {128, 1, 1}}), 2).peak == 128);
}

TEST_CASE("nothing, and buffers of no bytes") {
  CHECK(nk::passes::plan_memory({}, 1).peak == 0);
  const auto plan = nk::passes::plan_memory(of({{0, 0, 3}, {100, 1, 2}, {0, 2, 2}}), 4);
  CHECK(plan.peak == 128);
  CHECK(plan.lower_bound == 128);
}

TEST_CASE("what is held is given to no other before it is over") {
  CHECK(nk::passes::plan_memory(of({{64, 0, 0}, {64, 1, 1}}), 2).peak == 64);
  const auto held = nk::passes::plan_memory(of({{64, 0, 0, 1}, {64, 1, 1}, {64, 2, 2}}), 3);
  CHECK(held.offsets[0] != held.offsets[1]);
  CHECK(held.peak == 128);
  CHECK(held.lower_bound == 128);
}

TEST_CASE("random lifetimes") {
  nk::testing::random_source random(5);
  for (int tries = 0; tries < 300; ++tries) {
    lifetimes buffers;
    const int count = 1 + random.below(60), steps = 1 + random.below(30);
    for (int i = 0; i < count; ++i) {
      const int first = random.below(static_cast<std::size_t>(steps));
      const int length = random.below(static_cast<std::size_t>(steps - first));
      const int held = tries % 2 == 0 ? 0 : random.below(static_cast<std::size_t>(steps - first - length));
      buffers.push_back({static_cast<std::size_t>(random.below(1000)), first, first + length, held});
    }
    check_legal(buffers);
  }
}

TEST_CASE("the peak of a training step is near its lower bound") {
  nk::testing::random_source random(6);
  double worst = 0;
  for (int tries = 0; tries < 60; ++tries) {
    const int layers = 4 + random.below(20);
    const lifetimes buffers =
        training_step(random, layers, 9 + random.below(4), 64 * (1 + static_cast<std::size_t>(tries % 7)));
    check_legal(buffers);
    const auto plan = nk::passes::plan_memory(buffers, steps_of(buffers));
    const double over = static_cast<double>(plan.peak) / static_cast<double>(plan.lower_bound) - 1;
    worst = over > worst ? over : worst;
  }
  INFO("worst: " << worst);
  CHECK(worst <= 0.08);
}

TEST_CASE("the same plan in constant evaluation") {
  constexpr std::size_t peak = [] {
    lifetimes buffers;
    for (std::int32_t i = 0; i < 40; ++i)
      buffers.push_back({static_cast<std::size_t>(64 * (1 + i % 5)), i, i + i % 7});
    return nk::passes::plan_memory(buffers, 48).peak;
  }();
  lifetimes buffers;
  for (std::int32_t i = 0; i < 40; ++i)
    buffers.push_back({static_cast<std::size_t>(64 * (1 + i % 5)), i, i + i % 7});
  CHECK(nk::passes::plan_memory(buffers, 48).peak == peak);
}

TEST_CASE("a few buffers are placed by size where time wastes a tenth") {
  // of a step of a convolutional network
  const lifetimes buffers =
      of({{2240, 0, 1},    {6720, 1, 18},   {10752, 2, 3},  {10752, 3, 17}, {10752, 3, 13}, {2688, 4, 13},
          {5376, 4, 12},   {7680, 5, 15},   {560, 6, 8},    {4, 7, 8},      {28, 8, 9},     {560, 8, 15},
          {7680, 12, 12},  {10752, 13, 16}, {2688, 14, 15}, {5376, 15, 15}, {2688, 15, 16}, {10752, 16, 17},
          {10752, 17, 18}, {192, 8, 8},     {64, 8, 8},     {64, 17, 17}});
  check_legal(buffers);
  const nk::passes::memory_plan plan = nk::passes::plan_memory(buffers, steps_of(buffers));
  const std::size_t forward = nk::passes::detail::scan(buffers, steps_of(buffers), false).peak;
  const std::size_t reversed = nk::passes::detail::scan(buffers, steps_of(buffers), true).peak;
  CHECK(plan.lower_bound == 52224);
  CHECK(plan.peak == plan.lower_bound);
  CHECK((forward > 57000 && reversed > 57000));
}
