// Training in 8-bit floats: the scales follow what tensors held, the curve of the loss is near f32's, and a
// run goes on from its checkpoint.
#include "napkin/train/delayed_scaling.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "napkin/cpu/threads.hpp"
#include "napkin/optim/adamw.hpp"
#include "napkin/optim/sgd.hpp"
#include "napkin/train/checkpoint.hpp"
#include "napkin/train/checkpoint_bytes.hpp"
#include "napkin/train/finite.hpp"
#include "napkin/train/trainer.hpp"
#include "support/temporary_folder.hpp"
#include "support/trained_numbers.hpp"
#include "train/perceptron.hpp"

namespace delayed_scaling_test {

namespace nk = napkin;
using nk::testing::gradients_of;
using nk::testing::values_of;

using namespace few_bits;
using model = perceptron<0>;
using faint = perceptron<9>;  // whose gradients are too small for e5m2
template <class... Policies>
using step_of = nk::train_step<model, nk::adamw, nk::compute_in<nk::f8>, Policies...>;
using step = step_of<>;
// x and up, tanh and down, and the adjoints of both products
static_assert(step::quantized_tensors == 6);
static_assert(nk::train_step<model, nk::adamw>::quantized_tensors == 0);
static_assert(step::memory.inputs == nk::train_step<model, nk::adamw>::memory.inputs +
                                         nk::delayed_scales::bytes(step::quantized_rows));

template <class Trainer>
std::vector<float> all_remembered(const Trainer& t) {
  return {t.scales().remembered().begin(), t.scales().remembered().end()};
}
std::vector<float> scales_of(const nk::delayed_scales& s) { return {s.scale(0), s.scale(0) + s.size()}; }

/// Scales of two tensors, in memory of their own.
struct two_scales {
  static constexpr std::size_t rows[] = {1, 1};
  alignas(64) std::byte memory[nk::delayed_scales::bytes(rows)]{};
  nk::delayed_scales scales{memory, rows};
  void saw(float first, float second, std::int64_t n) {
    scales.forget_runs();
    *scales.used(0) = first, *scales.used(1) = second;
    scales.add_run();
    scales.keep(n);
    scales.set({});
  }
};

}  // namespace delayed_scaling_test

TEST_CASE("delayed scales: of a tensor's rows the largest counts, and each scale has its reciprocal") {
  using namespace delayed_scaling_test;
  constexpr std::size_t rows[] = {1, 40, 3};
  alignas(64) std::byte memory[nk::delayed_scales::bytes(rows)]{};
  nk::delayed_scales scales{memory, rows};
  CHECK(static_cast<const void*>(scales.used(2) + 16) == memory + sizeof memory);
  const auto saw = [&](float one, float late, float last) {
    for (int i = 0; i < 40; ++i) scales.used(1)[i] = 0.001f * static_cast<float>(i);
    *scales.used(0) = one, scales.used(1)[37] = late, scales.used(2)[2] = last;
    scales.forget_runs();
    scales.add_run();
  };
  saw(2, 8, 0.25f);
  REQUIRE(scales.finite());
  scales.keep(0);
  scales.set({});
  CHECK(scales_of(scales) == std::vector<float>{0.5f, 0.125f, 4});
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(*scales.scale(i) * *scales.reciprocal(i) == 1);
    CHECK(reinterpret_cast<std::uintptr_t>(scales.reciprocal(i)) % 16 == 0);  // as cuBLASLt takes them
  }
  saw(1, std::numeric_limits<float>::quiet_NaN(), 1);
  CHECK(!scales.finite());
  saw(1, 1, std::numeric_limits<float>::infinity());
  CHECK(!scales.finite());
  saw(1, 1, 1);
  CHECK(scales.finite());
}

TEST_CASE("delayed scaling: the largest power of two that keeps the largest magnitude in the format") {
  using namespace delayed_scaling_test;
  two_scales s;
  s.scales.set({});
  CHECK(scales_of(s.scales) == std::vector<float>{1, 1});  // nothing is known
  s.saw(0.25f, 3, 0);
  CHECK(scales_of(s.scales) == std::vector<float>{4, 0.25f});
  s.saw(0.26f, 0, 1);
  CHECK(scales_of(s.scales) ==
        std::vector<float>{2, 0.25f});  // 4 would not do; and the largest is remembered
  s.scales.set({.margin = 2});
  CHECK(scales_of(s.scales) == std::vector<float>{0.5f, 0.0625f});
}

