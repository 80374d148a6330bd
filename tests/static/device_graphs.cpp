// The graphs that the GPU's tests run: every operation is in one, and how the kernels of some are dealt to threads.
#include "support/device_graphs.hpp"

#include <array>

#include "napkin/cuda/fused.hpp"
#include "napkin/cuda/kernel_table.hpp"
#include "napkin/cuda/plan.hpp"
#include "support/op_graphs.hpp"

namespace nk = napkin;

namespace {

template <void (*Make)(nk::builder&)>
using plan_of = nk::on_cuda::frozen_plan<nk::testing::made_by<Make>>;
template <void (*Make)(nk::builder&)>
constexpr nk::on_cuda::dealing dealing_of = nk::on_cuda::detail::kernel_of<plan_of<Make>, 0>::how;

using nk::dtype;
using nk::op;
// Adjacent threads read adjacent elements: over a middle axis, and of sums over rows of many columns.
constexpr auto middle = dealing_of<&nk::testing::reduced_middle<dtype::bf16, op::sum, 5, 100, 72>>;
static_assert(middle.spread && middle.team == 8 && middle.teams_per_block() == 32 && middle.teams == 5 * 72);
static_assert(dealing_of<&nk::testing::reduced_middle<dtype::f32, op::max, 40, 3, 33>>.team == 4);
static_assert(!dealing_of<&nk::testing::softmaxed<70, 33>>.spread);
// Not where few lie side by side, or there are few rows for all of a GPU.
static_assert(!dealing_of<&nk::testing::reduced_middle<dtype::f32, op::sum, 500, 64, 3>>.spread);
static_assert(!dealing_of<&nk::testing::reduced_middle<dtype::f32, op::sum, 2, 100000, 64>>.spread);
static_assert(dealing_of<&nk::testing::reduced_middle<dtype::f32, op::sum, 64, 100000, 64>>.spread);
constexpr auto& over_rows = plan_of<&nk::testing::column_summed<dtype::bf16, 3, 10, 16387>>::value;
static_assert(over_rows.counts.kernels == 1 && over_rows.counts.columns == 0 && over_rows.peak == 0);
static_assert(dealing_of<&nk::testing::column_summed<dtype::bf16, 3, 10, 16387>>.spread);
static_assert(plan_of<&nk::testing::column_summed<dtype::f32, 5, 8, 260>>::value.counts.columns == 2);
// Of few rows partial sums would be as much as what is summed.
static_assert(plan_of<&nk::testing::column_summed<dtype::f32, 4, 6, 1028>>::value.counts.columns == 0);
static_assert(plan_of<&nk::testing::column_summed<dtype::f32, 5, 8, 1028>>::value.counts.columns == 2);
static_assert(dealing_of<&nk::testing::turned_variance<dtype::f32, 3, 90, 40>>.spread);
static_assert(dealing_of<&nk::testing::weighted_rows<dtype::f32, 20, 16400>>.spread);
// As few warps as hold a row and fill it; of rows whose columns are summed, those that issue their work soonest.
constexpr nk::on_cuda::dealing dealt_to(std::size_t length, unsigned slots, unsigned columns,
                                        unsigned size = 2, std::size_t rows = 65536) {
  nk::on_cuda::kernel_facts f;
  f.rows = rows, f.row_length = length, f.slots = slots, f.columns = columns, f.smallest = size;
  f.fetched = columns > 0 ? 3 * size : 0;
  f.reduces_rows = true, f.reduces_columns = columns > 0, f.adjacent = 8;
  return nk::on_cuda::deal(f);
}
static_assert(dealt_to(768, 2, 0).team == 32 && dealt_to(768, 2, 0).groups == 3 && dealt_to(768, 2, 0).kept);
static_assert(dealt_to(1280, 2, 0).team == 160 && dealt_to(1600, 2, 0).team == 224 &&
              dealt_to(1600, 2, 0).kept);
static_assert(dealt_to(4096, 2, 0).team == 128 && dealt_to(50304, 0, 0).team == 512 &&
              !dealt_to(50304, 0, 0).kept);
// A warp for each scheduler and two of them in a processor: teams for all, of as many rows. More is kept of
// shorter rows than of long ones, and of 4 bytes less than of 2.
constexpr auto norm_768 = dealt_to(768, 3, 2);
static_assert(norm_768.team == 32 && norm_768.groups == 3 && norm_768.kept && norm_768.threads == 128);
static_assert(norm_768.teams <= 8 * 132 && norm_768.teams > 7 * 132);
static_assert(dealt_to(1024, 3, 2).team == 64 && dealt_to(1600, 3, 2).team == 128 &&
              dealt_to(4096, 3, 2).team == 256);
static_assert(dealt_to(768, 3, 2, 4).team == 64 && dealt_to(768, 3, 2, 4).groups == 3);
static_assert(dealt_to(768, 8, 6).team == 96 && dealt_to(768, 8, 6).kept && !dealt_to(768, 12, 8).kept);
static_assert(dealt_to(128, 3, 3, 2, 768).team == 16 && dealt_to(128, 3, 3, 2, 768).teams == 384);
// One number is a row's sum of many rows' sums.
constexpr auto& whole = plan_of<&nk::testing::summed_whole<dtype::bf16, 200000>>::value;
static_assert(whole.counts.kernels == 2 && whole.peak < 200000);
static_assert(dealing_of<&nk::testing::summed_whole<dtype::bf16, 200000>>.walks == 1250);
// A cast that only such a sum reads is part of it.
static_assert(plan_of<&nk::testing::reduced_middle<dtype::bf16, op::sum, 5, 100, 72>>::value.peak == 0);

constexpr bool has(const nk::graph& g, op kind) {
  for (int id = 0; id < static_cast<int>(g.view().size()); ++id)
    if (g.view()[id].kind == kind) return true;
  return false;
}
static_assert(has(nk::testing::attention_gradients<dtype::f32, 100, 64, true>::make(), op::attention) &&
              has(nk::testing::attention_gradients<dtype::f32, 100, 64, true>::make(),
                  op::attention_backward));

/// A kernel's result lies in an order that a product wants.
template <dtype T>
constexpr bool has_ordered_kernel() {
  nk::builder b;
  nk::testing::ordered<T, 20, 3, 16>(b);
  const nk::graph g = nk::planning::lower_graph<nk::on_cuda::target>(b.view());
  for (const nk::node& n : g.nodes)
    if (nk::passes::has_own_order(n)) return true;
  return false;
}
static_assert(has_ordered_kernel<dtype::f32>() && has_ordered_kernel<dtype::bf16>());

/// By operation: whether some graph has it as an output.
constexpr std::array<bool, nk::op_count> find_covered() {
  std::array<bool, nk::op_count> covered{};
  nk::testing::for_each_op_graph([&]<class Make>(std::type_identity<Make>) {
    const nk::graph g = Make::make();
    for (const std::int32_t id : g.view().output_ids()) {
      covered[static_cast<std::size_t>(g.view()[id].kind)] = true;
      // what is a view may be brought into the shape of the others first
      if (g.view()[id].kind == op::expand)
        covered[static_cast<std::size_t>(g.view()[g.view().operand(id, 0)].kind)] = true;
    }
  });
  return covered;
}
/// The first that no graph has, op::count_ if none. Attention, which a pass makes where the device has a
/// kernel, is device_graphs.hpp's.
constexpr op first_uncovered() {
  constexpr auto covered = find_covered();
  for (std::size_t o = 0; o < nk::op_count; ++o) {
    const nk::category c = nk::category_of(static_cast<op>(o));
    if (c != nk::category::leaf && c != nk::category::attention && !covered[o]) return static_cast<op>(o);
  }
  return op::count_;
}
static_assert(first_uncovered() == op::count_, "a row of the table that no test runs on the device");

}  // namespace
