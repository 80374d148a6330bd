// trainee/main.cpp as a process: started, waited for and killed by a test.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "trainee/command.hpp"

struct ending {
  int code = -1;   // of exit
  int signal = 0;  // that killed it
  bool hung = false;
};

/// Its output comes through a pipe that this object empties; its errors go to the file `errors`.
class child {
 public:
  child(const trainee_command& command, const std::string& errors) {
    const std::vector<std::string> words = command.words(
        (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "checkpoint_trainee").string());
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    read_ = ends[0];
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    ::posix_spawn_file_actions_addopen(&actions, 2, errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (::posix_spawn(&id_, words[0].c_str(), &actions, nullptr, arguments.data(), environ) != 0) id_ = -1;
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
  }
  child(const child&) = delete;
  child& operator=(const child&) = delete;
  ~child() {
    if (id_ > 0) {
      ::kill(id_, SIGKILL);
      ::waitpid(id_, nullptr, 0);
    }
    close_output();
  }

  bool started() const { return id_ > 0; }
  void send(int signal) const { ::kill(id_, signal); }
  /// Nobody reads its output any longer.
  void close_output() {
    if (read_ >= 0) ::close(read_);
    read_ = -1;
  }
  /// Wait for the first line of output.
  bool wait_for_output() {
    char letter = 0;
    while (::read(read_, &letter, 1) == 1)
      if (letter == '\n') return true;
    return false;
  }

  /// Until it ends, with what it prints passed over; kill it after `limit`.
  ending wait(std::chrono::seconds limit = std::chrono::seconds(60)) {
    const auto end = std::chrono::steady_clock::now() + limit;
    ending e;
    int status = 0;
    if (read_ >= 0) ::fcntl(read_, F_SETFL, O_NONBLOCK);
    while (::waitpid(id_, &status, WNOHANG) == 0) {
      char part[4096];
      while (read_ >= 0) {
        const ssize_t got = ::read(read_, part, sizeof part);
        if (got <= 0) break;
      }
      if (std::chrono::steady_clock::now() > end && !e.hung) {
        e.hung = true;
        ::kill(id_, SIGKILL);
      }
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    id_ = -1;
    if (WIFEXITED(status)) e.code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) e.signal = WTERMSIG(status);
    return e;
  }

 private:
  pid_t id_ = -1;
  int read_ = -1;
};
