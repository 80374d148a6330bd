// The header of a safetensors file as text, and what it says. Private to src/train.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "napkin/train/safetensors.hpp"

namespace napkin::detail {

inline constexpr std::uint64_t longest_header = 16u << 20;  // bytes

struct safetensors_header {
  std::vector<tensor_entry> entries;  // offsets as the header has them: from the beginning of the data
  tensor_metadata metadata;
};

/// Parse a header's JSON text; `path` is for messages. Sizes and offsets are taken as they stand.
safetensors_header parse_safetensors_header(const std::string& path, std::string_view text);

/// The header's text with the checksum in place, its length before it and spaces behind it.
std::string write_safetensors_header(std::span<const tensor_record> tensors, tensor_metadata metadata);

/// The same with the tensors' checksums that stand in the metadata; their data are not looked at.
std::string spell_safetensors_header(std::span<const tensor_record> tensors, tensor_metadata metadata);

/// The checksum that the header of these tensors would bear, were it written here with these metadata.
std::string checksum_of_spelling(std::span<const tensor_record> tensors, const tensor_metadata& metadata);

/// The product of a shape and the dtype's size, in bytes; nothing if it exceeds 64 bits.
std::optional<std::uint64_t> bytes_of(dtype type, std::span<const std::uint64_t> shape);

/// Where the header's checksum stands in its text: the first of its digits. npos if there is none.
std::size_t find_header_checksum(std::string_view text);

/// The checksum of a header, its length's 8 bytes included, with the digits at `digits` taken as zeros.
std::uint32_t header_checksum(std::string text, std::size_t digits);

std::string hexadecimal(std::uint32_t number);                 // as many digits as a checksum has
std::string shape_text(std::span<const std::uint64_t> shape);  // [2, 3]

}  // namespace napkin::detail
