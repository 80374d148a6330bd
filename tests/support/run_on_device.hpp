// A frozen plan on a device: run, run again, and replayed as one captured graph, in its order and in any that
// its data allow, early too, to the same bits.
//
// Where runs are checked (support/checked_by.hpp), fewer are enough:
//
//   racecheck  one: races in shared memory are those of any run
//   emulator   in each way once, since there a replay launches what a run does; of plans with attention the
//              first run and the graph that starts early, which is two more: an emulated kernel gives the same
//              bits however it is launched, and all plans without attention are launched in every way
#pragma once

#include <catch2/catch.hpp>
#include <vector>

#include "napkin/cuda/executor.hpp"
#include "napkin/cuda/memory.hpp"
#include "napkin/cuda/transfer.hpp"
#include "support/checked_by.hpp"
#include "support/plan_order.hpp"
#include "support/run_plan.hpp"
#include "support/taken_choices.hpp"

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
    const tensors at(*this, plan, inputs, given, same);
    on_cuda::executor run(plan, kernels, at.arena.data(), at.noted(), blas_, choices_);
    run.bind(at.from, at.to);
    const auto check_again = [&](auto&& way) {
      if (same.count > 0) at.put_inputs(on_);
      way();
      CHECK(at.fetch(on_, given) == given);
    };
    run.run(on_);
    given = at.fetch(on_, given);
    check(given);
    if (is_checked_by("racecheck")) return;
    const bool is_emulated = is_checked_by("emulator");
    if (!is_emulated || plan.count.attentions == 0) {
      if (!is_emulated) {
        check_again([&] { run.run(on_); });
        check_again([&] { run.replay(on_); });
      }
      check_again([&] { run.replay(on_); });
      const on_cuda::captured_graph by_data(on_, [&] {
        on_cuda::fill_with_zeros(on_, at.fault.data(), at.fault.size());
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

  /// One run with products within the kernels that read them, wherever they may be (cuda/taken_product.hpp):
  /// how many are. Sums may be in another order than run()'s.
  template <class Check>
  std::size_t run_with_taken(const on_cuda::plan_view& plan, const on_cuda::kernel_entry* kernels,
                             const std::vector<raw_bytes>& inputs, const std::vector<raw_bytes>& given,
                             Check&& check) {
    bool any = false;
    for (std::size_t k = 0; k < plan.count.kernels; ++k) any = any || kernels[k].take != nullptr;
    if (!any) return 0;
    const tensors at(*this, plan, inputs, given, {});
    on_cuda::blas_choices choices;
    on_cuda::executor run(plan, kernels, at.arena.data(), at.noted(), blas_, choices);
    run.bind(at.from, at.to);
    run.choose_by_time(on_, choices);
    take_all(choices);
    run.choose_by_time(on_, choices);
    if (run.taken_products() > 0) {
      run.run(on_);
      check(at.fetch(on_, given));
    }
    return run.taken_products();
  }

 private:
  /// A plan's tensors on the device, and its arena.
  struct tensors {
    const std::vector<raw_bytes>& inputs;
    on_cuda::device_memory arena, fault;
    std::vector<on_cuda::device_memory> held;
    std::vector<const void*> from;
    std::vector<void*> to;

    tensors(device_runner& r, const on_cuda::plan_view& plan, const std::vector<raw_bytes>& given_inputs,
            const std::vector<raw_bytes>& outputs, in_place same)
        : inputs(given_inputs),
          arena(r.calls_, plan.peak + 256),
          fault(r.calls_, sizeof(on_cuda::index_fault)) {
      for (const raw_bytes& x : inputs) {
        held.emplace_back(r.calls_, x.size() + 256);
        from.push_back(held.back().data());
      }
      put_inputs(r.on_);
      for (std::size_t o = 0; o < outputs.size(); ++o) {
        if (o >= same.first_output && o - same.first_output < same.count) {
          to.push_back(const_cast<void*>(from[same.first_slot + o - same.first_output]));
          continue;
        }
        held.emplace_back(r.calls_, outputs[o].size() + 256);
        to.push_back(held.back().data());
      }
      on_cuda::fill_with_zeros(r.on_, fault.data(), fault.size());
    }
    on_cuda::index_fault* noted() const { return reinterpret_cast<on_cuda::index_fault*>(fault.data()); }
    void put_inputs(const on_cuda::stream& on) const {
      for (std::size_t i = 0; i < inputs.size(); ++i)
        on_cuda::copy_to_device(on, const_cast<void*>(from[i]), inputs[i]);
    }
    std::vector<raw_bytes> fetch(const on_cuda::stream& on, const std::vector<raw_bytes>& like) const {
      std::vector<raw_bytes> out = like;
      for (std::size_t o = 0; o < out.size(); ++o) on_cuda::copy_to_host(on, out[o], to[o]);
      return out;
    }
  };

  on_cuda::cuda_calls& calls_;
  on_cuda::stream on_{calls_};
  on_cuda::blas_library blas_;
  on_cuda::blas_choices choices_;
};

}  // namespace napkin::testing
