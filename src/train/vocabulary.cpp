// A vocabulary to and from its file, by nlohmann-json.
#include "napkin/train/vocabulary.hpp"

#include <algorithm>
#include <utility>

#include "json_text.hpp"
#include "napkin/core/error.hpp"
#include "napkin/train/atomic_file.hpp"

namespace napkin {
namespace {

constexpr int file_version = 1;
constexpr std::size_t most_tokens = 65536;
constexpr std::uint64_t largest_file = 64 << 20;  // bytes: most_tokens of 500 bytes

std::string to_hexadecimal(std::string_view bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool from_hexadecimal(std::string_view text, std::string& bytes) {
  if (text.size() % 2 != 0) return false;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = digit_of(text[i]), low = digit_of(text[i + 1]);
    if (high < 0 || low < 0) return false;
    bytes += static_cast<char>(high * 16 + low);
  }
  return true;
}

}  // namespace

vocabulary::vocabulary(std::vector<std::string> tokens) : tokens_(std::move(tokens)) {
  if (tokens_.empty() || tokens_.size() > most_tokens)
    throw input_error("a vocabulary has from 1 to " + std::to_string(most_tokens) + " tokens, not " +
                      std::to_string(tokens_.size()));
}

vocabulary vocabulary::of_bytes() {
  std::vector<std::string> bytes;
  for (int i = 0; i < 256; ++i) bytes.emplace_back(1, static_cast<char>(i));
  return vocabulary(std::move(bytes));
}

std::string_view vocabulary::bytes_of(std::size_t token) const {
  return token < tokens_.size() ? std::string_view(tokens_[token]) : std::string_view();
}

std::string vocabulary::text_of(std::span<const std::uint16_t> tokens) const {
  std::string text;
  for (const std::uint16_t token : tokens) text += bytes_of(token);
  return text;
}

std::optional<std::uint16_t> vocabulary::find(std::string_view bytes) const {
  const auto found = std::find(tokens_.begin(), tokens_.end(), bytes);
  if (found == tokens_.end()) return std::nullopt;
  return static_cast<std::uint16_t>(found - tokens_.begin());
}

std::string vocabulary_path(const std::string& folder) { return folder + "/vocabulary.json"; }

vocabulary read_vocabulary(file_system& files, const std::string& path) {
  const nlohmann::json json = detail::parse_json(read_text(files, path, largest_file));
  const auto fail = [&](const std::string& what) { throw input_error(in_quotes(path) + ": " + what); };
  if (!json.is_object() || !json.contains("tokens") || !json["tokens"].is_array())
    fail("expected a vocabulary, {\"version\": 1, \"tokens\": [...]}, found other text");
  if (json.value("version", nlohmann::json()) != file_version)
    fail("expected a vocabulary of version 1, found another");
  const std::size_t count = json["tokens"].size();
  if (count == 0 || count > most_tokens)
    fail("expected from 1 to " + std::to_string(most_tokens) + " tokens, found " + std::to_string(count));
  std::vector<std::string> tokens;
  for (const nlohmann::json& token : json["tokens"]) {
    tokens.emplace_back();
    if (!token.is_string() || !from_hexadecimal(token.get_ref<const std::string&>(), tokens.back()))
      fail("token " + std::to_string(tokens.size() - 1) + " is not bytes in hexadecimal");
  }
  return vocabulary(std::move(tokens));
}

void write_vocabulary(file_system& files, const std::string& path, const vocabulary& words) {
  nlohmann::ordered_json json;
  json["version"] = file_version;
  json["tokens"] = nlohmann::json::array();
  for (std::size_t i = 0; i < words.size(); ++i) json["tokens"].push_back(to_hexadecimal(words.bytes_of(i)));
  write_atomically(files, path, json.dump() + "\n");
}

}  // namespace napkin
