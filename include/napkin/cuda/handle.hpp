// One owner of one thing of CUDA's, given back by its own call. What memory, streams, events and graphs are
// made of.
#pragma once

#include <utility>

#include "napkin/cuda/calls.hpp"

namespace napkin::on_cuda {

/// A failure to give something back, which a destructor cannot throw; a sticky one ends the process
/// (cuda/error.hpp).
void report_failure(cuda_calls& calls, int result, const char* call) noexcept;

/// Gives its handle back when it goes. Null owns nothing. `Release` has the call, `release(calls, handle)`,
/// and CUDA's `name` of it.
template <class Handle, class Release, class Calls = cuda_calls>
class owned {
 public:
  owned() = default;
  owned(Calls& calls, Handle handle) : calls_(&calls), handle_(handle) {}
  owned(owned&& other) noexcept : calls_(other.calls_), handle_(std::exchange(other.handle_, nullptr)) {}
  owned& operator=(owned&& other) noexcept {
    if (this != &other) {
      reset();
      calls_ = other.calls_;
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  ~owned() { reset(); }

  Handle get() const { return handle_; }
  void reset() {
    if (handle_ == nullptr) return;
    const Handle handle = std::exchange(handle_, nullptr);
    report_failure(*calls_, Release::release(*calls_, handle), Release::name);
  }

 private:
  Calls* calls_ = nullptr;
  Handle handle_ = nullptr;
};

}  // namespace napkin::on_cuda
