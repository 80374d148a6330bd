// Token files that the reader reads back, whatever the size of a file.
#include "napkin/train/token_shards.hpp"

#include <catch2/catch.hpp>

#include "napkin/core/error.hpp"
#include "napkin/train/corpus.hpp"
#include "support/failing_files.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"
#include "support/token_bytes.hpp"

namespace nk = napkin;

TEST_CASE("token shards: llm.c's files, full but for the last, read back as one text") {
  std::vector<std::uint16_t> tokens(25);
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<std::uint16_t>(i * 2500);
  for (const std::size_t size : {1u, 7u, 25u, 100u}) {
    const temporary_folder folder;
    nk::token_shards train(nk::posix_file_system(), folder.path(), "train", size);
    nk::token_shards validation(nk::posix_file_system(), folder.path(), "val", size);
    train.append(std::span(tokens).first(3));
    train.append(std::span(tokens).subspan(3));
    train.finish();
    validation.append(std::span(tokens).first(1));
    validation.finish();
    CHECK(train.tokens() == tokens.size());
    CHECK(train.files() == (tokens.size() + size - 1) / size);
    CHECK(files_in(folder.path()) == train.files() + validation.files());
    if (size == 7) {
      CHECK(read_whole(folder / "train_000003.bin") ==
            as_llmc(std::vector<std::uint16_t>(tokens.begin() + 21, tokens.end())));
    }
    const nk::corpus found = nk::open_corpus(nk::posix_file_system(), folder.path(), 65536);
    std::vector<std::uint16_t> back(tokens.size());
    REQUIRE(found.train.size() == tokens.size());
    found.train.copy(0, back.size(), back.data());
    CHECK(back == tokens);
    CHECK(found.validation.size() == 1);
  }
  CHECK_THROWS_AS(nk::token_shards(nk::posix_file_system(), "", "train", 0), nk::error);
  CHECK_THROWS_AS(nk::token_shards(nk::posix_file_system(), "", "train", std::size_t{1} << 31), nk::error);
}

TEST_CASE("token shards: a full disk leaves no part of a file") {
  const temporary_folder folder;
  failing_files files;
  files.room = 1000;
  nk::token_shards shards(files, folder.path(), "train", 10);
  shards.append(std::vector<std::uint16_t>(5));
  CHECK_THROWS_AS(shards.finish(), nk::error);
  CHECK(files_in(folder.path()) == 0);
}

TEST_CASE("token shards: a folder in which not all are written is refused") {
  const temporary_folder folder;
  nk::file_system& files = nk::posix_file_system();
  const auto refusal = [&] {
    return message_of<nk::data_error>([&] { nk::open_corpus(files, folder.path(), 65536); });
  };
  nk::unfinished_tokens unfinished(files, folder.path());
  folder.write("val_000000.bin", as_llmc({1}));
  folder.write("train_000000.bin", as_llmc({2, 3}));
  CHECK_THAT(refusal(), Catch::Contains("not all there") && Catch::Contains("\"INCOMPLETE\""));
  unfinished.finish();
  CHECK(refusal() == "nothing was thrown");
  CHECK(files_in(folder.path()) == 2);
  folder.write("INCOMPLETE", "a text like others");
  std::filesystem::remove(folder / "val_000000.bin");
  std::filesystem::remove(folder / "train_000000.bin");
  CHECK(refusal() == "nothing was thrown");
}
