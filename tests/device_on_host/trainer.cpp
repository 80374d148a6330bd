// A trainer on the device: the CPU's numbers, from one allocation, whatever the streams do and whichever call
// fails.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "lookup_training.hpp"
#include "napkin/napkin.hpp"
#include "support/compare.hpp"
#include "support/host_kernels.hpp"
#include "support/temporary_folder.hpp"
#include "support/trained_numbers.hpp"

namespace nk = napkin;
namespace on_cuda = napkin::on_cuda;
using lookup_test::cuda_step;
using lookup_test::data;
using lookup_test::data_of;
using lookup_test::lookup;
using lookup_test::rate_of;
using lookup_test::step;
using lookup_test::train;
using lookup_test::trainer;
using machine = nk::testing::device_with_session;
using nk::testing::everything_of;
using nk::testing::largest_difference;
using nk::testing::values_of;

namespace {

static_assert(std::is_same_v<trainer::step_type, cuda_step>);
static_assert(cuda_step::cost.flops.matmul == step::cost.flops.matmul);
static_assert(cuda_step::memory.parameters == step::memory.parameters);

// Gradients once for their norm; values, gradients and states once for the update, which writes all but
// gradients; and a few numbers for each row. Of two groups: parameters, and the bias.
template <class Norm, class... Updates>
constexpr std::uint64_t bytes_of() {
  return (nk::planning::cost_of(Updates::view(), Updates::graph()).bytes.total() + ... +
          nk::planning::cost_of(Norm::view(), Norm::graph()).bytes.total());
}
constexpr std::uint64_t bytes_of_update = bytes_of<cuda_step::norm_plan, cuda_step::update_plan<0>>();
static_assert(cuda_step::update_runs == 1 && cuda_step::layout.groups.size() == 2 &&
              cuda_step::layout.length == 2 * nk::flat_block);
static_assert(bytes_of_update >= 32 * cuda_step::layout.length);
static_assert(bytes_of_update < 32 * cuda_step::layout.length + 256);
// A kernel for all, and one that adds rows up: also what the update says of them.
static_assert(cuda_step::update_plan<0>::value.counts.kernels == 1);
static_assert(cuda_step::norm_plan::value.counts.kernels == 2);

}  // namespace

TEST_CASE("a step of which cuBLASLt has no product says so, and is the CPU's all the same", "[cuda]") {
  nk::trainer<step> cpu(nk::seed{4});
  const std::vector<float> expected = train(cpu, 5);
  machine m;
  const std::size_t products = cuda_step::gradient_plan::view().count.contractions;
  REQUIRE(products > 0);
  static_assert(cuda_step::refused_products == 0);
  CHECK(trainer(nk::seed{4}, {}, m.session).fallbacks() == on_cuda::blas_fallbacks{});
  m.blas.algorithms.clear();
  m.session.choices() = {};
  trainer t(nk::seed{4}, {}, m.session);
  CHECK(t.small_products() > 0);
  CHECK(t.fallbacks() == on_cuda::blas_fallbacks{products - t.small_products(), 0});
  CHECK(largest_difference(train(t, 5), expected) <= 1e-4);
  CHECK(m.cuda.misuse.empty());
}

TEST_CASE("20 steps on the device are the CPU's to 1e-4, and their own to the bit", "[cuda]") {
  nk::trainer<step> cpu(nk::seed{4});
  const std::vector<float> expected = train(cpu, 20);
  std::vector<float> first;
  for (const unsigned seed : {1u, 2u, 3u}) {
    machine m(seed);
    trainer t(nk::seed{4}, {}, m.session);
    CHECK(everything_of(t) == everything_of(nk::trainer<step>(nk::seed{4})));
    const std::vector<float> losses = train(t, 20);
    CHECK(largest_difference(losses, expected) <= 1e-4);
    CHECK(losses.back() < losses.front());
    const std::vector<float> all = everything_of(t);
    CHECK(largest_difference(all, everything_of(cpu)) <= 1e-4);
    if (first.empty()) first = all;
    CHECK(all == first);
    CHECK(t.steps() == 20);
    CHECK(m.cuda.misuse.empty());
  }
}

