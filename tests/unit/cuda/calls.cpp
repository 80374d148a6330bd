// The classes over the CUDA runtime, on a fake one: they compute what is asked whatever order the streams run
// in, every call that fails is told, and nothing leaks or is given back twice.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "napkin/cuda/device.hpp"
#include "napkin/cuda/graph_capture.hpp"
#include "napkin/cuda/memory.hpp"
#include "napkin/cuda/stream.hpp"
#include "napkin/cuda/transfer.hpp"
#include "support/ended_process.hpp"
#include "support/fake_cuda.hpp"

namespace nk = napkin;
using namespace nk::on_cuda;

namespace {

constexpr std::size_t batch_bytes = 48;

std::vector<std::byte> batch_of(int i) {
  std::vector<std::byte> b(batch_bytes);
  for (std::size_t j = 0; j < b.size(); ++j) b[j] = static_cast<std::byte>(i * 7 + static_cast<int>(j));
  return b;
}

/// A trainer's life: an arena, a captured step that adds its input's bytes to a sum and takes that twice,
/// beside what else is done then; batches that are copied over while it runs, both copied back. Returns
/// whether they are right.
bool train(fake_cuda& cuda, int batches) {
  facts_of_device(cuda);
  const device_memory arena(cuda, 6 * batch_bytes);
  std::byte* const slots = arena.data();
  std::byte* const input = arena.data() + 2 * batch_bytes;
  std::byte* const sum = arena.data() + 3 * batch_bytes;
  std::byte* const twice = arena.data() + 4 * batch_bytes;
  std::byte* const last = arena.data() + 5 * batch_bytes;
  const stream compute(cuda);
  const event start(cuda, true), end(cuda, true);
  fill_with_zeros(compute, sum, batch_bytes);
  const captured_graph step(compute, [&] {
    cuda.launch(compute.handle(), [=] {
      for (std::size_t i = 0; i < batch_bytes; ++i)
        sum[i] = static_cast<std::byte>(std::to_integer<int>(sum[i]) + std::to_integer<int>(input[i]));
    });
    compute.check_launch("add");
    const capture_point added(compute);
    cuda.launch(compute.handle(), [=] {  // the step has read its input: what comes early would be lost
      for (std::size_t i = 0; i < batch_bytes; ++i) input[i] = std::byte{0xee};
    });
    const capture_point overwritten(compute);
    added.go_on(compute);
    cuda.launch(compute.handle(), [=] {
      for (std::size_t i = 0; i < batch_bytes; ++i) twice[i] = sum[i] << 1;
    });
    const capture_point doubled(compute);
    capture_point::behind(std::array{&overwritten, &doubled, &added}).go_on(compute);
    cuda.launch(compute.handle(), [=] {
      for (std::size_t i = 0; i < batch_bytes; ++i) last[i] = twice[i] ^ input[i];
      std::fill_n(twice, batch_bytes, std::byte{0xcc});
    });
  });

  staging next(cuda, batch_bytes, slots);
  start.record(compute);
  std::vector<std::byte> expected(batch_bytes);
  for (int i = 0; i < batches; ++i) {
    {
      std::vector<std::byte> batch = batch_of(i);
      next.stage(batch);
      for (std::size_t j = 0; j < batch_bytes; ++j)
        expected[j] =
            static_cast<std::byte>(std::to_integer<int>(expected[j]) + std::to_integer<int>(batch[j]));
      std::fill(batch.begin(), batch.end(), std::byte{0xdd});  // it may be changed at once
    }
    if (i == 0) continue;  // two wait from the second on
    next.deliver(compute, input);
    step.launch(compute);
  }
  while (next.waiting() > 0) {
    next.deliver(compute, input);
    step.launch(compute);
  }
  end.record(compute);
  std::vector<std::byte> result(batch_bytes), doubled(batch_bytes);
  copy_to_host(compute, result, sum);
  copy_to_host(compute, doubled, last);
  end.synchronize();
  bool right = end.milliseconds_since(start) > 0 && result == expected;
  for (std::size_t j = 0; j < batch_bytes; ++j)
    right = right && doubled[j] == (expected[j] << 1 ^ std::byte{0xee});
  return right;
}

}  // namespace

TEST_CASE("batches staged while a captured step runs arrive in order, whatever the streams do", "[cuda]") {
  int wrong = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    fake_cuda cuda;
    cuda.random.seed(seed);
    wrong += !train(cuda, 1 + static_cast<int>(seed % 9)) || !cuda.misuse.empty() || cuda.alive() != 0 ||
             !cuda.reports.empty();
  }
  CHECK(wrong == 0);
}

