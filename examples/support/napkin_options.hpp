// The command line of napkin_math: a user's own numbers. Compiled on its own, as options.hpp is.
#pragma once

#include <string>

struct napkin_options {
  bool given = false;  // any number: then the lectures' list is left out
  double parameters = 0, tokens = 0;
  std::string device = "NVIDIA H100 SXM";
  double devices = 1, mfu = 0.5;
  double layers = 0, hidden = 0, heads = 0, sequence = 0, batch = 1, ffn = 0, vocabulary = 0;
  std::string optimizer = "adamw";  // what is kept for each parameter
  bool measure = false;             // this machine's own peaks and utilisation
};

/// Parse the command line and run the program; errors become one line on stderr: exit code 2 for what the
/// user can mend, 1 for the rest.
int run_napkin(int argc, char** argv, int (*program)(const napkin_options&));
