// What goes wrong at run time, as types that can be caught. A mistake that the compiler can see is
// worded in core/rules.hpp instead.
#pragma once

#include <stdexcept>
#include <string>

namespace napkin {

/// Everything this library throws.
class error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What the user handed in is wrong: an argument, a data file, a checkpoint. The text is one line that
/// says what is wrong with what and what to do; programs print it and exit with code 2.
class input_error : public error {
 public:
  using error::error;
};

/// The system refused: a write, an allocation, a thread. The text names the call, the path and errno.
class system_error : public error {
 public:
  using error::error;
};

}  // namespace napkin
