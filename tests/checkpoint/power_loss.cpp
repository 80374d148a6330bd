// Suite S2: power is lost at every sync of a series of saves; what was not synced has arrived, has not, or is
// rubbish. The checkpoint that is found afterwards is the one before or the new one, whole.
// Source  SQLite's src/test6.c; Pillai et al., All file systems are not created equal (OSDI 2014)
#include <catch2/catch.hpp>
#include <cstdio>

#include "memory_files.hpp"
#include "napkin/core/error.hpp"
#include "small_run.hpp"

namespace nk = napkin;

namespace {

struct cut {
  memory_files disk;
  std::int64_t saved;  // the last step whose save had returned
};

constexpr std::int64_t saves = 5;

std::vector<cut> cuts_of_saves() {
  std::vector<cut> cuts;
  memory_files files;
  std::int64_t saved = 0;
  files.at_sync = [&] { cuts.push_back({files, saved}); };
  nk::checkpoint_folder folder(files, "/runs/one");
  small_run run(0);
  for (std::int64_t step = 1; step <= saves; ++step) {
    run.save(folder, static_cast<std::uint64_t>(step));
    saved = step;
  }
  cuts.push_back({files, saved});
  return cuts;
}

/// What is wrong with what is found after power comes back; empty if nothing is.
std::string objection(memory_files& disk, std::int64_t saved) {
  std::int64_t found = 0;
  try {
    nk::checkpoint_folder folder(disk, "/runs/one");
    nk::resumed_run run;
    found = small_run::step_in(folder, &run);
    if (saved > 0 && !run.passed_over.empty()) return run.passed_over[0];
    if (std::string torn = torn_file(disk, folder.path()); !torn.empty()) return torn;
    if (found < 0) return "a mix of two checkpoints was loaded";
  } catch (const nk::checkpoint_error& none) {
    if (saved > 0) return none.what();  // one was there for certain
  } catch (const nk::error& other) {
    return std::string("another error: ") + other.what();
  }
  if (found != saved && found != saved + 1)
    return "step " + std::to_string(found) + " was loaded, " + std::to_string(saved) + " had been saved";

  // What is left over does not stand in the way.
  nk::checkpoint_folder folder(disk, "/runs/one");
  small_run(0).save(folder, 77);
  if (small_run::step_in(folder) != 77) return "the next save is not found";
  if (const std::string path = temporary_file(disk); !path.empty()) return path + " is left over";
  return "";
}

void lose_power(std::uint64_t seeds) {
  const std::vector<cut> cuts = cuts_of_saves();
  CHECK(cuts.size() > 40);
  std::size_t images = 0, wrong = 0;
  for (const cut& c : cuts)
    for (const sector_fate fate : {sector_fate::written, sector_fate::dropped, sector_fate::trashed})
      for (const std::size_t sector : {std::size_t{512}, std::size_t{4096}})
        for (std::uint64_t seed = 0; seed < seeds; ++seed) {
          memory_files disk = c.disk.after_power_loss(fate, sector, 1000 * images + seed);
          const std::string text = objection(disk, c.saved);
          ++images;
          if (text.empty()) continue;
          ++wrong;
          INFO("after " << c.saved << " saves, sectors of " << sector << ", image " << images);
          CHECK(text == "");
          if (wrong == 5) return;
        }
  CHECK(images >= 1000);
  std::printf("power loss: %zu images of the disk at %zu syncs, %zu wrong\n", images, cuts.size(), wrong);
}

}  // namespace

TEST_CASE("power loss: the old checkpoint or the new one, whole") { lose_power(4); }
TEST_CASE("power loss: the same, with many more images", "[.long]") { lose_power(200); }
