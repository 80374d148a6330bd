// Streams and events.
#include "napkin/cuda/stream.hpp"

namespace napkin::on_cuda {

stream::stream(cuda_calls& calls, std::source_location where) : calls_(&calls) {
  check(calls, calls.stream_create(handle_), "cudaStreamCreateWithFlags", "", where);
  own_ = {calls, handle_};
}

void stream::synchronize(std::source_location where) const {
  check(*calls_, calls_->stream_synchronize(handle_), "cudaStreamSynchronize", "", where);
}

void stream::wait(const event& mark, std::source_location where) const {
  check(*calls_, calls_->stream_wait_event(handle_, mark.handle()), "cudaStreamWaitEvent", "", where);
}

void stream::check_launch(const char* kernel, std::source_location where) const {
  check(*calls_, calls_->get_last_error(), "cudaGetLastError", std::string("after launching ") + kernel,
        where);
}

event::event(cuda_calls& calls, bool timing, std::source_location where) : calls_(&calls) {
  event_handle made = nullptr;
  check(calls, calls.event_create(made, timing), "cudaEventCreateWithFlags", "", where);
  event_ = {calls, made};
}

void event::record(const stream& on, std::source_location where) const {
  check(*calls_, calls_->event_record(event_.get(), on.handle()), "cudaEventRecord", "", where);
}

void event::synchronize(std::source_location where) const {
  check(*calls_, calls_->event_synchronize(event_.get()), "cudaEventSynchronize", "", where);
}

float event::milliseconds_since(const event& start, std::source_location where) const {
  float milliseconds = 0;
  check(*calls_, calls_->event_elapsed(milliseconds, start.handle(), handle()), "cudaEventElapsedTime", "",
        where);
  return milliseconds;
}

void wait_for(const stream& later, const stream& earlier, std::source_location where) {
  const event mark(earlier.calls(), false, where);
  mark.record(earlier, where);
  later.wait(mark, where);
}

}  // namespace napkin::on_cuda