template <>
struct nk::pretrained<lookup> {
  static nk::weight_map map() {
    return {
        .names = {
            {"table", "table.weight", 1}, {"up", "up.weight", 1, true}, {"down", "down"}, {"bias", "bias"}}};
  }
};

TEST_CASE("weights from elsewhere change the parameters on the device and nothing else", "[cuda]") {
  const temporary_folder folder;
  machine m;
  trainer t(nk::seed{4}, {}, m.session), same(nk::seed{4}, {}, m.session);
  train(t, 3);
  nk::save_pretrained(folder / "third", t);  // the host's copies are of step 3 from here on
  train(same, 3);
  const std::vector<float> third = values_of(same);
  train(t, 2);
  train(same, 2);
  nk::load_pretrained(folder / "third", t);
  CHECK(values_of(t) == third);
  same.fetch();
  for (std::size_t i = 0; i < trainer::parameters; ++i) {
    const nk::named_memory value = t.value(i), later = same.value(i);
    CHECK_FALSE(std::equal(value.data, value.data + value.count, later.data));
    for (std::size_t s = 0; s < trainer::step_type::states_of(i); ++s) {
      const nk::named_memory ours = t.state(s, i), expected = same.state(s, i);
      CHECK(std::equal(ours.data, ours.data + ours.count, expected.data));
    }
  }
  CHECK(m.cuda.misuse.empty());
}

namespace {

template <class Step>
void compare_with_cpu(std::size_t micro_batches) {
  nk::trainer<Step> cpu(nk::seed{4});
  machine m;
  nk::trainer<Step, nk::cuda> t(nk::seed{4}, {}, m.session);
  for (std::size_t n = 0; n < 8; ++n) {
    const data d = data_of(n, micro_batches);
    const nk::step_result a = cpu.step(0.01, d.tokens, d.wanted), b = t.step(0.01, d.tokens, d.wanted);
    CHECK(std::fabs(static_cast<double>(a.loss - b.loss)) <= 1e-5);
    CHECK(std::fabs(a.norm - b.norm) <= 1e-5);
  }
  CHECK(largest_difference(everything_of(t), everything_of(cpu)) <= 1e-4);
  const std::vector<float> before = everything_of(t);
  data d = data_of(9, micro_batches);
  d.wanted.back() = std::numeric_limits<float>::infinity();
  CHECK(!t.step(0.01, d.tokens, d.wanted).applied);
  CHECK(everything_of(t) == before);
  if (micro_batches > 1) {
    const auto gradients = [](auto& of) { return of.fetch(), nk::testing::gradients_of(of); };
    d = data_of(9, micro_batches);
    t.step(0, d.tokens, d.wanted);
    const std::vector<float> sums = gradients(t);
    const data one = data_of(10, 1);
    t.evaluate(one.tokens, one.wanted);  // adds nothing
    CHECK(gradients(t) == sums);
  }
  CHECK(m.cuda.misuse.empty());
}

}  // namespace

TEST_CASE("an optimizer of matrices, and steps of several micro-batches, as on the CPU", "[cuda]") {
  SECTION("muon") { compare_with_cpu<nk::train_step<lookup, nk::muon>>(1); }
  SECTION("micro-batches") { compare_with_cpu<nk::train_step<lookup, nk::lion, nk::micro_batches<3>>>(3); }
}

