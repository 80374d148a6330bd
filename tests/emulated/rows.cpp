// Memory is asked for in whole sectors, and written in them: nvcc takes stores of 16 bytes apart if it may.
#include "emulated/rows.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <string_view>

#include "emulated/device.hpp"
#include "support/compare.hpp"

namespace {

void check_sectors(void (*run)(), std::string_view of = {}) {
  napkin::testing::counts_since();
  run();
  const napkin::testing::ptx::counts c = napkin::testing::counts_since(of);
  CAPTURE(c.load_bytes, c.load_sectors, c.store_bytes, c.store_sectors, c.instructions);
  REQUIRE(c.store_sectors > 0);
  CHECK(c.store_bytes >= 31 * c.store_sectors);  // single numbers are written too
  CHECK(c.load_bytes >= 31 * c.load_sectors);
}

}  // namespace

TEST_CASE("emulated: adjacent elements move in whole sectors") {
  SECTION("elementwise") { check_sectors(napkin::testing::run_elementwise); }
  SECTION("softmax of long rows") { check_sectors(napkin::testing::run_long_softmax); }
  SECTION("sums over rows") { check_sectors(napkin::testing::run_column_sums); }
  SECTION("sums by indices") { check_sectors(napkin::testing::run_scattered_sums); }
  SECTION("attention") {
    check_sectors([] { napkin::testing::run_attention(false); }, "attention");
  }
  SECTION("attention's gradients") {
    check_sectors([] { napkin::testing::run_attention(true); }, "attention");
  }
  SECTION("attention of wide heads") {
    check_sectors([] { napkin::testing::run_wide_attention(true); }, "attention");
  }
  SECTION("attention in f64") {
    check_sectors([] { napkin::testing::run_exact_attention(true); }, "attention");
  }
}

// Partial sums and rows of scratch are in a plan's bytes: as many as their kernels load and store.
TEST_CASE("emulated: a plan's bytes are those that its kernels load and store, workspace and all") {
  for (napkin::byte_counts (*const run)() :
       {napkin::testing::move_column_sums, napkin::testing::move_scratch_rows,
        napkin::testing::move_scratch_and_sums}) {
    napkin::testing::counts_since();
    const napkin::byte_counts said = run();
    const napkin::testing::ptx::counts c = napkin::testing::counts_since();
    CHECK(c.load_bytes == said.read);
    CHECK(c.store_bytes == said.written);
  }
}

// An H100 moves 14.5 bytes a cycle and multiprocessor, which issues four instructions: 288 while a warp's lanes read and
// write 16 bytes each, 8 logits. (PTX has more than machine code, and both ways to read logits again.)
TEST_CASE("emulated: a cross entropy reads its logits once, and does not wait for its arithmetic") {
  napkin::testing::counts_since();
  const auto gradient = napkin::testing::run_cross_entropy();
  const napkin::testing::ptx::counts c = napkin::testing::counts_since("fused");
  constexpr std::size_t bytes = napkin::testing::logits * 2;
  CAPTURE(c.instructions, c.load_bytes, c.store_bytes);
  REQUIRE(c.instructions > 0);
  CHECK(c.instructions <= 220 * (napkin::testing::logits / (8 * 32)));
  CHECK(c.load_bytes >= bytes);
  CHECK(c.load_bytes <= bytes + bytes / 40);  // each thread reads its row's target
  CHECK(c.store_bytes <= bytes + bytes / 50);

  // Of 164 KB of shared memory, an A100's, two rows would not lie in it: they are read again, to the same
  // bits.
  napkin::testing::shared_of_multiprocessor = 164 * 1024;
  CHECK(napkin::testing::run_cross_entropy() == gradient);
  napkin::testing::shared_of_multiprocessor = 228 * 1024;
  CHECK(napkin::testing::counts_since("fused").load_bytes >= 3 * bytes);
}

// A room for each phase would be more shared memory than a block has: they take turns in two.
TEST_CASE("emulated: a row's sums are joined however many phases there are") {
  const auto [here, there] = napkin::testing::run_many_joins();
  REQUIRE(here.size() == there.size());
  double off = 0;
  for (std::size_t i = 0; i < here.size(); ++i)
    off = napkin::testing::worst_of(off, std::fabs(here[i] - there[i]));
  CHECK(off <= 1e-12);
}

