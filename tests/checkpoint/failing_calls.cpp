// Suite S3: every call on files fails in turn, once or from then on, with each of several errors, while a run
// is saved and while it is loaded. Source  SQLite's do_ioerr_test; "fsyncgate": a sync that failed is never
// tried again
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <system_error>

#include "memory_files.hpp"
#include "napkin/core/error.hpp"
#include "small_run.hpp"
#include "support/failing_files.hpp"
#include "support/message_of.hpp"

namespace nk = napkin;

namespace {

/// A disk with so many saves.
memory_files disk_of(std::uint64_t saves) {
  memory_files disk;
  nk::checkpoint_folder folder(disk, "/run");
  for (std::uint64_t step = 1; step <= saves; ++step) small_run(0).save(folder, step);
  return disk;
}

/// The typed error, its one line naming the place and the reason.
void check_message(const std::string& text, const failing_files& files) {
  CHECK(text.find('\n') == std::string::npos);
  CHECK_THAT(text, Catch::Contains("\"/"));  // a path
  CHECK_THAT(text, Catch::Contains(std::generic_category().message(files.error_number)));
  const std::string& call = files.log[static_cast<std::size_t>(files.fail_at) - 1];
  if (call == "write" || call == "read") CHECK_THAT(text, Catch::Contains(" at byte "));
}

/// No sync of a file comes after one that failed, until another file is made.
void check_syncs(const failing_files& files) {
  const auto failed = files.log.begin() + files.fail_at - 1;
  if (*failed != "sync") return;
  const auto next = std::find(failed + 1, files.log.end(), "create");
  CHECK(std::count(failed + 1, next, "sync") == 0);
}

/// What fails: call `call`, counted from 1, with this error, and for ever or not all calls after it.
struct failure {
  int call, error_number;
  bool for_ever;
};

struct tally {
  int calls = 0;  // that there were at most
  std::size_t failures = 0;
};

/// Each call fails in turn, with each error, once and for ever, until `fails` says that there is no such
/// call.
template <class F>
tally fail_each_call(F fails) {
  tally all;
  for (const int error_number : {EIO, ENOSPC, EDQUOT, EINTR, EACCES, EMFILE})
    for (const bool for_ever : {false, true}) {
      int call = 1;
      while (fails(failure{call, error_number, for_ever})) ++call;
      all.calls = std::max(all.calls, call - 1);
      all.failures += static_cast<std::size_t>(call - 1);
    }
  return all;
}

failing_files files_with(const failure& f, nk::file_system& disk) {
  failing_files files(disk);
  files.fail_at = f.call;
  files.error_number = f.error_number;
  files.from_then_on = f.for_ever;
  return files;
}

/// Save step `saves` + 1 over a disk with `saves`. Whether there was the call that fails.
bool save_with(const failure& f, const memory_files& before, std::int64_t saves) {
  memory_files disk = before;
  failing_files files = files_with(f, disk);
  files.removals_fail = true;
  bool saved = false;
  {
    nk::checkpoint_folder folder(files, "/run");
    const std::string text =
        message_of<nk::error>([&] { small_run(0).save(folder, static_cast<std::uint64_t>(saves) + 1); });
    saved = text == "nothing was thrown";
    if (files.calls < f.call) {
      CHECK(saved);
      return false;
    }
    if (!saved) check_message(text, files);
  }
  check_syncs(files);
  CHECK(files.opened == 0);
  CHECK(disk.open_files() == 0);

  // The old checkpoint, or the new one if its rename came first.
  nk::checkpoint_folder folder(disk, "/run");
  std::int64_t found = saves;
  try {
    found = small_run::step_in(folder);
  } catch (const nk::checkpoint_error&) {
    CHECK(saves == 0);  // none is there yet, which is not taken for a beginning
  }
  CHECK((found == saves || found == saves + 1));
  if (saved) CHECK(found == saves + 1);
  const bool could_remove = !f.for_ever && files.log[static_cast<std::size_t>(f.call) - 1] != "remove";
  if (could_remove) CHECK(temporary_file(disk) == "");

  small_run(0).save(folder, 50);
  CHECK(small_run::step_in(folder) == 50);
  CHECK(temporary_file(disk) == "");
  return true;
}

/// Load from a disk whose latest step is this. Whether there was the call that fails.
bool load_with(const failure& f, const memory_files& before, std::int64_t latest) {
  memory_files disk = before;
  failing_files files = files_with(f, disk);
  nk::checkpoint_folder folder(files, "/run");
  std::int64_t found = -2;
  nk::resumed_run run;
  const std::string text = message_of<nk::error>([&] { found = small_run::step_in(folder, &run); });
  if (files.calls < f.call) {
    CHECK(found == latest);
    return false;
  }
  CHECK(files.opened == 0);
  if (text != "nothing was thrown") {
    check_message(text, files);
    return true;
  }
  CHECK(found > 0);                                      // whole
  CHECK((found == latest || !run.passed_over.empty()));  // and an older one is said to be
  CHECK(disk.paths() == before.paths());
  return true;
}

}  // namespace

TEST_CASE("failing calls: while saving") {
  const std::int64_t saves = GENERATE(0, 1, 4);
  const memory_files before = disk_of(static_cast<std::uint64_t>(saves));
  const tally found = fail_each_call([&](const failure& f) { return save_with(f, before, saves); });
  std::printf("failing calls: %zu failures of the %d calls of a save after %d\n", found.failures, found.calls,
              static_cast<int>(saves));
  CHECK(found.calls > 30);
  CHECK(found.failures >= 12 * 30);
}

TEST_CASE("failing calls: while loading") {
  const bool damaged = GENERATE(false, true);
  memory_files before = disk_of(3);
  if (damaged) {
    std::string bytes = before.bytes("/run/checkpoint-000003-step-3.safetensors");
    bytes[bytes.size() / 2] ^= 1;
    before.put("/run/checkpoint-000003-step-3.safetensors", bytes);
  }
  const tally found = fail_each_call([&](const failure& f) { return load_with(f, before, damaged ? 2 : 3); });
  std::printf("failing calls: %zu failures of the %d calls of a load%s\n", found.failures, found.calls,
              damaged ? ", the latest damaged" : "");
  CHECK(found.calls > 10);
  CHECK(found.failures >= 12 * 10);
}

TEST_CASE("failing calls: short and interrupted reads and writes come to the same") {
  memory_files disk = disk_of(1);
  failing_files files(disk);
  files.short_calls = true;
  nk::checkpoint_folder folder(files, "/run");
  small_run(0).save(folder, 2);
  CHECK(small_run::step_in(folder) == 2);
  CHECK(disk.bytes("/run/checkpoint-000002-step-2.safetensors") ==
        disk_of(2).bytes("/run/checkpoint-000002-step-2.safetensors"));
}