namespace {
template <class Step>
void compare_timed_steps(std::size_t micro_batches) {
  machine m;
  nk::trainer<Step, nk::cuda> plain(nk::seed{4}, {}, m.session), timed(nk::seed{4}, {}, m.session);
  std::vector<double> seconds(decltype(timed)::timed_kernels, -1);
  for (std::size_t n = 0; n < 4; ++n) {
    const data d = data_of(n, micro_batches);
    const nk::step_result a = plain.step(0.01, d.tokens, d.wanted),
                          b = timed.step_timed(seconds, 0.01, d.tokens, d.wanted);
    CHECK(a.loss == b.loss);
    CHECK(a.norm == b.norm);
    for (const double s : seconds) CHECK((s >= 0 && s < 10));
    CHECK(*std::max_element(seconds.begin(), seconds.end()) > 0);
  }
  CHECK(everything_of(timed) == everything_of(plain));
  CHECK(timed.steps() == 4);
  CHECK(m.cuda.misuse.empty());
  const data d = data_of(9, micro_batches);
  seconds.pop_back();
  CHECK_THROWS_WITH(timed.step_timed(seconds, 0.01, d.tokens, d.wanted), Catch::Contains("places for"));
  CHECK(timed.step(0.01, d.tokens, d.wanted).applied);
}
}  // namespace

TEST_CASE("a step whose kernels are timed one by one comes to the same bits", "[cuda]") {
  SECTION("one batch") { compare_timed_steps<step>(1); }
  SECTION("micro-batches") { compare_timed_steps<nk::train_step<lookup, nk::lion, nk::micro_batches<3>>>(3); }
}

TEST_CASE("norm, rate and clipping are the CPU's at each step", "[cuda]") {
  for (const double clip : {0.0, 0.05, 100.0}) {
    nk::trainer<step> cpu(nk::seed{2}, {.clip_norm = clip});
    machine m;
    trainer t(nk::seed{2}, {.clip_norm = clip}, m.session);
    for (std::size_t n = 0; n < 5; ++n) {
      const data d = data_of(n);
      const nk::step_result a = cpu.step(rate_of(cpu.steps()), d.tokens, d.wanted),
                            b = t.step(rate_of(t.steps()), d.tokens, d.wanted);
      CHECK(b.applied);
      CHECK(b.rate == a.rate);
      CHECK(std::fabs(a.norm - b.norm) <= 1e-5 * a.norm);
      CHECK(std::fabs(static_cast<double>(a.loss - b.loss)) <= 1e-5);
    }
    CHECK(largest_difference(everything_of(t), everything_of(cpu)) <= 1e-5);
  }
}

TEST_CASE("the device gives one piece of memory, of the size that the type says, and none later", "[cuda]") {
  machine m;
  trainer t(nk::seed{1}, {}, m.session);
  const auto made = [&](const char* call) { return std::count(m.cuda.log.begin(), m.cuda.log.end(), call); };
  CHECK(made("cudaMalloc") == 1);
  CHECK(m.cuda.bytes_alive() == cuda_step::memory.peak + trainer::pinned_bytes);
  const std::size_t alive = m.cuda.alive();
  const std::size_t pinned = static_cast<std::size_t>(made("cudaMallocHost"));
  m.cuda.log.clear();
  train(t, 3);
  const data d = data_of(0);
  t.evaluate(d.tokens, d.wanted);
  t.fetch();
  CHECK(pinned == 2);
  CHECK(m.cuda.alive() == alive);
  for (const char* call : {"cudaMalloc", "cudaMallocHost", "cudaStreamBeginCapture", "cudaGraphInstantiate",
                           "cublasLtMatmul", "cublasLtMatmulAlgoGetHeuristic"})
    CHECK(made(call) == 0);
  CHECK(made("cudaGraphLaunch") == 4);  // a step is one launch
}

TEST_CASE("a step that is not finite changes nothing, and the next one does", "[cuda]") {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 1e30f}) {
    nk::trainer<step> cpu(nk::seed{3});
    machine m;
    trainer t(nk::seed{3}, {}, m.session);
    train(cpu, 2);
    train(t, 2);
    const std::vector<float> before = everything_of(t);
    data d = data_of(2);
    d.wanted[4] = bad;
    const nk::step_result r = t.step(0.1, d.tokens, d.wanted), expected = cpu.step(0.1, d.tokens, d.wanted);
    CHECK(!expected.applied);
    CHECK(!r.applied);
    CHECK(t.steps() == 2);
    CHECK(everything_of(t) == before);
    train(cpu, 2);
    train(t, 2);
    CHECK(largest_difference(everything_of(t), everything_of(cpu)) <= 1e-5);
  }
}

