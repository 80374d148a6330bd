// A table that the handler can read at any time: an entry counts while its first address is above 1.
#include "watched_mapping.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>

#include "napkin/train/exit_code.hpp"

namespace napkin::detail {
namespace {

struct entry {
  std::atomic<std::uintptr_t> first{0};  // 0: free, 1: being filled
  std::atomic<std::uintptr_t> size{0};
  char path[256];
};
std::array<entry, 4096> table;
static_assert(std::atomic<std::uintptr_t>::is_always_lock_free);

struct sigaction before;

// Only what POSIX allows in a handler.
void say(const char* text) {
  const ssize_t written = ::write(STDERR_FILENO, text, std::strlen(text));
  static_cast<void>(written);
}
void say(std::uintptr_t number) {
  char digits[24] = {};
  std::size_t at = sizeof digits - 1;
  do digits[--at] = static_cast<char>('0' + number % 10);
  while ((number /= 10) > 0);
  say(digits + at);
}

extern "C" void name_the_file(int number, siginfo_t* info, void*) {
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  for (const entry& e : table) {
    const std::uintptr_t first = e.first.load(std::memory_order_acquire);
    if (first <= 1 || address < first || address - first >= e.size) continue;
    say("error: \"");
    say(e.path);
    say("\" cannot be read at byte ");
    say(address - first);
    say(": it was cut short while in use, or its disk fails; begin again from the last checkpoint\n");
    ::_exit(static_cast<int>(exit_code::data));
  }
  ::sigaction(number, &before, nullptr);  // the access is made again, and theirs to answer
}

void install() {
  struct sigaction action {};
  action.sa_sigaction = name_the_file;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, &before);
}

}  // namespace

file_mapping watched(const file_mapping& mapping, std::uint64_t size, const std::string& path) {
  static std::once_flag once;
  std::call_once(once, install);
  for (entry& e : table) {
    std::uintptr_t free = 0;
    if (!e.first.compare_exchange_strong(free, 1)) continue;
    // A path may hold what a terminal would obey.
    const std::string printed = in_quotes(path);
    const std::string inner = printed.substr(1, printed.size() - 2);
    std::memcpy(e.path, inner.c_str(), std::min(inner.size(), sizeof e.path - 1) + 1);
    e.path[sizeof e.path - 1] = '\0';
    e.size = size;
    struct watch {
      entry& of;
      file_mapping kept;
      ~watch() { of.first = 0; }
    };
    std::unique_ptr<watch> watching(new watch{e, mapping});
    file_mapping seen = kept_by(std::move(watching), mapping.data(), size);
    e.first.store(reinterpret_cast<std::uintptr_t>(mapping.data()), std::memory_order_release);
    return seen;
  }
  return mapping;
}

}  // namespace napkin::detail
