// The command line of the training programs, compiled on its own: CLI11 takes as long as a model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

struct train_options {
  std::string data;  // a file or a folder; empty: the C++ standard library's headers
  std::string out = "out";
  std::int64_t steps = 1000;
  double learning_rate = 1e-3;  // at its peak
  std::uint64_t seed = 1;
  double seconds = 0;                 // end after these; 0: no limit
  std::int64_t evaluate_every = 100;  // steps
  std::size_t sample = 400;           // tokens
  std::int64_t sample_every = 0;      // steps; 0: at the end alone
  double temperature = 0.8;
  std::size_t top_k = 40;
  double top_p = 1;
  std::size_t threads = 0;  // 0: all
  std::string log;          // a file of JSON lines; empty: log.jsonl in `out`
  std::string tensorboard;  // a folder for its event files; empty: none
  bool resume = false;
  bool cost = false;
  bool json = false;   // what a step costs, for programs
  std::string report;  // a file for the page; empty: none
  std::string device;  // whose times are told; empty: the one that it runs on

  // Given on the command line, so that a checkpoint's do not replace them.
  bool data_given = false, steps_given = false, learning_rate_given = false, seed_given = false;
};

/// Parse the command line and run the program, whose errors become one line on stderr and the exit code that
/// napkin/train/exit_code.hpp has for them. `defaults` are shown by --help.
int run_program(int argc, char** argv, const train_options& defaults, int (*program)(const train_options&));
