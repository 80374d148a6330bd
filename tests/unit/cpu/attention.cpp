// Attention by blocks on the CPU against plain loops in f64: blocks that are filled and not, rows that lie near one
// another and far, elements that are no neighbours; the same bits by one thread and by several.
#include "napkin/cpu/attention.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

#include "napkin/cpu/threads.hpp"
#include "support/attention_cases.hpp"

namespace nk = napkin;
namespace cpu = nk::on_cpu;
using nk::attention_mask;
using nk::dtype;
using nk::passes::attention_tensors;
using nk::planning::attention_record;
using nk::testing::random_source;
using nk::testing::attention::check;
using nk::testing::attention::check_all;
using nk::testing::attention::check_masked;
using nk::testing::attention::check_short;
using nk::testing::attention::endless;
using nk::testing::attention::memory_of_all;
using nk::testing::attention::sizes;

namespace {

void attend(const attention_record& record, const memory_of_all& of) {
  cpu::attention_call call;
  for (std::size_t x = 0; x < of.size(); ++x) call.of[x] = of[x].data();
  cpu::attend(record, call);
}
void attend_by_blocks(const attention_record& record, const memory_of_all& of) {
  CHECK(cpu::goes_by_blocks(record));
  attend(record, of);
}
void attend_by_loops(const attention_record& record, const memory_of_all& of) {
  CHECK(!cpu::goes_by_blocks(record));
  attend(record, of);
}
bool is_not_masked(const attention_record& r) { return !r.extent.is_masked(); }
constexpr nk::testing::attention::way by_blocks{&attend_by_blocks, true}, by_loops{&attend_by_loops, true},
    by_any{&attend, true, &is_not_masked};

template <class T>
void check_blocks(double tolerance) {
  using enum attention_mask;
  random_source random(40 + sizeof(T));
  const auto one = [&](const sizes& s) { return check<T>(s, random, tolerance, by_blocks); };
  // the widest heads, of fewer keys a block; none at all
  CHECK(one({.queries = 100, .keys = 200, .hidden = 256, .value = 256, .causal = true}) == 0);
  CHECK(one({.queries = 40, .keys = 150, .hidden = 200, .value = 16}) == 0);
  CHECK(one({.queries = 70, .keys = 90, .hidden = 0, .value = 30, .scale = 1}) == 0);  // all weigh alike
  // keys of which no query sees any; queries behind all keys
  CHECK(one({.heads = 2, .queries = 40, .keys = 300, .hidden = 16, .value = 16, .causal = true}) == 0);
  CHECK(one({.heads = 2, .queries = 300, .keys = 40, .hidden = 16, .value = 16, .causal = true}) == 0);
  for (const double scale : {-0.125, -1e-30, 2.0})
    CHECK(one({.group = 2,
               .queries = 70,
               .keys = 70,
               .hidden = 33,
               .value = 40,
               .causal = true,
               .scale = scale}) == 0);
  // rows in pages of their own; elements that are no neighbours
  CHECK(one({.heads = 2, .queries = 150, .keys = 150, .hidden = 32, .value = 24, .apart = 1500}) == 0);
  for (const bool causal : {false, true})
    CHECK(one({.heads = 2,
               .queries = 150,
               .keys = 140,
               .hidden = 24,
               .value = 40,
               .causal = causal,
               .apart = 3,
               .step = 2}) == 0);
  // windows of which whole blocks lie outside, alone and masked
  CHECK(one({.queries = 400, .keys = 400, .hidden = 16, .value = 24, .causal = true, .window = 100}) == 0);
  CHECK(one({.queries = 400, .keys = 390, .hidden = 16, .value = 24, .causal = true, .window = 17}) == 0);
  CHECK(one({.batch = 2,
             .group = 2,
             .queries = 130,
             .keys = 130,
             .hidden = 20,
             .value = 20,
             .causal = true,
             .step = 3,
             .window = 70,
             .mask = shows,
             .has = {1, 0, 1, 1, 1}}) == 0);
  for (const dtype type : {dtype::f64, dtype::f32, dtype::bf16, dtype::f16})
    CHECK(one({.heads = 2,
               .queries = 90,
               .keys = 150,
               .hidden = 20,
               .value = 20,
               .mask = adds,
               .has = {0, 1, 0, 1, 1},
               .mask_type = type}) == 0);
}

}  // namespace

TEST_CASE("a backward pass of attention computes deltas that it is not given") {
  check_short<double>(1e-12, by_any);
  check_short<float>(1e-5, by_any);
}

TEST_CASE("attention by blocks in f32") {
  check_all<float>(1e-5, by_blocks);
  check_masked<float>(1e-5, by_blocks);
  check_blocks<float>(1e-5);
}
TEST_CASE("attention by blocks in f64") {
  check_all<double>(1e-13, by_blocks);
  check_masked<double>(1e-13, by_blocks);
  check_blocks<double>(1e-13);
}
TEST_CASE("attention by blocks in bf16") {
  check_all<nk::bf16>(1.6e-2, by_blocks);
  check_masked<nk::bf16>(1.6e-2, by_blocks);
  check_blocks<nk::bf16>(1.6e-2);
}
TEST_CASE("attention by blocks in f16") {
  check_all<nk::f16>(2e-3, by_blocks);
  check_masked<nk::f16>(2e-3, by_blocks);
  check_blocks<nk::f16>(2e-3);
}
TEST_CASE("attention that blocks do not take, by loops") {
  random_source random(3);
  check<nk::bf16>({.queries = 20, .keys = 30, .hidden = 257, .value = 16, .causal = true}, random, 1.6e-2,
                  by_loops);
  check<float>({.queries = 20, .keys = 30, .hidden = 257, .value = 16, .causal = true}, random, 1e-5,
               by_loops);
  check<double>({.queries = 20, .keys = 30, .hidden = 8, .value = 300, .causal = true}, random, 1e-13,
                by_loops);
}

TEST_CASE("attention by blocks has the same bits by any number of threads") {
  constexpr std::size_t heads = 6, positions = 200, width = 32, size = heads * positions * width;
  attention_record r;
  r.type = dtype::f32;
  r.extent = nk::testing::attention::extent_of({.heads = heads,
                                                .queries = positions,
                                                .keys = positions,
                                                .hidden = width,
                                                .value = width,
                                                .causal = true});
  const auto run = [&](std::size_t threads) {
    cpu::set_threads(threads);
    std::vector<float> memory[attention_tensors];
    random_source random(9);
    for (auto& m : memory) m.resize(size);
    for (auto& m : memory)
      for (float& x : m) x = static_cast<float>(random.uniform(-1, 1));
    cpu::attention_call call;
    for (std::size_t t = 0; t < attention_tensors; ++t)
      call.of[t] = reinterpret_cast<std::byte*>(memory[t].data());
    r.backward = false;
    cpu::attend(r, call);
    r.backward = true;
    cpu::attend(r, call);
    std::vector<float> all;
    for (auto& m : memory) all.insert(all.end(), m.begin(), m.end());
    return all;
  };
  const std::size_t before = cpu::threads();
  const std::vector<float> by_one = run(1), by_three = run(3);
  cpu::set_threads(before);
  CHECK(std::memcmp(by_one.data(), by_three.data(), by_one.size() * sizeof(float)) == 0);
}
