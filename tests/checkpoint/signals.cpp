// Suite S20: a training process is told to stop, at random times: it saves once, ends with 128 + the signal's
// number, and goes on later to the same bits. A second signal ends it at once, and no file is torn.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <random>

#include "child.hpp"
#include "napkin/core/error.hpp"
#include "small_run.hpp"
#include "small_text.hpp"
#include "support/compare.hpp"
#include "support/temporary_folder.hpp"
#include "trained.hpp"

namespace nk = napkin;

namespace {

class stopped_processes {
 public:
  explicit stopped_processes(int save_every) : save_every_(save_every) {}

  /// A process that is noting the first signal for a long time: the second does not wait for it.
  void stop_twice(int first, int second) {
    trainee_command endless = command("run" + std::to_string(++runs_), for_ever);
    endless.stall = true;
    child process(endless, folder_ / "errors");
    REQUIRE(process.wait_for_output());
    process.send(first);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const auto begin = std::chrono::steady_clock::now();
    process.send(second);
    const ending end = process.wait(std::chrono::seconds(20));
    CHECK(end.signal == second);
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
  }

  /// Signals sent after a random time, the second soon behind the first; that is noted, and the second kills
  /// unless the process has ended by then, or finds them both waiting.
  void stop(const std::vector<int>& signals, bool close_output = false) {
    const std::string name = "run" + std::to_string(++runs_);
    child process(command(name, for_ever), folder_ / "errors");
    REQUIRE(process.wait_for_output());
    std::this_thread::sleep_for(
        std::chrono::microseconds(std::uniform_int_distribution<int>(0, 40'000)(random_)));
    if (close_output) process.close_output();
    for (std::size_t i = 0; i < signals.size(); ++i) {
      if (i > 0 && random_() % 2 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
      process.send(signals[i]);
    }
    const ending end = process.wait(std::chrono::seconds(20));
    CHECK_FALSE(end.hung);
    CHECK(read_whole(folder_ / "errors") == "");

    const loss_log log(folder_ / (name + ".log"));
    const std::int64_t reached = log.reached();
    // Of two that wait, the system hands over the lower first, and two that are equal once.
    const auto sent = [&](int number) {
      return close_output ? number == SIGPIPE
                          : std::find(signals.begin(), signals.end(), number) != signals.end();
    };
    const bool clean = end.code >= 0 && sent(end.code - 128);
    if (signals.size() < 2) CHECK(clean);
    CHECK((clean || (sent(end.signal) && signals.size() == 2)));

    // What is there loads whole, and is the last step if the process ended by itself.
    nk::checkpoint_folder folder(nk::posix_file_system(), folder_ / name);
    const auto run = make_trained(trained_by::adamw, text_, 999);
    std::int64_t saved = 0;
    const bool has_latest = std::filesystem::exists(folder_ / name + "/LATEST");
    try {
      const auto loaded = run->load(folder);  // in no CHECK, which would take what it throws for its own
      saved = run->steps();
      // A second signal may come between the first checkpoint and LATEST: then that is said.
      CHECK(loaded.passed_over.size() == (has_latest ? 0u : 1u));
      if (!has_latest) CHECK((!clean && saved <= save_every_));
    } catch (const nk::checkpoint_error&) {
      CHECK_FALSE(clean);
      CHECK(reached <= save_every_);
    }
    CHECK(torn_file(nk::posix_file_system(), folder_ / name) == "");
    if (clean) CHECK(saved == reached);
    CHECK(saved <= reached);
    CHECK(reached - saved <= save_every_ + 1);
    if (clean)
      for (const auto& file : std::filesystem::directory_iterator(folder_ / name))
        CHECK(file.path().string().find(".tmp.") == std::string::npos);

    if (saved > 0) go_on(name, reached + 5);
    std::filesystem::remove_all(folder_ / name);
  }

 private:
  static constexpr std::int64_t for_ever = 100'000'000;

  trainee_command command(const std::string& name, std::int64_t steps) const {
    return {path_, folder_ / name, folder_ / (name + ".log"), steps, save_every_};
  }

  /// To this step: its losses, and what is saved then, are those of a run that was not stopped.
  void go_on(const std::string& name, std::int64_t steps) {
    trainee_command resumed = command(name, steps), straight = command(name + "_straight", steps);
    resumed.resume = true;
    straight.save_every = steps;
    child second(resumed, folder_ / "errors"), expected(straight, folder_ / "straight_errors");
    CHECK(second.wait().code == 0);
    REQUIRE(expected.wait().code == 0);
    const loss_log found(resumed.log), wanted(straight.log);
    CHECK(found.repeats);
    CHECK(wanted.reached() == steps);
    CHECK(found.losses == wanted.losses);
    CHECK(nk::testing::same_bits(everything_in(resumed.out), everything_in(straight.out)));
    std::filesystem::remove_all(straight.out);
  }
  std::vector<float> everything_in(const std::string& out) const {
    nk::checkpoint_folder folder(nk::posix_file_system(), out);
    const auto run = make_trained(trained_by::adamw, text_, 999);
    run->load(folder);
    return run->everything();
  }

  int save_every_;
  int runs_ = 0;
  std::mt19937 random_{1};
  temporary_folder folder_;
  std::string path_ = folder_.write("text", small_text());
  nk::token_source text_ = source_of({path_});
};

}  // namespace

TEST_CASE("signals: noted at any time, a second one kills, and no file is torn") {
  std::size_t cases = 0;
  stopped_processes seldom(1000), always(1);  // of the latter nearly all signals come during a save
  for (int i = 0; i < 15; ++i, cases += 2) {
    seldom.stop({i % 2 == 0 ? SIGTERM : SIGINT});
    always.stop({i % 2 == 0 ? SIGTERM : SIGINT});
  }
  for (int i = 0; i < 5; ++i, cases += 5) {
    seldom.stop_twice(i % 2 == 0 ? SIGINT : SIGTERM, i % 3 == 0 ? SIGINT : SIGTERM);
    seldom.stop({SIGTERM, SIGTERM});
    seldom.stop({SIGINT, SIGTERM});
    always.stop({SIGINT, SIGINT});
    always.stop({SIGTERM, SIGINT});
  }
  for (int i = 0; i < 5; ++i, cases += 2) {
    seldom.stop({}, true);
    always.stop({}, true);
  }
  std::printf("signals: %zu stopped processes\n", cases);
}
