// What is done in a process of its own, by which a test sees it end.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace napkin::testing {

struct ended_process {
  int code = -1;  // that it exited with: 0 where `work` came to its end, whatever it threw; -1: by a signal
  std::string said;  // on standard error
};

/// A copy of this process does `work`; what its children say is read until all of them have ended.
template <class Work>
ended_process in_a_process(Work&& work) {
  ended_process out;
  int ends[2];
  if (::pipe(ends) != 0) return out;
  std::fflush(nullptr);  // else the copy might write it again
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGABRT, SIG_DFL);  // else Catch2 tells it as this process's
    ::dup2(ends[1], 2);
    ::close(ends[0]);
    ::close(ends[1]);
    try {
      work();
    } catch (...) {
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  char some[4096];
  for (ssize_t n; child > 0 && (n = ::read(ends[0], some, sizeof some)) > 0;)
    out.said.append(some, static_cast<std::size_t>(n));
  ::close(ends[0]);
  int status = 0;
  if (child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status)) out.code = WEXITSTATUS(status);
  return out;
}

}  // namespace napkin::testing
