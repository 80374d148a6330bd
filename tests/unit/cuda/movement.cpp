// Movements by the GPU's threads, but for scatter_add (scatter_add.cpp), compared with the CPU's: bit for bit.
#include "napkin/cuda/movement.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "support/movement_cases.hpp"

using namespace movement_test;

TEST_CASE("gather, pad and concat by the GPU's threads are the CPU's, bit for bit") {
  dice d(20261123);
  std::map<std::string, int> units;
  int faults = 0, wide = 0, compared = 0;
  for (int i = 0; i < 6000; ++i) {
    const unit_kind kind = d.one_of({unit_kind::gather, unit_kind::pad, unit_kind::concat});
    const dtype type = nk::all_dtypes[d.below(nk::all_dtypes.size())];
    const example e = random_example(d, kind, type);
    const std::size_t shift = d.below(3) == 0 ? size_of(type) * d.below(3) : 0;
    const answer expected = by_cpu(e), given = by_threads(d, e, d.below(3) != 0, shift);
    INFO(describe(e.record) << ", shift " << shift << ", unit " << given.unit);
    CHECK(expected.error.empty() == !(e.outside && picks_any(e.record)));
    CHECK(given.error.empty() == expected.error.empty());
    ++compared;
    if (!expected.error.empty()) {
      ++faults;
      continue;
    }
    ++units[given.unit];
    wide += !given.narrow;
    REQUIRE(given.to == expected.to);
  }
  CHECK(compared > 5000);
  CHECK(faults > 50);
  CHECK(wide > 500);
  for (const char* unit : {"1", "2", "4", "8", "16"}) {
    INFO("unit " << unit);
    CHECK(units[unit] > 100);
  }
}

TEST_CASE("16 bytes at a time where rows lie so") {
  dice d(5);
  const auto unit_of = [&](example e, std::size_t shift = 0) { return by_threads(d, e, true, shift).unit; };
  example e = embedding(d, dtype::bf16, 64, 100, 24, 0);
  CHECK(unit_of(e) == "v8");
  CHECK(unit_of(e, 2) == "v1");
  e.record.kind = unit_kind::gather;
  std::swap(e.record.from_shape, e.record.to_shape);
  e.from = random_elements(d, 100 * 24, dtype::bf16);
  CHECK(unit_of(e) == "16");
  CHECK(unit_of(e, 8) == "8");
  CHECK(unit_of(e, 2) == "2");
  example pad;
  pad.record.type = dtype::bf16;
  pad.record.from_shape = {4, 24};
  pad.record.from_stride = {24, 1};
  pad.record.to_shape = {4, 72};
  pad.record.start = {0, 24};
  pad.record.step = {1, 1};
  pad.from = random_elements(d, 96, dtype::bf16);
  CHECK(unit_of(pad) == "16");
  pad.record.start = {0, 4};
  CHECK(unit_of(pad) == "8");
  pad.record.step = {1, 2};
  CHECK(unit_of(pad) == "2");
}

TEST_CASE("an index outside its axis touches nothing else") {
  dice d(8);
  example e = embedding(d, dtype::f64, 4, 3, 2, 0);
  e.index = nk::testing::to_bytes({2, 9, 0, 2}, dtype::i32);
  e.from = nk::testing::to_bytes({1, 2, 4, 8, 16, 32, 64, 128}, dtype::f64);
  answer sums;
  for (const bool may_look : {false, true}) {
    sums = by_threads(d, e, true, 0, may_look);
    CHECK(sums.looked == may_look);
    CHECK(sums.error == "scatter_add: index 9 is outside an axis of size 3");
    CHECK(nk::testing::to_doubles(sums.to, dtype::f64) == std::vector<double>{16, 32, 0, 0, 65, 130});
  }
  e.record.kind = unit_kind::gather;
  std::swap(e.record.from_shape, e.record.to_shape);
  const answer rows = by_threads(d, e, true, 0);
  CHECK(rows.error == "gather: index 9 is outside an axis of size 3");
  CHECK(nk::testing::to_doubles(rows.to, dtype::f64) == std::vector<double>{16, 32, 0, 0, 1, 2, 16, 32});
}

