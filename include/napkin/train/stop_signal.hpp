// Ctrl-C as a wish: the program finishes what it is at, saves, and ends.
#pragma once

namespace napkin {

/// From construction to destruction SIGINT, SIGTERM, and SIGPIPE (whoever read the program's output has gone)
/// are noted instead of killing. A second SIGINT or SIGTERM, of either kind, kills, as does every one
/// afterwards. One at a time in a process.
class stop_signal {
 public:
  stop_signal();
  ~stop_signal();
  stop_signal(const stop_signal&) = delete;
  stop_signal& operator=(const stop_signal&) = delete;

  /// The signal that came first, or 0. What a shell expects as exit code is 128 more.
  int received() const;
};

}  // namespace napkin
