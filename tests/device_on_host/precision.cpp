// A trainer on the device that computes in bf16 and in f16: the CPU's numbers, within what 16 bits leave open
// where sums are joined in another order; and the scale of the loss, which the host follows.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "lookup.hpp"
#include "napkin/napkin.hpp"
#include "napkin/train/cuda_trainer.hpp"
#include "napkin/train/step_account.hpp"
#include "napkin/train/step_rates.hpp"
#include "support/host_kernels.hpp"
#include "support/temporary_folder.hpp"
#include "support/trained_numbers.hpp"

namespace nk = napkin;
using lookup_test::data;
using lookup_test::data_of;
using lookup_test::lookup;
using nk::testing::values_of;
using machine = nk::testing::device_with_session;

namespace {

template <class T, class... Policies>
using step_in = nk::train_step<lookup, nk::adamw, nk::compute_in<T>, Policies...>;

template <class T, class... Policies>
void compare_with_cpu() {
  using step = step_in<T, Policies...>;
  nk::trainer<step> cpu(nk::seed{4});
  machine m;
  nk::trainer<step, nk::cuda> t(nk::seed{4}, {}, m.session);
  nk::trainer<step_in<nk::f32, Policies...>, nk::cuda> wide(nk::seed{4}, {}, m.session);
  for (std::size_t n = 0; n < 8; ++n) {
    const data d = data_of(n, step::micro_batches);
    const nk::step_result a = cpu.step(0.01, d.tokens, d.wanted), b = t.step(0.01, d.tokens, d.wanted);
    wide.step(0.01, d.tokens, d.wanted);
    CHECK(b.applied);
    CHECK(std::fabs(static_cast<double>(a.loss - b.loss)) <= 1e-3);
    CHECK(std::fabs(a.norm - b.norm) <= 0.01 * a.norm);
  }
  const std::vector<float> expected = values_of(cpu), before = values_of(t);
  REQUIRE(expected.size() == before.size());
  int far = 0;
  for (std::size_t i = 0; i < before.size(); ++i) far += !(std::fabs(before[i] - expected[i]) <= 1e-2f);
  CHECK(far == 0);
  CHECK(values_of(wide) != before);  // another computation
  data d = data_of(9, step::micro_batches);
  d.wanted.back() = std::numeric_limits<float>::infinity();
  CHECK(!t.step(0.01, d.tokens, d.wanted).applied);
  CHECK(values_of(t) == before);
  CHECK(m.cuda.misuse.empty());
}

}  // namespace

TEST_CASE("steps in 16 bits on the device are the CPU's, but for roundings", "[cuda]") {
  SECTION("bf16") { compare_with_cpu<nk::bf16>(); }
  SECTION("f16") { compare_with_cpu<nk::f16>(); }
  SECTION("f16, micro-batches") { compare_with_cpu<nk::f16, nk::micro_batches<2>>(); }
}

TEST_CASE("steps in tf32 are f32's plan, whose products read fewer bits", "[cuda]") {
  compare_with_cpu<nk::tf32>();
  compare_with_cpu<nk::tf32, nk::micro_batches<2>>();
}

TEST_CASE("on the device too the scale halves where a step overflows, and is in the checkpoint", "[cuda]") {
  machine m;
  using trainer = nk::trainer<step_in<nk::f16>, nk::cuda>;
  trainer t(nk::seed{4}, {.scaling = {.initial = 0x1p40f}}, m.session);
  const std::vector<float> before = values_of(t);
  const data d = data_of(1);
  int skipped = 0;
  while (!t.step(0.01, d.tokens, d.wanted).applied && skipped < 40) {
    ++skipped;
    CHECK(values_of(t) == before);
    CHECK(t.scale().value == std::ldexp(1.0f, 40 - skipped));
  }
  CHECK(skipped > 5);
  CHECK(skipped < 40);
  CHECK(t.steps() == 1);
  CHECK(values_of(t) != before);

  const temporary_folder folder;
  nk::file_system& files = nk::posix_file_system();
  nk::save_checkpoint(files, folder / "c", t, {});
  trainer other(nk::seed{5}, {}, m.session);
  nk::load_checkpoint(files, folder / "c", other);
  CHECK(other.scale() == t.scale());
  for (int k = 0; k < 3; ++k) {
    t.step(0.01, d.tokens, d.wanted);
    other.step(0.01, d.tokens, d.wanted);
  }
  CHECK(values_of(other) == values_of(t));
  CHECK(m.cuda.misuse.empty());
}

