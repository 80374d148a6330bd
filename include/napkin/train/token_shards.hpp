// Writing token files: one after another, each whole, as llm.c writes them. Reading is train/token_file.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "napkin/train/file_system.hpp"

namespace napkin {

class token_shards {
 public:
  /// Files FOLDER/NAME_000000.bin, NAME_000001.bin and so on, of `size` tokens but for the last. One at a
  /// time is in memory, and appears whole or not at all.
  ///
  /// Errors  `error` where `size` is 0 or more than a header can count, 2^31 - 1
  token_shards(file_system& files, const std::string& folder, const std::string& name, std::size_t size);

  void append(std::span<const std::uint16_t> tokens);
  /// Write what has not been written.
  void finish();

  std::uint64_t tokens() const { return tokens_; }  // that were appended
  std::size_t files() const { return written_; }

 private:
  void write_shard();

  file_system* files_;
  std::string prefix_;
  std::size_t size_;
  std::vector<std::uint16_t> shard_;
  std::uint64_t tokens_ = 0;
  std::size_t written_ = 0;
};

/// A file in a folder of token files that says that they are not all there yet: `open_corpus` refuses the
/// folder, whatever became of the program that wrote there. Made before the first of them, finished behind
/// the last.
class unfinished_tokens {
 public:
  static constexpr std::string_view name = "INCOMPLETE";

  unfinished_tokens(file_system& files, const std::string& folder);
  void finish();

 private:
  file_system* files_;
  std::string folder_;
};

}  // namespace napkin
