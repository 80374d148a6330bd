// Launches, captured once and replayed by one call: what a training step is. Addresses and sizes are fixed at
// the capture, and so is what waits for what: a stream's work for all before it, unless it is told otherwise.
#pragma once

#include <source_location>
#include <span>
#include <vector>

#include "napkin/core/function_ref.hpp"
#include "napkin/cuda/stream.hpp"

namespace napkin::on_cuda {

namespace detail {
struct destroy_graph_exec {
  static constexpr const char* name = "cudaGraphExecDestroy";
  static int release(cuda_calls& calls, graph_exec_handle x) { return calls.graph_exec_destroy(x); }
};
}  // namespace detail

class captured_graph {
 public:
  captured_graph() = default;
  /// Capture what `work` puts into the stream, which must not be the default stream; nothing of it runs. If
  /// `work` throws, the capture is ended and thrown away and the stream can be used again.
  captured_graph(const stream& on, function_ref<void()> work,
                 std::source_location where = std::source_location::current());

  bool empty() const { return graph_.get() == nullptr; }
  void launch(const stream& on, std::source_location where = std::source_location::current()) const;

 private:
  owned<graph_exec_handle, detail::destroy_graph_exec> graph_;
};

/// A place in what is being captured: behind what a stream has been given so far.
class capture_point {
 public:
  capture_point() = default;
  /// Of a stream in a capture.
  explicit capture_point(const stream& on, std::source_location where = std::source_location::current());

  /// Behind all of these; of none, before everything.
  static capture_point behind(std::span<const capture_point* const> points);

  /// What the stream is given next waits for what is before this, and not for what else it was given.
  void go_on(const stream& on, std::source_location where = std::source_location::current()) const;

 private:
  std::vector<capture_edge> edges_;
};

/// Two ways to capture the same work, of which it keeps the graph that is over first: the least of a few
/// launches on `on` each, in turns, which do the work. The first of equal ones, and where the device has no
/// memory for both.
struct faster_graph {
  captured_graph graph;
  bool is_second = false;

  faster_graph(const stream& capturing, function_ref<void()> first, function_ref<void()> second,
               const stream& on, std::source_location where = std::source_location::current());
};

}  // namespace napkin::on_cuda