TEST_CASE("an update that was not put into the stream is none", "[cuda]") {
  machine m;
  trainer t(nk::seed{4}, {}, m.session);
  train(t, 2);
  m.cuda.fail_at = m.cuda.calls + 1;
  CHECK_THROWS_AS(t.apply_gradients(0.1, 1), nk::error);
  m.cuda.fail_at = 0;
  CHECK(t.steps() == 2);
  t.apply_gradients(0.1, 1);
  CHECK(t.steps() == 3);
}

TEST_CASE("where algorithms of a checkpoint cannot be had, what was trained is still there", "[cuda]") {
  machine m;
  trainer t(nk::seed{4}, {}, m.session);
  train(t, 3);
  const std::vector<float> before = everything_of(t);
  m.cuda.log.clear();
  const int first = m.cuda.calls;
  CHECK(t.use_algorithms(t.algorithms()));
  std::size_t at = 0;
  while (at < m.cuda.log.size() && m.cuda.log[at] != "cudaGraphInstantiate") ++at;
  REQUIRE(at < m.cuda.log.size());
  m.cuda.fail_at = m.cuda.calls + static_cast<int>(at) + 1;
  REQUIRE(m.cuda.calls > first);
  CHECK_THROWS_WITH(t.use_algorithms(t.algorithms()), Catch::Contains("cudaGraphInstantiate"));
  m.cuda.fail_at = 0;
  CHECK(everything_of(t) == before);
  const data d = data_of(3);
  CHECK_THROWS_WITH(t.step(0.1, d.tokens, d.wanted),
                    "trainer: use_algorithms failed; call it again before step");

  // Nor is there a plan where products could not be had.
  const auto product = std::find(m.cuda.log.begin(), m.cuda.log.end(), "cublasLtMatmulDescCreate");
  REQUIRE(product != m.cuda.log.end());
  m.cuda.fail_at = m.cuda.calls + static_cast<int>(product - m.cuda.log.begin()) + 1;
  CHECK_THROWS(t.use_algorithms(t.algorithms()));
  m.cuda.fail_at = 0;
  CHECK_THROWS_WITH(t.gradient_norm(), "trainer: use_algorithms failed; call it again before gradient_norm");
  CHECK_THROWS_WITH(t.apply_gradients(0.1, 1),
                    "trainer: use_algorithms failed; call it again before apply_gradients");
  std::array<double, trainer::timed_kernels> seconds{};
  CHECK_THROWS_WITH(t.step_timed(seconds, 0.1, d.tokens, d.wanted),
                    "trainer: use_algorithms failed; call it again before step_timed");
  CHECK_THROWS_WITH(t.evaluate(d.tokens, d.wanted), Catch::Contains("none to launch"));
  t.stage(d.tokens, d.wanted);
  CHECK_THROWS_WITH(t.launch(0.1), "trainer: use_algorithms failed; call it again before launch");
  CHECK(t.use_algorithms(t.algorithms()));
  CHECK(t.gradient_norm() > 0);
  CHECK(everything_of(t) == before);
  t.launch(0.1);  // the batch is there still
  CHECK(t.wait().applied);
  CHECK(m.cuda.misuse.empty());
}

TEST_CASE("algorithms that a trainer goes on by leave those of the session's other models", "[cuda]") {
  machine m;
  trainer t(nk::seed{4}, {}, m.session);
  const std::string of_t = t.algorithms();
  m.session.choices().set("another model's product", {});
  CHECK(t.use_algorithms(of_t));
  CHECK(t.algorithms() == of_t);
  CHECK(m.session.choices().find("another model's product") != nullptr);
  CHECK(t.use_algorithms(of_t));
  CHECK(trainer(nk::seed{4}, {}, m.session).algorithms() == of_t);  // a checkpoint holds no others
}

