// CUDA without a device: memory of the host, and streams whose work runs late and in any order that they, their
// events and the edges of graphs allow, so that a wait that is missing shows as wrong bytes. Any one call can be
// made to fail.
// Counts what is alive, and notes what real CUDA would not forgive.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "napkin/cuda/error.hpp"

class fake_cuda : public napkin::on_cuda::cuda_calls {
 public:
  using stream_handle = napkin::on_cuda::stream_handle;
  using event_handle = napkin::on_cuda::event_handle;
  using graph_handle = napkin::on_cuda::graph_handle;
  using graph_exec_handle = napkin::on_cuda::graph_exec_handle;
  using graph_node_handle = napkin::on_cuda::graph_node_handle;
  using capture_edge = napkin::on_cuda::capture_edge;
  using copy_kind = napkin::on_cuda::copy_kind;

  int fail_at = 0;       // the call, counted from 1, that fails; 0 for none
  int error_code = 999;  // with this; a sticky one fails all calls after it
  int calls = 0;
  int compute_capability = 90;
  std::string failed;                // CUDA's name of the call that failed
  std::vector<std::string> log;      // of all calls
  std::vector<std::string> reports;  // of destructors
  std::vector<std::string> misuse;   // freed twice, copied outside of an allocation, leaked work
  std::function<void(const void*, std::size_t)> copied;  // called as copies and fills are done, if it is set
  std::mt19937 random{1};

  fake_cuda() = default;
  fake_cuda(const fake_cuda&) = delete;
  fake_cuda& operator=(const fake_cuda&) = delete;
  ~fake_cuda() override;  // in fake_cuda.cpp, and with it, compiled once, all that is virtual

  std::size_t alive() const {
    return blocks_.size() + alive_of(streams_) + alive_of(events_) + alive_of(graphs_);
  }
  std::size_t bytes_alive() const {
    std::size_t n = 0;
    for (const auto& [memory, x] : blocks_) n += x.size;
    return n;
  }

  /// The whole of the allocation that an address lies in; empty if it lies in none.
  std::span<std::byte> allocation_of(const void* at) const {
    std::size_t left = 0;
    const block* b = find(at, &left);
    if (b == nullptr) return {};
    auto* const first = static_cast<std::byte*>(const_cast<void*>(at));
    return {first - (b->size - left), b->size};
  }

  /// Which the thread used as an address's memory was allocated; -1 of what is none.
  int device_of(const void* at) const {
    const block* b = find(at);
    return b == nullptr ? -1 : b->device;
  }

  /// Work of the test's own, as a kernel that waits for earlier ones itself, and may start early.
  void launch(stream_handle on, std::function<void()> kernel) {
    note_launch(on);
    put(on, std::move(kernel), node_kind::waiting_kernel);
  }
  /// As a library's, which does not.
  void launch_of_library(stream_handle on, std::function<void()> kernel) {
    note_launch(on);
    put(on, std::move(kernel), node_kind::kernel);
  }
  std::size_t early = 0;  // edges behind which kernels start early, of all that were captured

  int device = 0;  // that threads use; a stream is of the one that was used as it was made
  int get_device(int& now) override {
    if (fails("cudaGetDevice")) return error_code;
    now = device;
    return 0;
  }
  int set_device(int next) override {
    if (fails("cudaSetDevice")) return error_code;
    device = next;
    return 0;
  }
  int get_device_facts(napkin::on_cuda::device_facts& facts) override {
    if (fails("cudaGetDeviceProperties")) return error_code;
    facts = {"fake", compute_capability, 132, std::size_t{1} << 37, 13000, 13000};
    return 0;
  }
  int malloc(void*& memory, std::size_t bytes) override {
    return fails("cudaMalloc") ? error_code : allocate(memory, bytes, false);
  }
  int free(void* memory) override {  // waits for the device, as CUDA's does
    run_until([] { return false; }, true);
    return give_back("cudaFree", memory, false);
  }
  int malloc_host(void*& memory, std::size_t bytes) override {
    return fails("cudaMallocHost") ? error_code : allocate(memory, bytes, true);
  }
  int free_host(void* memory) override { return give_back("cudaFreeHost", memory, true); }

