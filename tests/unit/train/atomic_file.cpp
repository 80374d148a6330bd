// A file appears whole or not at all, whichever call fails.
#include "napkin/train/atomic_file.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "napkin/core/error.hpp"
#include "support/failing_files.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

namespace nk = napkin;

namespace {

void replace(nk::file_system& files, const std::string& path, const std::string& text) {
  nk::write_atomically(files, path, text);
}

}  // namespace

TEST_CASE("atomic_file: synced before the rename, and the folder after it") {
  const temporary_folder folder;
  failing_files files;
  replace(files, folder / "new", "text");
  CHECK(files.log == std::vector<std::string>{"status", "free space", "create", "reserve", "write", "sync",
                                              "close", "rename", "sync folder"});
  CHECK(read_whole(folder / "new") == "text");
  CHECK(files.opened == 0);
}

TEST_CASE("atomic_file: every call fails in turn") {
  const int error_number = GENERATE(EIO, ENOSPC, EACCES, EDQUOT, EMFILE);
  const bool from_then_on = GENERATE(false, true);
  const temporary_folder folder;
  const std::string path = folder.write("file", "old");
  int failures = 0;
  for (int call = 1;; ++call) {
    failing_files files;
    files.fail_at = call;
    files.from_then_on = from_then_on;
    files.error_number = error_number;
    const std::string text = message_of<nk::error>([&] { replace(files, path, "new"); });
    CHECK(files.opened == 0);
    CHECK(files_in(folder.path()) == 1);
    if (text == "nothing was thrown") break;
    ++failures;
    CHECK_THAT(text, Catch::Contains("cannot") && Catch::Contains(folder.path()));
    const bool renamed = files.log[static_cast<std::size_t>(call) - 1] == "sync folder";
    CHECK(read_whole(path) == (renamed ? "new" : "old"));
    CHECK(std::count(files.log.begin(), files.log.end(), "sync") <= 1);  // a failed sync is never retried
    folder.write("file", "old");
  }
  CHECK(failures == 9);
  CHECK(read_whole(path) == "new");
}

TEST_CASE("atomic_file: short and interrupted writes are continued") {
  const temporary_folder folder;
  failing_files files;
  files.short_calls = true;
  replace(files, folder / "file", "0123456789");
  CHECK(read_whole(folder / "file") == "0123456789");
}

TEST_CASE("atomic_file: leftovers, links and full disks") {
  const temporary_folder folder;
  nk::file_system& files = nk::posix_file_system();
  const std::string path = folder / "file";

  {
    const nk::atomic_file dead(files, path, 0);
    folder.write(dead.temporary_path().substr(folder.path().size() + 1), "half");
    replace(files, path, "whole");  // the same process number, the next name
  }
  CHECK(read_whole(path) == "whole");
  folder.write("file.tmp.77.0", "half");
  folder.write("files.tmp.77.0", "another's");
  nk::remove_temporaries(files, path);
  CHECK(nk::list_folder(files, folder.path()) == std::vector<std::string>{"file", "files.tmp.77.0"});

  folder.write("target", "kept");
  std::filesystem::create_symlink("target", folder / "link");
  replace(files, folder / "link", "own");
  CHECK(read_whole(folder / "target") == "kept");
  CHECK(read_whole(folder / "link") == "own");

  failing_files full;
  full.room = 3;
  CHECK_THAT(message_of<nk::system_error>([&] { replace(full, path, "four"); }),
             Catch::Contains("needs 4 bytes") && Catch::Contains("3 free"));
  CHECK_THAT(message_of<nk::input_error>([&] { replace(files, folder.path(), ""); }),
             Catch::Contains("not a regular file"));
  CHECK_THAT(message_of<nk::input_error>([&] { replace(files, folder / "no/file", ""); }),
             Catch::Contains("No such file"));
}
