// The update of a whole trainer: groups, optimizers, micro-batches. The model's loss is sum(parameter *
// data), so that its gradient is the data, and the parameters must be those of tests/parity/optimizers.cpp,
// in f32.
#include <catch2/catch.hpp>
#include <cmath>
#include <memory>

#include "napkin/cost/conventions.hpp"
#include "napkin/nn/layers.hpp"
#include "napkin/nn/loss.hpp"
#include "napkin/optim/adagrad.hpp"
#include "napkin/optim/lion.hpp"
#include "napkin/optim/muon.hpp"
#include "napkin/optim/sgd.hpp"
#include "napkin/train/checkpoint.hpp"
#include "napkin/train/trainer.hpp"
#include "support/compare.hpp"
#include "support/counter_gradients.hpp"
#include "support/parity_file.hpp"
#include "support/temporary_folder.hpp"
#include "support/trained_numbers.hpp"

namespace nk = napkin;
namespace testing = nk::testing;

namespace {

struct a : nk::dim<"a", 9> {};
struct b : nk::dim<"b", 15> {};
struct c : nk::dim<"c", 16> {};
struct d : nk::dim<"d", 7> {};
struct e : nk::dim<"e", 6> {};
struct f : nk::dim<"f", 3> {};
struct g : nk::dim<"g", 2> {};
struct h : nk::dim<"h", 24> {};

struct fed {
  BOOST_HANA_DEFINE_STRUCT(fed, (nk::param<a, b>, wide), (nk::param<c, d>, tall),
                           (nk::param<f, g, e>, square), (nk::param<h>, bias));
  constexpr auto loss(nk::input<nk::f32, a, b> x, nk::input<nk::f32, c, d> y, nk::input<nk::f32, f, g, e> z,
                      nk::input<nk::f32, h> w) const {
    return nk::sum(wide * x) + nk::sum(tall * y) + nk::sum(square * z) + nk::sum(bias * w);
  }
};
/// f x g are the six rows; all rows are outputs, as PyTorch's are.
struct torch_rows {
  static constexpr nk::parameter_group value[] = {
      {.pattern = "square", .row_axes = 2, .rows_are_outputs = true},
      {.pattern = "wide|tall", .rows_are_outputs = true}};
};

template <class Step>
using options_of = typename nk::trainer<Step>::options;

template <class Step>
double worst_difference(const std::string& name, const options_of<Step>& options, std::int64_t steps) {
  const testing::parity_file reference("optimizers");
  nk::trainer<Step> trainer(nk::seed{1}, options);
  std::vector<std::vector<float>> data;
  for (std::size_t i = 0; i < testing::counted_tensors.size(); ++i) {
    testing::fill_values(testing::counted_tensors[i], trainer.value(i).data);
    data.emplace_back(testing::counted_tensors[i].count());
  }
  for (std::int64_t s = 1; s <= steps; ++s) {
    for (std::size_t i = 0; i < data.size(); ++i)
      testing::fill_gradient(testing::counted_tensors[i], s, data[i].data());
    REQUIRE(trainer.step(testing::counted_rate(s), data[0], data[1], data[2], data[3]).applied);
  }
  const std::vector<double> theirs = reference[name + ".after_" + std::to_string(steps)];
  double worst = 0;
  for (std::size_t i = 0; i < data.size(); ++i)
    for (std::size_t k = 0; k < data[i].size(); ++k) {
      const double off = std::abs(static_cast<double>(trainer.value(i).data[k]) -
                                  theirs[testing::counted_tensors[i].offset + k]);
      worst = testing::worst_of(worst, off);
    }
  return worst;
}

template <class Optimizer, class... Policies>
void check(const std::string& name, const typename Optimizer::options& options) {
  INFO(name);
  CHECK(worst_difference<nk::train_step<fed, Optimizer, Policies...>>(name, {options, 0}, 100) <= 1e-5);
}

}  // namespace

