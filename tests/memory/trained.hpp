// A step's memory as its constants say, held against what a trainer asks the process for, from its
// construction to its destruction: a difference of 0 bytes. And each arena against the bar. And the arena
// against the least that its buffers need.
#pragma once

#include <catch2/catch.hpp>
#include <tuple>
#include <vector>

#include "arena.hpp"
#include "napkin/cpu/threads.hpp"
#include "napkin/optim/adamw.hpp"
#include "napkin/optim/muon.hpp"
#include "napkin/optim/sgd.hpp"
#include "napkin/train/trainer.hpp"
#include "support/allocations.hpp"

namespace memory_test {

namespace nk = napkin;

inline constexpr std::size_t batch_sizes[] = {1, 2, 4, 7, 16};

/// Data: one container for each input of the loss.
template <class Step, class... Data>
void check(std::size_t batch, const Data&... data) {
  constexpr auto m = Step::memory;
  static_assert(m.peak ==
                m.parameters + m.gradients + m.optimizer_state + m.inputs + m.intermediates + m.tables);
  static_assert(m.staging <= m.inputs && m.workspace <= m.intermediates && m.activations <= m.intermediates);
  CAPTURE(batch, std::string(Step::optimizer::name), Step::micro_batches);
  nk::on_cpu::set_threads(2);  // the process's own, and before

  std::size_t most = 0, left = 0;
  bool overflowed = false, applied = false;
  {
    const allocations::count_here counter;
    {
      nk::trainer<Step> trainer(nk::seed{1});
      applied = trainer.step(1e-3, data...).applied;
    }
    most = allocations::bytes.most;
    left = allocations::bytes.alive;
    overflowed = allocations::bytes.overflowed;
  }
  CHECK(applied);
  CHECK(!overflowed);
  CHECK(left == 0);
  CHECK(most == m.peak);
}

template <class Model, class... Data>
void check_optimizers(std::size_t batch, const Data&... data) {
  check<nk::train_step<Model, nk::sgd>>(batch, data...);
  check<nk::train_step<Model, nk::adamw>>(batch, data...);
  check<nk::train_step<Model, nk::muon>>(batch, data...);
  constexpr auto m = nk::train_step<Model, nk::sgd>::memory;
  CAPTURE(batch, m.intermediates, m.intermediates_lower_bound);
  CHECK(keeps_the_bar<nk::train_step<Model, nk::sgd>>(batch));
}

/// Example<T, Batch>::run() in each batch size.
template <template <class, std::size_t> class Example, class T>
void check_batches() {
  [&]<std::size_t... I>(std::index_sequence<I...>) { (Example<T, batch_sizes[I]>::run(), ...); }
  (std::make_index_sequence<std::size(batch_sizes)>{});
}
/// In each dtype and each batch size; in each of both by test_memory_all, whose compiling takes minutes.
template <template <class, std::size_t> class Example>
void check_all() {
  check_batches<Example, nk::f32>();
#if defined(NAPKIN_TEST_EVERYTHING)
  check_batches<Example, nk::f64>();
  check_batches<Example, nk::bf16>();
#else
  Example<nk::f64, 7>::run();
  Example<nk::bf16, 7>::run();
#endif
}

}  // namespace memory_test
