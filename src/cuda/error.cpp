// How a failed CUDA call is worded, and where a sticky one ends the process.
#include "napkin/cuda/error.hpp"

#include <cstdio>
#include <cstdlib>

#include "napkin/cuda/handle.hpp"

namespace napkin::on_cuda {
namespace {

std::string words(cuda_calls& calls, int result) {
  return std::string(calls.error_name(result)) + ": " + calls.error_text(result);
}

/// `what` failed. No exit handlers and no destructors: they would call CUDA, or finish files.
[[noreturn]] void end_process(cuda_calls& calls, int result, std::string_view what) noexcept {
  std::fprintf(
      stderr, "napkin: %.*s: %s: %s; this or a kernel before it; CUDA cannot be used again in this process\n",
      static_cast<int>(what.size()), what.data(), calls.error_name(result), calls.error_text(result));
  std::fflush(stderr);
  std::_Exit(device_exit_code);
}

}  // namespace

void throw_cuda_error(cuda_calls& calls, int result, std::string_view call, std::string_view object,
                      std::source_location where) {
  std::string text(call);
  if (!object.empty()) text.append(" ").append(object);
  text.append(" failed at ").append(where.file_name()).append(":").append(std::to_string(where.line()));
  if (is_sticky(result)) end_process(calls, result, text);
  // What has been told would be taken for the next launch's. A kernel may have failed beside it.
  if (const int last = calls.get_last_error(); is_sticky(last)) end_process(calls, last, text);
  throw cuda_error(text + ": " + words(calls, result), std::string(call), result);
}

void end_if_sticky(cuda_calls& calls, int result, const char* call) noexcept {
  if (!is_sticky(result)) return;
  char what[128];  // a std::string might throw
  std::snprintf(what, sizeof what, "%s failed", call);
  end_process(calls, result, what);
}

void report_failure(cuda_calls& calls, int result, const char* call) noexcept {
  if (result == 0) return;
  end_if_sticky(calls, result, call);
  end_if_sticky(calls, calls.get_last_error(), call);
  try {
    calls.report("napkin: " + std::string(call) + " failed: " + words(calls, result));
  } catch (...) {  // no memory for the text
    calls.report(call);
  }
}

void cuda_calls::report(std::string_view line) noexcept {
  std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
}

}  // namespace napkin::on_cuda
