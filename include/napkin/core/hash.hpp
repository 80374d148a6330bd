// The 64-bit hash for streams of random numbers, schemas and checksums: against damage, not against intent.
#pragma once

#include <cstdint>
#include <string_view>

namespace napkin {

/// FNV-1a, 64 bits, of what was added.
///
/// Source  Fowler, Noll, Vo, Eastlake: "The FNV Non-Cryptographic Hash Algorithm"
struct fnv1a {
  std::uint64_t value = 0xcbf29ce484222325u;

  constexpr void add_byte(unsigned char byte) { value = (value ^ byte) * 0x100000001b3u; }
  constexpr void add(std::string_view text) {
    for (const char c : text) add_byte(static_cast<unsigned char>(c));
  }
  /// Eight bytes, least significant first.
  constexpr void add(std::uint64_t number) {
    for (int shift = 0; shift < 64; shift += 8)
      add_byte(static_cast<unsigned char>((number >> shift) & 0xff));
  }
};

}  // namespace napkin
