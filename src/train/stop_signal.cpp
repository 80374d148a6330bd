// The handler notes the signal, and the system's defaults take its place.
#include "napkin/train/stop_signal.hpp"

#include <atomic>
#include <csignal>

namespace napkin {
namespace {

std::atomic<int> received_signal = 0;  // the handler may run on any thread
static_assert(std::atomic<int>::is_always_lock_free);

void install(int number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigaction(number, &action, nullptr);
}

extern "C" void note_signal(int number) {
  int none = 0;
  received_signal.compare_exchange_strong(none, number);
  // A reader that has gone sends SIGPIPE at every write: only the first says anything.
  if (number == SIGPIPE) return;
  for (const int asked : {SIGINT, SIGTERM}) install(asked, SIG_DFL);
}

}  // namespace

stop_signal::stop_signal() {
  received_signal = 0;
  for (const int number : {SIGINT, SIGTERM, SIGPIPE}) install(number, note_signal);
}
stop_signal::~stop_signal() {
  for (const int number : {SIGINT, SIGTERM, SIGPIPE}) install(number, SIG_DFL);
}
int stop_signal::received() const { return received_signal; }

}  // namespace napkin