// A row of 768 is one warp's: an H200 has 382 cycles for it at the rate of a copy, in which four schedulers issue
// 1,528 instructions. Of what each row reads, weights are its own cache's, and the team's last row is read twice.
// Sums of columns are 528 teams'; of the loss each row gives a number.
TEST_CASE("emulated: a norm's gradient reads its rows once, and does not wait for its arithmetic") {
  napkin::testing::counts_since();
  napkin::testing::run_norm_gradient();
  const napkin::testing::ptx::counts c = napkin::testing::counts_since("fused");
  constexpr std::size_t rows = napkin::testing::normed_rows, width = napkin::testing::normed_width;
  constexpr std::size_t bytes = rows * width * 2, weights = rows * width * 4, teams = 528;
  CAPTURE(c.instructions, c.load_bytes, c.store_bytes);
  REQUIRE(c.instructions > 0);
  CHECK(c.instructions <= 1000 * rows);
  CHECK(c.load_bytes <= 2 * bytes + 2 * teams * width * 2 + 3 * weights + bytes / 50);
  CHECK(c.store_bytes <= bytes + 2 * teams * width * 4 + bytes / 50);
}

// Of a mask each number is read once by each kernel, in whole sectors where keys lie side by side, and beside an
// mma it takes the instructions of a handful of accesses and additions; tiles before a window are left out.
TEST_CASE("emulated: masks cost what they add") {
  const auto of = [](void (*run)(bool), bool backward) {
    napkin::testing::counts_since();
    run(backward);
    return napkin::testing::counts_since("attention");
  };
  for (const bool backward : {false, true}) {
    const auto causal = of(napkin::testing::run_attention, backward),
               biased = of(napkin::testing::run_biased_attention, backward),
               padded = of(napkin::testing::run_padded_attention, backward),
               window = of(napkin::testing::run_window_attention, backward);
    const auto each = [](const napkin::testing::ptx::counts& c) {
      return static_cast<double>(c.instructions) / static_cast<double>(c.products);
    };
    CAPTURE(backward, each(causal), each(biased), each(padded), each(window));
    CAPTURE(causal.products, biased.products, padded.products, window.products);
    CHECK(causal.products > 0);
    CHECK(biased.products > causal.products);   // all pairs
    CHECK(padded.products <= causal.products);  // every query sees a key: no tile is walked again
    CHECK(2 * window.products < causal.products + causal.products / 4);
    CHECK(each(biased) <= 10);
    CHECK(each(padded) <= 11);
    CHECK(each(window) <= 9);  // half of its tiles are cut by an edge
  }
}

// While a multiprocessor's four schedulers wait 6.4 cycles each for an mma (of 512 products a cycle that
// Hopper's tensor cores have, mma.sync reaches 0.62), they issue 6.4 instructions each, and shared memory gives
// 6.4 wavefronts to all four. What attention does beside its products is to take no longer. (PTX sets a product's
// sums to zero by instructions that the processor does not have: 7.)
TEST_CASE("emulated: attention keeps tensor cores busy") {
  for (const bool backward : {false, true}) {
    napkin::testing::counts_since();
    napkin::testing::run_attention(backward);
    const napkin::testing::ptx::counts c = napkin::testing::counts_since("attention");
    CAPTURE(backward, c.instructions, c.products, c.shared_wavefronts, c.least_wavefronts);
    REQUIRE(c.products > 0);
    CHECK(static_cast<double>(c.instructions) <= 7.0 * static_cast<double>(c.products));
    CHECK(static_cast<double>(c.shared_wavefronts) <= 1.6 * static_cast<double>(c.products));
  }
}

// General kernels load their own rows anew with each tile, and a warp has one band of them.
TEST_CASE("emulated: attention of wide heads is products") {
  for (const bool backward : {false, true}) {
    napkin::testing::counts_since();
    napkin::testing::run_wide_attention(backward);
    const napkin::testing::ptx::counts c = napkin::testing::counts_since("attention");
    CAPTURE(backward, c.instructions, c.products, c.shared_wavefronts, c.least_wavefronts);
    REQUIRE(c.products > 0);
    CHECK(static_cast<double>(c.instructions) <= 12.0 * static_cast<double>(c.products));
    CHECK(static_cast<double>(c.shared_wavefronts) <= 2.75 * static_cast<double>(c.products));
    CHECK(c.shared_wavefronts == c.least_wavefronts);
  }
}
