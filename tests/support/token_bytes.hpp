// Token files as bytes, made by hand for tests.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

inline std::string as_uint16(const std::vector<std::uint16_t>& tokens) {
  std::string bytes(tokens.size() * 2, '\0');
  if (!tokens.empty()) std::memcpy(bytes.data(), tokens.data(), bytes.size());
  return bytes;
}

/// As llm.c writes it; the header's number of tokens is that of `tokens` unless another is given.
inline std::string as_llmc(const std::vector<std::uint16_t>& tokens, std::int32_t count,
                           std::int32_t version = 1, std::int32_t magic = 20240520) {
  std::int32_t header[256] = {magic, version, count};
  std::string bytes(sizeof header, '\0');
  std::memcpy(bytes.data(), header, sizeof header);
  return bytes + as_uint16(tokens);
}
inline std::string as_llmc(const std::vector<std::uint16_t>& tokens) {
  return as_llmc(tokens, static_cast<std::int32_t>(tokens.size()));
}