TEST_CASE("what a captured graph does not wait for comes in any order: a missing edge shows", "[cuda]") {
  std::vector<std::string> orders;
  for (const bool waits : {true, false})
    for (unsigned seed = 0; seed < 40; ++seed) {
      fake_cuda cuda;
      cuda.random.seed(seed);
      const stream on(cuda);
      std::string ran;
      const captured_graph graph(on, [&] {
        const capture_point begin(on);
        std::vector<capture_point> ends;
        for (const char name : {'a', 'b', 'c'}) {
          begin.go_on(on);
          cuda.launch(on.handle(), [&ran, name] { ran += name; });
          ends.emplace_back(on);
        }
        std::vector<const capture_point*> before;
        for (const capture_point& p : ends)
          if (waits || &p != &ends[1]) before.push_back(&p);
        capture_point::behind(before).go_on(on);
        cuda.launch(on.handle(), [&ran] { ran += 'd'; });
      });
      graph.launch(on);
      on.synchronize();
      CHECK(ran.size() == 4);
      CHECK(std::max(ran.find('a'), ran.find('c')) < ran.find('d'));
      if (waits) CHECK(ran.find('b') < ran.find('d'));
      if (waits || ran.back() == 'b') orders.push_back(ran);
      CHECK(cuda.misuse.empty());
    }
  std::sort(orders.begin(), orders.end());
  orders.erase(std::unique(orders.begin(), orders.end()), orders.end());
  CHECK(orders.size() == 6 + 2);  // all there are; "acdb" and "cadb"
}

TEST_CASE("of two graphs that do the same the one that is over first is kept", "[cuda]") {
  fake_cuda cuda;
  const stream on(cuda), capturing(cuda);
  std::size_t ran = 0;
  int launched[2] = {};
  const auto way = [&](std::size_t i) {
    return [&, i] { cuda.launch(capturing.handle(), [&, i] { ran = i, ++launched[i]; }); };
  };
  const auto first = way(0), second = way(1);
  const auto keeps_second = [&] {
    std::fill_n(launched, 2, 0);
    captured_graph kept(capturing, first);
    const bool is_second = keep_faster(kept, capturing, second, on);
    const int before = launched[is_second];
    kept.launch(on);
    on.synchronize();
    CHECK(launched[is_second] == before + 1);
    return is_second;
  };
  CHECK(!keeps_second());       // of equal ones the first
  CHECK(launched[1] == 1 + 3);  // long ones once in a round
  float milliseconds[] = {50, 40};
  cuda.elapsed = [&] { return milliseconds[ran]; };
  CHECK(keeps_second());
  milliseconds[1] = 60;
  CHECK(!keeps_second());
  milliseconds[0] = 3, milliseconds[1] = 2;
  CHECK(keeps_second());
  CHECK(launched[0] == 1 + 3 * 8);
  CHECK(cuda.alive() == 2);  // the streams
  CHECK(cuda.misuse.empty());
}

TEST_CASE("a second graph that the device refuses or has no room for is not kept; other failures are told",
          "[cuda]") {
  for (const int code : {invalid_value, out_of_memory, not_supported, illegal_state, capture_unsupported,
                         capture_invalidated, 999}) {
    fake_cuda cuda;
    const stream on(cuda), capturing(cuda);
    int ran[2] = {};
    captured_graph kept(capturing, [&] { cuda.launch(capturing.handle(), [&] { ++ran[0]; }); });
    const auto second = [&] {
      cuda.launch(capturing.handle(), [&] { ++ran[1]; });
      cuda.error_code = code;
      cuda.fail_at = cuda.calls + 2;  // the capture ends, and is instantiated
    };
    if (code == 999)
      CHECK_THROWS_AS(keep_faster(kept, capturing, second, on), cuda_error);
    else
      CHECK(!keep_faster(kept, capturing, second, on));
    CHECK(cuda.failed == "cudaGraphInstantiate");
    kept.launch(on);
    on.synchronize();
    CHECK(ran[0] == 1);
    CHECK(ran[1] == 0);
    CHECK(cuda.misuse.empty());
  }
}