TEST_CASE("delayed scaling: a step is forgotten after as many as are remembered") {
  using namespace delayed_scaling_test;
  two_scales s;
  s.saw(1, 0x1p10f, 0);
  const auto remembered = static_cast<std::int64_t>(nk::delayed_scales::history);
  for (std::int64_t n = 1; n < remembered; ++n) {
    s.saw(1, 1, n);
    CHECK(*s.scales.scale(1) == 0x1p-10f);
  }
  s.saw(1, 1, remembered);
  CHECK(*s.scales.scale(1) == 1);
}

TEST_CASE("delayed scaling: of several runs the largest counts, and one that is not finite is never lost") {
  using namespace delayed_scaling_test;
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  two_scales s;
  s.scales.forget_runs();
  for (const float x : {0.5f, 8.0f, 2.0f}) {
    *s.scales.used(0) = x;
    s.scales.add_run();
  }
  CHECK(s.scales.finite());
  s.scales.keep(0);
  s.scales.set({});
  CHECK(*s.scales.scale(0) == 0.125f);
  for (const float wrong : {nan, inf}) {
    s.scales.forget_runs();
    for (const float x : {0.5f, wrong, 2.0f}) {
      *s.scales.used(1) = x;
      s.scales.add_run();
    }
    CHECK(!s.scales.finite());
  }
  s.scales.forget_runs();
  CHECK(s.scales.finite());
}

TEST_CASE("delayed scaling: two scales, their product and its reciprocal are ordinary numbers") {
  using namespace delayed_scaling_test;
  for (const float used : {std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::max()}) {
    two_scales s;
    s.saw(used, used, 0);
    const float both = *s.scales.scale(0) * *s.scales.scale(1);
    CHECK(std::isnormal(both));
    CHECK(std::isnormal(1 / both));
  }
}

TEST_CASE("delayed scaling: scales follow a step's tensors") {
  using namespace delayed_scaling_test;
  nk::trainer<step> t(nk::seed{1});
  const float loss = t.evaluate(inputs(), targets);
  const nk::step_result first = t.step(1e-3, inputs(), targets);
  CHECK(first.applied);
  CHECK(first.loss == loss);  // scales of 1, both
  const std::vector<float> seen = all_remembered(t);
  const std::size_t tensors = t.scales().size();
  for (std::size_t i = 0; i < tensors; ++i) {
    CHECK(seen[i] > 0);
    CHECK(seen[i] < 1);
  }
  for (std::size_t i = tensors; i < seen.size(); ++i) CHECK(seen[i] == 0);
  const nk::step_result second = t.step(1e-3, inputs(), targets);
  CHECK(second.applied);
  for (std::size_t i = 0; i < tensors; ++i) {
    const float product = *t.scales().scale(i) * seen[i];  // in the upper half of the format
    CHECK(product > 0.5f);
    CHECK(product <= 1);
  }
}

TEST_CASE("delayed scaling: gradients far too small for e5m2 arrive once their magnitudes are known") {
  using namespace delayed_scaling_test;
  nk::trainer<nk::train_step<faint, nk::sgd>> exact(nk::seed{1});
  nk::trainer<nk::train_step<faint, nk::sgd, nk::compute_in<nk::f8>>> t(nk::seed{1});
  const auto error = [&] { return error_of(gradients_of(t), gradients_of(exact)); };
  exact.step(0, inputs(), targets);
  t.step(0, inputs(), targets);
  CHECK(error() == 1);  // lost
  // what comes back through the second product is known a step later than what comes back to it
  t.step(0, inputs(), targets);
  CHECK(error() < 1);
  t.step(0, inputs(), targets);
  CHECK(error() < 0.1);  // two bits of e5m2, three of e4m3
}

TEST_CASE("delayed scaling: a step with a number that is not finite changes nothing, and is an error") {
  using namespace delayed_scaling_test;
  nk::trainer<step> t(nk::seed{1});
  t.step(1e-3, inputs(), targets);
  const std::vector<float> values = values_of(t), seen = all_remembered(t);
  std::vector<float> wrong = inputs();
  wrong[5] = std::numeric_limits<float>::infinity();  // cut to 448 it would be a number again
  const nk::step_result r = t.step(1e-3, wrong, targets);
  CHECK(!r.applied);
  CHECK(values_of(t) == values);
  CHECK(all_remembered(t) == seen);
  CHECK_THROWS_AS(nk::require_applied(t, r), nk::nonfinite_error);
  CHECK(t.step(1e-3, inputs(), targets).applied);
}

