// Training in f16: the loss is scaled, and its scale follows what overflows.
#include "napkin/train/loss_scale.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "napkin/core/error.hpp"
#include "napkin/optim/adamw.hpp"
#include "napkin/optim/sgd.hpp"
#include "napkin/train/checkpoint.hpp"
#include "napkin/train/checkpoint_bytes.hpp"
#include "napkin/train/finite.hpp"
#include "napkin/train/trainer.hpp"
#include "support/temporary_folder.hpp"
#include "support/trained_numbers.hpp"
#include "train/perceptron.hpp"

namespace loss_scale_test {

namespace nk = napkin;
using nk::testing::gradients_of;
using nk::testing::values_of;

using namespace few_bits;
using model = perceptron<5>;  // whose gradients are too small for f16
using half = nk::train_step<model, nk::adamw, nk::compute_in<nk::f16>>;
using single = nk::train_step<model, nk::adamw>;
static_assert(half::scales_loss && !single::scales_loss);
static_assert(half::memory.inputs == single::memory.inputs + 64);

}  // namespace loss_scale_test

TEST_CASE("loss scale: halves where a step overflows, doubles after enough that did not") {
  napkin::loss_scale s{65536, 0};
  const napkin::loss_scaling by{.interval = 3};
  s.update(true, by);
  s.update(true, by);
  CHECK(s == napkin::loss_scale{65536, 2});
  s.update(true, by);
  CHECK(s == napkin::loss_scale{131072, 0});
  s.update(true, by);
  s.update(false, by);
  CHECK(s == napkin::loss_scale{65536, 0});
}

TEST_CASE("loss scale: stays a number whose reciprocal is one") {
  napkin::loss_scale s{65536, 0};
  for (int k = 0; k < 1000; ++k) s.update(false, {});
  CHECK(s.value == napkin::loss_scale::least);
  CHECK(std::isfinite(1 / s.value));
  for (int k = 0; k < 1000; ++k) s.update(true, {.interval = 1});
  CHECK(s.value == napkin::loss_scale::most);
  CHECK(std::isnormal(1 / s.value));
}

TEST_CASE("loss scale: gradients too small for f16 arrive all the same, unscaled") {
  using namespace loss_scale_test;
  nk::trainer<single> exact(nk::seed{1});
  exact.step(1e-3, inputs(), targets);
  for (const float scale : {65536.0f, 1024.0f}) {
    nk::trainer<half> scaled(nk::seed{1}, {.scaling = {.initial = scale}});
    const nk::step_result r = scaled.step(1e-3, inputs(), targets);
    CHECK(r.applied);
    CHECK(error_of(gradients_of(scaled), gradients_of(exact)) < 0.002);
    CHECK(std::abs(r.norm - exact.gradient_norm()) <= 0.002 * r.norm);
  }
  nk::trainer<half> not_scaled(nk::seed{1}, {.scaling = {.initial = 1}});
  not_scaled.step(1e-3, inputs(), targets);
  CHECK(error_of(gradients_of(not_scaled), gradients_of(exact)) > 0.02);  // what scaling is for
}

TEST_CASE("loss scale: a step that overflows changes nothing but the scale, and the next is taken") {
  using namespace loss_scale_test;
  nk::trainer<half> t(nk::seed{1}, {.scaling = {.initial = 0x1p40f}});
  const std::vector<float> before = values_of(t);
  int skipped = 0;
  nk::step_result r;
  for (; skipped < 40; ++skipped) {
    r = t.step(1e-3, inputs(), targets);
    if (r.applied) break;
    CHECK(!std::isfinite(r.norm));
    CHECK(std::isfinite(r.loss));  // the forward pass knows of no scale
    CHECK(values_of(t) == before);
    CHECK(t.steps() == 0);
    CHECK(t.scale().value == std::ldexp(1.0f, 39 - skipped));
  }
  CHECK(skipped >= 5);
  CHECK(r.applied);
  CHECK(t.steps() == 1);
  CHECK(t.scale().good_steps == 1);
  CHECK(values_of(t) != before);
}

TEST_CASE("loss scale: gradients that overflow are an error once the scale is below 1, a loss at once") {
  using namespace loss_scale_test;
  nk::trainer<half> t(nk::seed{1}, {.scaling = {.initial = 0x1p40f}});
  const nk::step_result overflow = t.step(1e-3, inputs(), targets);
  CHECK(!overflow.applied);
  CHECK(std::isfinite(overflow.loss));
  CHECK_NOTHROW(nk::require_applied(t, overflow));
  t.set_scale({1});
  CHECK_NOTHROW(nk::require_applied(t, overflow));
  t.set_scale({0.5f});
  CHECK_THROWS_AS(nk::require_applied(t, overflow), nk::nonfinite_error);
  CHECK_NOTHROW(nk::require_applied(t, t.step(1e-3, inputs(), targets)));

  t.set_scale({0x1p10f});
  const nk::step_result lost = t.step(1e-3, inputs(1e6f), targets);  // an activation is beyond f16
  CHECK(!std::isfinite(lost.loss));
  CHECK(t.scale().value >= 1);
  CHECK_THROWS_AS(nk::require_applied(t, lost), nk::nonfinite_error);
}

