// Makes token files from text, for train_lm and for programs that read llm.c's: by bytes, or by a tokenizer
// that SentencePiece trains. The text is split into training and validation as train_lm splits it.
#include <algorithm>
#include <cstdio>
#include <napkin/core/error.hpp>
#include <napkin/cost/report.hpp>
#include <napkin/train/atomic_file.hpp>
#include <napkin/train/corpus.hpp>
#include <napkin/train/token_shards.hpp>
#include <napkin/train/utf8.hpp>
#include <napkin/train/vocabulary.hpp>

#include "support/command_line.hpp"
#include "support/sentence_pieces.hpp"

namespace nk = napkin;

namespace {

constexpr std::size_t chunk = 1 << 20;         // bytes read at once
constexpr std::size_t longest_line = 1 << 16;  // bytes; longer ones are tokenized in parts

struct settings {
  std::string data, out, model;
  std::size_t vocabulary = 4096, sentences = 0, shard = 100'000'000;
};

/// The lines of a text, with their ends.
class line_reader {
 public:
  explicit line_reader(const nk::token_source& text) : text_(text), tokens_(chunk) {}

  bool operator()(std::string& line) {
    while (true) {
      const std::size_t end = bytes_.find('\n', at_);
      const std::size_t length = (end == std::string::npos ? bytes_.size() : end + 1) - at_;
      if (length > 0 && (end != std::string::npos || read_ == text_.size() || length >= longest_line)) {
        line.assign(bytes_, at_, std::min(length, longest_line));
        at_ += line.size();
        return true;
      }
      if (read_ == text_.size()) return false;
      bytes_.erase(0, at_);
      at_ = 0;
      const auto now = static_cast<std::size_t>(std::min<std::uint64_t>(chunk, text_.size() - read_));
      text_.copy(read_, now, tokens_.data());
      for (std::size_t i = 0; i < now; ++i) bytes_ += static_cast<char>(tokens_[i]);
      read_ += now;
    }
  }

 private:
  const nk::token_source& text_;
  std::vector<std::uint16_t> tokens_;
  std::string bytes_;
  std::size_t at_ = 0;
  std::uint64_t read_ = 0;
};

nk::corpus open_text(const settings& s) {
  nk::corpus text = nk::open_corpus(nk::posix_file_system(), s.data, 1 << 16);
  if (!text.train.holds_bytes() || !text.validation.holds_bytes())
    throw nk::input_error(nk::in_quotes(s.data) + " has tokens already: name a text");
  return text;
}

/// A folder for token files: one that has others would be read with them.
void prepare(const std::string& folder) {
  nk::file_system& files = nk::posix_file_system();
  nk::make_folders(files, folder);
  for (const std::string& name : nk::list_folder(files, folder))
    if (name.ends_with(".bin"))
      throw nk::input_error("the folder " + nk::in_quotes(folder) + " has token files already (" +
                            nk::in_quotes(name) + "): name another, or remove them");
}

/// Write the tokens of a text; `encode(line, tokens)` adds those of a line.
template <class Encode>
void write_tokens(const settings& s, const nk::vocabulary& words, const Encode& encode) {
  const nk::corpus text = open_text(s);
  prepare(s.out);
  nk::unfinished_tokens unfinished(nk::posix_file_system(), s.out);
  const std::pair<const char*, const nk::token_source*> parts[] = {{"val", &text.validation},
                                                                   {"train", &text.train}};
  for (const auto& [name, source] : parts) {
    nk::token_shards shards(nk::posix_file_system(), s.out, name, s.shard);
    line_reader lines(*source);
    std::vector<std::uint16_t> tokens;
    std::uint64_t changed = 0;
    for (std::string line; lines(line);) {
      tokens.clear();
      encode(line, tokens);
      changed += words.text_of(tokens) != line;
      shards.append(tokens);
    }
    shards.finish();
    std::printf("%-5s  %s bytes, %s tokens (%.2f bytes each) in %zu file%s\n", name,
                nk::with_separators(source->size()).c_str(), nk::with_separators(shards.tokens()).c_str(),
                static_cast<double>(source->size()) /
                    static_cast<double>(std::max<std::uint64_t>(1, shards.tokens())),
                shards.files(), shards.files() == 1 ? "" : "s");
    if (changed > 0)
      std::printf("       %s lines do not come back from their tokens as they were: the model changes text\n",
                  nk::with_separators(changed).c_str());
  }
  nk::write_vocabulary(nk::posix_file_system(), nk::vocabulary_path(s.out), words);
  unfinished.finish();
  std::printf("vocabulary of %zu tokens: %s\n", words.size(),
              nk::without_controls(nk::vocabulary_path(s.out)).c_str());
}

void by_bytes(const settings& s) {
  write_tokens(s, nk::vocabulary::of_bytes(), [](const std::string& line, std::vector<std::uint16_t>& to) {
    for (const char c : line) to.push_back(static_cast<unsigned char>(c));
  });
}

void train(const settings& s) {
  const nk::corpus text = open_text(s);
  const nk::atomic_file probe(nk::posix_file_system(), s.model, 1);  // refused before, not after training
  line_reader lines(text.train);
  const std::string model =
      train_sentence_pieces([&](std::string& line) { return lines(line); }, s.vocabulary, s.sentences);
  nk::write_atomically(nk::posix_file_system(), s.model, model);
  std::printf("trained %zu tokens: %s\n", s.vocabulary, nk::without_controls(s.model).c_str());
}

void apply(const settings& s) {
  const nk::input_file file(nk::posix_file_system(), s.model);
  std::string model(static_cast<std::size_t>(file.status().size), '\0');
  file.read(0, std::as_writable_bytes(std::span(model)));
  const sentence_pieces pieces(model, s.model);
  write_tokens(s, pieces.vocabulary(),
               [&](const std::string& line, std::vector<std::uint16_t>& to) { pieces.encode(line, to); });
}

}  // namespace

int main(int argc, char** argv) {
  let_writes_beyond_limits_fail();
  settings s;
  CLI::App app("Makes token files from text, by bytes or by SentencePiece.");
  app.require_subcommand(1);
  const auto command = [&](const char* name, const char* what, void (*run)(const settings&)) {
    CLI::App* const made = app.add_subcommand(name, what);
    made->add_option("--data", s.data, "A text, or a folder of text")->required();
    made->callback([&s, run] { run(s); });
    return made;
  };
  const auto writes = [&](CLI::App* to) {
    to->add_option("--out", s.out, "Folder for the token files and vocabulary.json")->required();
    to->add_option("--shard", s.shard, "Tokens a file")
        ->capture_default_str()
        ->transform(between<std::size_t>(1, 2'147'483'647));
  };
  writes(command("bytes", "Each byte a token", by_bytes));
  CLI::App* const trains = command("train", "Train a tokenizer on the training part of a text", train);
  trains->add_option("--model", s.model, "The file that it is written to")->required();
  trains->add_option("--vocabulary", s.vocabulary, "Tokens that it has")
      ->capture_default_str()
      ->transform(between<std::size_t>(1, 65536));
  trains->add_option("--sentences", s.sentences, "Learn from so many lines at most; 0: from all")
      ->capture_default_str()
      ->transform(between<std::size_t>(0, 1'000'000'000'000));
  CLI::App* const applies = command("apply", "Cut a text into a tokenizer's tokens", apply);
  applies->add_option("--model", s.model, "The tokenizer's file")->required()->check(CLI::ExistingFile);
  writes(applies);
  return parse_and_run(app, argc, argv, [] { return 0; });  // a command runs as it is understood
}