  int memcpy_async(void* to, const void* from, std::size_t bytes, copy_kind kind, stream_handle on) override {
    if (fails("cudaMemcpyAsync")) return error_code;
    if (kind == copy_kind::host_to_device && find(from) == nullptr) {  // pageable: read before it returns
      const auto* first = static_cast<const std::byte*>(from);
      put(on, [this, to, copy = std::vector<std::byte>(first, first + bytes)] {
        if (within(to, copy.size(), false)) std::memcpy(to, copy.data(), copy.size());
        if (copied) copied(to, copy.size());
      });
      return 0;
    }
    put(on, [this, to, from, bytes, kind] {
      const bool from_host = kind == copy_kind::host_to_device, to_host = kind == copy_kind::device_to_host;
      const bool to_ok = (to_host && find(to) == nullptr) || within(to, bytes, to_host);
      if (to_ok && within(from, bytes, from_host)) std::memmove(to, from, bytes);
      if (copied) copied(to, bytes);
    });
    if (kind == copy_kind::device_to_host && find(to) == nullptr)  // pageable: there when it returns
      run_until([s = of(on)] { return s->work.empty(); });
    return 0;
  }
  int memset_async(void* to, int value, std::size_t bytes, stream_handle on) override {
    if (fails("cudaMemsetAsync")) return error_code;
    put(on, [this, to, value, bytes] {
      if (within(to, bytes, false)) std::memset(to, value, bytes);
      if (copied) copied(to, bytes);
    });
    return 0;
  }

  int stream_create(stream_handle& made) override {
    if (fails("cudaStreamCreateWithFlags")) return error_code;
    streams_.push_back(new stream{.device = device});
    made = reinterpret_cast<stream_handle>(streams_.back());
    return 0;
  }
  int stream_destroy(stream_handle handle) override {
    const bool failed_now = fails("cudaStreamDestroy");
    stream* s = of(handle);
    if (!s->alive) misuse.emplace_back("a stream is destroyed twice");
    if (s->capture != nullptr) misuse.emplace_back("a stream is destroyed in a capture");
    s->alive = false;  // its work still runs
    return failed_now ? error_code : 0;
  }
  int stream_synchronize(stream_handle handle) override {
    if (fails("cudaStreamSynchronize")) return error_code;
    stream* s = of(handle);
    if (s->capture != nullptr) misuse.emplace_back("a stream in a capture is waited for");
    run_until([&] { return s->work.empty(); });
    return 0;
  }
  int stream_wait_event(stream_handle handle, event_handle mark) override {
    if (fails("cudaStreamWaitEvent")) return error_code;
    event* e = of(mark);
    of(handle)->work.push_back({[e, at = e->recorded] { return e->passed >= at; }, [] {}});
    return 0;
  }

  int event_create(event_handle& made, bool) override {
    if (fails("cudaEventCreateWithFlags")) return error_code;
    events_.push_back(new event);
    made = reinterpret_cast<event_handle>(events_.back());
    return 0;
  }
  int event_destroy(event_handle handle) override {
    const bool failed_now = fails("cudaEventDestroy");
    if (!of(handle)->alive) misuse.emplace_back("an event is destroyed twice");
    of(handle)->alive = false;
    return failed_now ? error_code : 0;
  }
  int event_record(event_handle handle, stream_handle on) override {
    if (fails("cudaEventRecord")) return error_code;
    event* e = of(handle);
    put(on, [e, at = ++e->recorded] { e->passed = at; });
    return 0;
  }
  int event_synchronize(event_handle handle) override {
    if (fails("cudaEventSynchronize")) return error_code;
    event* e = of(handle);
    run_until([e, at = e->recorded] { return e->passed >= at; });
    return 0;
  }
  int event_elapsed(float& milliseconds, event_handle, event_handle) override {
    if (fails("cudaEventElapsedTime")) return error_code;
    milliseconds = elapsed ? elapsed() : 20;
    return 0;
  }
  std::function<float()> elapsed;  // what is measured, in milliseconds; else as much as needs no repeating

