// A small GPT trained on a device that is the host: its instructions watched, its products with epilogues and without,
// in micro-batches.
#include <catch2/catch.hpp>
#include <vector>

#include "device_on_host/compare_training.hpp"
#include "napkin/cuda/small_product.hpp"
#include "support/device_training.hpp"
#include "support/planned.hpp"

namespace nk = napkin;
namespace on_cuda = napkin::on_cuda;
using nk::testing::gpt_step_in_two;
using device_gpt_step = nk::detail::step_on<nk::testing::gpt_step, nk::cuda>;

namespace {

void compare(const nk::testing::device_checks& checks) {
  nk::testing::compare_with_cpu<nk::testing::gpt_step>(
      nk::testing::train_gpt_on_cpu(20), nk::seed{5}, 1e-3,
      [](auto& trainer) { return nk::testing::train_small(trainer, 20); }, checks);
}

std::size_t products_with_epilogues() {
  const auto plan = device_gpt_step::gradient_plan::view();
  std::size_t n = 0;
  for (std::size_t i = 0; i < plan.count.contractions; ++i) {
    const on_cuda::product& p = plan.products[plan.contractions[i].product];
    n += on_cuda::epilogue_of(p.follows, p.gemm.swapped) != on_cuda::blas_epilogue::none;
  }
  return n;
}

/// f(product) for each of the plan's that is a small one.
void for_small_products(auto f) {
  const auto plan = device_gpt_step::gradient_plan::view();
  for (std::size_t i = 0; i < plan.count.contractions; ++i)
    if (const on_cuda::product& p = plan.products[plan.contractions[i].product];
        on_cuda::small_product_of(p, 16).m > 0)
      f(p);
}
std::size_t small_products() {
  std::size_t n = 0;
  for_small_products([&](const on_cuda::product&) { ++n; });
  return n;
}
std::size_t small_products_with_sums() {
  std::size_t n = 0;
  for_small_products([&](const on_cuda::product& p) { n += p.follows.sums != nk::passes::summed::none; });
  return n;
}

}  // namespace

TEST_CASE("each instruction of a trainer's step on the device is watched", "[cuda]") {
  using step = device_gpt_step;
  std::size_t instructions =
      step::gradient_plan::view().count.instructions + step::norm_plan::view().count.instructions;
  [&]<std::size_t... Run>(std::index_sequence<Run...>) {
    ((instructions += step::template update_plan<Run>::view().count.instructions), ...);
  }
  (std::make_index_sequence<step::update_runs>{});
  nk::testing::host_device d;
  on_cuda::session s(d.cuda, d.blas);
  nk::trainer<nk::testing::gpt_step, nk::cuda> t(
      nk::seed{5}, {.order = nk::launch_order::in_order, .start = nk::launch_start::in_turn}, s);
  CHECK(d.watch.instructions == instructions);  // once, before it is captured
  nk::testing::train_small(t, 2);
  CHECK(d.watch.instructions == 3 * instructions);
  CHECK(d.cuda.misuse.empty());
}

TEST_CASE("20 steps of a gpt, products with epilogues, are the CPU's to 1e-4", "[cuda]") {
  using on_cuda::blas_epilogue;
  SECTION("by cuBLASLt") {
    compare({.look = [](const nk::testing::host_device& d) {
      const auto ran = [&](blas_epilogue e) { return d.blas.epilogues.at(e); };
      // of two layers, in so many calls as were captured
      const int forward = ran(blas_epilogue::gelu_saved_bias),
                backward = ran(blas_epilogue::gelu_gradient_bias);
      CHECK(forward > 0);
      CHECK(backward > 0);
      CHECK(2 * ran(blas_epilogue::bias) == (2 * 5 - 1) * forward);
      CHECK(ran(blas_epilogue::bias_gradient_a) == 3 * backward);
      // what a residual is added to is kept: norms are made again of it
      CHECK(d.blas.written_over == 0);
    }});
  }
  SECTION("which has none of them") {
    compare({.prepare = [](nk::testing::host_device& d) { d.blas.has_epilogues = false; },
             .look =
                 [](const nk::testing::host_device& d) {
                   CHECK(d.blas.epilogues.size() == 1);
                   CHECK(d.blas.epilogues.count(blas_epilogue::none) == 1);
                 },
             .fallbacks = {0, products_with_epilogues()}});
  }
  // of two layers, whose GELU's gradient can be left to the call without its sums
  SECTION("by kernels behind the call, which the clock prefers") {
    compare({.prepare =
                 [](nk::testing::host_device& d) {
                   d.cuda.elapsed = [&d] { return d.blas.last == blas_epilogue::none ? 20.0f : 30.0f; };
                 },
             .look =
                 [](const nk::testing::host_device& d) {
                   CHECK(d.blas.epilogues.size() == 1);
                   CHECK(d.blas.epilogues.count(blas_epilogue::none) == 1);
                 },
             .epilogues_apart = products_with_epilogues()});
  }
  SECTION("by our own kernel for small products, which the clock prefers, but for sums") {
    REQUIRE(small_products() > 20);
    REQUIRE(small_products_with_sums() > 4);
    compare({.prepare =
                 [](nk::testing::host_device& d) {
                   d.cuda.elapsed = [before = nk::testing::small_products_run]() mutable {
                     const std::size_t now = nk::testing::small_products_run;
                     return std::exchange(before, now) != now ? 20.0f : 30.0f;
                   };
                 },
             .epilogues_apart = small_products_with_sums(),
             .small_products = small_products()});
  }
  SECTION("by the call, but for sums of its result") {
    compare({.prepare =
                 [](nk::testing::host_device& d) {
                   d.cuda.elapsed = [&d] {
                     const bool sums = d.blas.last == blas_epilogue::gelu_gradient_bias;
                     return sums || d.blas.last == blas_epilogue::none ? 30.0f : 20.0f;
                   };
                 },
             .look =
                 [](const nk::testing::host_device& d) {
                   CHECK(d.blas.epilogues.count(blas_epilogue::gelu_gradient) == 1);
                   CHECK(d.blas.epilogues.count(blas_epilogue::gelu_gradient_bias) == 0);
                   CHECK(d.blas.epilogues.count(blas_epilogue::bias_gradient_a) == 1);
                 },
             .epilogues_apart = 2});
  }
}

