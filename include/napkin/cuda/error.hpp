// What a failed CUDA call becomes: an exception that says which call, where, and CUDA's own words. A sticky
// one ends the process, since CUDA cannot be used again in it and what is on the device cannot be trusted.
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
  cuda_error(const std::string& text, std::string call, int code, bool sticky)
      : error(text), call_(std::move(call)), code_(code), sticky_(sticky) {}

  const std::string& call() const { return call_; }  // "cudaMalloc"
  int code() const { return code_; }
  /// The context is unusable: every later call fails, too, whatever this one was.
  bool sticky() const { return sticky_; }

 private:
  std::string call_;
  int code_;
  bool sticky_;
};

/// Errors of which CUDA says that "the process must be terminated and relaunched", and uncorrectable memory.
///
/// Source  driver_types.h of CUDA 13.0: the comments at cudaError.
constexpr bool is_sticky(int code) {
  constexpr int sticky[] = {214, 220, 226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721, 810, 911};
  for (int c : sticky)
    if (c == code) return true;
  return false;
}

[[noreturn]] void throw_cuda_error(cuda_calls& calls, int result, std::string_view call,
                                   std::string_view object, std::source_location where);

/// Throws `cuda_error` unless `result` is 0. `call` is CUDA's name of it, `object` more words: "of 16 bytes".
inline void check(cuda_calls& calls, int result, std::string_view call, std::string_view object,
                  std::source_location where) {
  if (result != 0) throw_cuda_error(calls, result, call, object, where);
}

/// The exit code of a process that a sticky error ended.
inline constexpr int device_exit_code = 7;

/// For what catches errors before it would write a checkpoint: a sticky one is printed and the process ends,
/// with no destructor run and nothing written.
void exit_if_sticky(const cuda_error& e);

}  // namespace napkin::on_cuda
