// What is said of a number that is no element of a tensor.
#include "napkin/tensor/number.hpp"

#include <cstdio>
#include <string>

#include "napkin/core/error.hpp"

namespace napkin::detail {
namespace {

[[noreturn]] void raise(dtype t, const std::string& number) {
  throw error(number + " is no " + std::string(name_of(t)) +
              ": a number beside integers must be one of theirs");
}

}  // namespace

void throw_no_element(dtype t, std::int64_t number) { raise(t, std::to_string(number)); }
void throw_no_element(dtype t, std::uint64_t number) { raise(t, std::to_string(number)); }
void throw_no_element(dtype t, double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", number);
  raise(t, text);
}

}  // namespace napkin::detail
