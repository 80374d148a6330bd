// A frozen plan on a device: run, run again, and replayed as one captured graph, in its order and in any that
// its data allow, early too, to the same bits.
//
// NAPKIN_CHECKED_BY names what makes a kernel take many times as long, so that fewer runs are enough:
//
//   racecheck  one: races in shared memory are those of any run
//   emulator   of plans with attention the first, and the graph that starts early, which is two more: an
//              emulated kernel gives the same bits however it is launched, and all plans without attention are
//              launched in every way
#pragma once

#include <catch2/catch.hpp>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "napkin/cuda/executor.hpp"
#include "napkin/cuda/memory.hpp"
#include "napkin/cuda/transfer.hpp"
#include "support/run_plan.hpp"

namespace napkin::testing {

class device_runner {
 public:
  /// `check` is given what the first run gave. given: room for the outputs.
  template <class Check>
  void run(const on_cuda::plan_view& plan, const on_cuda::kernel_entry* kernels,
           const std::vector<raw_bytes>& inputs, std::vector<raw_bytes> given, Check&& check) {
    const on_cuda::device_memory arena(calls_, plan.peak + 256);
    std::vector<on_cuda::device_memory> held;
    std::vector<const void*> from;
    std::vector<void*> to;
    for (const raw_bytes& x : inputs) {
      held.emplace_back(calls_, x.size() + 256);
      on_cuda::copy_to_device(on_, held.back().data(), x);
      from.push_back(held.back().data());
    }
    for (const raw_bytes& x : given) {
      held.emplace_back(calls_, x.size() + 256);
      to.push_back(held.back().data());
    }
    const on_cuda::device_memory fault(calls_, sizeof(on_cuda::index_fault));
    on_cuda::fill_with_zeros(on_, fault.data(), fault.size());
    on_cuda::executor run(plan, kernels, arena.data(), reinterpret_cast<on_cuda::index_fault*>(fault.data()),
                          blas_, choices_);
    run.bind(from, to);
    const auto fetch = [&] {
      std::vector<raw_bytes> out = given;
      for (std::size_t o = 0; o < out.size(); ++o) on_cuda::copy_to_host(on_, out[o], to[o]);
      return out;
    };
    run.run(on_);
    given = fetch();
    check(given);
    if (is_checked_by("racecheck")) return;
    if (!is_checked_by("emulator") || plan.count.attentions == 0) {
      run.run(on_);
      CHECK(fetch() == given);
      run.replay(on_);
      CHECK(fetch() == given);
      run.replay(on_);
      CHECK(fetch() == given);
      const on_cuda::captured_graph by_data(on_, [&] {
        on_cuda::fill_with_zeros(on_, fault.data(), fault.size());
        run.put_by_data(on_);
      });
      by_data.launch(on_);
      CHECK(fetch() == given);
    }
    if (!on_cuda::can_start_early(calls_)) return;
    const on_cuda::captured_graph early(on_, [&] {
      run.run(on_, on_cuda::kernel_start::early);
      run.put_by_data(on_, on_cuda::kernel_start::early);
    });
    early.launch(on_);
    CHECK(fetch() == given);
  }

 private:
  static bool is_checked_by(std::string_view name) {
    const char* tool = std::getenv("NAPKIN_CHECKED_BY");
    return tool != nullptr && tool == name;
  }

  on_cuda::cuda_calls& calls_ = on_cuda::cuda_runtime();
  on_cuda::stream on_{calls_};
  on_cuda::blas_library blas_{on_cuda::cublas_lt()};
  on_cuda::blas_choices choices_;
};

}  // namespace napkin::testing
