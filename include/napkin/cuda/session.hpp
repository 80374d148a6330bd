// What work on the device is given to where a program does not say: the calls, a stream, cuBLASLt and the
// algorithms that it chose. Tensors and expressions use the thread's; a trainer is given one.
#pragma once

#include <memory>
#include <source_location>

#include "napkin/core/box.hpp"
#include "napkin/cuda/blas.hpp"
#include "napkin/cuda/device.hpp"
#include "napkin/cuda/stream.hpp"

namespace napkin::on_cuda {

/// Of one thread at a time, and of the device that the thread used as this was made.
class session : public std::enable_shared_from_this<session> {
 public:
  /// On the machine's own CUDA, with a stream of its own. `cuda_error` where there is no device,
  /// `input_error` where the library was built without CUDA.
  session() : session(cuda_runtime(), cublas_lt()) {}
  /// On the caller's stream, which must outlive this; null is the default stream.
  explicit session(stream_handle callers) : session(cuda_runtime(), cublas_lt(), callers) {}

  session(cuda_calls& calls, blas_calls& blas);
  session(cuda_calls& calls, blas_calls& blas, stream_handle callers);
  ~session();
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  const stream& on() const { return stream_; }
  cuda_calls& calls() const { return stream_.calls(); }
  /// CUDA's number of the device.
  int device() const { return device_; }
  /// While it lives, the calling thread uses this session's device.
  using_device use(std::source_location where = std::source_location::current()) const {
    return {calls(), device_, where};
  }
  /// Made at the first call: cuBLASLt takes its time to load.
  const blas_library& blas(std::source_location where = std::source_location::current());
  blas_choices& choices() { return choices_; }

 private:
  blas_calls* blas_calls_;
  int device_;
  stream stream_;
  box<blas_library> blas_;
  blas_choices choices_;
};

/// The session of this thread: the one that it is in, else its own on the machine's CUDA and the device that
/// it uses, made at the first call. Its own live until it ends, and as long as what holds on to them.
session& current_session();

/// While it lives, this thread's work goes to another session.
///
/// Example  on_cuda::session mine(stream); const on_cuda::in_session here(mine);
class in_session {
 public:
  explicit in_session(session& s);
  ~in_session();
  in_session(const in_session&) = delete;
  in_session& operator=(const in_session&) = delete;

 private:
  session* before_;
};

}  // namespace napkin::on_cuda
