// SentencePiece as the tokenize program has it: without loss, so that tokens give back the text, byte for
// byte. Compiled on its own: where SentencePiece was not found, every call says how to install it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <napkin/train/vocabulary.hpp>
#include <string>
#include <string_view>
#include <vector>

/// Gives the next line of a text, with its end, until there is none.
using line_source = std::function<bool(std::string& line)>;

/// Train a model of byte pairs and return its file's bytes: the text as it is, words apart by spaces, runs of
/// spaces and the 256 bytes pieces of their own. `sentences`: of at most so many lines; 0: of all.
///
/// Errors  `napkin::input_error` where SentencePiece refuses (the text is too short for so many tokens)
std::string train_sentence_pieces(const line_source& next_line, std::size_t vocabulary,
                                  std::size_t sentences);

class sentence_pieces {
 public:
  /// Of a model file's bytes; `path` is for messages.
  explicit sentence_pieces(const std::string& model, const std::string& path);
  ~sentence_pieces();

  napkin::vocabulary vocabulary() const;
  /// Add the tokens of a line. What is no UTF-8 becomes pieces of single bytes.
  ///
  /// Errors  `napkin::input_error` where the model has no such pieces
  void encode(std::string_view line, std::vector<std::uint16_t>& to) const;

 private:
  struct implementation;
  std::unique_ptr<implementation> model_;
};
