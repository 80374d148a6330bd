// Labels that are no class are refused before a step is made of them.
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "napkin/core/error.hpp"
#include "napkin/nn/loss.hpp"
#include "napkin/ops/matmul.hpp"
#include "napkin/optim/adagrad.hpp"
#include "napkin/optim/adamw.hpp"
#include "napkin/optim/muon.hpp"
#include "napkin/optim/sgd.hpp"
#include "napkin/train/trainer.hpp"

namespace nk = napkin;

namespace {

struct batch : nk::dim<"batch", 4> {};
struct in : nk::dim<"in", 2> {};
struct label : nk::dim<"label", 3> {};
struct kind : nk::dim<"kind", 2> {};

template <class Label>
struct plain {
  BOOST_HANA_DEFINE_STRUCT(plain, (nk::param<in, label>, weight));
  constexpr auto loss(nk::input<nk::f32, batch, in> x, nk::input<Label, batch> y) const {
    return nk::cross_entropy<"label">(nk::matmul(x, weight), y);
  }
};
struct padded {
  BOOST_HANA_DEFINE_STRUCT(padded, (nk::param<in, label>, weight));
  constexpr auto loss(nk::input<nk::f32, batch, in> x, nk::input<nk::i64, batch> y) const {
    return nk::cross_entropy<"label", -100>(nk::matmul(x, weight), y, 0.1);
  }
};
struct of_two_axes {
  BOOST_HANA_DEFINE_STRUCT(of_two_axes, (nk::param<in, label>, weight), (nk::param<in, kind>, other));
  constexpr auto loss(nk::input<nk::f32, batch, in> x, nk::input<nk::i32, batch> y,
                      nk::input<nk::i32, batch> z) const {
    return nk::cross_entropy<"label">(nk::matmul(x, weight), y) +
           nk::cross_entropy<"kind">(nk::matmul(x, other), y) +
           nk::mean(nk::cast<nk::f32>(nk::one_hot<label>(z)));
  }
};

/// A program's own masks, and comparisons that share nodes with the loss.
struct masked {
  BOOST_HANA_DEFINE_STRUCT(masked, (nk::param<in, label>, weight));
  constexpr auto loss(nk::input<nk::f32, batch, in> x, nk::input<nk::i64, batch> y,
                      nk::input<nk::f32, batch> mask) const {
    return nk::sum(nk::cross_entropies<"label">(nk::matmul(x, weight), y) * mask);
  }
};
struct counted {
  BOOST_HANA_DEFINE_STRUCT(counted, (nk::param<in, label>, weight));
  constexpr auto loss(nk::input<nk::f32, batch, in> x, nk::input<nk::i64, batch> y) const {
    const auto number = nk::sum(nk::cast<nk::f32>(y != -100));
    return nk::cross_entropy<"label", -100>(nk::matmul(x, weight), y) * number;
  }
};
struct also_one_hot {
  BOOST_HANA_DEFINE_STRUCT(also_one_hot, (nk::param<in, label>, weight));
  constexpr auto loss(nk::input<nk::f32, batch, in> x, nk::input<nk::i64, batch> y) const {
    const auto hit = nk::cast<nk::f32>(nk::one_hot<label>(y));
    const auto logits = nk::matmul(x, weight);
    return nk::cross_entropy<"label">(logits, y) + nk::mean(hit * logits);
  }
};
struct narrowed {
  BOOST_HANA_DEFINE_STRUCT(narrowed, (nk::param<in, label>, weight));
  constexpr auto loss(nk::input<nk::f32, batch, in> x, nk::input<nk::u8, batch> y) const {
    return nk::cross_entropy<"label", -1>(nk::matmul(x, weight), nk::cast<nk::i8>(y));
  }
};
struct with_two_numbers {
  BOOST_HANA_DEFINE_STRUCT(with_two_numbers, (nk::param<in, label>, weight));
  constexpr auto loss(nk::input<nk::f32, batch, in> x, nk::input<nk::i64, batch> y) const {
    return nk::cross_entropy<"label", -100>(nk::matmul(x, weight), y) + nk::mean(nk::cast<nk::f32>(y == -2));
  }
};

using nk::detail::label_ranges;
static_assert(label_ranges<plain<nk::u8>>[0].classes == 0);
static_assert(label_ranges<plain<nk::u8>>[1].classes == 3 && !label_ranges<plain<nk::u8>>[1].ignores);
static_assert(label_ranges<padded>[1].classes == 3 && label_ranges<padded>[1].ignores &&
              label_ranges<padded>[1].ignored == -100);
static_assert(label_ranges<of_two_axes>[1].classes == 2);  // the fewer
static_assert(label_ranges<of_two_axes>[2].classes == 0);  // a program's own comparison
static_assert(label_ranges<masked>[1].classes == 0);
static_assert(label_ranges<counted>[1].classes == 3 && label_ranges<counted>[1].ignores);
static_assert(label_ranges<also_one_hot>[1].classes == 0);
static_assert(label_ranges<narrowed>[1].classes == 0);
static_assert(label_ranges<with_two_numbers>[1].classes == 0);

constexpr std::array<float, 8> xs{1, 2, 3, 4, 5, 6, 7, 8};

template <class T>
using labels = std::array<T, 4>;

}  // namespace

