// Whole plans on a GPU: kernels, products, movements; run, run again, and replayed as one captured graph.
#include <catch2/catch.hpp>
#include <vector>

#include "napkin/cuda/executor.hpp"
#include "napkin/cuda/memory.hpp"
#include "napkin/cuda/transfer.hpp"
#include "support/device_graphs.hpp"
#include "support/device_here.hpp"
#include "support/device_kernels.hpp"
#include "support/device_run.hpp"
#include "support/skip.hpp"

namespace nk = napkin;
namespace on_cuda = napkin::on_cuda;
using nk::testing::raw_bytes;

TEST_CASE("a plan gives on the device what it gives on the CPU, the same bits each time") {
  if (const std::string reason = nk::testing::why_no_device(); !reason.empty()) SKIP(reason);
  on_cuda::cuda_calls& calls = on_cuda::cuda_runtime();
  const on_cuda::stream on(calls);
  const on_cuda::blas_library blas(on_cuda::cublas_lt());
  on_cuda::blas_choices choices;
  const auto kernels = nk::testing::device_kernels();
  std::size_t next = 0;
  nk::testing::for_each_device_graph([&]<class Make>(std::type_identity<Make>, double tolerance) {
    using plan = on_cuda::frozen_plan<Make>;
    INFO("graph " << next);
    const nk::testing::device_case<Make> c;
    const on_cuda::device_memory arena(calls, plan::value.peak + 256);
    std::vector<on_cuda::device_memory> held;
    std::vector<const void*> from;
    std::vector<void*> to;
    for (const raw_bytes& x : c.inputs) {
      held.emplace_back(calls, x.size() + 256);
      on_cuda::copy_to_device(on, held.back().data(), x);
      from.push_back(held.back().data());
    }
    std::vector<raw_bytes> given = c.outputs();
    for (const raw_bytes& x : given) {
      held.emplace_back(calls, x.size() + 256);
      to.push_back(held.back().data());
    }
    const on_cuda::device_memory fault(calls, sizeof(on_cuda::index_fault));
    on_cuda::fill_with_zeros(on, fault.data(), fault.size());
    on_cuda::executor run(plan::view(), kernels[next++], arena.data(),
                          reinterpret_cast<on_cuda::index_fault*>(fault.data()), blas, choices);
    run.bind(from, to);
    const auto fetch = [&] {
      std::vector<raw_bytes> out = c.outputs();
      for (std::size_t o = 0; o < out.size(); ++o) on_cuda::copy_to_host(on, out[o], to[o]);
      return out;
    };
    run.run(on);
    given = fetch();
    c.check(given, tolerance);
    run.run(on);
    CHECK(fetch() == given);
    run.replay(on);
    CHECK(fetch() == given);
    run.replay(on);
    CHECK(fetch() == given);
  });
}
