// A trainer on the device that computes in 8-bit floats: its scales are the CPU's, step by step, and so are its
// numbers but for roundings; what is not finite changes nothing; checkpoints go from one to the other.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "napkin/napkin.hpp"
#include "napkin/train/cuda_trainer.hpp"
#include "support/host_kernels.hpp"
#include "support/temporary_folder.hpp"
#include "support/trained_numbers.hpp"

namespace nk = napkin;
using nk::testing::values_of;

namespace {

struct batch : nk::dim<"batch", 16> {};
struct feature : nk::dim<"feature", 32> {};
struct hidden : nk::dim<"hidden", 48> {};
struct out : nk::dim<"out", 16> {};

struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<feature, hidden>, up), (nk::param<hidden, out>, down));
  constexpr auto loss(nk::input<nk::f32, batch, feature> x, nk::input<nk::f32, batch, out> y) const {
    const auto error = nk::dot<"hidden">(nk::tanh(nk::dot<"feature">(x, up)), down) - y;
    return nk::mean(error * error);
  }
};
template <class... Policies>
using step_of = nk::train_step<model, nk::adamw, nk::compute_in<nk::f8>, Policies...>;

// All that the CPU has of scales, and what the host says of a step.
using on_device = nk::detail::step_on<step_of<>, nk::cuda>;
static_assert(on_device::quantized_tensors == step_of<>::quantized_tensors);
static_assert(on_device::scale_bytes >= step_of<>::scale_bytes + sizeof(nk::on_cuda::scale_settings));

struct data {
  std::vector<float> x, y;
};
data data_of(int n, std::size_t micro_batches = 1, float scale = 1) {
  data d;
  for (std::size_t i = 0; i < micro_batches * batch::size * feature::size; ++i)
    d.x.push_back(scale * static_cast<float>(std::sin(0.3 * static_cast<double>(i) + n)));
  for (std::size_t i = 0; i < micro_batches * batch::size * out::size; ++i)
    d.y.push_back(static_cast<float>(std::cos(0.7 * static_cast<double>(i) + n)));
  return d;
}

struct machine : nk::testing::host_device {
  nk::on_cuda::session session{cuda, blas};
};
template <class Step>
using device_trainer = nk::trainer<Step, nk::cuda>;

std::vector<float> remembered_by(const nk::delayed_scales& s) {
  return {s.remembered().begin(), s.remembered().end()};
}
std::vector<float> scales_of(const nk::delayed_scales& s) { return {s.scale(0), s.scale(0) + s.size()}; }

/// A magnitude rounded otherwise is another by one of bf16's steps; a scale that is near a power of two may
/// then be its double.
void compare(const nk::delayed_scales& found, const nk::delayed_scales& expected) {
  REQUIRE(found.size() == expected.size());
  int far = 0;
  for (std::size_t i = 0; i < found.remembered().size(); ++i) {
    const float a = found.remembered()[i], b = expected.remembered()[i];
    far += !(std::fabs(a - b) <= 0.05f * b);
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    const float ratio = *found.scale(i) / *expected.scale(i);
    far += !(ratio == 1 || ratio == 2 || ratio == 0.5f) || *found.scale(i) * *found.reciprocal(i) != 1;
  }
  CHECK(far == 0);
}

template <class... Policies>
void compare_with_cpu() {
  using step = step_of<Policies...>;
  nk::trainer<step> cpu(nk::seed{4});
  machine m;
  device_trainer<step> t(nk::seed{4}, {}, m.session);
  const auto both = [&](double rate, const data& d) {
    const nk::step_result a = cpu.step(rate, d.x, d.y), b = t.step(rate, d.x, d.y);
    CHECK(b.applied);
    CHECK(std::fabs(a.loss - b.loss) <= 0.01f * a.loss);
    CHECK(std::fabs(a.norm - b.norm) <= 0.05 * a.norm);
    t.fetch();
    compare(t.scales(), cpu.scales());
  };
  // more steps than are remembered, of magnitudes far apart
  for (int n = 0; n < 20; ++n)
    both(0, data_of(n, step::micro_batches, static_cast<float>(1 << (20 - n) % 10)));
  const std::vector<float> before = values_of(t);
  CHECK(before == values_of(cpu));
  for (int n = 0; n < 8; ++n) both(0.001, data_of(n, step::micro_batches));
  const std::vector<float> expected = values_of(cpu), found = values_of(t);
  CHECK(found != before);
  REQUIRE(expected.size() == found.size());
  double sum = 0;
  for (std::size_t i = 0; i < found.size(); ++i) sum += std::fabs(found[i] - expected[i]);
  CHECK(sum / static_cast<double>(found.size()) <= 0.0005);
  CHECK(m.cuda.misuse.empty());
}

}  // namespace

TEST_CASE("steps in f8 on the device are the CPU's, and so are their scales", "[cuda]") {
  SECTION("one batch") { compare_with_cpu<>(); }
  SECTION("micro-batches") { compare_with_cpu<nk::micro_batches<2>>(); }
}

TEST_CASE("a step in f8 on the device multiplies 8-bit floats", "[cuda]") {
  const nk::graph_view g = on_device::gradient_plan::graph();
  int narrow = 0;
  for (int id = 0; id < static_cast<int>(g.size()); ++id)
    narrow += g[id].kind == nk::op::einsum && nk::is_8_bit_float(g[g.operand(id, 0)].type) &&
              nk::is_8_bit_float(g[g.operand(id, 1)].type);
  CHECK(narrow == 5);  // two forward; of x nobody wants a gradient
}

