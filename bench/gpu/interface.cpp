// What a rung's library exports, in C: its cases as JSON, and handles of those that are opened. A function
// that fails says why by bench_error(), of the same thread. Addresses are the device's but where it says
// "host".
#include <map>
#include <memory>
#include <napkin/cuda/transfer.hpp>
#include <nlohmann/json.hpp>

#include "case.hpp"
#include "counted_calls.hpp"

#if defined(NAPKIN_BENCH_ON_HOST)
#include "support/host_device.hpp"
#endif

namespace nk = napkin;
namespace on_cuda = napkin::on_cuda;
using nk::benched::rung_case;

namespace {

#if defined(NAPKIN_BENCH_ON_HOST)
nk::testing::host_device& host() {
  static auto& device = *new nk::testing::host_device;
  return device;
}
on_cuda::cuda_calls& raw_calls() { return host().cuda; }
on_cuda::blas_calls& products() { return host().blas; }
#else
on_cuda::cuda_calls& raw_calls() { return on_cuda::cuda_runtime(); }
on_cuda::blas_calls& products() { return on_cuda::cublas_lt(); }
#endif

nk::benched::counted_calls& calls() {
  static auto& counted = *new nk::benched::counted_calls(raw_calls());
  return counted;
}

thread_local std::string failure;

/// What f gives; `otherwise`, and the reason kept, where it throws.
template <class R, class F>
R guarded(R otherwise, const F& f) {
  try {
    return f();
  } catch (const std::exception& e) {
    failure = e.what();
    return otherwise;
  }
}
template <class F>
int succeeds(const F& f) {
  return guarded(0, [&] {
    f();
    return 1;
  });
}

const std::vector<rung_case>& all_cases() {
  static const std::vector<rung_case> cases = nk::benched::cases();
  return cases;
}

nlohmann::json json_of(const std::vector<nk::benched::array>& arrays) {
  nlohmann::json list = nlohmann::json::array();
  for (const nk::benched::array& a : arrays)
    list.push_back({{"name", a.name}, {"dtype", std::string(nk::name_of(a.type))}, {"sizes", a.sizes}});
  return list;
}

/// One for each stream, as a session keeps the algorithms that it has timed. Never destroyed: at a process's
/// end the driver may be gone before them.
on_cuda::session& session_on(void* stream) {
  static auto& sessions = *new std::map<void*, on_cuda::session>;
  const auto found = sessions.find(stream);
  if (found != sessions.end()) return found->second;
  if (stream == nullptr) return sessions.try_emplace(stream, calls(), products()).first->second;
  return sessions.try_emplace(stream, calls(), products(), static_cast<on_cuda::stream_handle>(stream))
      .first->second;
}

/// When kernels of the steps that are opened from now on begin.
nk::launch_start& start_of_steps() {
  static nk::launch_start start = nk::launch_start::fastest;
  return start;
}

struct opened {
  on_cuda::session* session = nullptr;
  on_cuda::device_memory memory;  // of a plan
  std::unique_ptr<nk::benched::running> plan;
  std::unique_ptr<nk::benched::training> step;
  std::size_t inputs = 0, outputs = 0;
};

}  // namespace

