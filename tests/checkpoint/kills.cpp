// Suite S1: a training process is killed (SIGKILL), at a random time or before a certain call on files, and
// is resumed until it ends: the losses of all steps and the last checkpoint are those of a run that nobody
// killed.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <random>

#include "child.hpp"
#include "small_run.hpp"
#include "small_text.hpp"
#include "support/temporary_folder.hpp"

namespace {

constexpr int steps = 60, save_every = 10;

class killed_runs {
 public:
  killed_runs() {
    const auto begin = std::chrono::steady_clock::now();
    child straight(command("straight"), folder_ / "errors");
    REQUIRE(straight.started());
    REQUIRE(straight.wait().code == 0);
    microseconds_ =
        std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin)
            .count();
    REQUIRE(losses("straight").losses.size() == steps);
    REQUIRE(last_checkpoint("straight").size() > 1000);
  }

  /// Kill a run at the call, or, for 0, at a time up to that of a whole run. Whether it was killed.
  bool kill(int call, std::mt19937& random) {
    const std::string name = "run" + std::to_string(++runs_);
    bool killed = false;
    {
      trainee_command to_be_killed = command(name);
      to_be_killed.kill_at = call;
      child victim(to_be_killed, folder_ / "errors");
      if (call == 0) {
        const auto time = std::uniform_int_distribution<long>(0, microseconds_)(random);
        std::this_thread::sleep_for(std::chrono::microseconds(time));
        victim.send(SIGKILL);
      }
      killed = victim.wait().signal == SIGKILL;
    }
    const std::int64_t reached = losses(name).reached();

    if (has_checkpoint(name)) CHECK(torn_file(napkin::posix_file_system(), folder_ / name) == "");

    // Without a checkpoint there is nothing to go on from, and that is said, with its own exit code.
    trainee_command resumed = command(name);
    resumed.resume = true;
    if (!has_checkpoint(name)) {
      child lost(resumed, folder_ / "errors");
      CHECK(lost.wait().code == 4);
      resumed.resume = false;
    }
    child second(resumed, folder_ / "errors");
    const ending end = second.wait();
    CHECK(read_whole(folder_ / "errors") == "");
    CHECK(end.code == 0);

    const loss_log log = losses(name), expected = losses("straight");
    CHECK(log.repeats);
    CHECK(log.losses == expected.losses);
    CHECK(last_checkpoint(name) == last_checkpoint("straight"));
    // Two checkpoints, LATEST and lock: nothing is left over.
    CHECK(files_in(folder_ / name) == 4);
    const std::int64_t repeated = log.records - steps;  // steps made again
    CHECK(repeated >= 0);
    CHECK(repeated <= (killed ? save_every + reached % save_every : 0));
    std::filesystem::remove_all(folder_ / name);
    return killed;
  }

 private:
  trainee_command command(const std::string& name) const {
    return {text_, folder_ / name, folder_ / (name + ".log"), steps, save_every};
  }
  loss_log losses(const std::string& name) const { return loss_log(folder_ / (name + ".log")); }
  std::vector<std::string> checkpoints(const std::string& name) const {
    std::vector<std::string> found;
    std::error_code none;
    for (const auto& file : std::filesystem::directory_iterator(folder_ / name, none))
      if (file.path().extension() == ".safetensors") found.push_back(file.path().string());
    std::sort(found.begin(), found.end());
    return found;
  }
  bool has_checkpoint(const std::string& name) const { return !checkpoints(name).empty(); }
  std::string last_checkpoint(const std::string& name) const { return read_whole(checkpoints(name).back()); }

  temporary_folder folder_;
  std::string text_ = folder_.write("text", small_text());
  long microseconds_ = 0;
  int runs_ = 0;
};

/// At each of the first `most_calls` calls that a run makes, and at so many random times; how many calls.
int kill_many(int most_calls, std::size_t at_times) {
  killed_runs runs;
  std::mt19937 random(1);
  int by_call = 0;
  while (by_call < most_calls && runs.kill(by_call + 1, random)) ++by_call;
  std::size_t by_time = 0;
  for (std::size_t tries = 0; by_time < at_times && tries < 10 * at_times; ++tries)
    by_time += runs.kill(0, random);
  std::printf("kills: %d at a call on files, %zu at a random time\n", by_call, by_time);
  CHECK(by_time == at_times);
  return by_call;
}

}  // namespace

TEST_CASE("kills: 100 calls of saves, 100 random times; the runs go on to the same bits") {
  CHECK(kill_many(100, 100) == 100);
}
TEST_CASE("kills: every call of a run's saves, 500 random times", "[.long]") {
  const int calls = kill_many(1000, 500);
  CHECK(calls >= 230);
  CHECK(calls < 1000);  // all there are
}
