// What trainee/main.cpp and the tests that start it agree on: its command line, and the records of its log.
#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <vector>

/// trainee TEXT OUT LOG STEPS SAVE_EVERY [--resume] [--kill-at CALL] [--stall]
struct trainee_command {
  std::string text, out, log;
  std::int64_t steps = 0, save_every = 0;
  bool resume = false;  // from the checkpoint in `out`
  bool stall = false;   // take 30 s to stop
  int kill_at = 0;      // SIGKILL of its own before this call on files; 0: none

  std::vector<std::string> words(const std::string& program) const {
    std::vector<std::string> all = {
        program, text, out, log, std::to_string(steps), std::to_string(save_every)};
    if (resume) all.push_back("--resume");
    if (stall) all.push_back("--stall");
    if (kill_at != 0) all.insert(all.end(), {"--kill-at", std::to_string(kill_at)});
    return all;
  }
};

/// One for each step that was made, in their order.
struct log_record {
  std::int64_t step;
  std::uint32_t loss;  // its bits
  std::uint32_t unused;
};

/// The bits of each step's loss. A step made twice must have the same ones, else `repeats` is false; a record
/// cut by a kill is passed over.
struct loss_log {
  std::map<std::int64_t, std::uint32_t> losses;
  std::int64_t records = 0;
  bool repeats = true;

  explicit loss_log(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    for (log_record r{}; file.read(reinterpret_cast<char*>(&r), sizeof r); ++records) {
      const auto [at, is_new] = losses.emplace(r.step, r.loss);
      repeats = repeats && (is_new || at->second == r.loss);
    }
  }

  /// The last step that was made; 0 for none.
  std::int64_t reached() const { return losses.empty() ? 0 : losses.rbegin()->first; }
};
