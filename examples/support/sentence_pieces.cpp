// The calls of SentencePiece, and what it would lose: bytes that are no UTF-8, and the mark that it writes
// for a space.
#include "sentence_pieces.hpp"

#include <cstdio>
#include <napkin/core/error.hpp>
#include <napkin/train/utf8.hpp>

namespace nk = napkin;

#if defined(NAPKIN_SENTENCEPIECE)
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <memory>
#include <unordered_map>

namespace {

constexpr std::string_view mark_of_space = "\xe2\x96\x81";  // U+2581

/// How much of a text SentencePiece gives back as it is.
std::size_t length_of_plain(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size()) {
    const std::string_view rest = text.substr(length);
    const std::size_t letter = nk::length_of_letter(rest);
    if (letter == 0 || rest.starts_with(mark_of_space) || rest.front() == '\0') break;
    length += letter;
  }
  return length;
}

std::string piece_of_byte(unsigned char byte) {
  char name[8];
  std::snprintf(name, sizeof name, "<0x%02X>", static_cast<unsigned>(byte));
  return name;
}

void throw_unless_ok(const sentencepiece::util::Status& status, const std::string& what) {
  if (!status.ok()) throw nk::input_error(what + ": SentencePiece says: " + status.ToString());
}

class lines final : public sentencepiece::SentenceIterator {
 public:
  explicit lines(const line_source& next) : next_(next) { Next(); }
  bool done() const override { return done_; }
  void Next() override {
    done_ = !next_(line_);
    if (!done_ && line_.ends_with('\n')) line_.pop_back();
  }
  const std::string& value() const override { return line_; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  const line_source& next_;
  std::string line_;
  bool done_ = false;
};

}  // namespace

std::string train_sentence_pieces(const line_source& next_line, std::size_t vocabulary,
                                  std::size_t sentences) {
  lines text(next_line);
  std::string model;
  const std::unordered_map<std::string, std::string> settings = {
      {"model_type", "bpe"},
      {"vocab_size", std::to_string(vocabulary)},
      {"input_sentence_size", std::to_string(sentences)},
      {"shuffle_input_sentence",
       "false"},  // by a seed that is not ours: the first ones, and the same each time
      {"max_sentence_length", "1000000"},
      {"byte_fallback", "true"},
      {"normalization_rule_name", "identity"},
      {"remove_extra_whitespaces", "false"},
      {"allow_whitespace_only_pieces", "true"},
      {"add_dummy_prefix", "false"},
      {"bos_id", "-1"},
      {"eos_id", "-1"},
      {"pad_id", "-1"},
      {"minloglevel", "2"}};
  throw_unless_ok(sentencepiece::SentencePieceTrainer::Train(settings, &text, &model),
                  "cannot train a tokenizer of " + std::to_string(vocabulary) + " tokens");
  return model;
}

struct sentence_pieces::implementation {
  sentencepiece::SentencePieceProcessor pieces;
  std::string path;
};

sentence_pieces::sentence_pieces(const std::string& model, const std::string& path)
    : model_(std::make_unique<implementation>()) {
  model_->path = path;
  throw_unless_ok(model_->pieces.LoadFromSerializedProto(model),
                  nk::in_quotes(path) + " is no model of SentencePiece");
}
sentence_pieces::~sentence_pieces() = default;

nk::vocabulary sentence_pieces::vocabulary() const {
  const sentencepiece::SentencePieceProcessor& pieces = model_->pieces;
  std::vector<std::string> tokens;
  for (int id = 0; id < pieces.GetPieceSize(); ++id) {
    std::string bytes = pieces.IdToPiece(id);
    if (pieces.IsByte(id)) {
      bytes = std::string(1, static_cast<char>(std::stoi(bytes.substr(3, 2), nullptr, 16)));
    } else if (pieces.IsControl(id) || pieces.IsUnknown(id)) {
      bytes.clear();
    } else {
      for (std::size_t at = 0; (at = bytes.find(mark_of_space, at)) != std::string::npos; ++at)
        bytes.replace(at, mark_of_space.size(), " ");
    }
    tokens.push_back(std::move(bytes));
  }
  return nk::vocabulary(std::move(tokens));
}

void sentence_pieces::encode(std::string_view line, std::vector<std::uint16_t>& to) const {
  const sentencepiece::SentencePieceProcessor& pieces = model_->pieces;
  std::vector<int> ids;
  while (!line.empty()) {
    const std::size_t plain = length_of_plain(line);
    if (plain > 0) {
      throw_unless_ok(pieces.Encode(line.substr(0, plain), &ids), "cannot tokenize a line");
      for (const int id : ids) to.push_back(static_cast<std::uint16_t>(id));
      line.remove_prefix(plain);
      continue;
    }
    const int id = pieces.PieceToId(piece_of_byte(static_cast<unsigned char>(line.front())));
    if (!pieces.IsByte(id))
      throw nk::input_error("the text has bytes that are no UTF-8, for which the model " +
                            nk::in_quotes(model_->path) + " has no pieces: train one with `tokenize train`");
    to.push_back(static_cast<std::uint16_t>(id));
    line.remove_prefix(1);
  }
}

#else

namespace {
[[noreturn]] void refuse() {
  throw nk::input_error(
      "this needs SentencePiece, which was not found when the program was built: install it (Debian: "
      "libsentencepiece-dev), configure and build again; `tokenize bytes` does without");
}
}  // namespace

struct sentence_pieces::implementation {};

std::string train_sentence_pieces(const line_source&, std::size_t, std::size_t) { refuse(); }
sentence_pieces::sentence_pieces(const std::string&, const std::string&) { refuse(); }
sentence_pieces::~sentence_pieces() = default;
nk::vocabulary sentence_pieces::vocabulary() const { refuse(); }
void sentence_pieces::encode(std::string_view, std::vector<std::uint16_t>&) const { refuse(); }

#endif