namespace {

/// Of numbers that a step looks at for their being finite alone: its loss and gradients are.
template <class Step>
void refuse_until_replaced(float bad, const std::function<float&(nk::trainer<Step, nk::cuda>&)>& place) {
  const data d = data_of(2);
  machine m;
  nk::trainer<Step, nk::cuda> t(nk::seed{3}, {}, m.session);
  train(t, 2);
  t.fetch();
  const float good = std::exchange(place(t), bad);
  t.store();
  const std::vector<float> before = everything_of(t);
  for (int again = 0; again < 2; ++again) {  // the update that writes nothing says so of what lies there
    const nk::step_result r = t.step(0.1, d.tokens, d.wanted);
    CHECK(std::isfinite(r.loss));
    CHECK(std::isnan(r.norm));
    CHECK(!r.applied);
  }
  CHECK(t.use_algorithms(t.algorithms()));
  CHECK(std::isnan(t.gradient_norm()));
  CHECK(t.steps() == 2);
  CHECK(nk::testing::same_bits(everything_of(t), before));
  place(t) = good;
  t.store();
  CHECK(t.step(0.1, d.tokens, d.wanted).applied);
  CHECK(m.cuda.misuse.empty());
}
template <class Step>
void refuse_until_replaced() {
  using of = nk::trainer<Step, nk::cuda>;
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    refuse_until_replaced<Step>(bad, [](of& t) -> float& { return t.value(0).data[1]; });  // no token is 0
    refuse_until_replaced<Step>(bad, [](of& t) -> float& { return t.state(0, 1).data[7]; });
    refuse_until_replaced<Step>(bad, [](of& t) -> float& { return t.state(0, 3).data[0]; });
  }
}

}  // namespace

TEST_CASE("parameters and states that are not finite are refused until they are replaced", "[cuda]") {
  SECTION("adamw") { refuse_until_replaced<step>(); }
  SECTION("muon") { refuse_until_replaced<nk::train_step<lookup, nk::muon>>(); }
}

namespace {
template <class Step>
void refuse_after_overflow() {
  constexpr double beyond = 1e38;  // decay that a large parameter cannot bear
  const typename nk::trainer<Step, nk::cuda>::options decaying{.optimizer = {.weight_decay = beyond}};
  const auto enlarge = [](nk::trainer<Step, nk::cuda>& of) {
    of.fetch();
    of.value(0).data[1] = 1e6f;  // no token is 0
    of.store();
  };
  machine m;
  nk::trainer<Step, nk::cuda> t(nk::seed{3}, decaying, m.session);
  for (std::size_t n = 0; n < 2; ++n) t.step(0, data_of(n).tokens, data_of(n).wanted);  // nothing decays yet
  enlarge(t);
  const data d = data_of(2);
  const nk::step_result r = t.step(0.1, d.tokens, d.wanted);
  CHECK(r.applied);
  CHECK(std::isfinite(r.norm));
  CHECK(std::isnan(t.gradient_norm()));  // of the same gradients
  const std::vector<float> before = everything_of(t);
  CHECK(!t.step(0.1, d.tokens, d.wanted).applied);
  CHECK(t.steps() == 3);
  CHECK(nk::testing::same_bits(everything_of(t), before));

  nk::trainer<Step, nk::cuda> by_hand(nk::seed{3}, decaying, m.session);
  enlarge(by_hand);
  by_hand.apply_gradients(0.1, 1);
  CHECK(std::isnan(by_hand.gradient_norm()));
  CHECK(m.cuda.misuse.empty());
}
}  // namespace

TEST_CASE("an update that ends in what is not finite is the last", "[cuda]") {
  SECTION("adamw") { refuse_after_overflow<step>(); }
  SECTION("muon") { refuse_after_overflow<nk::train_step<lookup, nk::muon>>(); }
  SECTION("sgd") { refuse_after_overflow<nk::train_step<lookup, nk::sgd>>(); }
}

