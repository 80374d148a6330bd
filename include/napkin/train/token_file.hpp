// Tokens in files, mapped into memory and never read whole: text as bytes, and the token files that nanoGPT
// and llm.c write. How data is split into training and validation is in corpus.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "napkin/train/file_system.hpp"

namespace napkin {

/// A stretch of tokens in one file, all of them 1 or 2 bytes wide, little-endian.
struct token_segment {
  std::string path;
  std::uint64_t file_size = 0;  // bytes; a file of another size when it is mapped has changed under us
  std::uint64_t offset = 0;     // bytes from the file's beginning to the first token
  std::uint64_t count = 0;      // tokens
  std::uint32_t width = 1;      // bytes a token
  std::uint64_t version = 0;    // the file's, as file_status has it; another one has changed under us, too
};

/// What a file holds, by its beginning and its name:
///   llm.c     256 int32 of header: magic 20240520, version 1, the number of tokens; then uint16 tokens
///   nanoGPT   any other file named *.bin: uint16 tokens
///   text      the rest: each byte is a token
/// `input_error` for an empty file, an odd number of bytes, a header that disagrees with the file's length,
/// a version or a width of token that is not known.
/// Source: llm.c, dev/data/data_common.py, write_datafile; nanoGPT, data/openwebtext/prepare.py
token_segment find_tokens(file_system& files, const std::string& path);

/// The file's bytes as tokens, whatever it holds; it may be empty.
token_segment find_bytes(file_system& files, const std::string& path);

/// A sequence of tokens over any number of files, joined in order. Files are opened and mapped when first
/// asked for, and a thousand at most are mapped at a time. Not for several threads at once.
class token_source {
 public:
  /// `name` is for messages: "the training text of wiki.txt". Every token must be below `vocabulary`.
  token_source(file_system& files, std::string name, std::vector<token_segment> segments,
               std::uint64_t vocabulary);

  std::uint64_t size() const { return starts_.back(); }  // tokens
  std::uint64_t vocabulary() const { return vocabulary_; }
  const std::string& name() const { return name_; }
  std::size_t files() const { return segments_.size(); }  // a file split in two counts in both parts

  /// Whether every token is a byte of text, so that bits per byte is bits per token.
  bool holds_bytes() const;

  /// Copy `count` tokens from `start` on. `input_error` naming file, byte and token for one that is not below
  /// the vocabulary, and for a file that has changed or gone; `error` beyond the end.
  void copy(std::uint64_t start, std::size_t count, std::uint16_t* out) const;

  /// The tokens [begin, end) of this sequence.
  token_source slice(std::uint64_t begin, std::uint64_t end, std::string name) const;

  /// `input_error` unless there are `count` tokens, enough for one `purpose`.
  void require(std::uint64_t count, const std::string& purpose) const;
  /// The same of one window of `time` tokens and the target behind it.
  void require_window(std::size_t time) const;

 private:
  const std::byte* data(std::size_t segment) const;

  file_system* files_;
  std::string name_;
  std::vector<token_segment> segments_;
  std::vector<std::uint64_t> starts_;  // the first token of each segment, then the number of all
  std::uint64_t vocabulary_;
  mutable std::vector<file_mapping> mappings_;
  mutable std::vector<std::size_t> mapped_;  // a ring of those mapped, the oldest at next_
  mutable std::size_t next_ = 0;
};

}  // namespace napkin
