// Suite S10, and the half of S5 that is about token files: training data that cannot be trained on is refused
// in words that name the file, the byte and the token, before a step reads it.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <functional>

#include "napkin/core/error.hpp"
#include "napkin/train/corpus.hpp"
#include "napkin/train/sampler.hpp"
#include "support/failing_files.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"
#include "support/token_bytes.hpp"

namespace nk = napkin;

namespace {

constexpr std::size_t window = 16;

std::size_t cases = 0;  // files, of the test case that runs

void check_cases(const char* what, std::size_t expected) {
  std::printf("token data: %zu files %s\n", cases, what);
  CHECK(cases == expected);
}

/// The words with which the file's only window is refused.
std::string refusal(const std::string& path, std::uint64_t vocabulary,
                    nk::file_system& files = nk::posix_file_system()) {
  ++cases;
  const std::string text = message_of<nk::input_error>([&] {
    const nk::token_source source(files, "the text of " + path, {nk::find_tokens(files, path)}, vocabulary);
    nk::batch_sampler sampler(source, 1, window, {7, 0});
    std::vector<std::uint16_t> tokens(window), targets(window);
    sampler.next(tokens, targets);
  });
  CHECK(text.find('\n') == std::string::npos);
  if (text != "nothing was thrown") CHECK_THAT(text, Catch::Contains(path));
  return text;
}

void resize(const std::string& path, std::uint64_t size) { std::filesystem::resize_file(path, size); }

void write_at(const std::string& path, std::uint64_t at, const std::string& bytes) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(at));
  file << bytes;
}

}  // namespace

TEST_CASE(
    "token data: an id that is not below the vocabulary, first, in the middle, last, as the last target") {
  cases = 0;
  const temporary_folder folder;
  for (const std::size_t at : {std::size_t{0}, window / 2, window - 1, window}) {
    for (const std::uint16_t id : {std::uint16_t{50257}, std::uint16_t{65535}}) {
      std::vector<std::uint16_t> tokens(window + 1, 50256);
      tokens[at] = id;
      const std::string word = "token " + std::to_string(id) + " at byte ";
      CHECK_THAT(refusal(folder.write("raw.bin", as_uint16(tokens)), 50257),
                 Catch::Contains(word + std::to_string(2 * at)) && Catch::Contains("vocabulary of 50257"));
      CHECK_THAT(refusal(folder.write("llmc.bin", as_llmc(tokens)), 50257),
                 Catch::Contains(word + std::to_string(1024 + 2 * at)));
    }
    for (const char letter : {'\x80', '\xff'}) {
      std::string text(window + 1, '\x7f');
      text[at] = letter;
      const std::string path = folder.write("text", text);
      const int id = static_cast<unsigned char>(letter);
      CHECK_THAT(refusal(path, 128),
                 Catch::Contains("token " + std::to_string(id) + " at byte " + std::to_string(at)));
    }
  }
  check_cases("with a token beyond the vocabulary", 24);
}

TEST_CASE("token data: sizes and headers") {
  cases = 0;
  const temporary_folder folder;
  const std::vector<std::uint16_t> tokens(window + 1, 3);
  const std::string good = as_llmc(tokens);
  const auto count = static_cast<std::int32_t>(tokens.size());
  CHECK(refusal(folder.write("good", good), 4) == "nothing was thrown");
  const auto check = [&](const char* name, const std::string& bytes, const char* expected) {
    INFO(name << ", " << bytes.size() << " bytes");
    CHECK_THAT(refusal(folder.write(name, bytes), 50257), Catch::Contains(expected));
  };
  check("empty.txt", "", "is empty");
  check("empty.bin", "", "is empty");
  check("odd.bin", "abc", "3 bytes, an odd number");
  check("odd.bin", as_uint16(tokens) + "x", "an odd number");
  check("short.txt", std::string(window, 'a'), "16 tokens, too few");
  check("short.bin", as_uint16(std::vector<std::uint16_t>(window, 3)), "16 tokens, too few");
  check("short.bin", as_llmc(std::vector<std::uint16_t>(window, 3)), "16 tokens, too few");
  check("one.txt", "a", "1 tokens, too few");
  check("header.bin", good.substr(0, 4), "4 of its header's 1024 bytes");
  check("header.bin", good.substr(0, 1023), "1023 of its header's 1024 bytes");
  check("none.bin", as_llmc({}), "has no tokens");
  check("fewer.bin", as_llmc(tokens, count + 1), "expected 18 tokens of 2 bytes by its header");
  check("more.bin", as_llmc(tokens, count - 1), "expected 16 tokens");
  check("half.bin", good.substr(0, good.size() - 1), "found 33 bytes");
  check("cut.bin", good.substr(0, good.size() - 2), "found 32 bytes");
  check("long.bin", good + "x", "found 35 bytes");
  check("negative.bin", as_llmc(tokens, -1), "expected -1 tokens");
  check("largest.bin", as_llmc(tokens, 2147483647), "expected 2147483647 tokens");
  check("version.bin", as_llmc(tokens, count, 0), "expected version 1, found 0");
  check("version.bin", as_llmc(tokens, count, 2), "expected version 1, found 2");
  check("version.bin", as_llmc(tokens, count, -1), "expected version 1, found -1");
  // Tokens of 32 bits, as llm.c writes them for Llama 3, are not taken for those of 16.
  check("wide.bin", as_llmc(tokens, count, 7, 20240801), "tokens of 32 bits");
  check("wide", as_llmc(tokens, count, 7, 20240801), "tokens of 32 bits");
  check_cases("of a wrong size or with a wrong header", 24);
}

