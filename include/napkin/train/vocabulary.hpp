// Which bytes each token stands for: what turns tokens into text again, and bits per token into bits per
// byte. Not how text is cut into tokens, which is the tokenizer's (examples/tokenize.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "napkin/train/file_system.hpp"

namespace napkin {

class vocabulary {
 public:
  /// Token i stands for tokens[i]; for nothing, if that is empty.
  ///
  /// Errors  `input_error` where there are none, or more than 65,536: tokens have 16 bits
  explicit vocabulary(std::vector<std::string> tokens);
  /// Token i is byte i.
  static vocabulary of_bytes();

  std::size_t size() const { return tokens_.size(); }
  /// "" for a token that is none of them.
  std::string_view bytes_of(std::size_t token) const;
  std::string text_of(std::span<const std::uint16_t> tokens) const;
  /// The first token that stands for just these bytes.
  std::optional<std::uint16_t> find(std::string_view bytes) const;

 private:
  std::vector<std::string> tokens_;
};

/// Beside the token files of a folder.
std::string vocabulary_path(const std::string& folder);

/// {"version": 1, "tokens": ["", "0a", ...]}: each token's bytes in hexadecimal.
///
/// Errors  `input_error` where it is missing or not of this form
vocabulary read_vocabulary(file_system& files, const std::string& path);
void write_vocabulary(file_system& files, const std::string& path, const vocabulary& words);

}  // namespace napkin
