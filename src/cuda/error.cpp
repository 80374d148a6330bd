// How a failed CUDA call is worded.
#include "napkin/cuda/error.hpp"

#include <cstdio>
#include <cstdlib>

#include "napkin/cuda/handle.hpp"

namespace napkin::on_cuda {
namespace {

std::string words(cuda_calls& calls, int result) {
  return std::string(calls.error_name(result)) + ": " + calls.error_text(result);
}

}  // namespace

void throw_cuda_error(cuda_calls& calls, int result, std::string_view call, std::string_view object,
                      std::source_location where) {
  std::string text(call);
  if (!object.empty()) text.append(" ").append(object);
  text.append(" failed at ").append(where.file_name()).append(":").append(std::to_string(where.line()));
  text.append(": ").append(words(calls, result));
  const bool sticky = is_sticky(result);
  if (sticky) {
    calls.lose();
    text += "; this or a kernel before it; CUDA cannot be used again in this process";
  } else {
    (void)calls.get_last_error();  // has been told: else it would be taken for the next launch's
  }
  throw cuda_error(text, std::string(call), result, sticky);
}

void report_failure(cuda_calls& calls, int result, const char* call) noexcept {
  if (result == 0) return;
  if (is_sticky(result)) calls.lose();
  try {
    if (!is_sticky(result)) (void)calls.get_last_error();
    calls.report("napkin: " + std::string(call) + " failed: " + words(calls, result));
  } catch (...) {  // no memory for the text
    calls.report(call);
  }
}

void cuda_calls::report(std::string_view line) noexcept {
  std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
}

void exit_if_sticky(const cuda_error& e) {
  if (!e.sticky()) return;
  std::fprintf(stderr, "napkin: %s\n", e.what());
  std::fflush(stderr);
  std::_Exit(device_exit_code);
}

}  // namespace napkin::on_cuda