TEST_CASE("trainer: every optimizer, a bias apart, as PyTorch's in f64 within f32") {
  check<nk::sgd>("sgd", {.weight_decay = 0.01});
  check<nk::momentum>("momentum", {.weight_decay = 0.01});
  check<nk::nesterov>("nesterov", {.weight_decay = 0.01});
  check<nk::adagrad>("adagrad", {.rate_decay = 1e-3, .weight_decay = 0.01});
  check<nk::rmsprop>("rmsprop", {.weight_decay = 0.01});
  check<nk::adam>("adam", {.weight_decay = 0.01});
  check<nk::adamw>("adamw", {.weight_decay = 0.1});
  check<nk::lion>("lion", {.weight_decay = 0.1});
  check<nk::muon, nk::groups<torch_rows>>("muon", {});
}

// ---- groups: where parameters lie, and at which rate they move

namespace {

struct some_groups {
  static constexpr nk::parameter_group value[] = {
      {.pattern = "square|bias", .rate_scale = 0.5},
      {.pattern = "wi?e", .decay_scale = 0},
      {.pattern = "*", .rate_scale = 0, .as_matrices = false},
  };
};
using grouped = nk::train_step<fed, nk::sgd, nk::groups<some_groups>>;
// square, then bias, which by default does not decay; wide; tall
static_assert(grouped::layout.groups.size() == 4 && grouped::update_runs == 4);
static_assert(grouped::layout.group == std::array<std::size_t, 4>{2, 3, 0, 1});
static_assert(grouped::layout.groups[0].decay_scale == 1 && grouped::layout.groups[1].decay_scale == 0);
static_assert(grouped::layout.groups[2].decay_scale == 0 && grouped::layout.groups[3].decay_scale == 1);
static_assert(grouped::layout.groups[1].rate_scale == 0.5 && grouped::layout.groups[3].rate_scale == 0);
static_assert(grouped::memory.optimizer_state == 0);

// Without groups: what decays, then the rest.
using plain = nk::train_step<fed, nk::adamw>;
static_assert(plain::layout.group == std::array<std::size_t, 4>{0, 0, 0, 1});
static_assert(plain::layout.offset == std::array<std::size_t, 4>{0, 144, 256, 1024});
static_assert(plain::memory.parameters == 2 * 1024 * sizeof(float));
static_assert(plain::memory.optimizer_state == 2 * plain::memory.parameters);
static_assert(plain::memory.gradients == plain::memory.parameters);

// Muon keeps one vector for matrices, and two, as AdamW, for the rest.
using orthogonal = nk::train_step<fed, nk::muon>;
static_assert(orthogonal::memory.optimizer_state == (1 + 2) * 1024 * sizeof(float));
static_assert(orthogonal::update_runs == 1 + 3 + 1);
static_assert(orthogonal::states_of(0) == 1 && orthogonal::states_of(3) == 2);
static_assert(orthogonal::state_name(0, 0) == "momentum" && orthogonal::state_name(1, 3) == "second_moment");
// 5 steps of three products each: squares of the shorter side, their squares, times the matrix.
constexpr std::uint64_t products(std::uint64_t n, std::uint64_t m) {
  return 5 * (4 * n * n * m + 2 * n * n * n);
}
static_assert(orthogonal::cost.optimizer.flops.matmul == products(9, 15) + products(7, 16) + products(3, 12));

// Biases are none, whatever their axes.
struct biased {
  BOOST_HANA_DEFINE_STRUCT(biased, (nk::param<a, b>, weight), (nk::param<a, b>, weight_bias));
  constexpr auto loss(nk::input<nk::f32, a, b> x) const { return nk::sum(weight * x + weight_bias); }
};
static_assert(nk::train_step<biased, nk::muon>::update_runs == 2 + 1);
static_assert(nk::train_step<biased, nk::muon>::states_of(1) == 2);

static_assert(nk::matches("*", "") && nk::matches("a*c", "abbc") &&
              nk::matches("*.bias|*.gain", "norm.gain"));
static_assert(nk::matches("blocks.*.up", "blocks.11.mlp.up") && nk::matches("a*b*c", "a.b.b.c"));
static_assert(!nk::matches("", "a") && !nk::matches("a?", "a") && !nk::matches("*b", "abc") &&
              !nk::matches("ab", "abc"));

std::vector<float> ones(std::size_t n) { return std::vector<float>(n, 1.0f); }

}  // namespace

