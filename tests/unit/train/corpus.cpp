// Which files train and which validate.
#include "napkin/train/corpus.hpp"

#include <catch2/catch.hpp>

#include "napkin/core/error.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"
#include "support/token_bytes.hpp"

namespace nk = napkin;

namespace {

nk::file_system& files = nk::posix_file_system();

std::string text_of(const nk::token_source& source) {
  std::vector<std::uint16_t> tokens(source.size());
  source.copy(0, tokens.size(), tokens.data());
  std::string text;
  for (const std::uint16_t token : tokens) text += static_cast<char>(token);
  return text;
}

std::string refusal(const std::string& path) {
  return message_of<nk::input_error>([&] { nk::open_corpus(files, path, 256); });
}

}  // namespace

TEST_CASE("corpus: a folder is split by file, every tenth by path validates") {
  const temporary_folder folder;
  // Bytewise: '-' < '.' < '/' < letters, so that a folder's files stand between a-x and ab.
  for (const char* name : {"a-x", "a.h", "a/0", "a/b/c", "ab", "b", "c", "d", "e", "f", "g", "B"})
    folder.write(name, std::string(name) + ";");
  folder.write(".hidden", "hidden;");
  folder.write(".git/config", "hidden;");
  std::filesystem::create_directory_symlink(folder / "a", folder / "h");
  const nk::corpus corpus = nk::open_corpus(files, folder.path(), 256);
  CHECK(text_of(corpus.train) == "B;a-x;a.h;a/0;a/b/c;ab;b;c;d;f;g;");
  CHECK(text_of(corpus.validation) == "e;");
  CHECK(text_of(nk::open_corpus(files, folder.path() + "/", 256).train) == text_of(corpus.train));

  std::filesystem::create_symlink("a.h", folder / "z");
  CHECK(text_of(nk::open_corpus(files, folder.path(), 256).train) == text_of(corpus.train) + "a.h;");
  std::filesystem::create_symlink("nowhere", folder / "z1");
  std::filesystem::create_symlink("z2", folder / "z2");
  std::filesystem::create_symlink("a.h/below", folder / "z3");
  CHECK(text_of(nk::open_corpus(files, folder.path(), 256).train) == text_of(corpus.train) + "a.h;");
}

TEST_CASE("corpus: a file, and a folder of few files, are split by position") {
  const temporary_folder folder;
  folder.write("a", "0123456789");
  folder.write("b", "abcdefghijklmnopqrs");
  const nk::corpus one = nk::open_corpus(files, folder / "b", 256);
  CHECK(text_of(one.train) == "abcdefghijklmnopqr");
  CHECK(text_of(one.validation) == "s");
  const nk::corpus two = nk::open_corpus(files, folder.path(), 256);
  CHECK(text_of(two.train) == "0123456789abcdefghijklmnopq");
  CHECK(text_of(two.validation) == "rs");

  std::vector<std::uint16_t> tokens(20, 1000);
  const nk::corpus tokened = nk::open_corpus(files, folder.write("t.bin", as_llmc(tokens)), 65536);
  CHECK(tokened.train.size() == 18);
  CHECK(tokened.validation.size() == 2);
}

TEST_CASE("corpus: the folders of nanoGPT and llm.c") {
  const temporary_folder nano;
  nano.write("input.txt", "not this");
  nano.write("prepare.py", "nor this");
  nano.write("train.bin", as_uint16({1, 2, 3}));
  nano.write("val.bin", as_uint16({4}));
  const nk::corpus corpus = nk::open_corpus(files, nano.path(), 65536);
  CHECK(text_of(corpus.train) == "\1\2\3");
  CHECK(text_of(corpus.validation) == "\4");

  const temporary_folder llmc;
  llmc.write("web_train_000002.bin", as_llmc({3, 4}));
  llmc.write("web_train_000001.bin", as_llmc({1, 2}));
  llmc.write("web_val_000000.bin", as_llmc({5}));
  const nk::corpus shards = nk::open_corpus(files, llmc.path(), 65536);
  CHECK(text_of(shards.train) == "\1\2\3\4");
  CHECK(text_of(shards.validation) == "\5");

  // A word that only has the letters within is another one.
  nano.write("retrieval.bin", as_uint16({5}));
  nano.write("constraints.bin", as_uint16({6}));
  CHECK(text_of(nk::open_corpus(files, nano.path(), 65536).train) == "\1\2\3");
  CHECK(text_of(nk::open_corpus(files, nano.path(), 65536).validation) == "\4");
  nano.write("my-validation2.bin", as_uint16({7}));
  nano.write("training_b.bin", as_uint16({8}));
  CHECK(text_of(nk::open_corpus(files, nano.path(), 65536).train) == "\1\2\3\10");
  CHECK(text_of(nk::open_corpus(files, nano.path(), 65536).validation) == "\7\4");
  std::filesystem::remove(nano / "my-validation2.bin");

  std::filesystem::remove(nano / "val.bin");
  CHECK_THAT(refusal(nano.path()), Catch::Contains("none named val.bin"));
}

TEST_CASE("corpus: data that is not there") {
  const temporary_folder folder;
  CHECK_THAT(refusal(""), Catch::Contains("no data at \"\""));
  CHECK_THAT(refusal(folder / "absent"), Catch::Contains("no data at") && Catch::Contains("absent"));
  CHECK_THAT(refusal(folder.path()), Catch::Contains("has no text: 0 files"));
  folder.write("empty", "");
  CHECK_THAT(refusal(folder.path()), Catch::Contains("has no text: 1 files"));
  CHECK_THAT(refusal(folder / "empty"), Catch::Contains("is empty"));
}

TEST_CASE("corpus: the library's headers are found, the highest version first") {
  const temporary_folder root;
  const auto found = [&] { return nk::default_corpus_folder(files, root.path()); };
  CHECK_THAT(message_of<nk::input_error>(found), Catch::Contains("not on this machine"));
  root.write("usr/lib/llvm-9/include/c++/v1/vector", "");
  root.write("usr/lib/llvm-19/include/c++/v1/vector", "");
  root.write("usr/lib/llvm-other/include/c++/v1/vector", "");
  CHECK(found() == root / "usr/lib/llvm-19/include/c++/v1");
  root.write("usr/include/c++/v1/vector", "");
  CHECK(found() == root / "usr/include/c++/v1");
  root.write("usr/include/c++/9/vector", "");
  root.write("usr/include/c++/12/vector", "");
  CHECK(found() == root / "usr/include/c++/12");
  root.write("usr/include/c++/12.2.0/vector", "");
  CHECK(found() == root / "usr/include/c++/12.2.0");
}

TEST_CASE("corpus: this machine's own headers") {
  const nk::corpus corpus = nk::open_corpus(files, nk::default_corpus_folder(files), 256);
  CHECK(corpus.train.holds_bytes());
  CHECK(corpus.train.size() > 1'000'000);
  CHECK(corpus.validation.size() > 100'000);
}
