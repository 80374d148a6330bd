// A graph lowered to CUDA: what plan/planner.hpp asks of a backend, and its functions for this one. Includes
// nothing of CUDA's: a plan is numbers.
#pragma once

#include "napkin/cuda/blas_price.hpp"
#include "napkin/cuda/general_attention.hpp"
#include "napkin/cuda/geometry.hpp"
#include "napkin/cuda/movement.hpp"
#include "napkin/cuda/tile_product.hpp"
#include "napkin/passes/make_again.hpp"
#include "napkin/passes/order_results.hpp"
#include "napkin/plan/frozen.hpp"

namespace napkin::on_cuda {

/// A contraction as the device runs it: a GEMM of cuBLASLt's, or, where that says no (`gemm.reason`), loops
/// that a kernel of our own walks in tiles.
struct product {
  dtype type = dtype::f32;  // of its operands; of 8-bit floats, the first's
  blas_product gemm;
  passes::contraction_groups loops;
  std::size_t workspace = 0;      // bytes
  passes::epilogue_form follows;  // within the call

  /// Of the contraction's first and second operand, and of what is stored.
  constexpr product_types types() const {
    return gemm.swapped ? product_types{gemm.b.type, gemm.a.type, gemm.c.type}
                        : product_types{gemm.a.type, gemm.b.type, gemm.c.type};
  }

  /// What kernels keep in workspace goes through the device's memory, and counts as what else does.
  static constexpr bool workspace_is_memory = true;
  /// Launches that do not wait for one another may run at once (plan/task_order.hpp).
  static constexpr bool side_by_side = true;
  /// Written there and read again: sums that several blocks share, or the vector that is rounded first. What
  /// a call of cuBLASLt's does with the workspace that it is given, and whether addresses lie there, is not
  /// the plan's to say: an algorithm is chosen where it runs.
  constexpr byte_counts workspace_bytes() const {
    const std::size_t bytes = !gemm.possible            ? workspace
                              : follows.rounds_vector() ? follows.vector_size * size_of(follows.type)
                                                        : 0;
    return {bytes, bytes};
  }
  static constexpr byte_counts workspace_bytes(const movement_record& r) {
    return on_cuda::workspace_bytes_of(r);
  }

  /// Calls of cuBLASLt's, the fewest that it may take: whether arrays of addresses make several calls one is
  /// chosen where the product runs. Or kernels of our own. With one that rounds a vector first.
  constexpr std::uint64_t launches() const {
    if (!gemm.possible) return loops.empty ? 0 : workspace > 0 ? 2 : 1;
    std::uint64_t calls = gemm.calls();
    const std::uint64_t by_addresses = 1 + blas_product::size_of(gemm.outer_k);
    if (gemm.has_address_arrays() && by_addresses < calls) calls = by_addresses;
    return calls + follows.rounds_vector();
  }
  /// A kernel, and what joins the teams' sums of its columns.
  static constexpr std::uint64_t launches(const kernel_record& k) {
    return (k.walks > 0 || k.columns > 0 ? 1 : 0) +
           (k.row_length > 0 ? static_cast<std::uint64_t>(k.joins) : 0);
  }
  static constexpr std::uint64_t launches(const movement_record& r) { return launches_of(r); }

  /// Why it is no call of cuBLASLt's; empty of one that is.
  constexpr std::string_view refused() const {
    return gemm.possible ? std::string_view() : words_of(gemm.reason);
  }
  constexpr arithmetic f32_products() const {
    return gemm.possible && gemm.compute == blas_compute::tf32 ? arithmetic::tf32 : arithmetic::f32;
  }
};

/// cuBLASLt's name for what follows a product; scale and what is added are alpha and beta. swapped: of the
/// product.
constexpr blas_epilogue epilogue_of(const passes::epilogue_form& f, bool swapped) {
  using passes::summed;
  if (f.sums == summed::first_operand || f.sums == summed::second_operand)
    return (f.sums == summed::first_operand) != swapped ? blas_epilogue::bias_gradient_a
                                                        : blas_epilogue::bias_gradient_b;
  switch (f.then) {
    case passes::activation::none:
      break;
    case passes::activation::gelu:
      if (f.keeps) return f.adds_vector() ? blas_epilogue::gelu_saved_bias : blas_epilogue::gelu_saved;
      return f.adds_vector() ? blas_epilogue::gelu_bias : blas_epilogue::gelu;
    case passes::activation::gelu_gradient:
      return f.sums == summed::result ? blas_epilogue::gelu_gradient_bias : blas_epilogue::gelu_gradient;
  }
  return f.adds_vector() ? blas_epilogue::bias : blas_epilogue::none;
}

/// Of cuBLASLt's workspace, bytes; of buffers in an arena it is less, so a product's has room to begin later.
inline constexpr std::size_t workspace_alignment = 256;

struct target {
  using product = on_cuda::product;
  static constexpr passes::kernel_options kernels{.casts_again = true,
                                                  .turned_columns = 16384};  // threads enough, eight for each
  static constexpr passes::reduction_limits reductions{.rows = 264,
                                                       .length = 131072};  // two rows a processor
  static constexpr bool joins_kernels = true;
  static constexpr bool makes_again =
      true;  // what registers cannot keep would go through the device's memory

