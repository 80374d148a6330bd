// Rounds of calls between two events.
#include "napkin/cuda/time_in_turns.hpp"

#include <algorithm>
#include <limits>

namespace napkin::on_cuda {
namespace {

constexpr float never = std::numeric_limits<float>::infinity();

/// Calls in a row that a clock of a microsecond's ticks tells apart to a percent or two.
int calls_for(float milliseconds) {
  constexpr float enough = 0.2f;
  if (!(milliseconds < 10)) return 1;
  return milliseconds * 16 < enough ? 16 : std::max(3, static_cast<int>(enough / milliseconds));
}

}  // namespace

std::vector<float> time_in_turns(const stream& on, std::size_t ways, function_ref<bool(std::size_t)> put,
                                 std::source_location where) {
  const event start(on.calls(), true, where), end(on.calls(), true, where);
  const auto milliseconds = [&](std::size_t way, int calls, bool behind) {
    if (behind) {
      constexpr unsigned for_each = 25;  // microseconds; a launch takes the host three to ten
      occupy(for_each * static_cast<unsigned>(calls), on.handle());
      on.check_launch("the kernel that keeps a device", where);
    }
    start.record(on, where);
    bool runs = true;
    for (int call = 0; call < calls && runs; ++call) runs = put(way);
    end.record(on, where);
    end.synchronize(where);
    return runs ? end.milliseconds_since(start, where) / static_cast<float>(calls) : never;
  };
  std::vector<float> least(ways, never);
  std::vector<bool> may_win(ways, true);
  int calls = 1, rounds = ways > 1 ? 5 : 2;
  bool behind = false;
  // The first round warms clocks and caches, and loads kernels; the second says how many calls a clock needs.
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < ways; ++i) {
      if (!may_win[i]) continue;
      const float now = milliseconds(i, calls, behind);
      may_win[i] = now < never;
      if (round > 0) least[i] = std::min(least[i], now);
    }
    if (round == 0 || ways == 1) continue;
    const float shortest = *std::min_element(least.begin(), least.end());
    // of a few microseconds the second round says little
    const float too_long = shortest * (round > 1 ? 1.2f : 1.5f) + (round > 1 ? 0 : 0.005f);
    for (std::size_t i = 0; i < ways; ++i) may_win[i] = may_win[i] && least[i] <= too_long;
    if (round > 1) continue;
    calls = calls_for(shortest);
    behind = shortest < 0.05f;
    if (calls == 1) rounds = 4;
  }
  return least;
}

}  // namespace napkin::on_cuda
