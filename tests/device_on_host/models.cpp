// Small models trained on a device that is the host: what tests/gpu/training.cpp asks of a GPU.
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "napkin/train/cuda_trainer.hpp"
#include "support/compare.hpp"
#include "support/counted_nodes.hpp"
#include "support/device_images.hpp"
#include "support/device_run.hpp"
#include "support/device_training.hpp"
#include "support/host_kernels.hpp"
#include "support/precision_training.hpp"

namespace nk = napkin;
namespace on_cuda = napkin::on_cuda;
namespace images = nk::testing::images;
using nk::testing::largest_difference;

namespace {

template <class step>
void compare(const std::function<void(nk::testing::host_device&)>& prepare,
             const std::function<void(const nk::testing::host_device&)>& look,
             on_cuda::blas_fallbacks fallbacks = {}) {
  nk::trainer<step> cpu(nk::seed{5});
  const nk::testing::training expected = nk::testing::train_small(cpu, 20);
  std::vector<nk::testing::training> runs;
  for (const unsigned seed : {1u, 2u}) {
    nk::testing::host_device d;
    d.cuda.random.seed(seed);
    prepare(d);
    on_cuda::session s(d.cuda, d.blas);
    { const nk::trainer<step, nk::cuda> first(nk::seed{6}, {}, s); }  // times products, once in a session
    d.blas.epilogues.clear();
    nk::trainer<step, nk::cuda> t(nk::seed{5}, {}, s);
    runs.push_back(nk::testing::train_small(t, 20));
    CHECK(d.cuda.misuse.empty());
    CHECK(t.fallbacks() == fallbacks);
    look(d);
  }
  CHECK(expected.losses.back() < expected.losses.front());
  CHECK(largest_difference(runs[0].losses, expected.losses) <= 1e-4);
  CHECK(largest_difference(runs[0].norms, expected.norms) <= 1e-3);
  CHECK(runs[0].losses == runs[1].losses);
  CHECK(runs[0].values == runs[1].values);
}

template <class step>
std::size_t products_with_epilogues() {
  const auto plan = nk::detail::step_on<step, nk::cuda>::gradient_plan::view();
  std::size_t n = 0;
  for (std::size_t i = 0; i < plan.count.contractions; ++i) {
    const on_cuda::product& p = plan.products[plan.contractions[i].product];
    n += on_cuda::epilogue_of(p.follows, p.gemm.swapped) != on_cuda::blas_epilogue::none;
  }
  return n;
}

}  // namespace

namespace {

template <class Plan>
struct graph_of;
template <class Target, class Make, nk::planning::plan_options Options>
struct graph_of<nk::planning::frozen_plan<Target, Make, Options>> {
  using type = Make;
};

/// A plan of the CPU's, by its compiled kernels, of any numbers, all of them finite; what is not in the
/// memory of an instruction fails, and what it reads of nobody's memory is NaN.
template <class Plan>
void watch_on_cpu(std::size_t& instructions) {
  const auto c = std::make_unique<nk::testing::device_case<typename graph_of<Plan>::type>>();
  std::vector<nk::testing::raw_bytes> given = c->outputs();
  CHECK_NOTHROW(
      nk::testing::run_plan_watched(Plan::view(), nk::on_cpu::kernels_of<Plan>.data(), c->inputs, given));
  CHECK(given == c->expected);
  instructions += Plan::view().count.instructions;
}
template <class Step>
void watch_step_on_cpu() {
  std::size_t instructions = 0;
  watch_on_cpu<typename Step::gradient_plan>(instructions);
  watch_on_cpu<typename Step::norm_plan>(instructions);
  [&]<std::size_t... Run>(std::index_sequence<Run...>) {
    (watch_on_cpu<typename Step::template update_plan<Run>>(instructions), ...);
  }
  (std::make_index_sequence<Step::update_runs>{});
  CHECK(instructions > 3);
}

}  // namespace

TEST_CASE("each instruction of a CPU's step touches its own memory, and reads what lives") {
  SECTION("llama") { watch_step_on_cpu<nk::testing::llama_step>(); }
  SECTION("gpt") { watch_step_on_cpu<nk::testing::gpt_step>(); }
  SECTION("gpt, in micro-batches") {
    watch_step_on_cpu<
        nk::train_step<nk::nn::gpt<nk::testing::device_config>, nk::adamw, nk::micro_batches<2>>>();
  }
  SECTION("images") { watch_step_on_cpu<images::step>(); }
}