#pragma GCC visibility push(default)  // all else is hidden: libraries of several rungs meet in one process
extern "C" {

/// The cases: a list of objects. Valid until the library is unloaded.
const char* bench_cases() {
  static std::string text;
  return guarded<const char*>(nullptr, [] {
    if (text.empty()) {
      nlohmann::json list = nlohmann::json::array();
      for (const rung_case& c : all_cases())
        list.push_back({{"name", c.name},
                        {"inputs", json_of(c.inputs)},
                        {"outputs", json_of(c.outputs)},
                        {"parameters", json_of(c.parameters)},
                        {"trains", c.train != nullptr},
                        {"memory", c.memory},
                        {"launches", c.cost.launches},
                        {"bytes", c.cost.bytes.total()},
                        {"matmul_flops", c.cost.flops.matmul},
                        {"facts", c.facts}});
      text = list.dump();
    }
    return text.c_str();
  });
}
const char* bench_error() { return failure.c_str(); }

/// When kernels of the steps that are opened from now on begin: "fastest", as a trainer chooses by the clock,
/// "in_turn" or "early".
int bench_start(const char* when) {
  return succeeds([&] {
    const std::string_view said = when;
    using enum nk::launch_start;
    if (said != "fastest" && said != "in_turn" && said != "early")
      throw nk::input_error("bench_start: '" + std::string(said) + "' is none of fastest, in_turn, early");
    start_of_steps() = said == "early" ? early : said == "in_turn" ? in_turn : fastest;
  });
}

/// Opens a case on the caller's stream (on null, on one of its own), and allocates what it takes of the
/// device. Null where it fails.
void* bench_open(std::size_t which, void* stream) {
  return guarded<void*>(nullptr, [&]() -> void* {
    const rung_case& c = all_cases().at(which);
    auto made = std::make_unique<opened>();
    made->session = &session_on(stream);
    made->inputs = c.inputs.size();
    made->outputs = c.outputs.size();
    if (c.train != nullptr) {
      made->step = c.train(*made->session, start_of_steps());
    } else {
      made->memory = on_cuda::device_memory(calls(), c.memory);
      made->plan = c.open(*made->session, made->memory.data());
    }
    made->session->on().synchronize();
    return made.release();
  });
}
void bench_close(void* handle) { delete static_cast<opened*>(handle); }

int bench_bind(void* handle, const void* const* inputs, void* const* outputs) {
  return succeeds([&] {
    opened& o = *static_cast<opened*>(handle);
    o.plan->bind({inputs, o.inputs}, {outputs, o.outputs});
  });
}
/// Puts the plan's calls into the stream.
int bench_run(void* handle) {
  return succeeds([&] { static_cast<opened*>(handle)->plan->run(); });
}
int bench_synchronize(void* handle) {
  return succeeds([&] { static_cast<opened*>(handle)->session->on().synchronize(); });
}

/// Steps on `count` batches in turn, each a host address for every input; `steps` losses, on the host.
int bench_train(void* handle, double rate, const void* const* batches, std::size_t count, float* losses,
                std::size_t steps) {
  return succeeds([&] {
    opened& o = *static_cast<opened*>(handle);
    o.step->step(rate, {batches, count * o.inputs}, {losses, steps});
  });
}
/// What a step costs and how long each of its kernels took, on batches as bench_train takes them: a table,
/// valid until the next call; null where it fails. `device`: as CUDA names it.
const char* bench_account(void* handle, std::size_t which, const char* device, double rate,
                          const void* const* batches, std::size_t count) {
  static std::string text;
  return guarded<const char*>(nullptr, [&] {
    opened& o = *static_cast<opened*>(handle);
    text = o.step->account(all_cases().at(which).name, device, rate, {batches, count * o.inputs});
    return text.c_str();
  });
}
/// How a step's launches are put into one graph, and whether kernels start early there: as text, null where
/// it fails.
const char* bench_order(void* handle) {
  return guarded<const char*>(nullptr, [&] { return static_cast<opened*>(handle)->step->order(); });
}
/// Parameters, to and from the host.
int bench_read(void* handle, float* to) {
  return succeeds([&] { static_cast<opened*>(handle)->step->read(to); });
}
int bench_write(void* handle, const float* from) {
  return succeeds([&] { static_cast<opened*>(handle)->step->write(from); });
}

/// Bytes of the device that this library holds, and those that it held at most, of all cases and of
/// bench_allocate.
std::size_t bench_allocated() { return calls().live(); }
std::size_t bench_allocated_most() { return calls().most(); }

// Memory and a clock, for a program that has none of its own.
void* bench_allocate(std::size_t bytes) {
  return guarded<void*>(nullptr, [&] {
    void* memory = nullptr;
    on_cuda::check(calls(), calls().malloc(memory, bytes), "cudaMalloc",
                   "of " + std::to_string(bytes) + " bytes", std::source_location::current());
    return memory;
  });
}
int bench_free(void* memory) { return calls().free(memory) == 0; }
int bench_copy_from_host(void* handle, void* to, const void* from, std::size_t bytes) {
  return succeeds([&] {
    on_cuda::copy_to_device(static_cast<opened*>(handle)->session->on(), to,
                            {static_cast<const std::byte*>(from), bytes});
  });
}
int bench_copy(void* handle, void* to, const void* from, std::size_t bytes) {
  return succeeds(
      [&] { on_cuda::copy_within_device(static_cast<opened*>(handle)->session->on(), to, from, bytes); });
}
/// A mark in an opened case's stream.
void* bench_mark(void* handle) {
  return guarded<void*>(nullptr, [&]() -> void* {
    auto made = std::make_unique<on_cuda::event>(calls(), true);
    made->record(static_cast<opened*>(handle)->session->on());
    return made.release();
  });
}
/// Milliseconds between two marks, which are given back; below 0 where it fails.
float bench_milliseconds(void* from, void* to) {
  return guarded(-1.0f, [&] {
    const std::unique_ptr<on_cuda::event> first(static_cast<on_cuda::event*>(from)),
        last(static_cast<on_cuda::event*>(to));
    last->synchronize();
    return last->milliseconds_since(*first);
  });
}

}  // extern "C"
#pragma GCC visibility pop
