// Token files of three formats, told apart, read through mappings, and refused when they are wrong.
#include "napkin/train/token_file.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "napkin/core/error.hpp"
#include "support/failing_files.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"
#include "support/token_bytes.hpp"

namespace nk = napkin;

namespace {

nk::file_system& files = nk::posix_file_system();

std::vector<std::uint16_t> all_of(const nk::token_source& source) {
  std::vector<std::uint16_t> tokens(source.size());
  source.copy(0, tokens.size(), tokens.data());
  return tokens;
}

}  // namespace

TEST_CASE("token_file: the three formats") {
  const temporary_folder folder;
  const std::vector<std::uint16_t> tokens = {0, 1, 255, 256, 50256, 65535};

  const nk::token_segment raw = nk::find_tokens(files, folder.write("train.bin", as_uint16(tokens)));
  CHECK((raw.offset == 0 && raw.count == 6 && raw.width == 2));
  CHECK(all_of(nk::token_source(files, "raw", {raw}, 65536)) == tokens);

  // By its magic number, whatever it is called.
  const nk::token_segment llmc = nk::find_tokens(files, folder.write("shard", as_llmc(tokens)));
  CHECK((llmc.offset == 1024 && llmc.count == 6 && llmc.width == 2));
  CHECK(all_of(nk::token_source(files, "llm.c", {llmc}, 65536)) == tokens);

  const nk::token_segment text = nk::find_tokens(files, folder.write("text.txt", "a\xff\n"));
  CHECK((text.offset == 0 && text.count == 3 && text.width == 1));
  const nk::token_source bytes(files, "text", {text}, 256);
  CHECK(all_of(bytes) == std::vector<std::uint16_t>{'a', 255, '\n'});
  CHECK(bytes.holds_bytes());
  CHECK_FALSE(nk::token_source(files, "both", {text, raw}, 65536).holds_bytes());
}

TEST_CASE("token_file: any stretch over many files is that stretch of the joined text") {
  const temporary_folder folder;
  std::vector<nk::token_segment> segments;
  std::vector<std::uint16_t> expected;
  for (int i = 0; i < 9; ++i) {
    const std::string text(static_cast<std::size_t>(i * 2 % 5),
                           static_cast<char>('a' + i));  // some are empty
    segments.push_back(nk::find_bytes(files, folder.write("f" + std::to_string(i), text)));
    expected.insert(expected.end(), text.begin(), text.end());
  }
  const std::vector<std::uint16_t> tokens = {300, 301, 302};
  segments.push_back(nk::find_tokens(files, folder.write("t.bin", as_uint16(tokens))));
  expected.insert(expected.end(), tokens.begin(), tokens.end());

  const nk::token_source source(files, "all", segments, 65536);
  REQUIRE(source.size() == expected.size());
  for (std::size_t start = 0; start <= expected.size(); ++start)
    for (std::size_t end = start; end <= expected.size(); ++end) {
      std::vector<std::uint16_t> found(end - start);
      source.copy(start, found.size(), found.data());
      const std::vector<std::uint16_t> wanted(expected.begin() + static_cast<std::ptrdiff_t>(start),
                                              expected.begin() + static_cast<std::ptrdiff_t>(end));
      CHECK(found == wanted);
      CHECK(all_of(source.slice(start, end, "part")) == wanted);
    }
  std::uint16_t one = 0;
  CHECK_THROWS_AS(source.copy(expected.size(), 1, &one), nk::error);
  CHECK_THROWS_AS(source.copy(~std::uint64_t{0}, 2, &one), nk::error);
  CHECK_THROWS_AS(source.slice(2, 1, "part"), nk::error);
}

TEST_CASE("token_file: more files than may be mapped at a time") {
  const temporary_folder folder;
  std::vector<nk::token_segment> segments;
  for (int i = 0; i < 2500; ++i)
    segments.push_back(nk::find_bytes(
        files, folder.write("f" + std::to_string(i), std::string(1, static_cast<char>(i % 251)))));
  failing_files counting;
  const nk::token_source source(counting, "many", segments, 256);
  for (int twice = 0; twice < 2; ++twice) {
    const std::vector<std::uint16_t> found = all_of(source);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < found.size(); ++i) wrong += found[i] != i % 251;
    CHECK(wrong == 0);
  }
  CHECK(counting.opened == 0);
  CHECK(std::count(counting.log.begin(), counting.log.end(), "map") == 5000);  // each was let go between
}