TEST_CASE("scales on the device: the first step has scales of 1, the second those of what the first saw",
          "[cuda]") {
  machine m;
  device_trainer<step_of<>> t(nk::seed{4}, {.quantization = {.margin = 2}}, m.session);
  t.fetch();
  CHECK(scales_of(t.scales()) == std::vector<float>(t.scales().size(), 1.0f));
  const data d = data_of(1);
  const float loss = t.evaluate(d.x, d.y);
  CHECK(t.step(0, d.x, d.y).loss == loss);
  t.fetch();
  CHECK(scales_of(t.scales()) == std::vector<float>(t.scales().size(), 1.0f));
  t.step(0, d.x, d.y);
  t.fetch();
  for (std::size_t i = 0; i < t.scales().size(); ++i) {
    const float scaled = *t.scales().scale(i) * t.scales().remembered()[i];
    CHECK(scaled <= 0.25f);
    CHECK(scaled > 0.125f);
  }
  CHECK(t.evaluate(d.x, d.y) != loss);  // by those scales
}

TEST_CASE("scales on the device: the loss before a resumed run's first step is by the margin it was given",
          "[cuda]") {
  machine m, other;
  const nk::trainer_options<nk::adamw> options{.quantization = {.margin = 2}};
  device_trainer<step_of<>> t(nk::seed{4}, options, m.session), resumed(nk::seed{5}, options, other.session);
  const data d = data_of(1);
  for (int n = 0; n < 3; ++n) t.step(0.01, d.x, d.y);
  const temporary_folder folder;
  nk::save_checkpoint(nk::posix_file_system(), folder / "c", t, {});
  nk::load_checkpoint(nk::posix_file_system(), folder / "c", resumed);
  CHECK(resumed.evaluate(d.x, d.y) == t.evaluate(d.x, d.y));
}

TEST_CASE("a step in f8 on the device that meets a number that is not finite changes nothing", "[cuda]") {
  machine m;
  device_trainer<step_of<>> t(nk::seed{4}, {}, m.session);
  const data d = data_of(1);
  CHECK(t.step(0.01, d.x, d.y).applied);
  t.fetch();
  const std::vector<float> values = values_of(t), seen = remembered_by(t.scales());
  for (const float wrong :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    data w = d;
    w.x[5] = wrong;  // an infinity, cut to 448, would be a number again
    CHECK(!t.step(0.01, w.x, w.y).applied);
    t.fetch();
    CHECK(values_of(t) == values);
    CHECK(remembered_by(t.scales()) == seen);
  }
  CHECK(t.steps() == 1);
  CHECK(t.step(0.01, d.x, d.y).applied);
}

TEST_CASE("two runs in f8 on the device are equal to the bit", "[cuda]") {
  const auto run = [] {
    machine m;
    device_trainer<step_of<>> t(nk::seed{4}, {}, m.session);
    for (int n = 0; n < 4; ++n) {
      const data d = data_of(n);
      t.step(0.01, d.x, d.y);
    }
    t.fetch();
    std::vector<float> all = values_of(t);
    for (const float x : t.scales().remembered()) all.push_back(x);
    return all;
  };
  CHECK(run() == run());
}

TEST_CASE("a run in f8 goes on from its checkpoint: on the device to the bit, from and to the CPU",
          "[cuda]") {
  const temporary_folder folder;
  const std::string path = folder / "c.safetensors";
  nk::file_system& files = nk::posix_file_system();
  machine m;
  device_trainer<step_of<>> straight(nk::seed{1}, {}, m.session), first(nk::seed{1}, {}, m.session),
      second(nk::seed{9}, {}, m.session);
  nk::trainer<step_of<>> cpu(nk::seed{7});
  const auto run = [](auto& t, int from, int to) {
    for (int n = from; n < to; ++n) {
      const data d = data_of(n, 1, static_cast<float>(1 << n % 7));
      t.step(0.01, d.x, d.y);
    }
  };
  run(straight, 0, 12);
  run(first, 0, 5);
  nk::save_checkpoint(files, path, first, {});
  nk::load_checkpoint(files, path, second);
  nk::load_checkpoint(files, path, cpu);
  CHECK(remembered_by(second.scales()) == remembered_by(first.scales()));
  CHECK(remembered_by(cpu.scales()) == remembered_by(first.scales()));
  run(second, 5, 12);
  straight.fetch();
  second.fetch();
  CHECK(values_of(second) == values_of(straight));
  CHECK(remembered_by(second.scales()) == remembered_by(straight.scales()));

  run(cpu, 5, 8);
  nk::save_checkpoint(files, path, cpu, {});
  nk::load_checkpoint(files, path, second);
  second.fetch();
  CHECK(remembered_by(second.scales()) == remembered_by(cpu.scales()));
  CHECK(values_of(second) == values_of(cpu));
  const data d = data_of(8);
  cpu.step(0.01, d.x, d.y);
  second.step(0.01, d.x, d.y);
  second.fetch();
  CHECK(scales_of(second.scales()) == scales_of(cpu.scales()));
}
