// A graph lowered to the CPU: what plan/planner.hpp asks of a backend, and its functions for this one.
#pragma once

#include "napkin/cpu/attention_blocks.hpp"
#include "napkin/cpu/contraction.hpp"
#include "napkin/cpu/rows_at_once.hpp"
#include "napkin/plan/frozen.hpp"

namespace napkin::on_cpu {

using namespace planning;

struct target {
  using product = contraction_plan;
  static constexpr passes::kernel_options kernels{};
  static constexpr bool joins_kernels = false;
  static constexpr bool makes_again = false;    // rows are scratch in the nearest cache
  static constexpr bool has_epilogues = false;  // kernels finish a product's blocks in cache
  /// A core's kernels do some 30 GFLOP/s, of which none is a fused multiply-add, and move some 10 GB/s.
  static constexpr passes::arithmetic_price arithmetic{.flops_a_byte = 3};

  static constexpr void deal(const auto&, kernel_record&) {}  // make_kernel has, for the CPU
  static constexpr std::size_t rows_at_once(const passes::kernel& k, std::size_t finished) {
    return on_cpu::rows_at_once(k, finished);
  }
  static constexpr std::size_t workspace_of(const movement_record&) { return 0; }
  static constexpr bool adjoints_at_once = true;
  static constexpr std::size_t attention_columns(const attention_record& r) {
    return goes_by_blocks(r) ? 0 : passes::attention_columns;
  }
  static constexpr product plan_product(const passes::product_types& types, const contraction_operand& a,
                                        const contraction_operand& b, const contraction_operand& c) {
    return plan_contraction(types.result, a, b, c);  // one dtype: no pass gives it another
  }
  /// Of several products none may end within a block.
  static constexpr bool can_finish(const product& p) {
    const bool in_whole_blocks = p.n_blocks() > 1 ? p.n % p.n_block == 0 : p.m % p.m_block == 0;
    return p.blocks_are_contiguous() && (in_whole_blocks || p.batch_size() == 1);
  }
  /// Of one row, columns are cut.
  static constexpr std::size_t finish_by(const product& p) {
    return p.n_blocks() > 1 ? p.n_block : p.m_block * p.n;
  }
};

using plan = planning::plan<contraction_plan>;
using plan_view = planning::plan_view<contraction_plan>;
template <class Make, plan_options Options = plan_options{}>
using frozen_plan = planning::frozen_plan<target, Make, Options>;

/// The whole plan of a graph that lower_graph has made. A template, so that the planner is compiled where it
/// is called.
template <class Target = target>
constexpr plan make_plan(const graph_view& lowered, plan_options options = {}) {
  return planning::make_plan<Target>(lowered, options);
}

}  // namespace napkin::on_cpu

namespace napkin {

template <class Make>
struct plan_for<cpu, Make> {
  using type = on_cpu::frozen_plan<Make>;
};

}  // namespace napkin
