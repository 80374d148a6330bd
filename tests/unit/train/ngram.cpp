// Counting with hash tables against counting with a map of strings.
#include "napkin/train/ngram.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "napkin/core/error.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"
#include "support/token_bytes.hpp"

namespace nk = napkin;

namespace {

double naive(const std::string& train, const std::string& validation, std::size_t k) {
  std::map<std::string, std::map<char, double>> counts;
  for (std::size_t i = k; i < train.size(); ++i) counts[train.substr(i - k, k)][train[i]] += 1;
  double bits = 0;
  for (std::size_t i = k; i < validation.size(); ++i) {
    auto& after = counts[validation.substr(i - k, k)];
    double total = 0;
    for (int byte = 0; byte < 256; ++byte) total += after[static_cast<char>(byte)] + 0.1;
    bits -= std::log2((after[validation[i]] + 0.1) / total);
  }
  return bits / static_cast<double>(validation.size() - k);
}

nk::token_source source_of(const temporary_folder& folder, const std::string& name, const std::string& text) {
  return nk::token_source(nk::posix_file_system(), name,
                          {nk::find_bytes(nk::posix_file_system(), folder.write(name, text))}, 256);
}

// Text of no meaning with some structure, and all byte values.
std::string make_text(std::size_t size, std::uint32_t state) {
  std::string text;
  while (text.size() < size) {
    state = state * 1664525u + 1013904223u;
    text += (state >> 31) != 0 || text.size() < 3 ? static_cast<char>(state >> 23) : text[text.size() - 3];
  }
  return text;
}

}  // namespace

TEST_CASE("ngram: equals the naive count") {
  const temporary_folder folder;
  const std::string train = make_text(70'000, 1);  // more than one read, and the tables grow
  const std::string validation = make_text(1'500, 2) + train.substr(500, 1'000);
  const nk::token_source train_source = source_of(folder, "train", train);
  const nk::token_source validation_source = source_of(folder, "validation", validation);
  for (const std::size_t k : {0u, 1u, 2u, 3u, 5u, 7u}) {
    const double found = nk::ngram_bits_per_byte(train_source, validation_source, k);
    const double expected = naive(train, validation, k);
    INFO("k = " << k);
    CHECK(std::abs(found - expected) <= 1e-9);
  }
}

TEST_CASE("ngram: by hand") {
  const temporary_folder folder;
  const nk::token_source train = source_of(folder, "train", "ababa");  // b after a: 2 of 2
  const double found = nk::ngram_bits_per_byte(train, source_of(folder, "validation", "ab"), 1);
  CHECK(std::abs(found - -std::log2(2.1 / 27.6)) <= 1e-12);
  const double unseen = nk::ngram_bits_per_byte(train, source_of(folder, "other", "xy"), 1);
  CHECK(std::abs(unseen - 8) <= 1e-12);
}

TEST_CASE("ngram: what cannot be counted") {
  const temporary_folder folder;
  const nk::token_source text = source_of(folder, "text", "some text");
  const nk::token_source tiny = source_of(folder, "tiny", "ab");
  CHECK_THAT(message_of<nk::input_error>([&] { nk::ngram_bits_per_byte(text, tiny, 2); }),
             Catch::Contains("tiny has 2 tokens") && Catch::Contains("takes 3"));
  CHECK_THROWS_AS(nk::ngram_bits_per_byte(tiny, text, 2), nk::input_error);
  CHECK_THROWS_AS(nk::ngram_bits_per_byte(text, text, 8), nk::error);
  const nk::token_source tokens(
      nk::posix_file_system(), "tokens",
      {nk::find_tokens(nk::posix_file_system(), folder.write("t.bin", as_uint16({1, 2, 3, 4})))}, 65536);
  CHECK_THROWS_AS(nk::ngram_bits_per_byte(tokens, tokens, 2), nk::error);
}
