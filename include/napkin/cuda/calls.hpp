// The only door to the CUDA runtime: every call of it that this library makes passes through here, so that a
// test can let any one of them fail, on a machine without a GPU. Raw calls that answer as CUDA does; the
// classes in cuda/{memory,stream,graph_capture,transfer}.hpp check and own. Includes no header of CUDA's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct CUstream_st;
struct CUevent_st;
struct CUgraph_st;
struct CUgraphExec_st;
struct CUgraphNode_st;

namespace napkin::on_cuda {

// The same types as cudaStream_t, cudaEvent_t, cudaGraph_t, cudaGraphExec_t and cudaGraphNode_t.
using stream_handle = ::CUstream_st*;
using event_handle = ::CUevent_st*;
using graph_handle = ::CUgraph_st*;
using graph_exec_handle = ::CUgraphExec_st*;
using graph_node_handle = ::CUgraphNode_st*;

/// What a captured stream's next work waits for: a node, and cudaGraphEdgeData's bytes of the edge from it.
struct capture_edge {
  graph_node_handle from = nullptr;
  std::uint64_t kind = 0;
  bool from_kernel = false;  // else a copy, or a fill
  bool operator==(const capture_edge&) const = default;

  /// Of an edge between kernels: the later one may begin when the blocks of the earlier one have begun, and
  /// waits itself for its end (cuda/early_start.cuh). Its port is cudaGraphKernelNodePortProgrammatic, its
  /// type cudaGraphDependencyTypeProgrammatic.
  static constexpr std::uint64_t programmatic = 0x10001;
};

enum class copy_kind : std::uint8_t { host_to_device, device_to_host, device_to_device };

/// What is known of the device in use.
struct device_facts {
  std::string name;
  int compute_capability = 0;  // 90 for 9.0
  int multiprocessors = 0;
  std::size_t memory = 0;                       // bytes
  int driver_version = 0, runtime_version = 0;  // 13000 for 13.0
};

/// The raw calls, each named for CUDA's own. They answer with a cudaError_t as a number, 0 for success.
class cuda_calls {
 public:
  virtual ~cuda_calls() = default;

  virtual int get_device(int& device) = 0;  // the calling thread's
  virtual int set_device(int device) = 0;
  virtual int get_device_facts(device_facts& facts) = 0;
  virtual int malloc(void*& memory, std::size_t bytes) = 0;
  virtual int free(void* memory) = 0;
  virtual int malloc_host(void*& memory, std::size_t bytes) = 0;
  virtual int free_host(void* memory) = 0;
  virtual int memcpy_async(void* to, const void* from, std::size_t bytes, copy_kind kind,
                           stream_handle on) = 0;
  virtual int memset_async(void* to, int value, std::size_t bytes, stream_handle on) = 0;
  virtual int stream_create(stream_handle& made) = 0;  // does not wait for the default stream
  virtual int stream_destroy(stream_handle stream) = 0;
  virtual int stream_synchronize(stream_handle stream) = 0;
  virtual int stream_wait_event(stream_handle stream, event_handle event) = 0;
  virtual int event_create(event_handle& made, bool timing) = 0;
  virtual int event_destroy(event_handle event) = 0;
  virtual int event_record(event_handle event, stream_handle on) = 0;
  virtual int event_synchronize(event_handle event) = 0;
  virtual int event_elapsed(float& milliseconds, event_handle from, event_handle to) = 0;
  virtual int begin_capture(stream_handle stream) = 0;  // other threads may go on calling CUDA
  virtual int get_capture_edges(stream_handle stream, std::vector<capture_edge>& edges) = 0;
  virtual int set_capture_edges(stream_handle stream, std::span<const capture_edge> edges) = 0;
  virtual int end_capture(stream_handle stream, graph_handle& made) = 0;
  virtual int graph_instantiate(graph_exec_handle& made, graph_handle graph) = 0;
  virtual int graph_upload(graph_exec_handle graph, stream_handle on) = 0;
  virtual int graph_launch(graph_exec_handle graph, stream_handle on) = 0;
  virtual int graph_destroy(graph_handle graph) = 0;
  virtual int graph_exec_destroy(graph_exec_handle graph) = 0;
  virtual int get_last_error() = 0;  // of a launch; reading it clears it unless it is sticky

  virtual const char* error_name(int code) = 0;
  virtual const char* error_text(int code) = 0;

  /// A failure where nothing can be thrown, in a destructor. To standard error unless overridden.
  virtual void report(std::string_view line) noexcept;
};

/// The machine's own CUDA. Throws `input_error` where the library was built without the CUDA toolkit.
cuda_calls& cuda_runtime();

}  // namespace napkin::on_cuda