TEST_CASE("token_file: a token beyond the vocabulary, wherever it is") {
  const temporary_folder folder;
  for (const std::size_t at : {0u, 7u, 15u}) {
    std::vector<std::uint16_t> tokens(16, 50256);
    tokens[at] = 50257;
    const std::string path = folder.write("x", as_llmc(tokens));
    const nk::token_source source(files, "x", {nk::find_tokens(files, path)}, 50257);
    CHECK_THAT(message_of<nk::input_error>([&] { all_of(source); }),
               Catch::Contains("\"" + path + "\": token 50257 at byte " + std::to_string(1024 + 2 * at)) &&
                   Catch::Contains("vocabulary of 50257"));
  }
  const nk::token_source text(files, "text", {nk::find_bytes(files, folder.write("text", "abc\x80"))}, 128);
  CHECK_THAT(message_of<nk::input_error>([&] { all_of(text); }), Catch::Contains("token 128 at byte 3"));
}

TEST_CASE("token_file: handmade bad files") {
  struct bad {
    const char* name;
    std::string bytes;
    const char* expected;
  };
  const std::vector<std::uint16_t> tokens = {1, 2, 3};
  const std::string good = as_llmc(tokens);
  const std::vector<bad> cases = {
      {"empty.txt", "", "is empty"},
      {"empty.bin", "", "is empty"},
      {"odd.bin", "abc", "3 bytes, an odd number"},
      {"header.bin", good.substr(0, 4), "4 of its header's 1024 bytes"},
      {"header.bin", good.substr(0, 1023), "1023 of its header's 1024 bytes"},
      {"none.bin", as_llmc({}), "has no tokens"},
      {"short.bin", good.substr(0, good.size() - 1),
       "expected 3 tokens of 2 bytes by its header, found 5 bytes"},
      {"short.bin", good.substr(0, good.size() - 2), "found 4 bytes"},
      {"long.bin", good + "x", "found 7 bytes"},
      {"long.bin", good + "xx", "found 8 bytes"},
      {"negative.bin", as_llmc(tokens, -1), "expected -1 tokens"},
      {"version.bin", as_llmc(tokens, 3, 2), "expected version 1, found 2"},
      {"wide.bin", as_llmc(tokens, 3, 7, 20240801), "tokens of 32 bits"},
  };
  const temporary_folder folder;
  for (const bad& file : cases) {
    const std::string path = folder.write(file.name, file.bytes);
    INFO(file.name << ", " << file.bytes.size() << " bytes");
    CHECK_THAT(message_of<nk::input_error>([&] { nk::find_tokens(files, path); }),
               Catch::Contains(file.expected) && Catch::Contains(path));
  }
  CHECK_THAT(message_of<nk::input_error>([&] { nk::find_tokens(files, folder / "absent"); }),
             Catch::Contains("No such file"));
  CHECK_THAT(message_of<nk::input_error>([&] { nk::find_tokens(files, folder.path()); }),
             Catch::Contains("not a regular file"));
}

TEST_CASE("token_file: a file that changed between finding and mapping") {
  const temporary_folder folder;
  const std::string path = folder.write("text", "0123456789");
  const nk::token_source source(files, "text", {nk::find_bytes(files, path)}, 256);
  folder.write("text", "0123");
  CHECK_THAT(message_of<nk::input_error>([&] { all_of(source); }),
             Catch::Contains("had 10 bytes and now has 4"));
  std::filesystem::remove(path);
  CHECK_THAT(message_of<nk::input_error>([&] { all_of(source); }), Catch::Contains("No such file"));
}

TEST_CASE("token_file: offsets beyond 2^32 bytes, in a sparse file") {
  const temporary_folder folder;
  const std::string path = folder.write("large.bin", "");
  const std::uint64_t size = 5'000'000'000;
  std::error_code problem;
  std::filesystem::resize_file(path, size, problem);
  REQUIRE(!problem);
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(size - 2));
    file.write("\x34\x12", 2);
  }
  const nk::token_source source(files, "large", {nk::find_tokens(files, path)}, 65536);
  CHECK(source.size() == 2'500'000'000);
  std::uint16_t last[2] = {1, 1};
  source.copy(source.size() - 2, 2, last);
  CHECK(last[0] == 0);
  CHECK(last[1] == 0x1234);
}

TEST_CASE("token_file: too few tokens") {
  const temporary_folder folder;
  const nk::token_source source(files, "the text of x", {nk::find_bytes(files, folder.write("x", "abc"))},
                                256);
  CHECK_NOTHROW(source.require(3, "a sequence"));
  CHECK(message_of<nk::input_error>([&] { source.require(4, "a sequence"); }) ==
        "the text of x has 3 tokens, too few for a sequence, which takes 4: give more data");
}
