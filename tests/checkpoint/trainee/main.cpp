// A training program to be killed, by the command line of command.hpp. It appends step and loss of each step
// to its log, prints a line every tenth, and ends as train_lm does. With --kill-at it kills itself (SIGKILL)
// before that call on files after it has begun.
#include <fcntl.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "../trained.hpp"
#include "command.hpp"
#include "killing_files.hpp"
#include "napkin/core/error.hpp"
#include "napkin/cpu/threads.hpp"
#include "napkin/train/exit_code.hpp"
#include "napkin/train/stop_signal.hpp"

namespace nk = napkin;

namespace {

trainee_command parse(int argc, char** argv) {
  if (argc < 6)
    throw nk::input_error(
        "usage: trainee TEXT OUT LOG STEPS SAVE_EVERY [--resume] [--kill-at CALL] [--stall]");
  trainee_command a{argv[1], argv[2], argv[3], std::atoll(argv[4]), std::atoll(argv[5])};
  for (int i = 6; i < argc; ++i) {
    if (std::strcmp(argv[i], "--resume") == 0)
      a.resume = true;
    else if (std::strcmp(argv[i], "--stall") == 0)
      a.stall = true;
    else if (std::strcmp(argv[i], "--kill-at") == 0 && i + 1 < argc)
      a.kill_at = std::atoi(argv[++i]);
    else
      throw nk::input_error(std::string("not known: ") + argv[i]);
  }
  return a;
}

int train(const trainee_command& a) {
  nk::on_cpu::set_threads(1);
  const nk::stop_signal stop;
  const nk::token_source text = source_of({a.text});
  const auto run = make_trained(trained_by::adamw, text, 5);
  killing_files files;
  nk::checkpoint_folder folder(files, a.out);
  if (a.resume)
    for (const std::string& reason : run->load(folder).passed_over)
      std::printf("passed over: %s\n", reason.c_str());
  folder.prepare(0);
  std::printf("begun at step %lld\n", static_cast<long long>(run->steps()));
  std::fflush(stdout);
  const int log = ::open(a.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (log < 0) throw nk::system_error("cannot open " + a.log, errno);
  files.kill_in(a.kill_at);

  bool saved = false;
  while (run->steps() < a.steps && stop.received() == 0) {
    const float loss = run->step();
    const log_record record{run->steps(), std::bit_cast<std::uint32_t>(loss), 0};
    if (::write(log, &record, sizeof record) != sizeof record)
      throw nk::system_error("cannot write " + a.log, errno);
    if (run->steps() % 10 == 0) {
      std::printf("step %lld\n", static_cast<long long>(run->steps()));
      std::fflush(stdout);
    }
    saved = run->steps() % a.save_every == 0;
    if (saved) run->save(folder);
  }
  if (a.stall) std::this_thread::sleep_for(std::chrono::seconds(30));
  if (!saved) run->save(folder);
  return stop.received() == 0 ? 0 : 128 + stop.received();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return train(parse(argc, argv));
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "error: %s\n", problem.what());
    return static_cast<int>(nk::exit_code_of(problem));
  }
}
