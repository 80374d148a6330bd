// What a training run shows of itself: on a terminal one line that rewrites itself, elsewhere a plain line
// every so often. Not a log: nothing is kept.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace napkin {

/// What one line of progress says.
struct progress_facts {
  std::int64_t step = 0;  // steps made
  std::int64_t steps = 0;
  double loss = 0;               // nats per token, smoothed
  double norm = 0;               // of the gradient, before clipping
  double rate = 0;               // learning rate
  double tokens_per_second = 0;  // 0: not known yet
  double seconds_left = -1;      // negative: not known yet
  bool bytes = true;             // tokens are bytes
};

/// "step 340 of 1000 | 1.31 nats, 1.89 bits per byte | ...".
std::string progress_text(const progress_facts& facts);

/// "1 h 02 min", "3 min 20 s", "45 s".
std::string duration_text(double seconds);

/// 12345678 as "12.3 M"; with a unit behind it, "12.3 MFLOP". Powers of 1000.
std::string number_text(double number, std::string_view unit = "");

/// Nats per token in bits.
double bits_of(double nats);

class progress {
 public:
  struct options {
    std::FILE* to = stdout;
    bool terminal = false;    // rewrite one line
    double line_seconds = 5;  // between lines where it is no terminal
    bool bytes = true;        // tokens are bytes
    double seconds = 0;       // the run ends after these, if not 0
  };

  /// A run of `steps` in all, of which `first` are made, each on `tokens` tokens.
  progress(std::int64_t first, std::int64_t steps, std::uint64_t tokens, options o);
  ~progress() { clear(); }
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  /// After each step: `step` have been made.
  void update(std::int64_t step, double loss, double norm, double rate);

  /// A line that stays, with the display kept below it.
  void say(const std::string& line);

  /// Take the display away, for what is printed next.
  void clear();

  /// Seconds since construction.
  double elapsed() const;

 private:
  using clock = std::chrono::steady_clock;
  void show();

  options options_;
  std::int64_t first_;
  std::uint64_t tokens_;
  progress_facts facts_;
  double weight_ = 0;  // of the smoothed loss
  clock::time_point begin_ = clock::now();
  double shown_ = -1;  // seconds
  bool visible_ = false;
};

/// Whether `file` is a terminal.
bool is_terminal(std::FILE* file);

}  // namespace napkin
