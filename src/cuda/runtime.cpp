// The machine's own CUDA runtime behind `cuda_calls`: one line a call. Where the library is built without the
// toolkit, words that say so.
#include "napkin/core/error.hpp"
#include "napkin/cuda/calls.hpp"

#if NAPKIN_HAS_CUDA
#include <cuda_runtime_api.h>

#include <bit>

namespace napkin::on_cuda {
namespace {

constexpr cudaMemcpyKind kind_of(copy_kind kind) {
  switch (kind) {
    case copy_kind::host_to_device:
      return cudaMemcpyHostToDevice;
    case copy_kind::device_to_host:
      return cudaMemcpyDeviceToHost;
    case copy_kind::device_to_device:
      break;
  }
  return cudaMemcpyDeviceToDevice;
}

// With the data of edges, which CUDA 13 has under the plain names.
#if CUDART_VERSION < 12040
#error "napkin needs CUDA 12.4 or later"
#elif CUDART_VERSION >= 13000
constexpr auto capture_info = cudaStreamGetCaptureInfo;
constexpr auto update_dependencies = cudaStreamUpdateCaptureDependencies;
#else
constexpr auto capture_info = cudaStreamGetCaptureInfo_v3;
constexpr auto update_dependencies = cudaStreamUpdateCaptureDependencies_v2;
#endif

static_assert(capture_edge::programmatic ==
              std::bit_cast<std::uint64_t>(cudaGraphEdgeData{
                  cudaGraphKernelNodePortProgrammatic, 0, cudaGraphDependencyTypeProgrammatic, {}}));

class runtime final : public cuda_calls {
 public:
  int get_device(int& device) override { return cudaGetDevice(&device); }
  int set_device(int device) override { return cudaSetDevice(device); }
  int get_device_facts(device_facts& facts) override {
    int device = 0, error = cudaGetDevice(&device);
    cudaDeviceProp properties{};
    if (error == 0) error = cudaGetDeviceProperties(&properties, device);
    if (error == 0) error = cudaDriverGetVersion(&facts.driver_version);
    if (error == 0) error = cudaRuntimeGetVersion(&facts.runtime_version);
    if (error != 0) return error;
    facts.name = properties.name;
    facts.compute_capability = properties.major * 10 + properties.minor;
    facts.multiprocessors = properties.multiProcessorCount;
    facts.memory = properties.totalGlobalMem;
    return 0;
  }
  int malloc(void*& memory, std::size_t bytes) override { return cudaMalloc(&memory, bytes); }
  int free(void* memory) override { return cudaFree(memory); }
  int malloc_host(void*& memory, std::size_t bytes) override { return cudaMallocHost(&memory, bytes); }
  int free_host(void* memory) override { return cudaFreeHost(memory); }
  int memcpy_async(void* to, const void* from, std::size_t bytes, copy_kind kind, stream_handle on) override {
    return cudaMemcpyAsync(to, from, bytes, kind_of(kind), on);
  }
  int memset_async(void* to, int value, std::size_t bytes, stream_handle on) override {
    return cudaMemsetAsync(to, value, bytes, on);
  }
  int stream_create(stream_handle& made) override {
    return cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking);
  }
  int stream_destroy(stream_handle stream) override { return cudaStreamDestroy(stream); }
  int stream_synchronize(stream_handle stream) override { return cudaStreamSynchronize(stream); }
  int stream_wait_event(stream_handle stream, event_handle event) override {
    return cudaStreamWaitEvent(stream, event, 0);
  }
  int event_create(event_handle& made, bool timing) override {
    return cudaEventCreateWithFlags(&made, timing ? cudaEventDefault : cudaEventDisableTiming);
  }
  int event_destroy(event_handle event) override { return cudaEventDestroy(event); }
  int event_record(event_handle event, stream_handle on) override { return cudaEventRecord(event, on); }
  int event_synchronize(event_handle event) override { return cudaEventSynchronize(event); }
  int event_elapsed(float& milliseconds, event_handle from, event_handle to) override {
    return cudaEventElapsedTime(&milliseconds, from, to);
  }
  int begin_capture(stream_handle stream) override {
    return cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  }
  int get_capture_edges(stream_handle stream, std::vector<capture_edge>& edges) override {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    const cudaGraphNode_t* nodes = nullptr;  // valid until the next call for the stream
    const cudaGraphEdgeData* kinds = nullptr;
    std::size_t count = 0;
    const int error = capture_info(stream, &status, nullptr, nullptr, &nodes, &kinds, &count);
    if (error != 0) return error;
    if (status != cudaStreamCaptureStatusActive) return cudaErrorIllegalState;
    edges.clear();
    for (std::size_t i = 0; i < count; ++i) {
      cudaGraphNodeType type{};
      if (const int unknown = cudaGraphNodeGetType(nodes[i], &type); unknown != 0) return unknown;
      edges.push_back({nodes[i], kinds == nullptr ? 0 : std::bit_cast<std::uint64_t>(kinds[i]),
                       type == cudaGraphNodeTypeKernel});
    }
    return 0;
  }
  int set_capture_edges(stream_handle stream, std::span<const capture_edge> edges) override {
    std::vector<cudaGraphNode_t> nodes;
    std::vector<cudaGraphEdgeData> kinds;
    for (const capture_edge& e : edges) {
      nodes.push_back(e.from);
      kinds.push_back(std::bit_cast<cudaGraphEdgeData>(e.kind));
    }
    return update_dependencies(stream, nodes.data(), kinds.data(), edges.size(),
                               cudaStreamSetCaptureDependencies);
  }
  int end_capture(stream_handle stream, graph_handle& made) override {
    return cudaStreamEndCapture(stream, &made);
  }
  int graph_instantiate(graph_exec_handle& made, graph_handle graph) override {
    return cudaGraphInstantiate(&made, graph, 0);
  }
  int graph_upload(graph_exec_handle graph, stream_handle on) override { return cudaGraphUpload(graph, on); }
  int graph_launch(graph_exec_handle graph, stream_handle on) override { return cudaGraphLaunch(graph, on); }
  int graph_destroy(graph_handle graph) override { return cudaGraphDestroy(graph); }
  int graph_exec_destroy(graph_exec_handle graph) override { return cudaGraphExecDestroy(graph); }
  int get_last_error() override { return cudaGetLastError(); }

  const char* error_name(int code) override { return cudaGetErrorName(static_cast<cudaError_t>(code)); }
  const char* error_text(int code) override { return cudaGetErrorString(static_cast<cudaError_t>(code)); }
};

}  // namespace

cuda_calls& cuda_runtime() {
  static runtime calls;
  return calls;
}

}  // namespace napkin::on_cuda

#else

namespace napkin::on_cuda {

cuda_calls& cuda_runtime() {
  throw input_error("cuda: this library was built without the CUDA toolkit; build it where nvcc is found");
}

}  // namespace napkin::on_cuda

#endif