TEST_CASE("a kernel starts early behind kernels, and behind nothing else", "[cuda]") {
  fake_cuda cuda;
  const stream on(cuda);
  const device_memory memory(cuda, 16);
  const auto kernel = [&] { cuda.launch(on.handle(), [] {}); };
  const auto of_library = [&] { cuda.launch_of_library(on.handle(), [] {}); };
  const auto fill = [&] { fill_with_zeros(on, memory.data(), 16); };
  const auto early_edges = [&](nk::function_ref<void()> work) {
    cuda.early = 0;
    const captured_graph graph(on, work);
    graph.launch(on);
    on.synchronize();
    return cuda.early;
  };
  CHECK(early_edges([&] { kernel(), kernel(); }) == 0);
  CHECK(early_edges([&] { put_early(on, kernel); }) == 0);  // there is nothing before it
  CHECK(early_edges([&] { kernel(), put_early(on, kernel), put_early(on, kernel); }) == 2);
  CHECK(early_edges([&] { fill(), put_early(on, kernel); }) == 0);
  CHECK(early_edges([&] { of_library(), put_early(on, kernel), of_library(), kernel(); }) == 1);
  // The first of several; none that was not launched.
  CHECK(early_edges([&] { kernel(), put_early(on, [&] { kernel(), of_library(), fill(); }); }) == 1);
  CHECK(early_edges([&] { kernel(), put_early(on, [] {}), of_library(); }) == 0);
  CHECK(early_edges([&] { kernel(), put_early(on, [] {}), fill(); }) == 0);
  // Behind several, of which one is no kernel.
  CHECK(early_edges([&] {
          const capture_point begin(on);
          fill();
          const capture_point filled(on);
          begin.go_on(on);
          kernel();
          const capture_point ran(on);
          capture_point::behind(std::array{&filled, &ran}).go_on(on);
          put_early(on, kernel);
          const capture_point again(on);
          capture_point::behind(std::array{&again, &ran}).go_on(on);
          put_early(on, kernel);
        }) == 1 + 2);
  CHECK(cuda.misuse.empty());
  early_edges([&] { kernel(), put_early(on, of_library); });
  CHECK(cuda.misuse == std::vector<std::string>{"what does not wait itself starts early"});
}

TEST_CASE("each call fails in turn: the failure is told with its name, nothing leaks", "[cuda]") {
  fake_cuda good;
  REQUIRE(train(good, 4));
  REQUIRE(good.calls > 60);
  for (const char* call : {"cudaGetDeviceProperties",
                           "cudaMalloc",
                           "cudaFree",
                           "cudaMallocHost",
                           "cudaFreeHost",
                           "cudaMemcpyAsync",
                           "cudaMemsetAsync",
                           "cudaStreamCreateWithFlags",
                           "cudaStreamDestroy",
                           "cudaStreamSynchronize",
                           "cudaStreamWaitEvent",
                           "cudaEventCreateWithFlags",
                           "cudaEventDestroy",
                           "cudaEventRecord",
                           "cudaEventSynchronize",
                           "cudaEventElapsedTime",
                           "cudaStreamBeginCapture",
                           "cudaStreamGetCaptureInfo",
                           "cudaStreamUpdateCaptureDependencies",
                           "cudaStreamEndCapture",
                           "cudaGraphInstantiate",
                           "cudaGraphUpload",
                           "cudaGraphLaunch",
                           "cudaGraphDestroy",
                           "cudaGraphExecDestroy",
                           "cudaGetLastError"})
    CHECK(std::count(good.log.begin(), good.log.end(), call) > 0);

  for (int k = 1; k <= good.calls; ++k) {
    fake_cuda cuda;
    cuda.fail_at = k;
    std::string told = "nothing", text;
    try {
      train(cuda, 4);
    } catch (const cuda_error& e) {
      told = e.call();
      text = e.what();
    }
    CAPTURE(k, cuda.failed, told, text, cuda.misuse, cuda.reports);
    const bool in_destructor = told == "nothing";
    CHECK((in_destructor
               ? cuda.reports.size() == 1 && cuda.reports[0] == "napkin: " + cuda.failed +
                                                                    " failed: cudaErrorFake: as the "
                                                                    "test asked"
               : told == cuda.failed && text.find("cudaErrorFake: as the test asked") != text.npos &&
                     text.find("calls.cpp:") != text.npos && cuda.reports.empty()));
    CHECK(cuda.misuse.empty());
    CHECK(cuda.alive() == 0);
  }
}

TEST_CASE("a sticky error ends the process at whichever call it is told, in destructors too", "[cuda]") {
  fake_cuda good;
  REQUIRE(train(good, 2));
  int thrown = 0, given_back = 0;
  for (int k = 1; k <= good.calls; ++k) {
    const nk::testing::ended_process p = nk::testing::in_a_process([k] {
      fake_cuda cuda;
      cuda.fail_at = k;
      cuda.error_code = 700;
      train(cuda, 2);  // what it throws, if it did, is caught: the process would end with 0
    });
    const std::string& call = good.log[static_cast<std::size_t>(k - 1)];
    const bool told = p.said.find("napkin: " + call) == 0, placed = p.said.find("calls.cpp:") != p.said.npos;
    thrown += placed;
    given_back += !placed;
    CAPTURE(k, call, p.said);
    CHECK(p.code == device_exit_code);
    CHECK(told);
    CHECK(p.said.find(" failed") != p.said.npos);
    CHECK(p.said.find(": cudaErrorFake: as the test asked; this or a kernel before it; CUDA cannot be used "
                      "again in this process\n") != p.said.npos);
    CHECK(std::count(p.said.begin(), p.said.end(), '\n') == 1);
  }
  CHECK(thrown > 20);
  CHECK(given_back > 5);
}