TEST_CASE("loss scale: an activation beyond f16 skips the step too") {
  using namespace loss_scale_test;
  nk::trainer<half> t(nk::seed{1});
  const std::vector<float> before = values_of(t);
  const nk::step_result r = t.step(1e-3, inputs(1e6f), targets);
  CHECK(!r.applied);
  CHECK(values_of(t) == before);
  CHECK(t.scale().value == 32768);
  CHECK(t.step(1e-3, inputs(), targets).applied);
}

TEST_CASE("loss scale: with micro-batches, one that overflows skips them all") {
  using namespace loss_scale_test;
  using step = nk::train_step<model, nk::adamw, nk::compute_in<nk::f16>, nk::micro_batches<2>>;
  nk::trainer<step> t(nk::seed{1});
  std::vector<float> twice = inputs(), ones(2 * batch::size, 1.0f);
  const std::vector<float> second = inputs(1e6f);
  twice.insert(twice.end(), second.begin(), second.end());
  const std::vector<float> before = values_of(t);
  CHECK(!t.step(1e-3, twice, ones).applied);
  CHECK(values_of(t) == before);
  CHECK(t.scale().value == 32768);
}

TEST_CASE("loss scale: a run goes on from its checkpoint to the same bits") {
  using namespace loss_scale_test;
  const temporary_folder folder;
  const std::string path = folder / "c.safetensors";
  nk::file_system& files = nk::posix_file_system();
  const nk::trainer<half>::options options{.scaling = {.initial = 0x1p30f, .interval = 4}};
  nk::trainer<half> straight(nk::seed{1}, options), first(nk::seed{1}, options), second(nk::seed{9}, options);
  for (int k = 0; k < 30; ++k) straight.step(1e-3, inputs(), targets);
  for (int k = 0; k < 17; ++k) first.step(1e-3, inputs(), targets);
  CHECK(first.scale().good_steps != 0);
  nk::save_checkpoint(files, path, first, {});
  CHECK(read_whole(path).size() == nk::checkpoint_bytes<half>);
  nk::load_checkpoint(files, path, second);
  CHECK(second.scale() == first.scale());
  for (int k = 17; k < 30; ++k) second.step(1e-3, inputs(), targets);
  CHECK(second.scale() == straight.scale());
  CHECK(values_of(second) == values_of(straight));
}

TEST_CASE("loss scale: a checkpoint with a scale that cannot be is refused, and nothing is changed") {
  using namespace loss_scale_test;
  const temporary_folder folder;
  const std::string path = folder / "c.safetensors";
  nk::file_system& files = nk::posix_file_system();
  const float inf = std::numeric_limits<float>::infinity();
  for (const float wrong : {0.0f, -1.0f, inf, std::numeric_limits<float>::quiet_NaN()}) {
    nk::trainer<half> from(nk::seed{1}), to(nk::seed{2});
    from.set_scale({wrong, 0});
    nk::save_checkpoint(files, path, from, {});
    const std::vector<float> before = values_of(to);
    CHECK_THROWS_AS(nk::load_checkpoint(files, path, to), nk::checkpoint_error);
    CHECK(values_of(to) == before);
    CHECK(to.scale() == nk::loss_scale{65536, 0});
  }
}

TEST_CASE("loss scale: a checkpoint of f32 is one to start from in f16, and the other way") {
  using namespace loss_scale_test;
  const temporary_folder folder;
  const std::string path = folder / "c.safetensors";
  nk::file_system& files = nk::posix_file_system();
  nk::trainer<single> wide(nk::seed{1});
  wide.step(1e-3, inputs(), targets);
  nk::save_checkpoint(files, path, wide, {});
  nk::trainer<half> narrow(nk::seed{2});
  nk::load_checkpoint(files, path, narrow);
  CHECK(values_of(narrow) == values_of(wide));
  CHECK(narrow.scale() == nk::loss_scale{65536, 0});
  nk::save_checkpoint(files, path, narrow, {});
  nk::trainer<single> back(nk::seed{3});
  nk::load_checkpoint(files, path, back);
  CHECK(values_of(back) == values_of(wide));
}
