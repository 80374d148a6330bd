// Checkpoint files made by hand: a header's JSON as the test wants it, with its checksum made right, so that
// what is wrong behind it is reached.
#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>

#include "napkin/train/crc32c.hpp"

inline std::string length_bytes(std::uint64_t length) {
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>((length >> (8 * i)) & 0xff);
  return bytes;
}

inline std::string checksum_text(const std::string& bytes) {
  char text[9];
  std::snprintf(text, sizeof text, "%08x",
                static_cast<unsigned>(napkin::crc32c(std::as_bytes(std::span(bytes)))));
  return text;
}

/// The file of a header and data; the 8 zeros behind the first "crc32c":" become the header's checksum.
inline std::string sealed(std::string header, const std::string& data) {
  const std::string key = "\"crc32c\":\"";
  const std::size_t at = header.find(key);
  if (at != std::string::npos && header.compare(at + key.size(), 8, "00000000") == 0)
    header.replace(at + key.size(), 8, checksum_text(length_bytes(header.size()) + header));
  return length_bytes(header.size()) + header + data;
}