TEMPLATE_TEST_CASE("a trainer refuses a label that is no class", "[trainer]", nk::u8, nk::u16, nk::u32,
                   nk::i8, nk::i16, nk::i32, nk::i64) {
  using T = TestType;
  nk::trainer<nk::train_step<plain<T>, nk::sgd>> t(nk::seed{1});
  const float before = t.value(0).data[0];
  CHECK_THROWS_WITH(t.step(0.1, xs, labels<T>{0, 1, 3, 2}),
                    Catch::StartsWith("trainer: input 1 of the loss has the label 3 at place 2, and "
                                      "cross_entropy has 3 classes"));
  const T beyond = std::is_signed_v<T> ? static_cast<T>(-1) : std::numeric_limits<T>::max();
  CHECK_THROWS_AS(t.step(0.1, xs, labels<T>{0, 1, 2, beyond}), nk::input_error);
  CHECK_THROWS_AS(t.evaluate(xs, labels<T>{beyond, 1, 2, 0}), nk::input_error);
  CHECK(t.steps() == 0);
  CHECK(t.value(0).data[0] == before);
  CHECK(t.step(0.1, xs, labels<T>{0, 1, 2, 2}).applied);
}

TEST_CASE("a label that is ignored is no class and no mistake", "[trainer]") {
  nk::trainer<nk::train_step<padded, nk::sgd>> t(nk::seed{1});
  CHECK(t.step(0.1, xs, labels<nk::i64>{0, -100, 2, 1}).applied);
  CHECK_THROWS_WITH(
      t.step(0.1, xs, labels<nk::i64>{0, -100, 2, -99}),
      "trainer: input 1 of the loss has the label -99 at place 3, and cross_entropy has 3 classes "
      "and ignores -100");
}

TEST_CASE("a batch of another size is told in elements", "[trainer]") {
  nk::trainer<nk::train_step<plain<nk::i32>, nk::sgd>> t(nk::seed{1});
  CHECK_THROWS_WITH(t.step(0.1, xs, std::array<nk::i32, 5>{}),
                    "trainer: input 1 of the loss is i32[batch 4]: 4 elements, 5 were given");
  CHECK_THROWS_WITH(t.step(0.1, std::array<float, 1>{}, labels<nk::i32>{}),
                    "trainer: input 0 of the loss is f32[batch 4, in 2]: 8 elements, 1 was given");
}

