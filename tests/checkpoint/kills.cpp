// Suite S1: a training process is killed (SIGKILL), at a random time or before a certain call on files, and
// is resumed until it ends: the losses of all steps and the last checkpoint are those of a run that nobody
// killed.
#include <algorithm>
#include <catch2/catch.hpp>
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
    child straight(words("straight"), folder_ / "errors");
    REQUIRE(straight.started());
    REQUIRE(straight.wait().code == 0);
    microseconds_ =
        std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin)
            .count();
    REQUIRE(losses("straight").losses.size() == steps);
    REQUIRE(last_checkpoint("straight").size() > 1000);
  }

  std::size_t kills = 0;

  /// Kill a run at the call, or, for 0, at a time up to that of a whole run. Whether it was killed.
  bool kill(int call, std::mt19937& random) {
    const std::string name = "run" + std::to_string(++runs_);
    bool killed = false;
    {
      child victim(words(name, call == 0 ? std::vector<std::string>{}
                                         : std::vector<std::string>{"--kill-at", std::to_string(call)}),
                   folder_ / "errors");
      if (call == 0) {
        const auto time = std::uniform_int_distribution<long>(0, microseconds_)(random);
        std::this_thread::sleep_for(std::chrono::microseconds(time));
        victim.send(SIGKILL);
      }
      killed = victim.wait().signal == SIGKILL;
    }
    kills += killed;
    const std::int64_t reached = losses(name).losses.empty() ? 0 : losses(name).losses.rbegin()->first;

    if (has_checkpoint(name)) CHECK(torn_file(napkin::posix_file_system(), folder_ / name) == "");

    // Without a checkpoint there is nothing to go on from, and that is said, with its own exit code.
    std::vector<std::string> resume = {"--resume"};
    if (!has_checkpoint(name)) {
      child lost(words(name, resume), folder_ / "errors");
      CHECK(lost.wait().code == 4);
      resume.clear();
    }
    child second(words(name, resume), folder_ / "errors");
    const ending end = second.wait();
    CHECK(read_whole(folder_ / "errors") == "");
    CHECK(end.code == 0);

    const loss_log log = losses(name), expected = losses("straight");
    CHECK(log.repeats);
    CHECK(log.losses == expected.losses);
    CHECK(last_checkpoint(name) == last_checkpoint("straight"));
    // Two checkpoints, LATEST and lock: nothing is left over.
    CHECK(files_in(folder_ / name) == 4);
    const std::int64_t repeated = entries(name) - steps;  // steps made again
    CHECK(repeated >= 0);
    CHECK(repeated <= (killed ? save_every + reached % save_every : 0));
    std::filesystem::remove_all(folder_ / name);
    return killed;
  }

 private:
  std::vector<std::string> words(const std::string& name, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all = {beside_this_program("checkpoint_trainee"),
                                    text_,
                                    folder_ / name,
                                    folder_ / (name + ".log"),
                                    std::to_string(steps),
                                    std::to_string(save_every)};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  loss_log losses(const std::string& name) const { return loss_log(folder_ / (name + ".log")); }
  std::int64_t entries(const std::string& name) const {
    return static_cast<std::int64_t>(std::filesystem::file_size(folder_ / (name + ".log")) / 16);
  }
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

void kill_many(std::size_t at_calls, std::size_t at_times) {
  killed_runs runs;
  std::mt19937 random(1);
  std::size_t by_call = 0;
  for (int call = 1; by_call < at_calls; ++call) by_call += runs.kill(call, random);
  std::size_t by_time = 0;
  for (std::size_t tries = 0; by_time < at_times && tries < 10 * at_times; ++tries)
    by_time += runs.kill(0, random);
  std::printf("kills: %zu at a call on files, %zu at a random time\n", by_call, by_time);
  CHECK(by_call == at_calls);
  CHECK(by_time == at_times);
}

}  // namespace

TEST_CASE("kills: 100 calls of saves, 100 random times; the runs go on to the same bits") {
  kill_many(100, 100);
}
TEST_CASE("kills: every call of a run's saves, 500 random times", "[.long]") { kill_many(230, 500); }