TEST_CASE("each instruction of a trainer's step on the device is watched", "[cuda]") {
  using step = nk::detail::step_on<nk::testing::gpt_step, nk::cuda>;
  std::size_t instructions =
      step::gradient_plan::view().count.instructions + step::norm_plan::view().count.instructions;
  [&]<std::size_t... Run>(std::index_sequence<Run...>) {
    ((instructions += step::template update_plan<Run>::view().count.instructions), ...);
  }
  (std::make_index_sequence<step::update_runs>{});
  nk::testing::host_device d;
  on_cuda::session s(d.cuda, d.blas);
  nk::trainer<nk::testing::gpt_step, nk::cuda> t(nk::seed{5}, {}, s);
  CHECK(d.watch.instructions == instructions);  // once, before it is captured
  nk::testing::train_small(t, 2);
  CHECK(d.watch.instructions == 3 * instructions);
  CHECK(d.cuda.misuse.empty());
}

TEST_CASE("20 steps of a llama on the device are the CPU's to 1e-4", "[cuda]") {
  compare<nk::testing::llama_step>([](auto&) {}, [](auto&) {});
}

TEST_CASE("20 steps of a gpt, products with epilogues, are the CPU's to 1e-4", "[cuda]") {
  using on_cuda::blas_epilogue;
  SECTION("by cuBLASLt") {
    compare<nk::testing::gpt_step>([](auto&) {},
                                   [](const nk::testing::host_device& d) {
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
                                   });
  }
  SECTION("which has none of them") {
    compare<nk::testing::gpt_step>([](nk::testing::host_device& d) { d.blas.has_epilogues = false; },
                                   [](const nk::testing::host_device& d) {
                                     CHECK(d.blas.epilogues.size() == 1);
                                     CHECK(d.blas.epilogues.count(blas_epilogue::none) == 1);
                                   },
                                   {0, products_with_epilogues<nk::testing::gpt_step>()});
  }
}

namespace {
template <class... Policies>
using gpt_step = nk::train_step<nk::nn::gpt<nk::testing::device_config>, nk::adamw, Policies...>;

/// Of a step on the device the gradient's plan, made here, as a program's compiler makes it.
template <class Step>
on_cuda::plan plan_here() {
  using target = on_cuda::target;
  const nk::graph gradients = Step::gradients::make();
  nk::graph lowered = nk::planning::lower_graph<target>(gradients.view(), {}, true);
  if (nk::planning::may_make_again<target>(lowered.view(), {}))
    lowered = nk::planning::make_again<target>(lowered.view(), {});
  return nk::planning::make_unsettled_plan<target>(lowered.view(), {});
}

/// Of these steps on the device: the plan of one batch alone, and of one whose gradients are added up.
template <class... Policies>
void compare_epilogues() {
  const on_cuda::plan alone = plan_here<gpt_step<nk::cuda, Policies...>>(),
                      adding = plan_here<gpt_step<nk::cuda, nk::micro_batches<2>, Policies...>>();
  const nk::planning::epilogue_counts once = nk::planning::epilogues_of(view_of(alone)),
                                      sums = nk::planning::epilogues_of(view_of(adding));
  // the gradients of six matrices in each of two layers; that of the embedding is a product's and a lookup's
  CHECK(sums.added == once.added + 2 * 6);
  CHECK(sums.bias_gradient == once.bias_gradient);
  CHECK(sums.bias == once.bias);
  CHECK(sums.gelu_gradient == once.gelu_gradient);
  // a vector's gradient is added by its kernel, but for those that a product's call sums
  CHECK(adding.kernels.size() == alone.kernels.size() + static_cast<std::size_t>(once.bias_gradient));
}
static_assert(gpt_step<nk::cuda, nk::micro_batches<2>>::memory.gradients ==
              gpt_step<nk::cuda>::memory.gradients);
}  // namespace

TEST_CASE("micro-batches: the call of a weight's gradient adds it to what lies there", "[cuda]") {
  SECTION("f32") { compare_epilogues(); }
  SECTION("bf16") { compare_epilogues<nk::compute_in<nk::bf16>>(); }
}

TEST_CASE("a gpt in micro-batches on the device is the CPU's", "[cuda]") {
  using step = gpt_step<nk::micro_batches<2>>;
  nk::trainer<step> cpu(nk::seed{5});
  nk::testing::host_device d;
  d.blas.has_epilogues = GENERATE(true, false);
  CAPTURE(d.blas.has_epilogues);
  on_cuda::session s(d.cuda, d.blas);
  nk::trainer<step, nk::cuda> t(nk::seed{5}, {}, s);
  const auto tokens_of = [](std::size_t n, std::size_t shift) {
    std::vector<nk::u16> both = nk::testing::tokens_of(step::tokens / 2, 2 * n, shift);
    const std::vector<nk::u16> second = nk::testing::tokens_of(step::tokens / 2, 2 * n + 1, shift);
    both.insert(both.end(), second.begin(), second.end());
    return both;
  };
  for (std::size_t n = 0; n < 10; ++n) {
    const nk::step_result a = cpu.step(3e-3, tokens_of(n, 0), tokens_of(n, 1)),
                          b = t.step(3e-3, tokens_of(n, 0), tokens_of(n, 1));
    CHECK(std::fabs(a.loss - b.loss) <= 1e-4f);
    CHECK(std::fabs(a.norm - b.norm) <= 1e-3);
  }
  CHECK(d.cuda.misuse.empty());
  CHECK(d.blas.written_over > 0);  // sums of gradients
}