  /// An H100's f32 units make 20 FLOPs in the time of a byte, an A100's 10, a consumer's card 60 or more.
  static constexpr passes::arithmetic_price arithmetic{.flops_a_byte = 10};

  static constexpr std::size_t workspace_of(const movement_record& r) { return on_cuda::workspace_of(r); }
  static constexpr bool adjoints_at_once =
      false;  // a block of queries' and a block of keys' are threads apart, unless one block has all keys
  static constexpr bool sums_deltas(const row::attention_form& f, dtype type) {
    return has_adjoints_at_once(f, type);
  }
  static constexpr std::size_t attention_columns(const attention_record& r) {
    return is_general(r) ? general_attention_columns : 0;
  }
  static constexpr product plan_product(const product_types& types, const passes::contraction_operand& a,
                                        const passes::contraction_operand& b,
                                        const passes::contraction_operand& c, product_options options = {}) {
    product p;
    p.type = types.a;
    p.gemm = plan_blas(types, a, b, c, options);
    p.loops = passes::group_labels(a, b, c);
    if (p.gemm.possible && p.gemm.workspace > 0)
      p.workspace = p.gemm.workspace + workspace_alignment - passes::alignment +
                    passes::aligned(p.gemm.address_bytes());
    if (!p.gemm.possible) p.workspace = static_cast<std::size_t>(tile_workspace(types.a, p.loops));
    return p;
  }
  /// In one call.
  static constexpr bool multiplies_8_bits(const product_types& types, const passes::contraction_operand& a,
                                          const passes::contraction_operand& b,
                                          const passes::contraction_operand& c) {
    return detail::is_8_bit_product(types) && plan_blas(types, a, b, c).possible;
  }
  static constexpr passes::layout_price price(dtype type, const passes::contraction_operand& a,
                                              const passes::contraction_operand& b,
                                              const passes::contraction_operand& c) {
    return price_of(type, passes::group_labels(a, b, c));
  }
  static constexpr bool has_epilogues = true;
  /// One call of it, whose columns are as long as the vector; elements lie in the result, what is added and
  /// the auxiliary matrix alike.
  static constexpr bool can_follow(const product& p, const passes::epilogue_form& form) {
    const blas_product& x = p.gemm;
    const product_types types{p.types().a, p.types().b, form.type};
    if (!x.possible || x.calls() != 1 || !detail::has_blas(types)) return false;
    // of 8-bit floats what cuBLASLt's table of types has; of their GELUs and gradients it is silent
    if (detail::is_8_bit_product(types) &&
        (form.then != passes::activation::none || form.sums != passes::summed::none ||
         (form.vector_size > 0 && form.type == dtype::f32)))
      return false;
    const auto m = static_cast<std::int64_t>(x.m);
    const blas_epilogue then = epilogue_of(form, x.swapped);
    if (form.vector_size > 0 && form.vector_size != (then == blas_epilogue::bias_gradient_b ? x.n : x.m))
      return false;
    if (form.adds_vector() && (x.c.ld % m != 0 || (x.batch > 1 && x.c.batch_stride % m != 0))) return false;
    const bool aux = form.has_auxiliary();
    return can_fuse(x, then, aux ? x.c.ld : 0, aux && x.batch > 1 ? x.c.batch_stride : 0);
  }
  static constexpr product with_epilogue(product p, const passes::epilogue_form& form) {
    p.follows = form;
    p.gemm.c.type = form.type;
    if (form.rounds_vector()) p.workspace += passes::aligned(form.vector_size * size_of(form.type));
    return p;
  }
  /// Kernels do not follow a product within its call.
  static constexpr bool can_finish(const product&) { return false; }
  static constexpr std::size_t finish_by(const product&) { return 0; }
  static constexpr std::size_t rows_at_once(const passes::kernel&, std::size_t) { return 1; }

  /// A team is a block of the plan's: partial sums and rows of scratch are for each.
  template <class Plan>
  static constexpr void deal(const Plan& p, kernel_record& r) {
    const dealing d = on_cuda::deal(facts_of(view_of_kernels(p), r));
    r.chunk = d.chunk;
    r.chunks = d.chunks;
    r.walks = d.walks;
    r.walks_per_block = d.walks_per_team;
    r.blocks = d.teams;
    r.layout = {d.team, d.vector, d.groups, d.threads, d.kept, d.spread};
    if (d.kept) r.scratch_per_block = 0;
  }
};

/// cuBLASLt's products are those of product_options.
template <bool TF32, bool AddsFast>
struct target_with : target {
  static constexpr product plan_product(const product_types& types, const passes::contraction_operand& a,
                                        const passes::contraction_operand& b,
                                        const passes::contraction_operand& c) {
    return target::plan_product(types, a, b, c, {.tf32 = TF32, .adds_fast = AddsFast});
  }
};

using plan = planning::plan<product>;
using plan_view = planning::plan_view<product>;
template <class Make, plan_options Options = plan_options{}>
using frozen_plan =
    planning::frozen_plan<std::conditional_t<planning::products_of<Make>() == product_options{}, target,
                                             target_with<planning::products_of<Make>().tf32,
                                                         planning::products_of<Make>().adds_fast>>,
                          Make, Options>;

}  // namespace napkin::on_cuda

namespace napkin {

template <class Make>
struct plan_for<cuda, Make> {
  using type = on_cuda::frozen_plan<Make>;
};

}  // namespace napkin
