// Philox4x32-10 and named streams of random bits: element i of a stream is a pure function of (seed, name,
// i), whatever the order, the thread or the device that asks for it. Distributions are in core/random.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "napkin/core/hash.hpp"

namespace napkin {

using philox_counter = std::array<std::uint32_t, 4>;
using philox_key = std::array<std::uint32_t, 2>;

namespace detail {

struct philox_state {
  std::uint32_t c0, c1, c2, c3, k0, k1;
};

[[gnu::always_inline]] constexpr philox_state philox_round(philox_state s) {
  const std::uint64_t product0 = std::uint64_t{0xD2511F53} * s.c0;
  const std::uint64_t product1 = std::uint64_t{0xCD9E8D57} * s.c2;
  return {static_cast<std::uint32_t>(product1 >> 32) ^ s.c1 ^ s.k0,
          static_cast<std::uint32_t>(product1),
          static_cast<std::uint32_t>(product0 >> 32) ^ s.c3 ^ s.k1,
          static_cast<std::uint32_t>(product0),
          s.k0 + 0x9E3779B9u,
          s.k1 + 0xBB67AE85u};
}

/// The rounds unrolled by the compiler's front end: a loop here would keep a loop over lanes from
/// vectorising.
template <std::size_t... Round>
[[gnu::always_inline]] constexpr philox_state philox_rounds(philox_state s, std::index_sequence<Round...>) {
  ((static_cast<void>(Round), s = philox_round(s)), ...);
  return s;
}

}  // namespace detail

/// Philox4x32-10: a keyed bijection of 128-bit counters whose outputs pass TestU01's BigCrush.
/// Source  Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC 2011); the constants
///         and the known answers of tests/unit/core/philox.cpp are those of its Random123 1.14.
[[gnu::always_inline]] constexpr philox_counter philox4x32(philox_counter counter, philox_key key) {
  const detail::philox_state s = detail::philox_rounds(
      {counter[0], counter[1], counter[2], counter[3], key[0], key[1]}, std::make_index_sequence<10>{});
  return {s.c0, s.c1, s.c2, s.c3};
}

/// 2^66 random words of 32 bits. Two streams that differ in seed or id share none but by chance.
struct random_stream {
  std::uint64_t seed;
  std::uint64_t stream;
  friend constexpr bool operator==(const random_stream&, const random_stream&) = default;
};

/// The stream of a name, and of a number beside it (a step, an epoch, a layer): the id is the FNV-1a hash, 64
/// bits, of the name followed by the number's eight bytes, least significant first.
constexpr random_stream stream_of(std::uint64_t seed, std::string_view name, std::uint64_t number = 0) {
  fnv1a hash;
  hash.add(name);
  hash.add(number);
  return {seed, hash.value};
}

/// Words 4 * block to 4 * block + 3 of a stream: what a loop that fills an array should ask for.
[[gnu::always_inline]] constexpr philox_counter random_block(random_stream s, std::uint64_t block) {
  return philox4x32({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                     static_cast<std::uint32_t>(s.stream), static_cast<std::uint32_t>(s.stream >> 32)},
                    {static_cast<std::uint32_t>(s.seed), static_cast<std::uint32_t>(s.seed >> 32)});
}

/// Word i: 32 random bits.
[[gnu::always_inline]] constexpr std::uint32_t uniform_bits(random_stream s, std::uint64_t i) {
  const philox_counter words = random_block(s, i >> 2);
  const std::uint32_t even = (i & 2) ? words[2] : words[0], odd = (i & 2) ? words[3] : words[1];
  return (i & 1) ? odd : even;
}

/// Words 2 i (low half) and 2 i + 1 (high half): 64 random bits.
[[gnu::always_inline]] constexpr std::uint64_t uniform_bits64(random_stream s, std::uint64_t i) {
  const philox_counter words = random_block(s, i >> 1);
  const std::uint32_t low = (i & 1) ? words[2] : words[0], high = (i & 1) ? words[3] : words[1];
  return (std::uint64_t{high} << 32) | low;
}

}  // namespace napkin
