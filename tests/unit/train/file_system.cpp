// The checked operations over the machine's files: what they read, and whose mistake each failure is.
#include "napkin/train/file_system.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>

#include "napkin/core/error.hpp"
#include "support/failing_files.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

namespace nk = napkin;

TEST_CASE("file_system: a missing file is the user's mistake, a broken disk the system's") {
  const temporary_folder folder;
  const std::string missing = folder / "missing";
  const std::string text =
      message_of<nk::input_error>([&] { nk::input_file(nk::posix_file_system(), missing); });
  CHECK(text == "cannot open \"" + missing + "\": No such file or directory");

  failing_files files;
  files.fail_at = 1;
  CHECK_THAT(message_of<nk::system_error>([&] { nk::input_file(files, missing); }),
             Catch::Contains("Input/output error"));
}

TEST_CASE("file_system: reading puts short and interrupted reads together") {
  const temporary_folder folder;
  failing_files files;
  files.short_calls = true;
  const nk::input_file file(files, folder.write("text", "0123456789"));
  std::array<char, 8> bytes{};
  file.read(2, std::as_writable_bytes(std::span(bytes)));
  CHECK(std::string(bytes.data(), bytes.size()) == "23456789");
  CHECK_THAT(message_of<nk::input_error>([&] { file.read(3, std::as_writable_bytes(std::span(bytes))); }),
             Catch::Contains("ends at byte 10") && Catch::Contains("1 more bytes"));
}

TEST_CASE("file_system: folders are made with those above, and may be there already") {
  const temporary_folder folder;
  for (int twice = 0; twice < 2; ++twice) nk::make_folders(nk::posix_file_system(), folder / "a/b/c");
  CHECK(std::filesystem::is_directory(folder / "a/b/c"));
  const std::string file = folder.write("file", "");
  CHECK_THAT(message_of<nk::input_error>([&] { nk::make_folders(nk::posix_file_system(), file); }),
             Catch::Contains("is a file, not a folder"));
  CHECK_THAT(message_of<nk::input_error>([&] { nk::make_folders(nk::posix_file_system(), file + "/below"); }),
             Catch::Contains("Not a directory"));
}

TEST_CASE("file_system: all of a small file, and no more than was asked for") {
  const temporary_folder folder;
  const std::string path = folder.write("text", "12345");
  const auto refusal = [](nk::file_system& files, const std::string& of, std::uint64_t most) {
    return message_of<nk::error>([&] { nk::read_text(files, of, most); });
  };
  CHECK(nk::read_text(nk::posix_file_system(), path, 5) == "12345");
  CHECK(nk::read_text(nk::posix_file_system(), folder.write("none", ""), 0).empty());
  CHECK_THAT(refusal(nk::posix_file_system(), path, 4), Catch::Contains("expected 4 bytes at most, found 5"));
  CHECK_THAT(refusal(nk::posix_file_system(), folder.path(), 4), Catch::Contains("not a regular file"));
  for (int call = 1;; ++call) {
    failing_files files;
    files.fail_at = call;
    const std::string text = refusal(files, path, 5);
    CHECK(files.opened == 0);
    if (files.calls < call) break;
    if (files.log.back() != "close") CHECK_THAT(text, Catch::Contains("Input/output error"));
  }
}

TEST_CASE("file_system: a file that is not there is removed already") {
  const temporary_folder folder;
  const std::string path = folder.write("a", "");
  nk::remove_file(nk::posix_file_system(), path);
  CHECK(files_in(folder.path()) == 0);
  CHECK_NOTHROW(nk::remove_file(nk::posix_file_system(), path));
  CHECK_THROWS_AS(nk::remove_file(nk::posix_file_system(), folder.path()), nk::input_error);
  CHECK_THROWS_AS(nk::sync_folder(nk::posix_file_system(), folder / "none"), nk::input_error);
}

TEST_CASE("file_system: kinds and names") {
  const temporary_folder folder;
  folder.write("b", "12345");
  folder.write("a/x", "");
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  std::filesystem::create_symlink("b", folder / "link");
  nk::file_system& files = nk::posix_file_system();
  CHECK(nk::list_folder(files, folder.path()) == std::vector<std::string>{"a", "b", "link", "pipe"});

  nk::file_status found;
  REQUIRE(nk::find_status(files, folder / "link", found));
  CHECK(found.kind == nk::file_kind::regular);
  CHECK(found.size == 5);
  CHECK(files.status_of_link(folder / "link", found) == 0);
  CHECK(found.kind == nk::file_kind::other);
  REQUIRE(nk::find_status(files, folder / "a", found));
  CHECK(found.kind == nk::file_kind::folder);
  CHECK(nk::input_file(files, folder / "pipe").status().kind == nk::file_kind::other);  // and does not block
  CHECK_FALSE(nk::find_status(files, folder / "c", found));
  CHECK(files.free_space(folder.path()) > 0);
}

TEST_CASE("file_system: text from outside stays on one line") {
  CHECK(nk::in_quotes("a\nb\"c\\\x7f") == "\"a\\x0ab\\x22c\\x5c\\x7f\"");
  CHECK(nk::in_quotes(std::string(101, 'x')) == "\"" + std::string(100, 'x') + "...\"");
  // A letter stays whole or is left out; what a terminal would obey, and what is no UTF-8, is spelled.
  CHECK(nk::in_quotes("caf\xc3\xa9 \xe2\x82\xac") == "\"caf\xc3\xa9 \xe2\x82\xac\"");
  CHECK(nk::in_quotes(std::string(99, 'x') + "\xc3\xa9") == "\"" + std::string(99, 'x') + "...\"");
  CHECK(nk::in_quotes("\xc2\x9b"
                      "2J \x9b"
                      "2J \xe9") == R"("\xc2\x9b2J \x9b2J \xe9")");
  CHECK(nk::folder_of("a") == ".");
  CHECK(nk::folder_of("/a") == "/");
  CHECK(nk::folder_of("a/b/c") == "a/b");
}

TEST_CASE("file_system: no file is taken for standard input, output or error where these are closed") {
  const temporary_folder folder;
  const std::string path = folder.write("text", "");
  nk::file_system& files = nk::posix_file_system();
  std::array<int, 3> kept{};
  for (int i = 0; i < 3; ++i) kept[static_cast<std::size_t>(i)] = ::fcntl(i, F_DUPFD_CLOEXEC, 10);
  for (int i = 0; i < 3; ++i) ::close(i);
  int holder = 0;
  const std::array<int, 4> opened = {files.open_for_reading(path), files.create_exclusively(folder / "new"),
                                     files.open_for_appending(path), files.lock(folder / "lock", holder)};
  const int missing = files.open_for_reading(folder / "none");
  for (int i = 0; i < 3; ++i) ::dup2(kept[static_cast<std::size_t>(i)], i);
  for (const int file : kept) ::close(file);
  for (const int file : opened) {
    CHECK(file > 2);
    CHECK(::fcntl(file, F_GETFD) == FD_CLOEXEC);
    CHECK(files.close(file) == 0);
  }
  CHECK(missing == -ENOENT);
}
