// The table of raw calls (cuda/calls.hpp) that counts what it is asked for of the device's memory, and passes
// every call on. What a library takes without asking here, cuBLASLt or the driver, is not in it.
#pragma once

#include <algorithm>
#include <map>
#include <mutex>
#include <napkin/cuda/calls.hpp>
#include <span>
#include <vector>

namespace napkin::benched {

class counted_calls : public on_cuda::cuda_calls {
 public:
  explicit counted_calls(on_cuda::cuda_calls& to) : to_(to) {}

  std::size_t live() const {  // bytes
    const std::lock_guard lock(mutex_);
    return live_;
  }
  std::size_t most() const {  // bytes that were live at once
    const std::lock_guard lock(mutex_);
    return most_;
  }

  int malloc(void*& memory, std::size_t bytes) override {
    const int result = to_.malloc(memory, bytes);
    if (result != 0) return result;
    const std::lock_guard lock(mutex_);
    blocks_[memory] = bytes;
    live_ += bytes;
    most_ = std::max(most_, live_);
    return result;
  }
  int free(void* memory) override {
    {
      const std::lock_guard lock(mutex_);  // first: once it is free, another thread may be given its address
      if (const auto found = blocks_.find(memory); found != blocks_.end()) {
        live_ -= found->second;
        blocks_.erase(found);
      }
    }
    return to_.free(memory);
  }

  using facts = on_cuda::device_facts;
  using kind = on_cuda::copy_kind;
  using stream = on_cuda::stream_handle;
  using event = on_cuda::event_handle;
  using graph = on_cuda::graph_handle;
  using graph_exec = on_cuda::graph_exec_handle;

  int get_device_facts(facts& f) override { return to_.get_device_facts(f); }
  int malloc_host(void*& memory, std::size_t bytes) override { return to_.malloc_host(memory, bytes); }
  int free_host(void* memory) override { return to_.free_host(memory); }
  int memcpy_async(void* to, const void* from, std::size_t bytes, kind k, stream on) override {
    return to_.memcpy_async(to, from, bytes, k, on);
  }
  int memset_async(void* to, int value, std::size_t bytes, stream on) override {
    return to_.memset_async(to, value, bytes, on);
  }
  int stream_create(stream& made) override { return to_.stream_create(made); }
  int stream_destroy(stream s) override { return to_.stream_destroy(s); }
  int stream_synchronize(stream s) override { return to_.stream_synchronize(s); }
  int stream_wait_event(stream s, event e) override { return to_.stream_wait_event(s, e); }
  int event_create(event& made, bool timing) override { return to_.event_create(made, timing); }
  int event_destroy(event e) override { return to_.event_destroy(e); }
  int event_record(event e, stream on) override { return to_.event_record(e, on); }
  int event_synchronize(event e) override { return to_.event_synchronize(e); }
  int event_elapsed(float& milliseconds, event from, event to) override {
    return to_.event_elapsed(milliseconds, from, to);
  }
  int begin_capture(stream s) override { return to_.begin_capture(s); }
  int get_capture_edges(stream s, std::vector<on_cuda::capture_edge>& edges) override {
    return to_.get_capture_edges(s, edges);
  }
  int set_capture_edges(stream s, std::span<const on_cuda::capture_edge> edges) override {
    return to_.set_capture_edges(s, edges);
  }
  int end_capture(stream s, graph& made) override { return to_.end_capture(s, made); }
  int graph_instantiate(graph_exec& made, graph g) override { return to_.graph_instantiate(made, g); }
  int graph_upload(graph_exec g, stream on) override { return to_.graph_upload(g, on); }
  int graph_launch(graph_exec g, stream on) override { return to_.graph_launch(g, on); }
  int graph_destroy(graph g) override { return to_.graph_destroy(g); }
  int graph_exec_destroy(graph_exec g) override { return to_.graph_exec_destroy(g); }
  int get_last_error() override { return to_.get_last_error(); }
  const char* error_name(int code) override { return to_.error_name(code); }
  const char* error_text(int code) override { return to_.error_text(code); }
  void report(std::string_view line) noexcept override { to_.report(line); }

 private:
  on_cuda::cuda_calls& to_;
  mutable std::mutex mutex_;
  std::map<void*, std::size_t> blocks_;
  std::size_t live_ = 0, most_ = 0;
};

}  // namespace napkin::benched