  int begin_capture(stream_handle handle) override {
    if (fails("cudaStreamBeginCapture")) return error_code;
    if (of(handle)->capture != nullptr) misuse.emplace_back("a capture begins within another");
    of(handle)->capture = new graph;
    of(handle)->tail.clear();
    return 0;
  }
  /// Nodes are numbered from 1 on.
  int get_capture_edges(stream_handle handle, std::vector<capture_edge>& edges) override {
    if (fails("cudaStreamGetCaptureInfo")) return error_code;
    if (of(handle)->capture == nullptr) misuse.emplace_back("no capture to ask about");
    edges.clear();
    for (const edge& e : of(handle)->tail)
      edges.push_back({reinterpret_cast<graph_node_handle>(e.from + 1), e.kind,
                       of(handle)->capture->nodes[e.from].what != node_kind::copy});
    return 0;
  }
  int set_capture_edges(stream_handle handle, std::span<const capture_edge> edges) override {
    if (fails("cudaStreamUpdateCaptureDependencies")) return error_code;
    stream* s = of(handle);
    if (s->capture == nullptr) misuse.emplace_back("no capture to change");
    s->tail.clear();
    for (const capture_edge& e : edges) {
      const std::size_t at = reinterpret_cast<std::size_t>(e.from) - 1;
      if (s->capture == nullptr || at >= s->capture->nodes.size())
        misuse.emplace_back("an edge from a node of no capture");
      else if (e.kind != 0 &&
               (e.kind != capture_edge::programmatic || s->capture->nodes[at].what == node_kind::copy))
        misuse.emplace_back("an edge of a kind that its node has not");
      if (std::any_of(s->tail.begin(), s->tail.end(), [&](const edge& x) { return x.from == at; }))
        misuse.emplace_back("two edges from one node");
      s->tail.push_back({at, e.kind});
    }
    return 0;
  }
  int end_capture(stream_handle handle, graph_handle& made) override {
    stream* s = of(handle);
    if (s->capture == nullptr) misuse.emplace_back("no capture to end");
    graph* g = std::exchange(s->capture, nullptr);
    if (fails("cudaStreamEndCapture")) {  // the capture is over, without a graph
      delete g;
      made = nullptr;
      return error_code;
    }
    graphs_.push_back(g);
    made = reinterpret_cast<graph_handle>(g);
    return 0;
  }
  int graph_instantiate(graph_exec_handle& made, graph_handle from) override {
    if (fails("cudaGraphInstantiate")) return error_code;
    graphs_.push_back(new graph(*reinterpret_cast<graph*>(from)));
    made = reinterpret_cast<graph_exec_handle>(graphs_.back());
    return 0;
  }
  int graph_upload(graph_exec_handle, stream_handle) override {
    return fails("cudaGraphUpload") ? error_code : 0;
  }
  int graph_launch(graph_exec_handle handle, stream_handle on) override {
    if (fails("cudaGraphLaunch")) return error_code;
    const graph* g = reinterpret_cast<graph*>(handle);
    if (!g->alive) misuse.emplace_back("a destroyed graph is launched");
    put(on, [this, on, run = std::make_shared<graph_run>(*g)] { go_on(on, run); });
    return 0;
  }
  int graph_destroy(graph_handle handle) override {
    return destroy("cudaGraphDestroy", reinterpret_cast<graph*>(handle));
  }
  int graph_exec_destroy(graph_exec_handle handle) override {
    return destroy("cudaGraphExecDestroy", reinterpret_cast<graph*>(handle));
  }
  /// What a launch failed by; else what a call failed by since it was last asked for.
  int get_last_error() override {
    const bool launch_failed = fails("cudaGetLastError");
    const int before = std::exchange(last_error_, 0);
    return launch_failed ? error_code : before;
  }

  const char* error_name(int code) override {
    return code == 2 ? "cudaErrorMemoryAllocation" : "cudaErrorFake";
  }
  const char* error_text(int code) override { return code == 2 ? "out of memory" : "as the test asked"; }
  void report(std::string_view line) noexcept override { reports.emplace_back(line); }

  /// Every call that can fail passes here: for fakes of other libraries beside this one, too.
  bool fails(const char* call) {
    log.emplace_back(call);
    ++calls;
    for (std::size_t steps = random() % 3; steps > 0; --steps) run_some();
    const bool sticky = fail_at != 0 && calls > fail_at && napkin::on_cuda::is_sticky(error_code);
    if (calls != fail_at && !sticky) return false;
    if (!sticky) failed = call;
    if (std::string_view(call).starts_with("cuda") && call != std::string_view("cudaGetLastError"))
      last_error_ = error_code;
    return true;
  }

 private:
  void note_launch(stream_handle on) {
    if (on != nullptr && of(on)->device != device)
      misuse.emplace_back("a kernel is launched into another device's stream");
  }
  int last_error_ = 0;
  struct item {
    std::function<bool()> ready;
    std::function<void()> run;
  };
  enum class node_kind { copy, kernel, waiting_kernel };
  struct edge {
    std::size_t from;  // a node's number
    std::uint64_t kind;
  };
  struct captured_node {
    std::function<void()> run;
    std::vector<edge> after;
    node_kind what;
  };
  struct graph {
    std::vector<captured_node> nodes;
    bool alive = true;
  };
  struct graph_run {
    graph of;
    std::vector<bool> done;
    std::size_t left;
    explicit graph_run(const graph& g) : of(g), done(g.nodes.size(), false), left(g.nodes.size()) {}
  };
  struct stream {
    std::deque<item> work{};
    graph* capture = nullptr;
    std::vector<edge> tail{};  // of the capture: what its next node comes after
    bool alive = true;
    int device = 0;
    ~stream() { delete capture; }
  };
  struct event {
    std::uint64_t recorded = 0, passed = 0;
    bool alive = true;
  };
  struct block {
    std::size_t size;
    bool host;
    int device = 0;
  };

