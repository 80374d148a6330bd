// Launches, captured once and replayed by one call: what a training step is. Addresses and sizes are fixed at
// the capture, and so is what waits for what: a stream's work for all before it, unless it is told otherwise.
#pragma once

#include <cstdint>
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

/// When a kernel in a graph begins that waits for others.
enum class kernel_start : std::uint8_t {
  in_turn,  // once they are over
  early,    // once their blocks have begun: it waits itself, as kernels of ours do (cuda/early_start.cuh)
};
/// Whether kernels start early on the device in use: from compute capability 9.0 on.
bool can_start_early(cuda_calls& calls, std::source_location where = std::source_location::current());

/// Let the kernel that `launch` puts into the stream start early behind the kernels that it waits for; of
/// several the first, and `launch` may also put none. Only of kernels of ours: cuBLASLt's do not wait. The
/// stream is in a capture. What the kernel waits for beside kernels is over first, as ever.
void put_early(const stream& capturing, function_ref<void()> launch,
               std::source_location where = std::source_location::current());

/// A place in what is being captured: behind what a stream has been given so far.
class capture_point {
 public:
  capture_point() = default;
  /// Of a stream in a capture.
  explicit capture_point(const stream& on, std::source_location where = std::source_location::current());

  /// Behind all of these; of none, before everything.
  static capture_point behind(std::span<const capture_point* const> points);

  /// The same for a kernel that starts early.
  capture_point early() const;

  /// What the stream is given next waits for what is before this, and not for what else it was given.
  void go_on(const stream& on, std::source_location where = std::source_location::current()) const;

  bool operator==(const capture_point&) const = default;

 private:
  std::vector<capture_edge> edges_;
};

/// Capture `work`, another way to do what `graph` does, and keep of the two the one that is over first: the
/// least of a few launches on `on` each, in turns, which do the work. Returns whether that is the new one.
/// The old one is kept of equal ones, and where the device has no memory for both or refuses the other way.
bool keep_faster(captured_graph& graph, const stream& capturing, function_ref<void()> work, const stream& on,
                 std::source_location where = std::source_location::current());

}  // namespace napkin::on_cuda