TEST_CASE("trainer: a group's rate and decay are its own") {
  nk::trainer<grouped> trainer(nk::seed{1}, {.optimizer = {.weight_decay = 0.5}, .clip_norm = 0});
  for (std::size_t i = 0; i < trainer.parameters; ++i)
    for (std::size_t k = 0; k < trainer.value(i).count; ++k) trainer.value(i).data[k] = 1;
  trainer.step(0.25, ones(135), ones(112), ones(36), ones(24));
  const float expected[] = {1 - 0.25f, 1, 1 - 0.125f * 1.5f, 1 - 0.125f};
  for (std::size_t i = 0; i < trainer.parameters; ++i)
    for (std::size_t k = 0; k < trainer.value(i).count; ++k) REQUIRE(trainer.value(i).data[k] == expected[i]);
}

namespace {

struct two : nk::dim<"two", 2> {};
struct eight : nk::dim<"eight", 8> {};
struct both_ways {
  BOOST_HANA_DEFINE_STRUCT(both_ways, (nk::param<two, eight>, up), (nk::param<eight, two>, down),
                           (nk::param<two, eight>, down_as_torch), (nk::param<eight, two>, up_as_torch));
  using wide = nk::input<nk::f32, two, eight>;
  using tall = nk::input<nk::f32, eight, two>;
  constexpr auto loss(wide a, tall b, wide c, tall d) const {
    return nk::sum(up * a) + nk::sum(down * b) + nk::sum(down_as_torch * c) + nk::sum(up_as_torch * d);
  }
};
struct as_torch {
  static constexpr nk::parameter_group value[] = {{.pattern = "*_as_torch", .rows_are_outputs = true}};
};

}  // namespace

TEST_CASE("trainer: Muon's steps are twice as long of a matrix of four times as many outputs as inputs") {
  nk::trainer<nk::train_step<both_ways, nk::muon, nk::groups<as_torch>>> trainer(
      nk::seed{1}, {.optimizer = {.weight_decay = 0}, .clip_norm = 0});
  for (std::size_t i = 0; i < trainer.parameters; ++i)
    for (std::size_t k = 0; k < 16; ++k) trainer.value(i).data[k] = 0;
  std::vector<float> one(16);  // of one entry: so is what is orthogonal to it, 1 but for five iterations
  one[0] = 3;
  trainer.step(1, one, one, one, one);
  // x to 3.4445 x - 4.7750 x^3 + 2.0315 x^5: 1, 0.701, 1.1136, 0.7207, 1.0900, 0.6965
  const float expected[] = {-2 * 0.6965f, -0.6965f, -0.6965f, -2 * 0.6965f};
  for (std::size_t i = 0; i < trainer.parameters; ++i) {
    CHECK(std::abs(trainer.value(i).data[0] - expected[i]) <= 2e-4f);
    for (std::size_t k = 1; k < 16; ++k) CHECK(trainer.value(i).data[k] == 0);
  }
}

TEST_CASE("trainer: Muon's run goes on from a checkpoint, bit for bit") {
  const temporary_folder folder;
  const auto data_of = [](std::int64_t step) {
    std::vector<std::vector<float>> data;
    for (const testing::counted_tensor& t : testing::counted_tensors)
      testing::fill_gradient(t, step, data.emplace_back(t.count()).data());
    return data;
  };
  const auto go_on = [&](nk::trainer<orthogonal>& trainer) {
    for (int i = 0; i < 3; ++i) {
      const auto data = data_of(trainer.steps() + 1);
      trainer.step(0.01, data[0], data[1], data[2], data[3]);
    }
  };
  nk::trainer<orthogonal> straight(nk::seed{1}), resumed(nk::seed{2});
  go_on(straight);
  nk::save_checkpoint(nk::posix_file_system(), folder / "muon", straight, {});
  nk::load_checkpoint(nk::posix_file_system(), folder / "muon", resumed);
  go_on(straight);
  go_on(resumed);
  CHECK(testing::same_bits(testing::everything_of(resumed), testing::everything_of(straight)));
}

