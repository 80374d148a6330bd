// Streams, which are queues of work for the device, and events, which are marks in them. A stream is this
// library's own or the caller's.
#pragma once

#include <source_location>

#include "napkin/cuda/error.hpp"
#include "napkin/cuda/handle.hpp"

namespace napkin::on_cuda {

namespace detail {
struct destroy_stream {
  static constexpr const char* name = "cudaStreamDestroy";
  static int release(cuda_calls& calls, stream_handle x) { return calls.stream_destroy(x); }
};
struct destroy_event {
  static constexpr const char* name = "cudaEventDestroy";
  static int release(cuda_calls& calls, event_handle x) { return calls.event_destroy(x); }
};
}  // namespace detail

class event;

class stream {
 public:
  /// A stream of its own, which does not wait for the default stream.
  explicit stream(cuda_calls& calls, std::source_location where = std::source_location::current());
  /// The caller's, which must outlive this; null is the default stream.
  stream(cuda_calls& calls, stream_handle callers) : calls_(&calls), handle_(callers) {}

  stream_handle handle() const { return handle_; }
  cuda_calls& calls() const { return *calls_; }

  /// Wait for all of its work. Errors of earlier kernels appear here.
  void synchronize(std::source_location where = std::source_location::current()) const;
  /// What is put here later waits for what `mark` was recorded after.
  void wait(const event& mark, std::source_location where = std::source_location::current()) const;
  /// After a kernel launch, which returns nothing.
  void check_launch(const char* kernel, std::source_location where = std::source_location::current()) const;

 private:
  cuda_calls* calls_;
  owned<stream_handle, detail::destroy_stream> own_;
  stream_handle handle_ = nullptr;
};

class event {
 public:
  /// `timing`: for `milliseconds_since`, which costs a little.
  explicit event(cuda_calls& calls, bool timing = false,
                 std::source_location where = std::source_location::current());

  event_handle handle() const { return event_.get(); }
  void record(const stream& on, std::source_location where = std::source_location::current()) const;
  /// Wait until the device is past it; at once if it was never recorded.
  void synchronize(std::source_location where = std::source_location::current()) const;
  float milliseconds_since(const event& start,
                           std::source_location where = std::source_location::current()) const;

 private:
  cuda_calls* calls_;
  owned<event_handle, detail::destroy_event> event_;
};

/// What is put into `later` from now on waits for what was put into `earlier` until now.
void wait_for(const stream& later, const stream& earlier,
              std::source_location where = std::source_location::current());

}  // namespace napkin::on_cuda
