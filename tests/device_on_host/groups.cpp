// Groups of parameters that one kernel updates, each by its own numbers: the device's values are to the bit
// those of the CPU, which updates group by group. The model's loss is sum(parameter * data), so that gradients
// are data, and nothing is clipped.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "napkin/napkin.hpp"
#include "napkin/optim/adagrad.hpp"
#include "napkin/optim/lion.hpp"
#include "napkin/optim/muon.hpp"
#include "napkin/optim/sgd.hpp"
#include "napkin/train/cuda_trainer.hpp"
#include "support/compare.hpp"
#include "support/host_kernels.hpp"
#include "support/trained_numbers.hpp"

namespace nk = napkin;

namespace {

struct wide : nk::dim<"wide", 1300> {};  // two blocks of a flat vector
struct a : nk::dim<"a", 8> {};
struct b : nk::dim<"b", 6> {};

struct fed {
  BOOST_HANA_DEFINE_STRUCT(fed, (nk::param<wide>, long_bias), (nk::param<a, b>, first),
                           (nk::param<b, a>, second), (nk::param<a>, third), (nk::param<b>, bias));
  constexpr auto loss(nk::input<nk::f32, wide> v, nk::input<nk::f32, a, b> w, nk::input<nk::f32, b, a> x,
                      nk::input<nk::f32, a> y, nk::input<nk::f32, b> z) const {
    return nk::sum(long_bias * v) + nk::sum(first * w) + nk::sum(second * x) + nk::sum(third * y) +
           nk::sum(bias * z);
  }
};
struct some {
  static constexpr nk::parameter_group value[] = {
      {.pattern = "second", .rate_scale = 0.5},
      {.pattern = "long*", .rate_scale = 0.25, .decay_scale = 2},
      {.pattern = "third", .decay_scale = 0},
  };
};
template <class Optimizer>
using step = nk::train_step<fed, Optimizer, nk::groups<some>, nk::cuda>;
// second; long_bias; third; first, and the bias, which does not decay.
static_assert(step<nk::adamw>::layout.groups.size() == 5 && step<nk::adamw>::update_runs == 1);
static_assert(step<nk::adamw>::update_plan<0>::value.counts.instructions == 1);
static_assert(step<nk::adamw>::norm_plan::value.counts.instructions == 2);
// Of matrices a direction of both, then each by itself; and all else.
static_assert(step<nk::muon>::update_runs == 1 + 2 + 1);
static_assert(step<nk::muon>::update_plan<0>::value.counts.instructions == 1 &&
              step<nk::muon>::update_plan<3>::value.counts.instructions == 1);
static_assert(step<nk::muon>::layout.group == std::array<std::size_t, 5>{2, 1, 0, 3, 4});

std::vector<float> numbers_of(std::size_t count, std::size_t step_made, std::size_t which) {
  std::vector<float> x(count);
  for (std::size_t i = 0; i < count; ++i)
    x[i] = nk::normal<float>(nk::stream_of(which, "data", step_made), i);
  return x;
}

template <class Trainer>
void train(Trainer& t) {
  for (std::size_t n = 0; n < 4; ++n) {
    const nk::step_result r =
        t.step(0.125, numbers_of(wide::size, n, 0), numbers_of(a::size * b::size, n, 1),
               numbers_of(a::size * b::size, n, 2), numbers_of(a::size, n, 3), numbers_of(b::size, n, 4));
    REQUIRE(r.applied);
  }
}
template <class Optimizer>
void compare(const typename Optimizer::options& options, double allowed = 0) {
  INFO(Optimizer::name);
  nk::trainer<nk::train_step<fed, Optimizer, nk::groups<some>>> cpu(nk::seed{5}, {options, 0});
  train(cpu);
  nk::testing::host_device host;
  nk::on_cuda::session session(host.cuda, host.blas);
  nk::trainer<step<Optimizer>> device(nk::seed{5}, {options, 0}, session);
  const std::vector<float> before = nk::testing::values_of(device);
  train(device);
  device.fetch();
  CHECK(nk::testing::largest_difference(nk::testing::everything_of(device),
                                        nk::testing::everything_of(cpu)) <= allowed);
  CHECK(nk::testing::largest_difference(nk::testing::values_of(device), before) >= 0.01);
  CHECK(host.cuda.misuse.empty());
}

}  // namespace

TEST_CASE("five groups in one kernel have the numbers of each", "[cuda]") {
  compare<nk::sgd>({.weight_decay = 0.5});
  compare<nk::momentum>({.weight_decay = 0.5});
  compare<nk::nesterov>({.weight_decay = 0.5});
  compare<nk::adagrad>({.weight_decay = 0.5});
  compare<nk::rmsprop>({.weight_decay = 0.5});
  compare<nk::adam>({.weight_decay = 0.5});
  compare<nk::adamw>({.weight_decay = 0.5});
  compare<nk::lion>({.weight_decay = 0.5});
  compare<nk::muon>({.weight_decay = 0.5}, 1e-5);  // products add up in another order
}

// ---- more groups than one kernel takes