// ---- micro-batches

namespace {

struct in : nk::dim<"in", 12> {};
struct hidden : nk::dim<"hidden", 20> {};
struct out : nk::dim<"out", 5> {};
template <std::size_t Batch>
struct classifier {
  using batch = nk::dim<"batch", Batch>;
  using up_layer = nk::nn::linear<in, hidden>;
  using down_layer = nk::nn::linear<hidden, out>;
  BOOST_HANA_DEFINE_STRUCT(classifier, (up_layer, up), (down_layer, down));
  constexpr auto loss(nk::input<nk::f32, batch, in> x, nk::input<nk::u8, batch> y) const {
    return nk::cross_entropy<"out">(down(nk::gelu(up(x))), y);
  }
};
using large = nk::train_step<classifier<24>, nk::adamw>;
using small = nk::train_step<classifier<6>, nk::adamw, nk::micro_batches<4>>;
static_assert(small::memory.gradients == large::memory.gradients);  // the sum is all that is kept
static_assert(small::memory.intermediates < large::memory.intermediates);
static_assert(nk::conventions::torch<small> == nk::conventions::torch<large>);
static_assert(small::cost.forward.flops.matmul == large::cost.forward.flops.matmul);
static_assert(small::tokens == large::tokens);

// What they are added to is written first, and counts.
constexpr nk::cost_sheet zeros = nk::planning::cost_of(small::zero_plan::view(), small::zero_plan::graph());
static_assert(zeros.launches == 1 && zeros.bytes.read == 0 && zeros.bytes.written == small::memory.gradients);
static_assert(!large::adds_gradients && nk::detail::timed_kernels<large>::gradient == 0 &&
              nk::detail::timed_kernels<small>::gradient == 1);

}  // namespace

TEST_CASE("trainer: four micro-batches are the large batch within rounding") {
  nk::trainer<large> whole(nk::seed{3});
  nk::trainer<small> parts(nk::seed{3});
  std::vector<float> x(24 * in::size);
  std::vector<nk::u8> y(24);
  double worst = 0;
  for (std::uint64_t s = 0; s < 20; ++s) {
    const nk::random_stream stream = nk::stream_of(7, "data", s);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = nk::normal<float>(stream, i);
    for (std::size_t i = 0; i < y.size(); ++i)
      y[i] = static_cast<nk::u8>(nk::integer(nk::stream_of(7, "classes", s), i, out::size));
    const nk::step_result one = whole.step(1e-3, x, y), four = parts.step(1e-3, x, y);
    CHECK(std::abs(one.loss - four.loss) <= 1e-6f);
    CHECK(std::abs(one.norm - four.norm) <= 1e-5 * one.norm);
  }
  for (std::size_t i = 0; i < whole.parameters; ++i)
    for (std::size_t k = 0; k < whole.value(i).count; ++k) {
      const double off = std::abs(static_cast<double>(whole.value(i).data[k] - parts.value(i).data[k]));
      worst = testing::worst_of(worst, off);
    }
  CHECK(worst <= 2e-5);  // of movements of 2e-2
  // one batch's loss alone adds nothing to the gradients, though it is computed with some of them
  const std::vector<float> sums = testing::gradients_of(parts);
  parts.evaluate(std::span(x).first(6 * in::size), std::span(y).first(6));
  CHECK(testing::gradients_of(parts) == sums);
  CHECK_THROWS_AS(parts.step(1e-3, std::vector<float>(6 * in::size), y), nk::input_error);
}