TEST_CASE("a learning rate that is not finite, and options out of range, are refused before anything runs",
          "[cuda]") {
  machine m;
  trainer t(nk::seed{3}, {}, m.session);
  train(t, 1);
  const std::vector<float> before = everything_of(t);
  const data d = data_of(1);
  for (const double rate :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 1e300}) {
    CHECK_THROWS_WITH(t.step(rate, d.tokens, d.wanted), Catch::Contains("with a learning rate of"));
    CHECK_THROWS_AS(t.launch(rate), nk::error);
    CHECK_THROWS_AS(t.apply_gradients(rate, 1), nk::error);
  }
  CHECK(t.steps() == 1);
  CHECK(nk::testing::same_bits(everything_of(t), before));
  CHECK(t.step(0.1, d.tokens, d.wanted).applied);
  CHECK_THROWS_WITH(trainer(nk::seed{3}, {.clip_norm = -1}, m.session), Catch::Contains("clip_norm"));
  CHECK_THROWS_WITH(trainer(nk::seed{3}, {.optimizer = {.beta1 = 1.5}}, m.session), Catch::Contains("beta1"));
}

TEST_CASE("an index outside its axis is told, and changes nothing", "[cuda]") {
  machine m;
  trainer t(nk::seed{3}, {}, m.session);
  train(t, 1);
  const std::vector<float> before = everything_of(t);
  data d = data_of(1);
  d.tokens[2] = 9;
  CHECK_THROWS_WITH(t.step(0.1, d.tokens, d.wanted), "gather: index 9 is outside an axis of size 9");
  CHECK_THROWS_WITH(t.evaluate(d.tokens, d.wanted), "gather: index 9 is outside an axis of size 9");
  CHECK(everything_of(t) == before);
  CHECK(t.steps() == 1);
  CHECK(train(t, 1)[0] > 0);
  CHECK(everything_of(t) != before);
}

TEST_CASE("batches staged ahead give what steps one by one do", "[cuda]") {
  machine one, ahead(5);
  trainer a(nk::seed{6}, {}, one.session), b(nk::seed{6}, {}, ahead.session);
  const std::vector<float> expected = train(a, 6);
  std::vector<float> losses;
  const auto stage = [&](std::size_t n) {
    data d = data_of(n);
    b.stage(d.tokens, d.wanted);
    std::fill(d.wanted.begin(), d.wanted.end(), 1e9f);  // may be changed at once
  };
  stage(0);
  for (std::size_t n = 0; n < 6; ++n) {
    b.launch(rate_of(b.steps()));
    if (n + 1 < 6) stage(n + 1);
    CHECK_THROWS_WITH(b.launch(0.1), "trainer: wait() for the launched step before launch");
    losses.push_back(b.wait().loss);
    if (n == 2) {  // between: the staged batch stays
      const data d = data_of(40);
      CHECK(b.evaluate(d.tokens, d.wanted) > 0);
      CHECK_THROWS_WITH(b.step(0.1, d.tokens, d.wanted), Catch::Contains("a batch is staged already"));
    }
  }
  CHECK(losses == expected);
  CHECK(everything_of(a) == everything_of(b));
  CHECK_THROWS_WITH(b.wait(), "trainer: no step is launched that could be waited for");
  const std::vector<float> few(3);
  CHECK_THROWS_WITH(b.stage(data_of(0).tokens, few),
                    Catch::StartsWith("trainer: input 1 of the loss is f32[") &&
                        Catch::EndsWith("]: 6 elements, 3 were given"));
}