namespace {

struct c : nk::dim<"c", 4> {};
using number = nk::param<c>;
struct many {
  BOOST_HANA_DEFINE_STRUCT(many, (number, p0), (number, p1), (number, p2), (number, p3), (number, p4),
                           (number, p5), (number, p6), (number, p7), (number, p8), (number, p9));
  constexpr auto loss(nk::input<nk::f32, c> x) const {
    return nk::sum((p0 + p1 + p2 + p3 + p4 + p5 + p6 + p7 + p8 + p9) * x);
  }
};
struct each {
  static constexpr nk::parameter_group value[] = {
      {.pattern = "p0", .rate_scale = 1}, {.pattern = "p1", .rate_scale = 2},
      {.pattern = "p2", .rate_scale = 3}, {.pattern = "p3", .rate_scale = 4},
      {.pattern = "p4", .rate_scale = 5}, {.pattern = "p5", .rate_scale = 6},
      {.pattern = "p6", .rate_scale = 7}, {.pattern = "p7", .rate_scale = 8},
      {.pattern = "p8", .rate_scale = 9},
  };
};
using of_many = nk::train_step<many, nk::adam, nk::groups<each>, nk::cuda>;
static_assert(of_many::layout.groups.size() == 10 && of_many::layout.spans.size() == 2);
static_assert(of_many::layout.spans[0].groups == nk::step_parts<nk::cuda>::groups_at_once);
static_assert(of_many::update_plan<0>::value.counts.instructions == 1 &&
              of_many::update_plan<1>::value.counts.instructions == 1);

}  // namespace

TEST_CASE("more groups are two kernels, a state of either behind that of the other", "[cuda]") {
  nk::testing::host_device host;
  nk::on_cuda::session session(host.cuda, host.blas);
  nk::trainer<nk::train_step<many, nk::adam, nk::groups<each>>> cpu(nk::seed{5}, {.clip_norm = 0});
  nk::trainer<of_many> device(nk::seed{5}, {.clip_norm = 0}, session);
  const std::vector<float> x{1, -2, 3, 4};
  for (int n = 0; n < 3; ++n) {
    REQUIRE(cpu.step(0.25, x).applied);
    REQUIRE(device.step(0.25, x).applied);
  }
  device.fetch();
  CHECK(nk::testing::same_bits(nk::testing::everything_of(device), nk::testing::everything_of(cpu)));
  CHECK(device.value(7).data[0] != device.value(8).data[0]);
  CHECK(host.cuda.misuse.empty());
}

// ---- several matrices

namespace {

/// More than are read one by one, behind a number of blocks that is no multiple of what one access reads.
struct of_twelve {
  using matrix = nk::param<a, b>;
  BOOST_HANA_DEFINE_STRUCT(of_twelve, (matrix, m0), (matrix, m1), (matrix, m2), (matrix, m3), (matrix, m4),
                           (matrix, m5), (matrix, m6), (matrix, m7), (matrix, m8), (matrix, m9),
                           (matrix, m10), (matrix, m11), (nk::param<b>, bias));
  constexpr auto loss(nk::input<nk::f32, a, b> x) const {
    return nk::sum((m0 * m1 + m2 * m3 + m4 * m5 + m6 * m7 + m8 * m9 + m10 * m11 + bias) * x);
  }
};
using step_of_twelve = nk::train_step<of_twelve, nk::muon, nk::cuda>;
static_assert(step_of_twelve::layout.matrices == 12 &&
              step_of_twelve::layout.length / nk::flat_block % 4 != 0);

}  // namespace

TEST_CASE("what updates of many matrices say is read several at once", "[cuda]") {
  nk::testing::host_device host;
  nk::on_cuda::session session(host.cuda, host.blas);
  nk::trainer<nk::train_step<of_twelve, nk::muon>> cpu(nk::seed{5});
  nk::trainer<step_of_twelve> device(nk::seed{5}, {}, session);
  for (std::size_t n = 0; n < 3; ++n) {
    const std::vector<float> x = numbers_of(a::size * b::size, n, 0);
    REQUIRE(cpu.step(0.125, x).applied);
    REQUIRE(device.step(0.125, x).applied);
  }
  device.fetch();
  CHECK(nk::testing::largest_difference(nk::testing::everything_of(device),
                                        nk::testing::everything_of(cpu)) <= 1e-5);
  CHECK(host.cuda.misuse.empty());
}

// ---- of_group

namespace {

template <class Rule, class Options>
void check_numbers_of_group() {
  double plain[Rule::scalars], other[Rule::scalars];
  Options o;
  o.weight_decay = 0.5;
  Rule::fill(o, 0.5, 1, 3, 1, plain);
  Rule::fill(o, 0.25, 3, 3, 1, other);
  for (std::size_t n = 0; n < Rule::scalars; ++n)
    CHECK((plain[n] != other[n]) == nk::detail::is_of_group<Rule>(n));
}
struct says_nothing {};
static_assert(!nk::detail::is_of_group<says_nothing>(0) && nk::detail::is_of_group<says_nothing>(1));

}  // namespace

TEST_CASE("an optimizer names the numbers that a group's rate and decay change") {
  check_numbers_of_group<nk::sgd, nk::sgd::options>();
  check_numbers_of_group<nk::momentum, nk::momentum::options>();
  check_numbers_of_group<nk::nesterov, nk::nesterov::options>();
  check_numbers_of_group<nk::adagrad, nk::adagrad::options>();
  check_numbers_of_group<nk::rmsprop, nk::rmsprop::options>();
  check_numbers_of_group<nk::adam, nk::adam::options>();
  check_numbers_of_group<nk::adamw, nk::adamw::options>();
  check_numbers_of_group<nk::lion, nk::lion::options>();
  check_numbers_of_group<nk::muon::matrices, nk::muon::options>();
}
