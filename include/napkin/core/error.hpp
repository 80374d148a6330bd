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

/// What the user handed in is wrong: an argument, a path, a data file, a checkpoint. The text is one line
/// that says what is wrong with what and what to do.
class input_error : public error {
 public:
  using error::error;
};

/// A file of training data that cannot be used.
class data_error : public input_error {
 public:
  using input_error::input_error;
};

/// A checkpoint that cannot be used: it is missing or damaged, or, if `mismatched`, sound but another
/// program's.
class checkpoint_error : public input_error {
 public:
  explicit checkpoint_error(const std::string& text, bool mismatch = false)
      : input_error(text), mismatched(mismatch) {}
  bool mismatched;
};

/// The system refused: a write, an allocation, a thread. The text names the call, the path and errno.
class system_error : public error {
 public:
  explicit system_error(const std::string& text, int number = 0) : error(text), error_number(number) {}
  int error_number;  // errno, or 0 where there was none
};

/// A number that must be finite is not: the loss, a gradient, a parameter.
class nonfinite_error : public error {
 public:
  using error::error;
};

}  // namespace napkin