namespace {

template <class... Policies>
using gpt_step_with =
    nk::train_step<nk::nn::gpt<nk::testing::device_config>, nk::adamw, nk::cuda, Policies...>;
static_assert(gpt_step_with<nk::micro_batches<2>>::memory.gradients == gpt_step_with<>::memory.gradients);

template <class Step>
on_cuda::plan planned_gradients() {
  const nk::graph lowered = nk::testing::lowered_step(nk::frozen<typename Step::gradients>::view());
  return nk::testing::planned_unsettled<on_cuda::target>(lowered.view());
}

/// Gradients' plans: of one batch alone, and of one whose gradients are added up.
void compare_epilogues(const on_cuda::plan_view& alone, const on_cuda::plan_view& adding) {
  const nk::planning::epilogue_counts once = nk::planning::epilogues_of(alone),
                                      sums = nk::planning::epilogues_of(adding);
  // the gradients of six matrices in each of two layers; that of the embedding is a product's and a lookup's
  CHECK(sums.added == once.added + 2 * 6);
  CHECK(sums.bias_gradient == once.bias_gradient);
  CHECK(sums.bias == once.bias);
  CHECK(sums.gelu_gradient == once.gelu_gradient);
  // a vector's gradient is added by its kernel, but for those that a product's call sums
  CHECK(adding.count.kernels == alone.count.kernels + static_cast<std::size_t>(once.bias_gradient));
}

}  // namespace

TEST_CASE("micro-batches: the call of a weight's gradient adds it to what lies there", "[cuda]") {
  SECTION("f32") {
    compare_epilogues(gpt_step_with<>::gradient_plan::view(),
                      gpt_step_with<nk::micro_batches<2>>::gradient_plan::view());
  }
  SECTION("bf16") {
    const on_cuda::plan
        alone = planned_gradients<gpt_step_with<nk::compute_in<nk::bf16>>>(),
        adding = planned_gradients<gpt_step_with<nk::micro_batches<2>, nk::compute_in<nk::bf16>>>();
    compare_epilogues(view_of(alone), view_of(adding));
  }
}

TEST_CASE("a gpt in micro-batches on the device is the CPU's", "[cuda]") {
  const nk::testing::training expected = nk::testing::train_gpt_in_two_on_cpu(10);
  nk::testing::host_device d;
  d.blas.has_epilogues = GENERATE(true, false);
  const auto order = d.blas.has_epilogues ? nk::launch_order::by_data : nk::launch_order::in_order;
  CAPTURE(d.blas.has_epilogues);
  on_cuda::session s(d.cuda, d.blas);
  nk::trainer<gpt_step_in_two, nk::cuda> t(nk::seed{5}, {.order = order}, s);
  const nk::testing::training given = nk::testing::train_small(t, 10);
  CHECK(nk::testing::largest_difference(given.losses, expected.losses) <= 1e-4);
  CHECK(nk::testing::largest_difference(given.norms, expected.norms) <= 1e-3);
  CHECK(d.cuda.misuse.empty());
  CHECK(d.blas.written_over > 0);  // sums of gradients
}
