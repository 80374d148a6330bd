// What a training program tells the one who started it when it ends.
#pragma once

#include <exception>

namespace napkin {

/// Beside these: 0 for a run that is done, 128 + n for one that signal n stopped.
enum class exit_code : int {
  other = 1,
  usage = 2,       // the command line, or a path in it
  data = 3,        // data_error
  checkpoint = 4,  // checkpoint_error
  system = 5,      // system_error, and memory that is not to be had
  nonfinite = 6,   // nonfinite_error
  device = 7,      // on_cuda::cuda_error
};

/// The code of what was thrown.
exit_code exit_code_of(const std::exception& problem);

}  // namespace napkin
