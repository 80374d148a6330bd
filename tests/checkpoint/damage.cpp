// Suites S7 and S8: no prefix of a checkpoint or of a token file passes for the whole, and no flipped bit of
// a checkpoint, in its header or in its numbers, is loaded.
#include <catch2/catch.hpp>
#include <cstdio>
#include <random>

#include "memory_files.hpp"
#include "napkin/core/error.hpp"
#include "napkin/train/token_file.hpp"
#include "small_run.hpp"
#include "support/message_of.hpp"
#include "support/token_bytes.hpp"

namespace nk = napkin;

namespace {

std::string saved_run() {
  memory_files files;
  nk::checkpoint_folder folder(files, "/run");
  return files.bytes(small_run(0).save(folder, 3));
}

/// Whether this passes for a whole checkpoint of `contents`.
bool passes(const std::string& bytes, const nk::detail::checkpoint_contents& contents) {
  memory_files files;
  files.put("/c", bytes);
  return message_of<nk::checkpoint_error>([&] { nk::detail::load_contents(files, "/c", contents); }) ==
         "nothing was thrown";
}

}  // namespace

TEST_CASE("damage: every prefix of a checkpoint is refused") {
  memory_files files;
  nk::checkpoint_folder folder(files, "/run");
  std::vector<float> numbers(15 * 1024);
  const nk::detail::checkpoint_contents contents{
      {{"w", nk::dtype::f32, {15 * 1024}, numbers.data()}}, "sgd", 1};
  const std::string whole = files.bytes(folder.save(contents, {}));
  REQUIRE(whole.size() <= 64 * 1024);
  REQUIRE(whole.size() > 60 * 1024);
  REQUIRE(passes(whole, contents));
  std::size_t passed = 0;
  for (std::size_t size = 0; size < whole.size(); ++size) passed += passes(whole.substr(0, size), contents);
  CHECK(passed == 0);
  CHECK_FALSE(passes(whole + '\0', contents));
  std::printf("damage: %zu prefixes of a checkpoint\n", whole.size());
}

TEST_CASE("damage: every prefix of a token file is refused") {
  memory_files files;
  const std::vector<std::uint16_t> tokens((64 * 1024 - 1024) / 2, 7);
  const std::string whole = as_llmc(tokens);
  REQUIRE(whole.size() == 64 * 1024);
  const auto is_taken = [&](const std::string& bytes) {
    files.put("/tokens.bin", bytes);
    return message_of<nk::data_error>([&] { nk::find_tokens(files, "/tokens.bin"); }) == "nothing was thrown";
  };
  REQUIRE(is_taken(whole));
  std::size_t cases = 0, passed = 0;
  // Of two or three bytes nothing says that they are no tokens of nanoGPT's, which have no header.
  for (std::size_t size = 4; size < whole.size(); ++size, ++cases) passed += is_taken(whole.substr(0, size));
  CHECK(passed == 0);
  CHECK_FALSE(is_taken(whole + '\0'));
  std::printf("damage: %zu prefixes of a token file\n", cases);
}

TEST_CASE("damage: every flipped bit of a header, and 10,000 of its numbers, are refused") {
  const std::string whole = saved_run();
  std::size_t header = 8;
  for (std::size_t i = 0; i < 8; ++i)
    header += static_cast<std::size_t>(static_cast<unsigned char>(whole[i])) << (8 * i);
  const small_run into(0);
  REQUIRE(passes(whole, into.contents()));
  std::size_t cases = 0, passed = 0;
  std::string bytes = whole;
  const auto flip = [&](std::size_t bit) {
    const auto flipped = static_cast<char>(1 << (bit % 8));
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ flipped);
    passed += passes(bytes, into.contents());
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ flipped);
    ++cases;
  };
  for (std::size_t bit = 0; bit < header * 8; ++bit) flip(bit);
  std::mt19937_64 random(1);
  for (int i = 0; i < 10'000; ++i) flip(header * 8 + random() % ((whole.size() - header) * 8));
  CHECK(passed == 0);
  std::printf("damage: %zu flipped bits, %zu of them in the header\n", cases, header * 8);
}

TEST_CASE("damage: a damaged checkpoint is passed over for the one before, and that is said") {
  std::size_t cases = 0;
  for (std::uint64_t part = 0; part < 20; ++part) {
    memory_files files;
    nk::checkpoint_folder folder(files, "/run");
    small_run(0).save(folder, 1);
    const std::string path = small_run(0).save(folder, 2);
    std::string bytes = files.bytes(path);
    bytes[bytes.size() * part / 20] ^= 4;
    files.put(path, bytes);

    nk::resumed_run run;
    CHECK(small_run::step_in(folder, &run) == 1);
    REQUIRE(run.passed_over.size() == 1);
    CHECK_THAT(run.passed_over[0], Catch::Contains(path));
    // The damaged one does not count as one of the last two.
    small_run(0).save(folder, 3);
    CHECK(files.has("/run/checkpoint-000001-step-1.safetensors"));
    CHECK_FALSE(files.has(path));
    CHECK(small_run::step_in(folder) == 3);
    ++cases;
  }
  for (const std::string& latest : {std::string(), std::string("checkpoint-000002-step-2.safetensors"),
                                    std::string("checkpoint-000009-step-2.safetensors\n"),
                                    std::string("../../etc/passwd\n"), std::string(1000, 'x')}) {
    memory_files files;
    nk::checkpoint_folder folder(files, "/run");
    small_run(0).save(folder, 1);
    small_run(0).save(folder, 2);
    files.put("/run/LATEST", latest);
    nk::resumed_run run;
    CHECK(small_run::step_in(folder, &run) == 2);
    REQUIRE(run.passed_over.size() == 1);
    CHECK_THAT(run.passed_over[0], Catch::Contains("/run/LATEST"));
    ++cases;
  }
  memory_files files;
  nk::checkpoint_folder folder(files, "/run");
  CHECK_THAT(message_of<nk::checkpoint_error>([&] { small_run::step_in(folder); }),
             Catch::Contains("there is no checkpoint to go on from"));
  files.make_folder("/run");
  CHECK_THAT(message_of<nk::checkpoint_error>([&] { small_run::step_in(folder); }),
             Catch::Contains("there is no checkpoint to go on from"));
  files.put("/run/checkpoint-000001-step-1.safetensors", "rubbish");
  CHECK_THAT(message_of<nk::checkpoint_error>([&] { small_run::step_in(folder); }),
             Catch::Contains("can be gone on from"));
  std::printf("damage: %zu folders with a damaged checkpoint or LATEST\n", cases + 3);
}
