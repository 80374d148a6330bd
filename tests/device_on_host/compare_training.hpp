// A step's training on a device that is the host, twice, and beside what the CPU made of it.
#pragma once

#include <catch2/catch.hpp>
#include <functional>
#include <type_traits>
#include <vector>

#include "napkin/train/cuda_trainer.hpp"
#include "support/compare.hpp"
#include "support/host_kernels.hpp"

namespace napkin::testing {

/// What is done to a device before it trains, and asked of it and its trainer behind.
struct device_checks {
  std::function<void(host_device&)> prepare = [](host_device&) {};
  std::function<void(const host_device&)> look = [](const host_device&) {};
  on_cuda::blas_fallbacks fallbacks{};
  std::size_t epilogues_apart = 0, small_products = 0;
};

/// train(trainer) gives losses, norms and values: of two runs, whose streams come to their work in other
/// orders, the same. In the first, which is watched, a step's launches follow one another, in the second they
/// wait for their data alone, kernels start early, and products write to their workspace. Returns the
/// first's.
template <class Step, class Train>
auto train_twice(seed from, Train train, const device_checks& checks = {}) {
  std::vector<std::invoke_result_t<Train, trainer<Step, cuda>&>> runs;
  for (const launch_order order : {launch_order::in_order, launch_order::by_data}) {
    const launch_start start = order == launch_order::in_order ? launch_start::in_turn : launch_start::early;
    host_device d;
    d.cuda.random.seed(static_cast<unsigned>(order));
    if (order == launch_order::by_data)
      for (on_cuda::blas_algorithm& a : d.blas.algorithms) a.workspace = 256;  // as every product has
    checks.prepare(d);
    on_cuda::session s(d.cuda, d.blas);
    const trainer_options<typename Step::optimizer> options{.order = order, .start = start};
    { const trainer<Step, cuda> first(seed{6}, options, s); }  // times products, once in a session
    d.blas.epilogues.clear();
    trainer<Step, cuda> t(from, options, s);
    CHECK(t.order() == order);
    CHECK(t.start() == start);
    CHECK((d.cuda.early > 0) == (start == launch_start::early));
    runs.push_back(train(t));
    CHECK(d.cuda.misuse.empty());
    CHECK(t.fallbacks() == checks.fallbacks);
    CHECK(t.epilogues_apart() == checks.epilogues_apart);
    CHECK(t.small_products() == checks.small_products);
    checks.look(d);
  }
  CHECK(runs[0].losses == runs[1].losses);
  CHECK(runs[0].values == runs[1].values);
  return runs[0];
}

/// Beside `expected`, the CPU's: losses are near to 1e-4, norms to `of_norms`.
template <class Step, class Training, class Train>
Training compare_with_cpu(const Training& expected, seed from, double of_norms, Train train,
                          const device_checks& checks = {}) {
  const Training given = train_twice<Step>(from, train, checks);
  CHECK(expected.losses.back() < expected.losses.front());
  CHECK(largest_difference(given.losses, expected.losses) <= 1e-4);
  CHECK(largest_difference(given.norms, expected.norms) <= of_norms);
  return given;
}

}  // namespace napkin::testing
