// The cache of chosen algorithms: there and back, and nothing wrong with the file stops anything.
#include "napkin/train/blas_cache.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "support/failing_files.hpp"
#include "support/temporary_folder.hpp"

namespace nk = napkin;
using nk::on_cuda::blas_algorithm;
using nk::on_cuda::blas_choices;

namespace {

blas_choices some_choices() {
  blas_choices c;
  for (std::uint64_t i = 0; i < 5; ++i) {
    blas_algorithm x;
    x.data[3] = i << 40;
    x.workspace = i;
    c.set("130002\tfake\tproduct " + std::to_string(i), x);
  }
  return c;
}

struct loaded {
  blas_choices choices;
  std::vector<std::string> complaints;
};
loaded load(nk::file_system& files, const std::string& path) {
  loaded l;
  load_blas_cache(files, path, l.choices, l.complaints);
  return l;
}

}  // namespace

TEST_CASE("the cache comes back, and one that is not there is empty", "[blas_cache]") {
  const temporary_folder folder;
  nk::file_system& files = nk::posix_file_system();
  const std::string path = folder / "napkin/blas";
  CHECK(load(files, path).complaints.empty());
  std::vector<std::string> complaints;
  save_blas_cache(files, path, some_choices(), complaints);
  CHECK(complaints.empty());
  const loaded back = load(files, path);
  CHECK(back.choices == some_choices());
  CHECK(back.complaints.empty());
  CHECK(files_in(folder / "napkin") == 1);
}

TEST_CASE("a damaged cache gives what is whole of it and a line of words", "[blas_cache]") {
  const temporary_folder folder;
  nk::file_system& files = nk::posix_file_system();
  const std::string path = folder / "cache";
  std::vector<std::string> complaints;
  save_blas_cache(files, path, some_choices(), complaints);
  const std::string whole = nk::read_text(files, path, 1 << 20);
  const std::size_t first = whole.find('\n') + 1;
  CHECK(whole.substr(first) == some_choices().text());
  std::string text = whole;
  text[first + (text.size() - first) / 2] ^= 1;
  const loaded some = load(files, folder.write("damaged", text));
  CHECK(some.choices.size() == 4);
  REQUIRE(some.complaints.size() == 1);
  CHECK(some.complaints[0].find("damaged\": line 3 of the chosen algorithms is damaged") !=
        std::string::npos);

  const loaded none = load(files, folder.write("binary", std::string(5000, '\xff')));
  CHECK(none.choices.size() == 0);
  CHECK(none.complaints.size() == 1);
  CHECK(load(files, folder.path()).complaints.size() == 1);

  // timed among others: as before caches said so, by another napkin, and cut off within the first line
  for (const std::string& other : {some_choices().text(), "candidates 1\n" + some_choices().text(),
                                   whole.substr(0, first - 1), std::string()}) {
    const loaded left = load(files, folder.write("other", other));
    CHECK(left.choices.size() == 0);
    REQUIRE(left.complaints.size() == 1);
    CHECK(left.complaints[0].find("other\" is of another napkin") != std::string::npos);
  }
}

TEST_CASE("a file system that fails costs the cache and nothing else", "[blas_cache]") {
  const temporary_folder folder;
  const std::string path = folder / "cache";
  std::vector<std::string> complaints;
  save_blas_cache(nk::posix_file_system(), path, some_choices(), complaints);
  blas_choices more = some_choices();
  more.set("another", {});
  int calls = 0;
  for (int k = 1; k < 100; ++k) {
    failing_files files;
    files.fail_at = k;
    complaints.clear();
    save_blas_cache(files, path, more, complaints);
    if (files.calls < k) break;
    ++calls;
    CHECK(complaints.size() == 1);
    CHECK(files.opened == 0);
    const blas_choices left = load(nk::posix_file_system(), path).choices;
    CHECK((left == some_choices() || left == more));
    save_blas_cache(nk::posix_file_system(), path, some_choices(), complaints);
  }
  CHECK(calls > 5);
  for (int k = 1; k < 100; ++k) {
    failing_files files;
    files.fail_at = k;
    const loaded l = load(files, path);
    if (files.calls < k) break;
    CHECK(files.opened == 0);
    CHECK(l.complaints.size() + l.choices.size() > 0);
  }
}
