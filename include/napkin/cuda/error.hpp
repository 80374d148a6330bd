// What a failed CUDA call becomes: an exception that says which call, where, and CUDA's own words. A sticky
// error is no exception but the end of the process: CUDA cannot be used again in it, what is on the device
// or came from there cannot be trusted, and a program that caught it might write that into a checkpoint.
#pragma once

#include <source_location>
#include <string>
#include <string_view>
#include <utility>

#include "napkin/core/error.hpp"
#include "napkin/cuda/calls.hpp"

namespace napkin::on_cuda {

/// A call that failed: "cudaMalloc of 1024 bytes failed at model.cpp:12: cudaErrorMemoryAllocation: out of
/// memory".
class cuda_error : public error {
 public:
  cuda_error(const std::string& text, std::string call, int code)
      : error(text), call_(std::move(call)), code_(code) {}

  const std::string& call() const { return call_; }  // "cudaMalloc"
  int code() const { return code_; }

 private:
  std::string call_;
  int code_;
};

inline constexpr int invalid_value = 1;          // cudaErrorInvalidValue
inline constexpr int out_of_memory = 2;          // cudaErrorMemoryAllocation
inline constexpr int not_supported = 801;        // cudaErrorNotSupported
inline constexpr int illegal_state = 401;        // cudaErrorIllegalState
inline constexpr int capture_unsupported = 900;  // cudaErrorStreamCaptureUnsupported
inline constexpr int capture_invalidated = 901;  // cudaErrorStreamCaptureInvalidated

/// Errors of which CUDA says that "the process must be terminated and relaunched", and uncorrectable memory:
/// every later call fails, too, whatever this one was.
///
/// Source  driver_types.h of CUDA 13.0: the comments at cudaError.
constexpr bool is_sticky(int code) {
  constexpr int sticky[] = {214, 220, 226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721, 810, 911};
  for (int c : sticky)
    if (c == code) return true;
  return false;
}

/// The exit code of a process that a sticky error ended.
inline constexpr int device_exit_code = 7;

/// Throws `cuda_error`; of a sticky error the same words go to standard error, and the process ends with
/// device_exit_code: no destructor runs, nothing is written.
[[noreturn]] void throw_cuda_error(cuda_calls& calls, int result, std::string_view call,
                                   std::string_view object, std::source_location where);

/// The same, unless `result` is 0. `call` is CUDA's name of it, `object` more words: "of 16 bytes".
inline void check(cuda_calls& calls, int result, std::string_view call, std::string_view object,
                  std::source_location where) {
  if (result != 0) throw_cuda_error(calls, result, call, object, where);
}

/// For results that are otherwise not told, of destructors and of what undoes a failure: a sticky one ends
/// the process as above.
void end_if_sticky(cuda_calls& calls, int result, const char* call) noexcept;

}  // namespace napkin::on_cuda
