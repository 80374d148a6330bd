// Capturing a stream's work into a graph that can be launched.
#include "napkin/cuda/graph_capture.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "napkin/cuda/device.hpp"

namespace napkin::on_cuda {
namespace {

struct destroy_graph {
  static constexpr const char* name = "cudaGraphDestroy";
  static int release(cuda_calls& calls, graph_handle x) { return calls.graph_destroy(x); }
};

/// Is x over sooner than y, of launches on `on`?
bool is_faster(const captured_graph& x, const captured_graph& y, const stream& on,
               std::source_location where) {
  cuda_calls& calls = on.calls();
  const event start(calls, true, where), end(calls, true, where);
  const auto milliseconds = [&](const captured_graph& graph, int launches) {
    start.record(on, where);
    for (int i = 0; i < launches; ++i) graph.launch(on, where);
    end.record(on, where);
    end.synchronize(where);
    return end.milliseconds_since(start, where) / static_cast<float>(launches);
  };
  float of_x = std::numeric_limits<float>::infinity(), of_y = of_x;
  try {
    // The first round warms clocks and caches, and says how many launches a clock needs to tell short ones
    // apart.
    const float first = milliseconds(y, 1), second = milliseconds(x, 1);
    const int launches = std::min(first, second) < 10 ? 8 : 1;
    for (int round = 0; round < 3; ++round) {
      of_y = std::min(of_y, milliseconds(y, launches));
      of_x = std::min(of_x, milliseconds(x, launches));
    }
  } catch (...) {  // what is under way uses what the caller is about to give back
    report_failure(calls, calls.stream_synchronize(on.handle()), "cudaStreamSynchronize");
    throw;
  }
  return of_x < of_y;
}

}  // namespace

captured_graph::captured_graph(const stream& on, function_ref<void()> work, std::source_location where) {
  cuda_calls& calls = on.calls();
  check(calls, calls.begin_capture(on.handle()), "cudaStreamBeginCapture", "", where);
  graph_handle made = nullptr;
  try {
    work();
  } catch (...) {
    // Fails where what was thrown has already ended the capture: the first failure is the one to tell.
    end_if_sticky(calls, calls.end_capture(on.handle(), made), "cudaStreamEndCapture");
    const owned<graph_handle, destroy_graph> unfinished(calls, made);
    end_if_sticky(calls, calls.get_last_error(), "cudaGetLastError");
    throw;
  }
  const int ended = calls.end_capture(on.handle(), made);
  const owned<graph_handle, destroy_graph> graph(calls, made);
  check(calls, ended, "cudaStreamEndCapture", "", where);

  graph_exec_handle executable = nullptr;
  check(calls, calls.graph_instantiate(executable, made), "cudaGraphInstantiate", "", where);
  graph_ = {calls, executable};
  // Else the first launch would do it, and allocate.
  check(calls, calls.graph_upload(executable, on.handle()), "cudaGraphUpload", "", where);
}

void captured_graph::launch(const stream& on, std::source_location where) const {
  if (empty()) throw error("a captured graph: there is none to launch");
  check(on.calls(), on.calls().graph_launch(graph_.get(), on.handle()), "cudaGraphLaunch", "", where);
}

capture_point::capture_point(const stream& on, std::source_location where) {
  check(on.calls(), on.calls().get_capture_edges(on.handle(), edges_), "cudaStreamGetCaptureInfo", "", where);
}

capture_point capture_point::behind(std::span<const capture_point* const> points) {
  capture_point all;
  for (const capture_point* p : points)
    for (const capture_edge& e : p->edges_) {
      const auto is_same = [&](const capture_edge& x) { return x.from == e.from; };
      if (std::none_of(all.edges_.begin(), all.edges_.end(), is_same)) all.edges_.push_back(e);
    }
  return all;
}

capture_point capture_point::early() const {
  capture_point p = *this;
  for (capture_edge& e : p.edges_)
    if (e.from_kernel) e.kind = capture_edge::programmatic;
  return p;
}

void capture_point::go_on(const stream& on, std::source_location where) const {
  check(on.calls(), on.calls().set_capture_edges(on.handle(), edges_), "cudaStreamUpdateCaptureDependencies",
        "", where);
}

bool can_start_early(cuda_calls& calls, std::source_location where) {
  return facts_of_device(calls, where).compute_capability >= 90;
}

void put_early(const stream& capturing, function_ref<void()> launch, std::source_location where) {
  const capture_point before(capturing, where), early = before.early();
  if (early == before) return launch();  // there is no kernel that it waits for
  early.go_on(capturing, where);
  launch();
  // Nothing was launched: what comes next may be no kernel, or none that waits.
  if (capture_point(capturing, where) == early) before.go_on(capturing, where);
}

bool keep_faster(captured_graph& graph, const stream& capturing, function_ref<void()> work, const stream& on,
                 std::source_location where) {
  try {
    captured_graph other(capturing, work, where);
    capturing.synchronize(where);  // graphs went over on it
    if (!is_faster(other, graph, on, where)) return false;
    graph = std::move(other);
    return true;
  } catch (const cuda_error& e) {
    for (const int refusal : {invalid_value, out_of_memory, not_supported, illegal_state, capture_unsupported,
                              capture_invalidated})
      if (e.code() == refusal) return false;
    throw;
  }
}

}  // namespace napkin::on_cuda