TEST_CASE("token data: places beyond 2^31 and 2^32 bytes, and tokens beyond 2^31") {
  cases = 0;
  const temporary_folder folder;
  for (const std::uint64_t at :
       {(std::uint64_t{1} << 31) - 2, std::uint64_t{1} << 31, (std::uint64_t{1} << 32) - 2,
        std::uint64_t{1} << 32, std::uint64_t{5'000'000'000}}) {
    const std::string path = folder.write("large.bin", "");
    resize(path, at + 2);
    write_at(path, at, as_uint16({50257}));
    const nk::token_source source(nk::posix_file_system(), "large",
                                  {nk::find_tokens(nk::posix_file_system(), path)}, 50257);
    CHECK(source.size() == at / 2 + 1);
    std::uint16_t pair[2] = {1, 1};
    ++cases;
    CHECK_THAT(message_of<nk::data_error>([&] { source.copy(at / 2 - 1, 2, pair); }),
               Catch::Contains("token 50257 at byte " + std::to_string(at)));
  }
  check_cases("beyond 2^31 bytes", 5);
}

TEST_CASE("token data: files that are not there, no files, not readable, or fail") {
  cases = 0;
  const temporary_folder folder;
  const std::string path = folder.write("text", std::string(100, 'a'));
  CHECK_THAT(refusal(folder / "absent", 256), Catch::Contains("No such file"));
  CHECK_THAT(refusal(folder.path(), 256), Catch::Contains("not a regular file"));
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK_THAT(refusal(folder / "pipe", 256), Catch::Contains("not a regular file"));  // and waits for nobody
  std::filesystem::create_symlink("nowhere", folder / "link");
  CHECK_THAT(refusal(folder / "link", 256), Catch::Contains("No such file"));
  std::filesystem::create_symlink("loop", folder / "loop");
  CHECK_THAT(refusal(folder / "loop", 256), Catch::Contains("symbolic links"));
  CHECK_THAT(refusal("/dev/zero", 256), Catch::Contains("not a regular file"));
  CHECK_THAT(refusal(path + "/below", 256), Catch::Contains("Not a directory"));
  // Permissions, as a user who is not root meets them.
  int call = 1;
  for (;; ++call) {
    failing_files files;
    files.fail_at = call;
    files.error_number = EACCES;
    const std::string text = refusal(path, 256, files);
    CHECK(files.opened == 0);
    if (files.calls < call) {
      CHECK(text == "nothing was thrown");
      break;
    }
    if (files.log[static_cast<std::size_t>(call) - 1] != "close")
      CHECK_THAT(text, Catch::Contains("Permission denied"));
  }
  CHECK(call > 3);  // it is looked at, opened, mapped
  check_cases("that are not there, no files or fail", 7 + static_cast<std::size_t>(call));
}

TEST_CASE("token data: a file that changes while it is in use") {
  cases = 0;
  const temporary_folder folder;
  nk::file_system& files = nk::posix_file_system();
  const std::string path = folder.write("text", std::string(100'000, 'a'));
  const auto changed = [&](const std::function<void()>& change) {
    ++cases;
    folder.write("text", std::string(100'000, 'a'));
    const nk::token_source source(files, "the text", {nk::find_bytes(files, path)}, 256);
    change();
    std::uint16_t token = 0;
    return message_of<nk::input_error>([&] { source.copy(99'999, 1, &token); });
  };
  CHECK_THAT(changed([&] { resize(path, 99'999); }), Catch::Contains("had 100000 bytes and now has 99999"));
  CHECK_THAT(changed([&] { resize(path, 100'001); }), Catch::Contains("now has 100001"));
  CHECK_THAT(changed([&] { std::filesystem::remove(path); }), Catch::Contains("No such file"));
  CHECK_THAT(changed([&] {
               folder.write("other", std::string(100'000, 'b'));
               std::filesystem::rename(folder / "other", path);
             }),
             Catch::Contains("was replaced or written to"));

  // Replaced once it is mapped: what was begun with is read to the end.
  folder.write("text", std::string(100'000, 'a'));
  const nk::token_source source(files, "the text", {nk::find_bytes(files, path)}, 256);
  std::uint16_t token = 0;
  source.copy(0, 1, &token);
  folder.write("other", std::string(5, 'b'));
  std::filesystem::rename(folder / "other", path);
  source.copy(99'999, 1, &token);
  CHECK(token == 'a');
  ++cases;
  check_cases("that change while in use", 5);
}

TEST_CASE("token data: a file cut short while it is mapped ends the process with the file and the byte") {
  cases = 0;
  const temporary_folder folder;
  for (const std::uint64_t left : {std::uint64_t{0}, std::uint64_t{4096}}) {
    const std::string path = folder.write("text", std::string(100'000, 'a'));
    const std::string errors = folder / "errors";
    const pid_t id = ::fork();
    if (id == 0) {
      if (std::freopen(errors.c_str(), "w", stderr) == nullptr) ::_exit(1);
      nk::file_system& files = nk::posix_file_system();
      const nk::token_source source(files, "the text", {nk::find_bytes(files, path)}, 256);
      std::uint16_t token = 0;
      source.copy(0, 1, &token);
      resize(path, left);
      source.copy(90'000, 1, &token);
      ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(id, &status, 0) == id);
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 3);
    CHECK_THAT(read_whole(errors), Catch::StartsWith("error: \"" + path + "\" cannot be read at byte 90000"));
    ++cases;
  }
  // An address of nobody's still kills.
  const pid_t id = ::fork();
  if (id == 0) {
    ::raise(SIGBUS);
    ::raise(SIGBUS);
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(id, &status, 0) == id);
  // By the signal, or with the report of a sanitizer, which was there before.
  CHECK_FALSE((WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 3)));
  ++cases;
  check_cases("cut short while mapped", 3);
}
