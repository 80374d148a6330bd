// The handler notes the signal, and the system's default takes its place.
#include "napkin/train/stop_signal.hpp"

#include <atomic>
#include <csignal>

namespace napkin {
namespace {

std::atomic<int> received_signal = 0;  // the handler may run on any thread
static_assert(std::atomic<int>::is_always_lock_free);

extern "C" void note_signal(int number) { received_signal = number; }

void install(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

stop_signal::stop_signal() {
  received_signal = 0;
  install(note_signal);
}
stop_signal::~stop_signal() { install(SIG_DFL); }
int stop_signal::received() const { return received_signal; }

}  // namespace napkin
