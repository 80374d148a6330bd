// What a training run shows of itself: on a terminal one line that rewrites itself, elsewhere a plain line
// a step. Not a log: nothing is kept (train/run_log.hpp).
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "napkin/train/seconds.hpp"
#include "napkin/train/step_rates.hpp"

namespace napkin {

/// What one line of progress says.
struct progress_facts {
  std::int64_t step = 0;  // steps made
  std::int64_t steps = 0;
  double loss = 0;           // nats per token, smoothed
  double norm = 0;           // of the gradient, before clipping
  double rate = 0;           // learning rate
  step_rates rates;          // of the last steps
  double seconds_left = -1;  // negative: not known yet
  double bytes_a_token = 1;  // 0: not known, so that bits are told of a token
};

/// "step 340 of 1000 | 1.31 nats, 1.89 bits per byte | ...". MFU only where the peak is known.
/// In fewer than `width` columns, if that is not 0, by leaving out whole parts: steps, bits and the time left
/// stand to the last.
std::string progress_text(const progress_facts& facts, std::size_t width = 0);

/// "1 h 02 min", "3 min 20 s", "45 s".
std::string duration_text(double seconds);

/// 12345678 as "12.3 M"; with a unit behind it, "12.3 MFLOP". Powers of 1000.
std::string number_text(double number, std::string_view unit = "");

/// Nats in bits.
double bits_of(double nats);

/// "1.893 bits per byte", or per token where the bytes of one are not known (0).
std::string bits_text(double nats_a_token, double bytes_a_token);

class progress {
 public:
  struct options {
    std::FILE* to = stdout;
    bool terminal = false;     // rewrite one line
    double line_seconds = 0;   // at least between lines where it is no terminal; 0: a line a step
    double bytes_a_token = 1;  // 0: not known
    double seconds = 0;        // the run ends after these, if not 0
  };

  /// A run of `steps` in all, of which `first` are made.
  progress(std::int64_t first, std::int64_t steps, const step_work& work, options o);
  ~progress() { clear(); }
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  /// After each step.
  void update(const step_made& made);

  /// A line that stays, with the display kept below it.
  void say(const std::string& line);

  /// Take the display away, for what is printed next.
  void clear();

  /// Seconds since construction.
  double elapsed() const;

 private:
  void show();

  options options_;
  std::int64_t first_;
  step_work work_;
  progress_facts facts_;
  double seconds_ = 0;  // of a step, smoothed
  double weight_ = 0;   // of what is smoothed
  double begin_ = steady_seconds();
  double shown_ = -1;  // seconds
  bool visible_ = false;
};

/// Whether `file` is a terminal.
bool is_terminal(std::FILE* file);

}  // namespace napkin