TEST_CASE("a sticky error behind one that is not ends the process, too", "[cuda]") {
  /// A kernel has failed, and the next call fails by itself.
  struct : fake_cuda {
    int get_last_error() override { return 719; }
  } cuda;
  for (const bool in_destructor : {false, true}) {
    const nk::testing::ended_process p = nk::testing::in_a_process([&] {
      {
        cuda.fail_at = in_destructor ? 2 : 1;
        cuda.error_code = 2;
        const device_memory memory(cuda, 16);
      }
    });
    CAPTURE(p.said);
    CHECK(p.code == device_exit_code);
    CHECK(p.said.find(in_destructor ? "napkin: cudaFree failed: "
                                    : "napkin: cudaMalloc of 16 bytes failed at") == 0);
  }
}

TEST_CASE("what throws within a capture that is lost ends the process", "[cuda]") {
  const nk::testing::ended_process p = nk::testing::in_a_process([] {
    fake_cuda cuda;
    const stream s(cuda);
    const captured_graph g(s, [&] {
      cuda.error_code = 700;
      cuda.fail_at = cuda.calls + 1;
      throw nk::error("from within");
    });
  });
  CAPTURE(p.said);
  CHECK(p.code == device_exit_code);
  CHECK(p.said.find("napkin: cudaStreamEndCapture failed: ") == 0);
}

TEST_CASE("an error says the call, the object, the place and CUDA's words", "[cuda]") {
  fake_cuda cuda;
  cuda.fail_at = 1;
  cuda.error_code = 2;
  const int line = __LINE__ + 2;
  try {
    const device_memory memory(cuda, 1 << 20);
    FAIL("nothing was thrown");
  } catch (const cuda_error& e) {
    const std::string place = std::string(__FILE__) + ":" + std::to_string(line);
    CHECK(e.what() ==
          "cudaMalloc of 1048576 bytes failed at " + place + ": cudaErrorMemoryAllocation: out of memory");
    CHECK(e.code() == 2);
  }
  CHECK(is_sticky(700));
  CHECK(!is_sticky(2));
}

TEST_CASE("what throws within a capture ends it, and the stream can capture again", "[cuda]") {
  fake_cuda cuda;
  {
    const stream s(cuda);
    CHECK_THROWS_WITH(captured_graph(s, [] { throw nk::error("from within"); }), "from within");
    bool ran = false;
    const captured_graph second(s, [&] { cuda.launch(s.handle(), [&] { ran = true; }); });
    s.synchronize();
    CHECK(!ran);
    second.launch(s);
    s.synchronize();
    CHECK(ran);
  }
  CHECK(cuda.alive() == 0);
  CHECK(cuda.misuse.empty());
}

TEST_CASE("owners move, and the caller's stream stays the caller's", "[cuda]") {
  fake_cuda cuda;
  stream_handle callers = nullptr;
  REQUIRE(cuda.stream_create(callers) == 0);
  {
    device_memory first(cuda, 16), second(cuda, 32);
    CHECK(cuda.bytes_alive() == 48);
    second = std::move(first);
    CHECK(cuda.bytes_alive() == 16);
    const device_memory third(std::move(second)), none(cuda, 0);
    CHECK(none.data() == nullptr);
    const stream borrowed(cuda, callers);
    borrowed.synchronize();
  }
  CHECK(cuda.alive() == 1);
  CHECK(cuda.stream_destroy(callers) == 0);
  CHECK(cuda.alive() == 0);
  CHECK(cuda.misuse.empty());
}

TEST_CASE("staging refuses a third batch, one too large, and a delivery of none", "[cuda]") {
  fake_cuda cuda;
  const device_memory slots(cuda, 32);
  const stream compute(cuda);
  staging next(cuda, 16, slots.data());
  const std::vector<std::byte> batch(16), large(17);
  CHECK_THROWS_WITH(next.deliver(compute, slots.data()), Catch::Contains("no batch waits"));
  CHECK_THROWS_WITH(next.stage(large), Catch::Contains("17 bytes, but there is room for 16"));
  next.stage(batch);
  next.stage(batch);
  CHECK_THROWS_WITH(next.stage(batch), Catch::Contains("two batches wait"));
  CHECK(next.waiting() == 2);
}

TEST_CASE("the machine's own CUDA: a GPU, or words that say why not", "[cuda]") {
  std::string said;
  try {
    said = facts_of_device(cuda_runtime()).name;
  } catch (const nk::error& e) {
    said = e.what();
  }
  CAPTURE(said);
  CHECK(said.size() > 3);
  CHECK(said.find("(null)") == std::string::npos);
}