TEST_CASE("division by multiplication") {
  dice d(6);
  constexpr std::uint32_t most = (1u << 31) - 1;
  std::size_t wrong = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto value = static_cast<std::uint32_t>(1 + d.below(std::size_t{1} << (1 + d.below(31))));
    const cu::detail::divisor<std::int32_t> by(value > most ? most : value);
    const auto multiple = static_cast<std::uint32_t>(by.value * (most / by.value));
    for (const std::uint32_t x : {0u, 1u, by.value - 1, by.value, multiple, multiple - 1, most,
                                  static_cast<std::uint32_t>(d.below(most))})
      wrong += by.quotient(x) != x / by.value;
  }
  CHECK(wrong == 0);
}

TEST_CASE("a movement that cannot be says why") {
  dice d(7);
  example e = embedding(d, dtype::f32, 8, 4, 4, 0);
  cu::index_fault fault;
  std::byte memory[64];
  CHECK_THROWS_WITH(cu::detail::launch_of(e.record, {memory, memory, memory, nullptr, &fault}, true, false),
                    "scatter_add: the workspace is missing (workspace_of(record) bytes)");
  CHECK_THROWS_WITH(cu::detail::launch_of(e.record, {memory, memory, memory, memory, nullptr}),
                    "gather, scatter_add: the index or the place for its faults is missing");
  e.record.type = dtype::c64;
  CHECK_THROWS_WITH(cu::detail::launch_of(e.record, {memory, memory, memory, memory, &fault}),
                    "scatter_add has no kernel for c64 on a GPU");
  e.record.index_type = dtype::f32;
  CHECK_THROWS_WITH(cu::detail::launch_of(e.record, {memory, memory, memory, memory, &fault}),
                    "an index must be an integer, not f32");

  // the text of an index outside its axis is the CPU's
  example outside = embedding(d, dtype::f32, 1, 4, 4, 0);
  outside.index = nk::testing::to_bytes({-3}, dtype::i32);
  CHECK(by_threads(d, outside, true, 0).error == "scatter_add: index -3 is outside an axis of size 4");
  CHECK(by_cpu(outside).error == "scatter_add: index -3 is outside an axis of size 4");
  outside.record.kind = unit_kind::gather;
  std::swap(outside.record.from_shape, outside.record.to_shape);
  CHECK(by_threads(d, outside, true, 0).error == "gather: index -3 is outside an axis of size 4");
  CHECK(by_cpu(outside).error == "gather: index -3 is outside an axis of size 4");
}

namespace {

// GPT-2 124M's, for a batch of 64 x 1024 tokens: known where the plan is made.
constexpr movement_record wte_gradient = [] {
  movement_record r;
  r.kind = unit_kind::scatter_add;
  r.type = dtype::bf16;
  r.from_shape = {65536, 768};
  r.index_shape = {65536};
  r.to_shape = {50304, 768};
  return r;
}();
static_assert(cu::detail::layout_of_scatter(wte_gradient).length == 64);
static_assert(!cu::detail::looks_through_indices(wte_gradient) && cu::launches_of(wte_gradient) == 5);
static_assert(cu::workspace_of(wte_gradient) < 8'000'000);
static_assert(cu::workspace_of(movement_record{}) == 0);

// Of a model of 65 letters: few enough to look through.
constexpr movement_record letters_gradient = [] {
  movement_record r = wte_gradient;
  r.type = dtype::f32;
  r.from_shape = {768, 128};
  r.index_shape = {768};
  r.to_shape = {65, 128};
  return r;
}();
static_assert(cu::launches_of(letters_gradient) == 1 && cu::workspace_of(letters_gradient) == 0);
static_assert(cu::detail::rows_that_look(768) == 32 && cu::detail::rows_that_look(8) == 1);

}  // namespace