TEST_CASE(
    "where algorithms of a checkpoint cannot be had, step and scale are the checkpoint's as parameters are",
    "[cuda]") {
  machine m;
  using trainer = nk::trainer<step_in<nk::f16>, nk::cuda>;
  trainer t(nk::seed{4}, {.scaling = {.initial = 1024, .interval = 2}}, m.session),
      other(nk::seed{5}, {}, m.session);
  const data d = data_of(1);
  for (int k = 0; k < 3; ++k) t.step(0.01, d.tokens, d.wanted);
  const temporary_folder folder;
  nk::file_system& files = nk::posix_file_system();
  nk::save_checkpoint(files, folder / "c", t, {});
  m.cuda.log.clear();
  nk::load_checkpoint(files, folder / "c", t);
  const auto graph = std::find(m.cuda.log.begin(), m.cuda.log.end(), "cudaGraphInstantiate");
  REQUIRE(graph != m.cuda.log.end());
  m.cuda.fail_at = m.cuda.calls + static_cast<int>(graph - m.cuda.log.begin()) + 1;
  CHECK_THROWS_AS(nk::load_checkpoint(files, folder / "c", other), nk::error);
  m.cuda.fail_at = 0;
  CHECK(values_of(other) == values_of(t));
  CHECK(other.steps() == 3);
  CHECK(other.scale() == t.scale());
}

