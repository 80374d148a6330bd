// What the GPU's threads compute, run on the host: the same as the CPU's kernels, to the rounding of sums.
#include "napkin/cuda/fused.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "napkin/core/random.hpp"
#include "napkin/cpu/interpret_kernel.hpp"
#include "napkin/nn/transformer.hpp"
#include "napkin/optim/adamw.hpp"
#include "napkin/train/step.hpp"
#include "support/run_plan.hpp"
#include "support/run_teams.hpp"

namespace nk = napkin;
using nk::testing::raw_bytes;

namespace {

/// Both executors on the same random inputs.
template <class Make>
void compare(double tolerance) {
  using plan = nk::on_cpu::frozen_plan<Make>;
  const nk::graph_view g = plan::graph();
  const nk::on_cpu::plan_view p = plan::view();
  std::size_t slots = 0;
  std::vector<const void*> from(64 * g.size());
  std::vector<raw_bytes> inputs(g.size());
  for (int id = 0; id < static_cast<int>(g.size()); ++id) {
    if (g[id].kind != nk::op::input) continue;
    const auto slot = static_cast<std::size_t>(g.attribute(id, 0));
    if (slot >= slots) slots = slot + 1;
    std::vector<double> values(nk::numel(g.shape_of(id)));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = is_integer(g[id].type)
                      ? static_cast<double>((i * 7 + slot) % 5)
                      : std::sin(0.37 * static_cast<double>(i + 1) + static_cast<double>(slot));
    inputs[slot] = nk::testing::to_bytes(values, g[id].type);
  }
  from.resize(slots);
  for (std::size_t s = 0; s < slots; ++s) from[s] = inputs[s].data();
  const auto outputs = [&](auto&& run) {
    std::vector<raw_bytes> out;
    std::vector<void*> to;
    for (const std::int32_t id : g.output_ids())
      out.emplace_back(nk::numel(g.shape_of(id)) * nk::size_of(g[id].type), std::byte{0x7f});
    for (raw_bytes& o : out) to.push_back(o.data());
    run(to);
    return out;
  };
  const std::vector<raw_bytes> expected = outputs(
      [&](std::vector<void*>& to) { nk::on_cpu::run_plan_interpreted(p, from, to, std::byte{0xff}); });
  const std::vector<raw_bytes> given =
      outputs([&](std::vector<void*>& to) { nk::testing::team_executor<plan>(from, to).run(); });
  for (std::size_t o = 0; o < expected.size(); ++o) {
    const nk::dtype type = g[g.outputs[o]].type;
    const std::vector<double> x = nk::testing::to_doubles(expected[o], type),
                              y = nk::testing::to_doubles(given[o], type);
    double scale = 0, worst = 0;
    bool numbers = true;
    for (std::size_t i = 0; i < x.size(); ++i) {
      scale = std::fmax(scale, std::fabs(x[i]));
      worst = std::fmax(worst, std::fabs(x[i] - y[i]));
      numbers = numbers && std::isfinite(x[i]) && std::isfinite(y[i]);
    }
    INFO("output " << o << " of " << expected.size() << ", largest " << scale << ", off by " << worst);
    CHECK(numbers);
    CHECK(worst <= tolerance * std::fmax(scale, 1e-4));  // a key's bias has no gradient but rounding
  }
}

/// Whole programs for the team executor: a builder's graph, as a constant.
template <auto Build>
struct made_by {
  static constexpr nk::graph make() {
    nk::builder b;
    b.simplify = true;
    Build(b);
    return b.take();
  }
};
template <class Loss>
struct with_gradients {
  static constexpr nk::graph make() {
    const nk::graph loss = Loss::make();
    const std::int32_t wanted[] = {0, 1};
    return nk::passes::differentiate(loss.view(), wanted);
  }
};
constexpr std::int32_t last_axis[] = {1}, both_axes[] = {0, 1}, along_rows[] = {-1, 0},
                       along_columns[] = {0, -1};

/// A norm of rows with a gain, and the sum of its squares: reductions over rows and, in the gradient,
/// columns.
template <nk::dtype T, std::size_t Rows, std::size_t Columns>
constexpr void normed(nk::builder& b) {
  const nk::shape all{Rows, Columns}, row{Rows};
  const int x = b.input(0, T, all), gain = b.input(1, T, {Columns});
  const int mean = b.scale(b.reduce(nk::op::sum, x, last_axis), 1.0 / Columns);
  const int centred = b.sub(x, b.expand(mean, all, along_columns));
  const int square = b.scale(b.reduce(nk::op::sum, b.mul(centred, centred), last_axis), 1.0 / Columns);
  const int factor = b.unary(nk::op::rsqrt, b.add(square, b.constant(1e-5, T, row)));
  const int y = b.mul(b.mul(centred, b.expand(factor, all, along_columns)), b.expand(gain, all, along_rows));
  b.output(b.reduce(nk::op::sum, b.mul(y, b.unary(nk::op::sin, y)), both_axes));
}
/// A softmax of rows, with what it is made of: the maximum too.
template <std::size_t Rows, std::size_t Columns>
constexpr void softmaxed(nk::builder& b) {
  const nk::shape all{Rows, Columns};
  const int x = b.input(0, nk::dtype::f32, all);
  const int most = b.reduce(nk::op::max, x, last_axis);
  const int e = b.unary(nk::op::exp, b.sub(x, b.expand(most, all, along_columns)));
  const int sum = b.reduce(nk::op::sum, e, last_axis);
  b.output(b.div(e, b.expand(sum, all, along_columns)));
  b.output(most);
}
/// Elementwise, over a transposed operand, a row repeated and coordinates.
template <nk::dtype T, std::size_t Rows, std::size_t Columns>
constexpr void mixed(nk::builder& b) {
  const nk::shape all{Rows, Columns};
  const std::int32_t turned[] = {1, 0};
  const int x = b.input(0, T, all), y = b.permute(b.input(1, T, {Columns, Rows}), turned);
  const int row = b.expand(b.input(2, T, {Columns}), all, along_rows);
  const int place = b.cast(b.iota(1, nk::dtype::i32, all), T);
  b.output(b.add(b.mul(x, y), b.mul(row, b.unary(nk::op::cos, place))));
  b.output(b.cast(b.binary(nk::op::maximum, x, y), nk::dtype::f64));
}

struct config {
  struct batch : nk::dim<"batch", 2> {};
  struct seq : nk::dim<"seq", 8> {};
  struct vocab : nk::dim<"vocab", 40> {};
  struct embed : nk::dim<"embed", 24> {};
  struct ffn : nk::dim<"ffn", 20> {};
  struct heads : nk::dim<"heads", 3> {};
  struct kv_heads : nk::dim<"kv_heads", 3> {};
  struct group : nk::dim<"group", 1> {};
  struct hidden : nk::dim<"hidden", 8> {};
  static constexpr std::size_t layers = 2;
};

}  // namespace