TEST_CASE("a trainer refuses a learning rate that is not finite, and options out of range", "[trainer]") {
  using step = nk::train_step<plain<nk::i32>, nk::adamw>;
  const labels<nk::i32> y{0, 1, 2, 2};
  nk::trainer<step> t(nk::seed{1});
  const float before = t.value(0).data[0];
  const double nan = std::numeric_limits<double>::quiet_NaN(),
               endless = std::numeric_limits<double>::infinity();
  for (const double rate : {nan, endless, -endless, 1e300}) {
    CHECK_THROWS_AS(t.step(rate, xs, y), nk::error);
    CHECK_THROWS_AS(t.apply_gradients(rate, 1), nk::error);
  }
  CHECK(t.steps() == 0);
  CHECK(t.value(0).data[0] == before);
  CHECK(t.step(0.1, xs, y).applied);

  using made = nk::trainer<step>;
  CHECK_THROWS_WITH(made(nk::seed{1}, {.clip_norm = -1}), Catch::StartsWith("trainer: clip_norm is -1"));
  CHECK_THROWS_AS(made(nk::seed{1}, {.clip_norm = nan}), nk::error);
  CHECK_NOTHROW(made(nk::seed{1}, {.clip_norm = 0}));
  CHECK_NOTHROW(made(nk::seed{1}, {.clip_norm = endless}));  // nothing is clipped
  for (const nk::adamw::options wrong :
       {nk::adamw::options{.beta1 = 1}, nk::adamw::options{.beta2 = -0.1}, nk::adamw::options{.beta2 = nan},
        nk::adamw::options{.epsilon = -1}, nk::adamw::options{.weight_decay = endless}})
    CHECK_THROWS_WITH(made(nk::seed{1}, {.optimizer = wrong}),
                      Catch::StartsWith("trainer: of adamw's options"));
  using of_muon = nk::trainer<nk::train_step<plain<nk::i32>, nk::muon>>;
  CHECK_THROWS_WITH(of_muon(nk::seed{1}, {.optimizer = {.others = {.beta1 = 2}}}), Catch::Contains("beta1"));
  CHECK_THROWS_WITH(of_muon(nk::seed{1}, {.optimizer = {.momentum = 1}}), Catch::Contains("momentum"));

  for (const nk::loss_scaling wrong :
       {nk::loss_scaling{.initial = 0}, nk::loss_scaling{.initial = -8},
        nk::loss_scaling{.initial = 0x1p127f}, nk::loss_scaling{.initial = std::nanf("")},
        nk::loss_scaling{.growth = 0.5f}, nk::loss_scaling{.growth = INFINITY},
        nk::loss_scaling{.growth = std::nanf("")}, nk::loss_scaling{.backoff = 0},
        nk::loss_scaling{.backoff = 1}, nk::loss_scaling{.backoff = std::nanf("")},
        nk::loss_scaling{.interval = 0}})
    CHECK_THROWS_WITH(made(nk::seed{1}, {.scaling = wrong}),
                      Catch::StartsWith("trainer: of scaling's options initial lies in"));
  CHECK_NOTHROW(made(nk::seed{1}, {.scaling = {0x1p-126f, 1, 0x1p-149f, 1}}));
  CHECK_NOTHROW(made(nk::seed{1}, {.scaling = {.initial = 0x1p126f}}));
  for (const int margin : {-64, 64, std::numeric_limits<int>::min()})
    CHECK_THROWS_WITH(made(nk::seed{1}, {.quantization = {margin}}),
                      "trainer: of quantization's options margin lies in [-63, 63]");
  CHECK_NOTHROW(made(nk::seed{1}, {.quantization = {-63}}));
  CHECK_NOTHROW(made(nk::seed{1}, {.quantization = {63}}));
}

namespace {
/// With the least epsilon above 0 padding stays finite; what is 0 in f32 is refused.
template <class Optimizer>
void check_epsilon() {
  using made = nk::trainer<nk::train_step<plain<nk::i32>, Optimizer>>;
  for (const double epsilon : {0.0, 1e-46, std::nan("")})
    CHECK_THROWS_WITH(made(nk::seed{1}, {.optimizer = {.epsilon = epsilon}}),
                      Catch::Contains("epsilon is above 0 in f32"));
  made t(nk::seed{1}, {.optimizer = {.epsilon = 1e-45}});
  for (int n = 0; n < 3; ++n) CHECK(t.step(0.1, xs, labels<nk::i32>{0, 1, 2, 2}).applied);
}
}  // namespace

TEST_CASE("an epsilon that is 0 in f32 is refused, as padding would be 0 / 0", "[trainer]") {
  check_epsilon<nk::adamw>();
  check_epsilon<nk::adam>();
  check_epsilon<nk::rmsprop>();
  check_epsilon<nk::adagrad>();
  using of_muon = nk::trainer<nk::train_step<plain<nk::i32>, nk::muon>>;
  CHECK_THROWS_WITH(of_muon(nk::seed{1}, {.optimizer = {.others = {.epsilon = 0}}}),
                    Catch::Contains("epsilon is above 0 in f32"));
}

TEST_CASE("a trainer takes the optimizer's own options alone", "[trainer]") {
  using step = nk::train_step<plain<nk::i32>, nk::adamw>;
  const labels<nk::i32> y{0, 1, 2, 2};
  const auto after_a_step = [&](auto&& t) {
    t.step(0.5, xs, y);
    return t.value(0).data[0];
  };
  const nk::adamw::options own{.weight_decay = 0.9};
  const float whole = after_a_step(nk::trainer<step>(nk::seed{1}, {.optimizer = {.weight_decay = 0.9}}));
  CHECK(after_a_step(nk::trainer<step>(nk::seed{1}, {.weight_decay = 0.9})) == whole);
  CHECK(after_a_step(nk::trainer<step>(nk::seed{1}, {own})) == whole);
  CHECK(after_a_step(nk::trainer<step>(nk::seed{1}, own)) == whole);
  CHECK(after_a_step(nk::trainer<step>(nk::seed{1}, {})) == after_a_step(nk::trainer<step>(nk::seed{1})));
  CHECK(after_a_step(nk::trainer<step>(nk::seed{1})) != whole);
}