namespace {

template <class T>
using in_16_bits = nk::train_step<lookup, nk::adamw, nk::compute_in<T>, nk::cuda>;
static_assert(in_16_bits<nk::bf16>::keeps_copies && in_16_bits<nk::f16>::keeps_copies);
static_assert(in_16_bits<nk::bf16>::memory.narrow_copies == 2 * in_16_bits<nk::bf16>::layout.length);
static_assert(in_16_bits<nk::bf16>::memory.master_copies == 4 * in_16_bits<nk::bf16>::layout.length);
static_assert(in_16_bits<nk::f32>::memory.narrow_copies == 0 &&
              in_16_bits<nk::f8>::memory.narrow_copies == 0);
static_assert(step_in<nk::bf16>::memory.narrow_copies == 0);  // the CPU's

using wide = in_16_bits<nk::f32>;
using in_tf32 = in_16_bits<nk::tf32>;
template <class Step>
constexpr bool multiplies_by(nk::on_cuda::blas_compute how) {
  const nk::on_cuda::plan_view& plan = Step::gradient_plan::view();
  std::size_t n = 0;
  for (std::size_t i = 0; i < plan.count.products; ++i) {
    const nk::on_cuda::blas_product& p = plan.products[i].gemm;
    if (p.possible && p.compute != how) return false;
    n += p.possible;
  }
  return n > 0;
}
static_assert(multiplies_by<wide>(nk::on_cuda::blas_compute::f32));
static_assert(multiplies_by<in_tf32>(nk::on_cuda::blas_compute::tf32));
static_assert(in_tf32::memory.peak == wide::memory.peak && in_tf32::memory.master_copies == 0);
static_assert(in_tf32::cost.flops == wide::cost.flops && in_tf32::cost.bytes == wide::cost.bytes);
static_assert(in_tf32::products == nk::passes::product_options{.tf32 = true});
static_assert(step_in<nk::tf32>::products == nk::passes::product_options{});  // the CPU has none
static_assert(
    nk::train_step<lookup, nk::adamw, nk::compute_in<nk::f8, nk::fast_accumulation>, nk::cuda>::products ==
    nk::passes::product_options{.adds_fast = true});
static_assert(in_16_bits<nk::f8>::products == nk::passes::product_options{});
static_assert(nk::time_on<nk::h100_sxm, in_tf32, nk::cuda>.compute <
              nk::time_on<nk::h100_sxm, wide, nk::cuda>.compute);
static_assert(nk::time_on<nk::h100_sxm, in_tf32, nk::cuda>.compute ==
              nk::time_on<nk::h100_sxm, wide, nk::cuda, nk::arithmetic::tf32>.compute);
using made_again =
    nk::train_step<lookup, nk::adamw, nk::compute_in<nk::tf32>, nk::cuda, nk::detail::recompute_by<1>>;
static_assert(multiplies_by<made_again>(nk::on_cuda::blas_compute::tf32));

TEST_CASE("what an account and rates say of a step in tf32 is of tf32", "[cuda]") {
  const nk::step_account a = nk::account_of<in_tf32>("lookup", nk::h100_sxm);
  constexpr nk::time_bound bound = nk::time_on<nk::h100_sxm, in_tf32, nk::cuda>;
  CHECK(a.total.bound.products == nk::arithmetic::tf32);
  CHECK(std::fabs(a.total.bound.compute - bound.compute) <= 1e-12 * bound.compute);
  CHECK(std::fabs(a.total.bound.seconds - bound.seconds) <= 1e-12 * bound.seconds);
  CHECK(nk::work_of<in_tf32>(&nk::h100_sxm).peak.per_second ==
        nk::h100_sxm.peak(nk::arithmetic::tf32).per_second);
  CHECK(nk::work_of<wide>(&nk::h100_sxm).peak.per_second ==
        nk::h100_sxm.peak(nk::arithmetic::f32).per_second);

  using orthogonal = nk::train_step<lookup, nk::muon, nk::compute_in<nk::tf32>, nk::cuda>;
  int of_optimizer = 0;
  const nk::step_account b = nk::account_of<orthogonal>("lookup", nk::h100_sxm);
  for (const nk::account_kernel& k : b.kernels) {
    if (k.line.flops.matmul == 0) continue;
    const bool updates = k.phase == nk::step_phase::optimizer;
    CHECK((k.products == nk::arithmetic::tf32) == (!updates && k.line.refused.empty()));
    of_optimizer += updates;
  }
  CHECK(of_optimizer > 0);
}

/// The losses of steps, and before each of another batch; the parameters are put there from elsewhere before
/// each, if it is said from where.
template <class Step>
std::vector<float> losses_of(nk::trainer<Step, nk::cuda>& t, nk::trainer<Step, nk::cuda>* copies_from) {
  std::vector<float> losses;
  for (std::size_t n = 0; n < 4; ++n) {
    if (copies_from != nullptr) {
      copies_from->fetch();
      for (std::size_t i = 0; i < t.parameters; ++i)
        std::copy_n(copies_from->value(i).data, t.value(i).count, t.value(i).data);
      t.store();
    }
    const data d = data_of(n, Step::micro_batches), one = data_of(n + 1);
    losses.push_back(t.evaluate(one.tokens, one.wanted));
    losses.push_back(t.step(0.05, d.tokens, d.wanted).loss);
    if (copies_from != nullptr) copies_from->step(0.05, d.tokens, d.wanted);
  }
  return losses;
}

/// The copies that updates write are those that the host makes of the same parameters.
template <class T, class Optimizer = nk::adamw, class... Policies>
void compare_copies() {
  using step = nk::train_step<lookup, Optimizer, nk::compute_in<T>, nk::cuda, Policies...>;
  machine m;
  nk::trainer<step> t(nk::seed{4}, {}, m.session), same(nk::seed{4}, {}, m.session),
      other(nk::seed{5}, {}, m.session);
  const std::vector<float> losses = losses_of(t, static_cast<nk::trainer<step>*>(nullptr));
  CHECK(losses == losses_of(other, &same));
  CHECK(losses[0] != losses[2]);

  // what is put there, and what is updated by hand
  const data d = data_of(7);
  const float before = t.evaluate(d.tokens, d.wanted);
  t.use_algorithms(t.algorithms());
  CHECK(t.evaluate(d.tokens, d.wanted) == before);
  t.fetch();
  t.value(0).data[0] += 1;
  t.store();
  t.apply_gradients(0.05, 1);
  t.fetch();
  for (std::size_t i = 0; i < t.parameters; ++i)
    std::copy_n(t.value(i).data, t.value(i).count, other.value(i).data);
  other.store();
  CHECK(t.evaluate(d.tokens, d.wanted) == other.evaluate(d.tokens, d.wanted));
  CHECK(t.evaluate(d.tokens, d.wanted) != before);
  CHECK(m.cuda.misuse.empty());
}

}  // namespace

TEST_CASE("the copies that a step in 16 bits multiplies are its parameters, rounded, whoever wrote these",
          "[cuda]") {
  SECTION("bf16") { compare_copies<nk::bf16>(); }
  SECTION("f16, micro-batches") { compare_copies<nk::f16, nk::lion, nk::micro_batches<2>>(); }
  SECTION("an optimizer of matrices") { compare_copies<nk::bf16, nk::muon>(); }
}
