// Capturing a stream's work into a graph that can be launched.
#include "napkin/cuda/graph_capture.hpp"

namespace napkin::on_cuda {
namespace {

struct destroy_graph {
  static constexpr const char* name = "cudaGraphDestroy";
  static int release(cuda_calls& calls, graph_handle x) { return calls.graph_destroy(x); }
};

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
  check(on.calls(), on.calls().graph_launch(graph_.get(), on.handle()), "cudaGraphLaunch", "", where);
}

}  // namespace napkin::on_cuda