TEST_CASE("delayed scaling: of micro-batches the largest magnitude counts") {
  using namespace delayed_scaling_test;
  using of_two = nk::trainer<step_of<nk::micro_batches<2>>>;
  of_two both(nk::seed{1}), small(nk::seed{1}), large(nk::seed{1});
  const auto run = [](of_two& t, std::vector<float> first, const std::vector<float>& second) {
    first.insert(first.end(), second.begin(), second.end());
    t.step(0, first, std::vector<float>(2 * batch::size, 1.0f));
  };
  run(both, inputs(8), inputs());
  run(small, inputs(), inputs());
  run(large, inputs(8), inputs(8));
  for (std::size_t i = 0; i < both.scales().size(); ++i)
    CHECK(all_remembered(both)[i] == std::max(all_remembered(small)[i], all_remembered(large)[i]));
  CHECK(all_remembered(small)[0] != all_remembered(large)[0]);
}

TEST_CASE("delayed scaling: a run goes on from its checkpoint to the same bits, as without a stop") {
  using namespace delayed_scaling_test;
  const temporary_folder folder;
  const std::string path = folder / "c.safetensors";
  nk::file_system& files = nk::posix_file_system();
  nk::trainer<step> straight(nk::seed{1}), first(nk::seed{1}), second(nk::seed{9});
  const auto data = [](int k) { return inputs(static_cast<float>(1 << (k % 20))); };
  for (int k = 0; k < 40; ++k) straight.step(1e-3, data(k), targets);
  for (int k = 0; k < 23; ++k) first.step(1e-3, data(k), targets);
  nk::save_checkpoint(files, path, first, {});
  CHECK(read_whole(path).size() == nk::checkpoint_bytes<step>);
  nk::load_checkpoint(files, path, second);
  CHECK(all_remembered(second) == all_remembered(first));
  for (int k = 23; k < 40; ++k) second.step(1e-3, data(k), targets);
  CHECK(values_of(second) == values_of(straight));
  // and the history is what it takes
  nk::load_checkpoint(files, path, second);
  second.scales().remember({});
  for (int k = 23; k < 40; ++k) second.step(1e-3, data(k), targets);
  CHECK(values_of(second) != values_of(straight));
}

TEST_CASE("delayed scaling: a checkpoint of f32 is one to start from in f8, and the other way") {
  using namespace delayed_scaling_test;
  const temporary_folder folder;
  const std::string path = folder / "c.safetensors";
  nk::file_system& files = nk::posix_file_system();
  nk::trainer<nk::train_step<model, nk::adamw>> wide(nk::seed{1}), back(nk::seed{3});
  wide.step(1e-3, inputs(), targets);
  nk::save_checkpoint(files, path, wide, {});
  nk::trainer<step> narrow(nk::seed{2});
  narrow.step(1e-3, inputs(), targets);
  nk::load_checkpoint(files, path, narrow);
  CHECK(values_of(narrow) == values_of(wide));
  for (const float x : all_remembered(narrow)) CHECK(x == 0);
  nk::save_checkpoint(files, path, narrow, {});
  nk::load_checkpoint(files, path, back);
  CHECK(values_of(back) == values_of(wide));
}

TEST_CASE(
    "delayed scaling: a checkpoint with a magnitude that cannot be is refused, and nothing is changed") {
  using namespace delayed_scaling_test;
  const temporary_folder folder;
  const std::string path = folder / "c.safetensors";
  nk::file_system& files = nk::posix_file_system();
  for (const float wrong :
       {-1.0f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    nk::trainer<step> from(nk::seed{1}), to(nk::seed{2});
    std::vector<float> history = all_remembered(from);
    history[7] = wrong;
    from.scales().remember(history);
    nk::save_checkpoint(files, path, from, {});
    const std::vector<float> before = values_of(to);
    CHECK_THROWS_AS(nk::load_checkpoint(files, path, to), nk::checkpoint_error);
    CHECK(values_of(to) == before);
  }
}
