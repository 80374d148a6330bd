// A graph lowered to CUDA: what plan/planner.hpp asks of a backend, and its functions for this one. Includes
// nothing of CUDA's: a plan is numbers.
#pragma once

#include "napkin/cuda/blas_plan.hpp"
#include "napkin/cuda/geometry.hpp"
#include "napkin/cuda/movement.hpp"
#include "napkin/plan/frozen.hpp"

namespace napkin::on_cuda {

/// A contraction as the device runs it: a GEMM of cuBLASLt's, or, where that says no (`gemm.reason`), loops
/// that a kernel of our own walks.
struct product {
  dtype type = dtype::f32;
  blas_product gemm;
  passes::contraction_groups loops;
  std::size_t workspace = 0;  // bytes
};

struct target {
  using product = on_cuda::product;
  static constexpr passes::kernel_options kernels{};

  static constexpr std::size_t workspace_of(const movement_record& r) { return on_cuda::workspace_of(r); }
  static constexpr product plan_product(dtype type, const passes::contraction_operand& a,
                                        const passes::contraction_operand& b,
                                        const passes::contraction_operand& c) {
    product p;
    p.type = type;
    p.gemm = plan_blas(type, a, b, c);
    p.loops = passes::group_labels(a, b, c);
    if (p.gemm.possible) p.workspace = p.gemm.workspace;
    return p;
  }
  /// Kernels do not follow a product within its call: cuBLASLt has epilogues of its own.
  static constexpr bool can_finish(const product&) { return false; }
  static constexpr std::size_t finish_by(const product&) { return 0; }

  /// A team is a block of the plan's: partial sums and rows of scratch are for each.
  template <class Plan>
  static constexpr void deal(const Plan& p, kernel_record& r) {
    const dealing d = on_cuda::deal(facts_of(view_of(p), r));
    r.chunk = d.chunk;
    r.chunks = d.chunks;
    r.walks = d.walks;
    r.walks_per_block = d.walks_per_team;
    r.blocks = d.teams;
    if (d.kept) r.scratch_per_block = 0;
  }
};

using plan = planning::plan<product>;
using plan_view = planning::plan_view<product>;
template <class Make, plan_options Options = plan_options{}>
using frozen_plan = planning::frozen_plan<target, Make, Options>;

}  // namespace napkin::on_cuda

namespace napkin {

template <class Make>
struct plan_for<cuda, Make> {
  using type = on_cuda::frozen_plan<Make>;
};

}  // namespace napkin
