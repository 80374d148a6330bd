// A sticky error ends the process at every door: whatever the program had on the device, and though it
// catches all that is thrown, it comes to no line behind the call, and writes nothing.
#include <catch2/catch.hpp>
#include <filesystem>
#include <functional>
#include <string>

#include "lookup.hpp"
#include "napkin/cuda/gradient.hpp"
#include "napkin/cuda/tensor.hpp"
#include "napkin/napkin.hpp"
#include "napkin/train/cuda_trainer.hpp"
#include "support/device_graphs.hpp"
#include "support/ended_process.hpp"
#include "support/host_kernels.hpp"
#include "support/temporary_folder.hpp"

namespace nk = napkin;
namespace on_cuda = napkin::on_cuda;
using lookup_test::data;
using lookup_test::data_of;
using lookup_test::lookup;
using nk::testing::host_device;

namespace {

struct batch : nk::dim<"batch", 3> {};
struct seq : nk::dim<"seq", 5> {};
struct key : nk::dim<"key", 4> {};

using step = nk::train_step<lookup, nk::adamw>;
using device_trainer = nk::trainer<step, nk::cuda>;

/// In a process of its own: `work` on a device of which call `fail_at` has the error 700, everything caught;
/// then a trainer of the host is saved at `path`.
nk::testing::ended_process ended(const std::function<void(host_device&)>& work, int fail_at,
                                 const std::string& path) {
  return nk::testing::in_a_process([&] {
    {
      host_device d;
      d.cuda.error_code = 700;
      d.cuda.fail_at = fail_at;
      try {
        work(d);
      } catch (...) {
      }
    }
    const nk::trainer<step> cpu(nk::seed{1});
    nk::save_checkpoint(nk::posix_file_system(), path, cpu, {1, 1});
  });
}

/// At each call that `work` makes from `first` on.
void check_each_call(const std::function<void(host_device&)>& work, int first = 1) {
  const temporary_folder folder;
  const std::string path = folder / "checkpoint.safetensors";
  host_device good;
  work(good);
  const int calls = good.cuda.calls;
  REQUIRE(calls - first > 3);
  int others = 0;
  for (int k = first; k <= calls; ++k) {
    const std::string& call = good.cuda.log[static_cast<std::size_t>(k - 1)];
    const nk::testing::ended_process p = ended(work, k, path);
    const bool as_told = p.code == on_cuda::device_exit_code && p.said.find("napkin: ") == 0 &&
                         p.said.find("CUDA cannot be used again in this process\n") != p.said.npos;
    // Where cuBLASLt has its own words, or none, the next call of CUDA's says it.
    const bool named = p.said.find(call) != p.said.npos || call.rfind("cublas", 0) == 0;
    if (as_told && named && !std::filesystem::exists(path)) continue;
    CAPTURE(k, call, p.code, p.said);
    CHECK(as_told);
    CHECK(named);
    CHECK(!std::filesystem::exists(path));
    ++others;
  }
  CHECK(others == 0);
}

void use_tensors(host_device& d) {
  on_cuda::session s(d.cuda, d.blas);
  const on_cuda::in_session here(s);
  const auto a = nk::to_cuda(nk::randn<nk::f32, batch, seq>(nk::seed{1}));
  const auto b = nk::to_cuda(nk::randn<nk::f32, batch, key>(nk::seed{2}));
  const nk::cuda::tensor c = nk::einsum<"batch seq, batch key -> seq key">(a, b) + 1;
  const nk::cuda::tensor slope = nk::grad([](auto x) { return nk::sum(x * x); })(c);
  (void)nk::to_host(slope);
}

void train(host_device& d) {
  on_cuda::session s(d.cuda, d.blas);
  device_trainer t(nk::seed{1}, {}, s);
  const data x = data_of(0);
  t.step(0.02, x.tokens, x.wanted);
  t.evaluate(x.tokens, x.wanted);
  t.fetch();
}

}  // namespace

TEST_CASE("without an error, what follows the device's work is reached and writes", "[cuda]") {
  const temporary_folder folder;
  const std::string path = folder / "checkpoint.safetensors";
  const nk::testing::ended_process p = ended(use_tensors, 0, path);
  CAPTURE(p.said);
  CHECK(p.code == 0);
  CHECK(std::filesystem::exists(path));
}

TEST_CASE("a sticky error at any call of tensors and expressions ends the process", "[cuda]") {
  check_each_call(use_tensors);
}

TEST_CASE("a sticky error at any call of a trainer's life ends the process", "[cuda]") {
  check_each_call(train);
}

TEST_CASE("a sticky error at any call of an executor of its own ends the process", "[cuda]") {
  using plan = on_cuda::frozen_plan<nk::testing::made_by<&nk::testing::softmaxed<70, 33>>>;
  check_each_call([](host_device& d) {
    const on_cuda::stream on(d.cuda);
    const on_cuda::blas_library blas(d.blas);
    on_cuda::blas_choices choices;
    const on_cuda::device_memory memory(d.cuda, plan::value.peak + 256), x(d.cuda, 70 * 33 * 4),
        y(d.cuda, 70 * 33 * 4), most(d.cuda, 70 * 4);
    on_cuda::fill_with_zeros(on, x.data(), x.size());
    on_cuda::executor run(plan::view(), on_cuda::compiled_kernels<plan>::table(), memory.data(), nullptr,
                          blas, choices);
    const void* const from[] = {x.data()};
    void* const to[] = {y.data(), most.data()};
    run.bind(from, to);
    run.choose_by_time(on, choices);
    run.run(on);
    run.replay(on);
    on.synchronize();
  });
}

TEST_CASE("a device that is lost ends the process before a checkpoint is touched", "[cuda]") {
  const temporary_folder folder;
  const std::string path = folder / "checkpoint.safetensors";
  const nk::testing::ended_process p = nk::testing::in_a_process([&] {
    host_device d;
    on_cuda::session s(d.cuda, d.blas);
    device_trainer t(nk::seed{1}, {}, s);
    const data x = data_of(0);
    t.step(0.02, x.tokens, x.wanted);
    d.cuda.error_code = 700;  // an illegal address: of the step, seen when the memory is copied
    d.cuda.fail_at = d.cuda.calls + 1;
    try {
      nk::save_checkpoint(nk::posix_file_system(), path, t, {1, 1});
    } catch (...) {
    }
    nk::save_checkpoint(nk::posix_file_system(), path, nk::trainer<step>(nk::seed{1}), {1, 1});
  });
  CAPTURE(p.said);
  CHECK(p.code == on_cuda::device_exit_code);
  CHECK(!std::filesystem::exists(path));
}
