// CRC-32C by eight tables ("slicing by 8", Kounavis and Berry 2005): about 1.5 GB/s on one core, no special
// instructions.
#include "napkin/train/crc32c.hpp"

#include <array>
#include <bit>
#include <cstring>

namespace napkin {
namespace {

static_assert(std::endian::native == std::endian::little);

using table = std::array<std::uint32_t, 256>;

constexpr std::array<table, 8> make_tables() {
  std::array<table, 8> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1u) != 0 ? 0x82f63b78u : 0u);
    tables[0][byte] = crc;
  }
  for (std::size_t k = 1; k < 8; ++k)
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t crc = tables[k - 1][byte];
      tables[k][byte] = (crc >> 8) ^ tables[0][crc & 0xffu];
    }
  return tables;
}

constexpr std::array<table, 8> tables = make_tables();

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> data, std::uint32_t before) {
  std::uint32_t crc = ~before;
  const std::byte* at = data.data();
  std::size_t left = data.size();
  for (; left >= 8; left -= 8, at += 8) {
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    std::memcpy(&low, at, 4);
    std::memcpy(&high, at + 4, 4);
    low ^= crc;
    crc = tables[7][low & 0xffu] ^ tables[6][(low >> 8) & 0xffu] ^ tables[5][(low >> 16) & 0xffu] ^
          tables[4][low >> 24] ^ tables[3][high & 0xffu] ^ tables[2][(high >> 8) & 0xffu] ^
          tables[1][(high >> 16) & 0xffu] ^ tables[0][high >> 24];
  }
  for (; left > 0; --left, ++at)
    crc = (crc >> 8) ^ tables[0][(crc ^ std::to_integer<std::uint32_t>(*at)) & 0xffu];
  return ~crc;
}

}  // namespace napkin
