// A file that grows: records go whole through short and interrupted writes, and nothing turns for ever.
#include "napkin/train/appended_file.hpp"

#include <catch2/catch.hpp>

#include "napkin/core/error.hpp"
#include "support/failing_files.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

namespace nk = napkin;

namespace {

void append(nk::appended_file& to, const std::string& text) { to.append(std::as_bytes(std::span(text))); }

}  // namespace

TEST_CASE("appended_file: records, one behind the other, and behind what was there") {
  const temporary_folder folder;
  failing_files files;
  files.short_calls = true;
  const std::string path = folder.write("log", "before ");
  {
    nk::appended_file file(files, path);
    append(file, "one record ");
    append(file, "another");
    CHECK(file.size() == 25);
  }
  CHECK(files.opened == 0);
  CHECK(read_whole(path) == "before one record another");
  CHECK(nk::appended_file::make_new(files, path).path() == path + ".1");
  CHECK_THAT(message_of<nk::input_error>([&] { nk::appended_file(files, "/dev/null"); }),
             Catch::Contains("not a regular file"));
}

TEST_CASE("appended_file: a write that is interrupted for ever is an error") {
  const temporary_folder folder;
  failing_files files;
  nk::appended_file file(files, folder / "log");
  files.fail_at = files.calls + 1;
  files.error_number = EINTR;
  files.from_then_on = true;
  CHECK_THAT(message_of<nk::system_error>([&] { append(file, "text"); }),
             Catch::Contains("cannot write") && Catch::Contains("Interrupted"));
  CHECK(files.calls < 1000);
}