TEST_CASE("a GPT in bf16 on the device, attention and all, is the CPU's but for roundings", "[cuda]") {
  namespace precision = nk::testing::precision;
  using step = precision::step<nk::bf16, nk::cuda>;
  static_assert(step::attention == nk::passes::attention_choice{2, 0, nk::passes::attention_fit::fits});
  constexpr int steps = 6;
  nk::trainer<precision::step<nk::bf16>> cpu(nk::seed{5});
  const std::vector<float> expected = precision::losses_of(cpu, steps);
  nk::testing::host_device d;
  on_cuda::session s(d.cuda, d.blas);
  nk::trainer<step> t(nk::seed{5}, {}, s);
  const std::vector<float> losses = precision::losses_of(t, steps);
  const double worst = precision::largest_share(expected, losses);
  CAPTURE(worst);
  CHECK(worst <= 1e-4);
  CHECK(losses.back() < losses.front());
  CHECK(d.cuda.misuse.empty());
}

namespace {
/// As many queries as keys: joined and taken apart by a launch each.
struct of_one_group : nk::testing::narrow_config {
  struct group : nk::dim<"group", 1> {};
};

template <class Model, class... Policies>
using narrow_step = nk::train_step<Model, nk::adamw, nk::compute_in<nk::bf16>, Policies...>;

/// 6 steps of which so many products are part of others, their gradients too.
template <class Model, class... Policies>
void compare_merged(std::size_t fewer) {
  using step = narrow_step<Model, nk::cuda, Policies...>;
  using apart =
      nk::gradient_graph<Model, nk::bf16, nk::attention_as_one<on_cuda::attention_fits>, step::micro_batches>;
  CHECK(nk::testing::products_in(nk::frozen<typename step::gradients>::view()) ==
        nk::testing::products_in(apart::make().view()) - 3 * fewer);
  nk::trainer<narrow_step<Model, Policies...>> cpu(nk::seed{5});
  const std::vector<float> expected = nk::testing::train_small(cpu, 6).losses;
  std::vector<std::vector<float>> runs;
  for (const unsigned seed : {1u, 2u}) {
    nk::testing::host_device d;
    d.cuda.random.seed(seed);
    on_cuda::session s(d.cuda, d.blas);
    nk::trainer<step> t(nk::seed{5}, {}, s);
    runs.push_back(nk::testing::train_small(t, 6).losses);
    CHECK(d.cuda.misuse.empty());
  }
  const double worst = nk::testing::precision::largest_share(expected, runs[0]);
  CAPTURE(worst);
  CHECK(worst <= 1e-3);
  CHECK(runs[0] == runs[1]);
}
}  // namespace

TEST_CASE("models whose products of one operand are made one are the CPU's on the device", "[cuda]") {
  SECTION("queries, keys and values with their biases, in micro-batches") {  // as they are: emulated, in f8
    compare_merged<nk::nn::gpt<nk::testing::narrow_config>, nk::micro_batches<2>>(2 * 2);
  }
  SECTION("queries and keys, a gate and what it lets through") {
    compare_merged<nk::nn::llama<of_one_group>>(2 * 2);
  }
}

TEST_CASE("20 steps of a small convolutional network with dropout on the device are the CPU's", "[cuda]") {
  nk::trainer<images::step> cpu(nk::seed{3});
  const images::training expected = images::train(cpu, 20);
  std::vector<images::training> runs;
  for (const unsigned seed : {1u, 2u}) {
    nk::testing::host_device d;
    d.cuda.random.seed(seed);
    nk::on_cuda::session s(d.cuda, d.blas);
    nk::trainer<images::step, nk::cuda> t(nk::seed{3}, {}, s);
    runs.push_back(images::train(t, 20));
    CHECK(d.cuda.misuse.empty());
  }
  CHECK(expected.losses.back() < 0.9f * expected.losses.front());
  CHECK(largest_difference(runs[0].losses, expected.losses) <= 1e-4);
  CHECK(largest_difference(runs[0].norms, expected.norms) <= 1e-4);
  CHECK(largest_difference(runs[0].values, expected.values) <= 1e-4);
  CHECK(runs[0].losses == runs[1].losses);
  CHECK(runs[0].values == runs[1].values);
}
