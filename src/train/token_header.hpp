// The header of llm.c's token files, which are read in token_file.cpp and written in token_shards.cpp.
// Private to src/train. Source  llm.c, dev/data/data_common.py, write_datafile
#pragma once

#include <bit>
#include <cstdint>

namespace napkin::detail {

static_assert(std::endian::native == std::endian::little);

struct token_header {
  static constexpr std::int32_t magic_of_16_bits = 20240520, magic_of_32_bits = 20240801;

  std::int32_t magic = magic_of_16_bits;
  std::int32_t version = 1;
  std::int32_t count = 0;  // tokens behind the header
  std::int32_t unused[253]{};
};
static_assert(sizeof(token_header) == 1024);

}  // namespace napkin::detail
