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
#include "support/plan_order.hpp"
#include "support/run_plan.hpp"

namespace napkin::testing {

class device_runner {
 public:
  explicit device_runner(on_cuda::cuda_calls& calls = on_cuda::cuda_runtime(),
                         on_cuda::blas_calls& products = on_cuda::cublas_lt())
      : calls_(calls), blas_(products) {}

  /// `check` is given what the first run gave. given: room for the outputs; those of `same` lie where inputs
  /// do.
  template <class Check>
  void run(const on_cuda::plan_view& plan, const on_cuda::kernel_entry* kernels,
           const std::vector<raw_bytes>& inputs, std::vector<raw_bytes> given, Check&& check,
           in_place same = {}) {
    const on_cuda::device_memory arena(calls_, plan.peak + 256);
    std::vector<on_cuda::device_memory> held;
    std::vector<const void*> from;
    std::vector<void*> to;
    for (const raw_bytes& x : inputs) {
      held.emplace_back(calls_, x.size() + 256);
      from.push_back(held.back().data());
    }
    const auto put_inputs = [&] {
      for (std::size_t i = 0; i < inputs.size(); ++i)
        on_cuda::copy_to_device(on_, const_cast<void*>(from[i]), inputs[i]);
    };
    put_inputs();
    for (std::size_t o = 0; o < given.size(); ++o) {
      if (o >= same.first_output && o - same.first_output < same.count) {
        to.push_back(const_cast<void*>(from[same.first_slot + o - same.first_output]));
        continue;
      }
      held.emplace_back(calls_, given[o].size() + 256);
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
    const auto check_again = [&](auto&& way) {
      if (same.count > 0) put_inputs();
      way();
      CHECK(fetch() == given);
    };
    run.run(on_);
    given = fetch();
    check(given);
    if (is_checked_by("racecheck")) return;
    if (!is_checked_by("emulator") || plan.count.attentions == 0) {
      check_again([&] { run.run(on_); });
      check_again([&] { run.replay(on_); });
      check_again([&] { run.replay(on_); });
      const on_cuda::captured_graph by_data(on_, [&] {
        on_cuda::fill_with_zeros(on_, fault.data(), fault.size());
        run.put_by_data(on_);
      });
      check_again([&] { by_data.launch(on_); });
    }
    if (!on_cuda::can_start_early(calls_)) return;
    const on_cuda::captured_graph early(on_, [&] {
      if (same.count == 0) run.run(on_, on_cuda::kernel_start::early);
      run.put_by_data(on_, on_cuda::kernel_start::early);
    });
    check_again([&] { early.launch(on_); });
  }

 private:
  static bool is_checked_by(std::string_view name) {
    const char* tool = std::getenv("NAPKIN_CHECKED_BY");
    return tool != nullptr && tool == name;
  }

  on_cuda::cuda_calls& calls_;
  on_cuda::stream on_{calls_};
  on_cuda::blas_library blas_;
  on_cuda::blas_choices choices_;
};

}  // namespace napkin::testing
