// What a call that must fail says.
#pragma once

#include <string>

/// The text of the Error that `f` throws; "nothing was thrown" else, which no message contains.
template <class Error, class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const Error& problem) {
    return problem.what();
  }
  return "nothing was thrown";
}
