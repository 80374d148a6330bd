// Philox against its published known answers, and the streams built on it.
#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <napkin/core/philox.hpp>
#include <set>

namespace nk = napkin;

// Random123 1.14, tests/kat_vectors, the lines "philox4x32 10": zeros, ones, the digits of pi.
static_assert(nk::philox4x32({0, 0, 0, 0}, {0, 0}) ==
              nk::philox_counter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
static_assert(nk::philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
              nk::philox_counter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
static_assert(nk::philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
              nk::philox_counter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});

TEST_CASE("philox gives the known answers at run time too", "[philox]") {
  volatile std::uint32_t pi = 0x243f6a88;
  CHECK(nk::philox4x32({pi, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        nk::philox_counter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("the words of a stream are those of its blocks", "[philox]") {
  const nk::random_stream s = nk::stream_of(0x123456789abcdef0, "words");
  for (const std::uint64_t start : {std::uint64_t{0}, std::uint64_t{1} << 33, ~std::uint64_t{0} - 63}) {
    for (std::uint64_t i = start; i != start + 64; ++i) {
      CAPTURE(i);
      CHECK(nk::uniform_bits(s, i) == nk::random_block(s, i / 4)[i % 4]);
      const nk::philox_counter pair = nk::random_block(s, i / 2);
      const std::uint64_t low = pair[i % 2 * 2], high = pair[i % 2 * 2 + 1];
      CHECK(nk::uniform_bits64(s, i) == ((high << 32) | low));
    }
  }
}

TEST_CASE("every bit of seed, stream and block counts", "[philox]") {
  const nk::random_stream s{0, 0};
  std::set<nk::philox_counter> blocks{nk::random_block(s, 0)};
  for (int bit = 0; bit < 64; ++bit) {
    const std::uint64_t one = std::uint64_t{1} << bit;
    blocks.insert(nk::random_block({one, 0}, 0));
    blocks.insert(nk::random_block({0, one}, 0));
    blocks.insert(nk::random_block(s, one));
  }
  CHECK(blocks.size() == 1 + 3 * 64);
}

TEST_CASE("a stream is named by its seed, its name and its number", "[philox]") {
  CHECK(nk::stream_of(1, "a") == nk::stream_of(1, "a", 0));
  std::set<std::uint64_t> ids;
  for (const char* name : {"", "a", "b", "ab", "ba", "blocks.1.mlp.up", "blocks.11.mlp.up"})
    for (const std::uint64_t number : {0ull, 1ull, 2ull, 256ull, ~0ull})
      ids.insert(nk::stream_of(1, name, number).stream);
  CHECK(ids.size() == 7 * 5);
  CHECK(nk::stream_of(1, "a").stream == nk::stream_of(2, "a").stream);
  CHECK(nk::uniform_bits(nk::stream_of(1, "a"), 0) != nk::uniform_bits(nk::stream_of(2, "a"), 0));
}

// FNV-1a, computed apart from this code: a stream's numbers must not change from one version to the next.
static_assert(nk::stream_of(5, "") == nk::random_stream{5, 0xa8c7f832281a39c5ull});
static_assert(nk::stream_of(5, "dropout", 258) == nk::random_stream{5, 0xdad0cac666525e2dull});

TEST_CASE("about half of the bits change with one bit of the index", "[philox]") {
  const nk::random_stream s = nk::stream_of(7, "avalanche");
  int changed = 0;
  constexpr int pairs = 10'000;
  for (std::uint64_t i = 0; i < pairs; ++i)
    changed += __builtin_popcount(nk::uniform_bits(s, 8 * i) ^ nk::uniform_bits(s, 8 * i + 4));
  const double mean = static_cast<double>(changed) / pairs;  // 16, standard deviation 2.83 / 100
  CHECK(mean > 15.85);
  CHECK(mean < 16.15);
}
