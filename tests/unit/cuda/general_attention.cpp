// The GPU's general kernels of attention, thread by thread on the host, and what a plan says that they multiply.
#include "napkin/cuda/plan.hpp"
#include "napkin/plan/cost.hpp"
#include "support/device_graphs.hpp"
#include "support/host_attention_ways.hpp"
#include "support/planned.hpp"

namespace nk = napkin;
using nk::dtype;
using nk::passes::attention_tensors;
using nk::planning::attention_record;
using nk::testing::random_source;
using nk::testing::attention::by_warps;
using nk::testing::attention::check;
using nk::testing::attention::check_all;
using nk::testing::attention::check_masked;
using nk::testing::attention::endless;
using nk::testing::attention::sizes;

namespace {

/// What only general kernels take: wide heads, scales that are not above 0; of f64 all that others take.
template <class T>
void check_general(double tolerance) {
  using enum nk::attention_mask;
  random_source random(500 + sizeof(T) + nk::name_of(nk::dtype_of<T>).size());
  const auto one = [&](const sizes& s) { return check<T>(s, random, tolerance, by_warps); };
  const std::size_t n = 16 / sizeof(T);
  CHECK(one({.queries = 64, .keys = 64, .hidden = 256, .value = 256}) == 0);
  CHECK(one({.heads = 2, .queries = 70, .keys = 90, .hidden = 192, .value = 128, .causal = true}) == 0);
  CHECK(
      one({.batch = 2, .group = 2, .queries = 40, .keys = 40, .hidden = 160, .value = 160, .causal = true}) ==
      0);
  // results in pieces, unequal; rows that 16 bytes do not go into, and rows apart
  CHECK(one({.group = 2, .queries = 37, .keys = 70, .hidden = 300, .value = 520}) == 0);
  CHECK(one({.queries = 70, .keys = 33, .hidden = 520, .value = 131, .causal = true, .apart = 1}) == 0);
  CHECK(one({.queries = 66, .keys = 66, .hidden = 264, .value = 136, .causal = true, .apart = n}) == 0);
  CHECK(one({.queries = 1, .keys = 1, .hidden = 129, .value = 1, .causal = true}) == 0);
  CHECK(one({.queries = 70, .keys = 90, .hidden = 0, .value = 300, .scale = 1}) == 0);  // all weigh alike
  for (const double scale : {-0.125, -1e-30, 2.0})
    CHECK(one({.heads = 2,
               .queries = 50,
               .keys = 50,
               .hidden = 72,
               .value = 140,
               .causal = true,
               .scale = scale}) == 0);
  CHECK(one({.queries = 65, .keys = 50, .hidden = 16, .value = 16, .scale = -0.25}) == 0);
  // windows, of which whole tiles lie outside, and masks
  CHECK(one({.queries = 170, .keys = 170, .hidden = 136, .value = 24, .causal = true, .window = 40}) == 0);
  CHECK(one({.group = 2,
             .queries = 150,
             .keys = 140,
             .hidden = 9,
             .value = 150,
             .causal = true,
             .window = 11}) == 0);
  sizes s{.batch = 2,
          .heads = 2,
          .queries = 40,
          .keys = 71,
          .hidden = 136,
          .value = 136,
          .mask = adds,
          .has = {1, 1, 0, 1, 1},
          .mask_type = nk::dtype_of<T>};
  CHECK(one(s) == 0);
  for (const dtype type : {dtype::f64, dtype::f32, dtype::bf16, dtype::f16}) {
    s.mask_type = type;
    s.has = {0, 1, 0, 0, 1};
    s.causal = true;
    CHECK(one(s) == 0);
  }
  s = {.batch = 2,
       .group = 2,
       .queries = 100,
       .keys = 100,
       .hidden = 72,
       .value = 136,
       .causal = true,
       .mask = shows,
       .has = {1, 0, 0, 0, 1},
       .blinds = 1};
  CHECK(one(s) == 0);
  s.causal = false;
  s.has = {1, 0, 0, 1, 1};
  CHECK(one(s) == 0);
  s.hides_by = -endless;
  CHECK(one(s) > 0);
  s = {.queries = 100,
       .keys = 100,
       .hidden = 136,
       .value = 64,
       .causal = true,
       .window = 50,
       .mask = adds,
       .has = {0, 0, 0, 1, 1},
       .mask_type = dtype::f32,
       .hides_by = -1e20,
       .blinds = -1e30};
  CHECK(one(s) == 0);
}

}  // namespace

// Tolerances are of a tensor's largest element: PyTorch's for the dtype.
TEST_CASE("attention's general kernels in f64", "[cuda]") {
  check_all<double>(1e-13, by_warps);
  check_masked<double>(1e-13, by_warps);
  check_general<double>(1e-13);
}
TEST_CASE("attention's general kernels in f32", "[cuda]") { check_general<float>(1e-5); }
TEST_CASE("attention's general kernels in bf16", "[cuda]") { check_general<nk::bf16>(1.6e-2); }
TEST_CASE("attention's general kernels in f16", "[cuda]") { check_general<nk::f16>(2e-3); }

// Lengths and widths that fill tiles and chunks, so that nothing is multiplied but what is counted.
TEST_CASE("attention's general kernels multiply what a plan's cost says", "[cuda]") {
  using Gradients = nk::testing::attention_gradients<dtype::f64, 64, 288, false>;
  const nk::graph graph = Gradients::make(), lowered = nk::testing::lowered(graph.view());
  const auto plan = nk::testing::planned_unsettled<nk::on_cuda::target>(lowered.view());
  std::uint64_t counted = 0, done = 0;
  nk::planning::instruction_costs costs(nk::planning::view_of(plan), lowered.view());
  for (std::size_t i = 0; i < plan.instructions.size(); ++i) {
    if (plan.instructions[i].kind != nk::passes::unit_kind::attention) continue;
    counted += costs.of(i).flops.matmul;
    const attention_record& r = plan.attentions[static_cast<std::size_t>(plan.instructions[i].index)];
    CHECK(nk::on_cuda::is_general(r));
    std::vector<double> memory[attention_tensors];
    nk::on_cuda::attention_addresses at;
    for (std::size_t x = 0; x < attention_tensors; ++x) {
      memory[x].assign(std::size_t{2} * 64 * 8 * 288, 0);
      if (r.operands[x].there) at.of[x] = reinterpret_cast<std::byte*>(memory[x].data());
    }
    nk::testing::host_machine::fmas() = 0;
    nk::testing::attend_by_warps(r, at);
    done += 2 * nk::testing::host_machine::fmas();
  }
  CHECK(done == counted);
  // Of each result's two pieces, the scores and with them d_output times values; and of the result, its sum.
  const std::uint64_t product = std::uint64_t{2} * 8 * 64 * 64 * 288, forward = 2 + 1, of_queries = 4 + 1,
                      of_keys = 4 + 1, of_values = 2 + 1;
  CHECK(counted == (forward + of_queries + of_keys + of_values) * product);
}
