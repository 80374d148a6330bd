// A sequence of launches, captured once and replayed by one call: what a training step is. Addresses and
// sizes are fixed at the capture.
#pragma once

#include <source_location>

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

}  // namespace napkin::on_cuda
