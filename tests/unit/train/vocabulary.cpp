// Tokens to bytes and back, through a file that is checked.
#include "napkin/train/vocabulary.hpp"

#include <catch2/catch.hpp>

#include "napkin/core/error.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

namespace nk = napkin;

namespace {

std::string refusal(const std::string& path) {
  return message_of<nk::input_error>([&] { nk::read_vocabulary(nk::posix_file_system(), path); });
}

}  // namespace

TEST_CASE("vocabulary: text of tokens, and the token of a text") {
  const nk::vocabulary words({"", "a", " the", "a", std::string(1, '\0')});
  const std::vector<std::uint16_t> tokens = {1, 2, 0, 4, 9};
  CHECK(words.size() == 5);
  CHECK(words.text_of(tokens) == std::string("a the\0", 6));  // token 9 is none of them
  CHECK(words.find("a") == 1);
  CHECK(words.find("\n") == std::nullopt);
  const nk::vocabulary bytes = nk::vocabulary::of_bytes();
  CHECK(bytes.size() == 256);
  CHECK(bytes.find("\xff") == 255);
  CHECK_THROWS_AS(nk::vocabulary({}), nk::input_error);
  CHECK_NOTHROW(nk::vocabulary(std::vector<std::string>(65536)));
  CHECK_THROWS_AS(nk::vocabulary(std::vector<std::string>(65537)), nk::input_error);
}

TEST_CASE("vocabulary: the file gives back every byte") {
  const temporary_folder folder;
  const std::string path = nk::vocabulary_path(folder.path());
  std::vector<std::string> tokens = {"", "two words", "\xe2\x96\x81"};
  for (int i = 0; i < 256; ++i) tokens.emplace_back(1, static_cast<char>(i));
  nk::write_vocabulary(nk::posix_file_system(), path, nk::vocabulary(tokens));
  const nk::vocabulary found = nk::read_vocabulary(nk::posix_file_system(), path);
  REQUIRE(found.size() == tokens.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) CHECK(found.bytes_of(i) == tokens[i]);
}

TEST_CASE("vocabulary: a file of another form is refused, by its name") {
  const temporary_folder folder;
  for (const char* text :
       {"", "{", "[]", "{\"version\": 1}", "{\"version\": 1, \"tokens\": {}}", "{\"tokens\": [\"0a\"]}",
        "{\"version\": 2, \"tokens\": [\"0a\"]}", "{\"version\": 1, \"tokens\": []}",
        "{\"version\": 1, \"tokens\": [\"0\"]}", "{\"version\": 1, \"tokens\": [\"0A\"]}",
        "{\"version\": 1, \"tokens\": [\"zz\"]}", "{\"version\": 1, \"tokens\": [10]}"}) {
    INFO(text);
    const std::string path = folder.write("v.json", text);
    CHECK_THAT(refusal(path), Catch::Contains('"' + path + '"'));
  }
  CHECK_THAT(refusal(folder / "none.json"), Catch::Contains('"' + (folder / "none.json") + '"'));
}

TEST_CASE("vocabulary: a file of lists within lists is refused, however many") {
  const temporary_folder folder;
  for (const std::size_t deep : {std::size_t{100}, std::size_t{1'000'000}}) {
    const std::string lists = std::string(deep, '[') + std::string(deep, ']');
    CHECK_THAT(refusal(folder.write("v.json", R"({"tokens":["00"],"version":)" + lists + "}")),
               Catch::Contains("found other text"));
  }
}