  template <class T>
  static std::size_t alive_of(const std::vector<T*>& all) {
    std::size_t n = 0;
    for (const T* x : all) n += x->alive;
    return n;
  }
  stream* of(stream_handle handle) {
    return handle == nullptr ? &default_ : reinterpret_cast<stream*>(handle);
  }
  static event* of(event_handle handle) { return reinterpret_cast<event*>(handle); }

  int allocate(void*& memory, std::size_t bytes, bool host) {
    memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    blocks_[memory] = {bytes, host, device};
    return 0;
  }
  int give_back(const char* call, void* memory, bool host) {
    const bool failed_now = fails(call);
    const auto found = blocks_.find(memory);
    if (found == blocks_.end() || found->second.host != host) {
      misuse.push_back(std::string(call) + " of what is not allocated");
    } else {
      std::free(memory);
      blocks_.erase(found);
    }
    return failed_now ? error_code : 0;
  }
  int destroy(const char* call, graph* g) {
    const bool failed_now = fails(call);
    if (!g->alive) misuse.push_back(std::string(call) + " twice");
    g->alive = false;
    return failed_now ? error_code : 0;
  }

  /// The allocation that an address lies in.
  const block* find(const void* at, std::size_t* left = nullptr) const {
    auto next = blocks_.upper_bound(const_cast<void*>(at));
    if (next == blocks_.begin()) return nullptr;
    --next;
    const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(at) -
                                                 static_cast<const std::byte*>(next->first));
    if (offset >= next->second.size) return nullptr;
    if (left != nullptr) *left = next->second.size - offset;
    return &next->second;
  }
  bool within(const void* at, std::size_t bytes, bool host) {
    std::size_t left = 0;
    const block* b = find(at, &left);
    if (b != nullptr && b->host == host && left >= bytes) return true;
    misuse.emplace_back("a copy outside of what is allocated");
    return false;
  }

  void put(stream_handle on, std::function<void()> run, node_kind what = node_kind::copy) {
    stream* s = of(on);
    if (s->capture != nullptr) {
      for (const edge& e : s->tail) {
        early += e.kind != 0;
        if (e.kind != 0 && what != node_kind::waiting_kernel)
          misuse.emplace_back("what does not wait itself starts early");
      }
      s->capture->nodes.push_back({std::move(run), std::move(s->tail), what});
      s->tail = {{s->capture->nodes.size() - 1, 0}};
    } else {
      s->work.push_back({[] { return true; }, std::move(run)});
    }
  }
  /// One node of a graph, of those that may run: what is before the rest of the stream's work.
  void go_on(stream_handle on, const std::shared_ptr<graph_run>& run) {
    if (run->left == 0) return;
    std::vector<std::size_t> ready;
    for (std::size_t n = 0; n < run->done.size(); ++n) {
      const std::vector<edge>& after = run->of.nodes[n].after;
      if (!run->done[n] &&
          std::all_of(after.begin(), after.end(), [&](const edge& e) { return run->done[e.from]; }))
        ready.push_back(n);
    }
    const std::size_t n = ready.size() == 1 ? ready[0] : ready[random() % ready.size()];
    run->done[n] = true;
    --run->left;
    of(on)->work.push_front({[] { return true; }, [this, on, run] { go_on(on, run); }});
    run->of.nodes[n].run();
  }
  /// One item of one stream, if the stream that is drawn has one that may run.
  bool run_one(stream* s) {
    if (s->work.empty() || !s->work.front().ready()) return false;
    const auto run = std::move(s->work.front().run);
    s->work.pop_front();
    run();
    return true;
  }
  void run_some() {
    const std::size_t drawn = random() % (streams_.size() + 1);
    run_one(drawn == 0 ? &default_ : streams_[drawn - 1]);
  }
  template <class Done>
  void run_until(Done done, bool or_all = false) {
    while (!done()) {
      bool any = run_one(&default_);
      for (std::size_t i = 0; i < streams_.size() && !done(); ++i) any = run_one(streams_[i]) || any;
      if (!any && !done()) {
        if (!or_all) misuse.emplace_back("a wait for what never comes");
        return;
      }
    }
  }

  std::map<void*, block> blocks_;
  stream default_;
  std::vector<stream*> streams_;
  std::vector<event*> events_;
  std::vector<graph*> graphs_;
};