TEST_CASE("the parts of a step by hand: loss, norm, update", "[cuda]") {
  nk::trainer<step> cpu(nk::seed{8});
  machine m;
  trainer t(nk::seed{8}, {.clip_norm = 0.1}, m.session);
  const data d = data_of(3);
  CHECK(std::fabs(static_cast<double>(t.evaluate(d.tokens, d.wanted) - cpu.evaluate(d.tokens, d.wanted))) <=
        1e-6);
  for (std::size_t i = 0; i < trainer::parameters; ++i)
    for (std::size_t j = 0; j < t.value(i).count; ++j)
      t.gradient(i).data[j] = cpu.gradient(i).data[j] = 0.01f * static_cast<float>(j + i);
  t.store();
  const double norm = cpu.gradient_norm();
  CHECK(std::fabs(t.gradient_norm() - norm) <= 1e-6 * norm);
  nk::trainer<step> clipped(nk::seed{8}, {.clip_norm = 0.1});
  for (std::size_t i = 0; i < trainer::parameters; ++i)
    std::copy_n(cpu.gradient(i).data, cpu.gradient(i).count, clipped.gradient(i).data);
  clipped.apply_gradients(0.3, norm);
  t.apply_gradients(0.3, norm);
  CHECK(t.steps() == 1);
  CHECK(everything_of(t) == everything_of(clipped));  // elementwise: to the bit
}

TEST_CASE("a run goes on from a checkpoint to the bit, by the algorithms that it recorded", "[cuda]") {
  const temporary_folder folder;
  nk::file_system& files = nk::posix_file_system();
  const std::string path = folder / "checkpoint.safetensors";
  machine m;
  m.blas.algorithms.push_back({{2}, 0});
  m.cuda.elapsed = [&] { return m.blas.ran.back() == 2 ? 1.0f : 2.0f; };
  trainer t(nk::seed{5}, {}, m.session);
  train(t, 3);
  nk::save_checkpoint(files, path, t, {5, 3}, {{"why", "a test"}});
  const std::string algorithms = t.algorithms();
  CHECK(!algorithms.empty());
  train(t, 3);

  machine other(9);
  other.blas.algorithms.push_back({{2}, 0});
  other.cuda.elapsed = [&] {
    return other.blas.ran.back() == 1 ? 1.0f : 2.0f;
  };  // it would choose another now
  trainer resumed(nk::seed{77}, {}, other.session);
  CHECK(resumed.algorithms() != algorithms);
  const nk::run_state state = nk::load_checkpoint(files, path, resumed);
  CHECK(resumed.algorithms() == algorithms);
  CHECK(state.algorithms == algorithms);
  CHECK(state.settings.at("why") == "a test");
  CHECK(resumed.steps() == 3);
  train(resumed, 3);
  CHECK(everything_of(resumed) == everything_of(t));

  // The CPU reads it as its own.
  nk::trainer<step> cpu(nk::seed{6});
  nk::load_checkpoint(files, path, cpu);
  train(cpu, 3);
  CHECK(largest_difference(everything_of(cpu), everything_of(t)) <= 1e-4);

  train(resumed, 1);
  CHECK(resumed.use_algorithms(algorithms));  // what only the device has stays
  train(t, 1);
  CHECK(everything_of(resumed) == everything_of(t));
  CHECK(!resumed.use_algorithms("of another version"));
}

TEST_CASE("each call of a run fails in turn: told with its name, nothing leaks", "[cuda]") {
  const auto work = [](nk::testing::host_device& d) {
    on_cuda::session s(d.cuda, d.blas);
    trainer t(nk::seed{1}, {}, s);
    train(t, 2);
    const data x = data_of(0);
    t.evaluate(x.tokens, x.wanted);
    t.fetch();
  };
  nk::testing::host_device good;
  work(good);
  REQUIRE(good.cuda.calls > 100);
  int wrong = 0;
  for (int k = 1; k <= good.cuda.calls; ++k) {
    nk::testing::host_device d;
    d.cuda.fail_at = k;
    std::string told;
    try {
      work(d);
    } catch (const nk::error& e) {
      told = e.what();
    }
    const bool said = told.find(d.cuda.failed) != told.npos || d.cuda.reports.size() == 1;
    const bool clean = d.cuda.misuse.empty() && d.cuda.alive() == 0 && d.blas.alive() == 0;
    if (!said || !clean) {
      CAPTURE(k, d.cuda.failed, told, d.cuda.misuse, d.cuda.reports, d.cuda.alive(), d.blas.alive());
      CHECK((said && clean));
      ++wrong;
    }
  }
  CHECK(wrong == 0);
}