TEST_CASE("a training step's kernels, by teams of threads") {
  compare<nk::train_step<nk::nn::llama<config>, nk::adamw>::gradients>(1e-4);
  compare<nk::train_step<nk::nn::gpt<config>, nk::adamw>::gradients>(1e-4);
}

TEST_CASE("rows in registers and rows in memory; sums over few rows and over many") {
  compare<with_gradients<made_by<&normed<nk::dtype::f64, 5, 7>>>>(1e-13);      // less than a warp
  compare<with_gradients<made_by<&normed<nk::dtype::f64, 1100, 96>>>>(1e-12);  // more rows than teams
  compare<with_gradients<made_by<&normed<nk::dtype::f32, 3, 3000>>>>(1e-4);    // several warps
  compare<with_gradients<made_by<&normed<nk::dtype::f64, 2, 40000>>>>(1e-11);  // more than registers hold
  compare<made_by<&softmaxed<3, 20000>>>(1e-6);
  compare<made_by<&softmaxed<70, 33>>>(1e-6);
}

TEST_CASE("elementwise kernels are equal to the bit") {
  compare<made_by<&mixed<nk::dtype::f32, 64, 96>>>(0);
  compare<made_by<&mixed<nk::dtype::bf16, 5, 1032>>>(0);
  compare<made_by<&mixed<nk::dtype::f64, 3, 4099>>>(0);
}
