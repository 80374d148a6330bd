// What an executor holds, for its parts: executor.cpp walks the plan's table, executor_products.cpp says how
// each product runs, executor_takings.cpp which kernels take in the product that they read. Nobody else
// includes it.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "napkin/cuda/attention.hpp"
#include "napkin/cuda/executor.hpp"
#include "napkin/cuda/finish.hpp"
#include "napkin/cuda/movement_call.hpp"
#include "napkin/cuda/taken_product.hpp"
#include "napkin/plan/task_order.hpp"

namespace napkin::on_cuda {

struct executor::state {
  plan_view plan;
  const kernel_entry* kernels;
  std::byte* arena;
  index_fault* fault;
  std::span<const void* const> inputs;
  std::span<void* const> outputs;

  // By kernel: where its arguments begin, and where its column sums go.
  struct alignas(16) piece {
    std::byte bytes[16];
  };
  std::vector<piece> arguments;
  std::vector<std::size_t> first_piece;
  std::vector<column_target> column_targets;  // as plan.columns

  /// A product that cuBLASLt runs, if it has an algorithm.
  struct gemm {
    blas_call call;
    apart left = apart::nothing;  // what our own kernels do, instead of the call or behind it
    bool lacks_epilogue = false;  // for want of an algorithm with it, and not by choice
    bool by_our_kernel = false;   // it has no algorithm at all, so far as is known
    small_product small{};        // if left is apart::product
  };
  std::vector<gemm> gemms;                   // of plan.products, in order
  std::vector<std::ptrdiff_t> product_call;  // by product: which of `gemms`; -1: it is none
  struct operands {
    const std::byte *a, *b;
    std::byte *c, *workspace, *vector, *added, *auxiliary;
    const std::byte* factors[most_factors];
  };
  std::vector<operands> contractions;
  std::vector<movement_call> movements;
  std::vector<attention_addresses> attentions;
  /// By instruction: the product that its kernel may take in.
  struct taking {
    taken_product of;
    small_product small{};
  };
  std::vector<taking> takings;
  std::vector<std::int32_t> taken_by;     // by instruction: the kernel that has the product; -1: none
  std::vector<std::size_t> life_offsets;  // bytes into the arena
  captured_graph graph;

  blas_call call_of(std::size_t number, apart left, const blas_library& blas) const;
  bool take_recorded(std::size_t number, apart left, const blas_library& blas, blas_choices& choices,
                     gemm& to);
  void choose(std::size_t number, const blas_library& blas, blas_choices& choices);
  void choose_by_time(std::size_t number, const operands& x, const stream& on, const blas_choices& before,
                      blas_choices& choices);
  small_product small_product_at(std::size_t number) const;
  std::string key_of_way(std::size_t number, const blas_call& call) const;
  /// Nothing of cuBLASLt's runs the product: by our own kernel, unless something follows it.
  void use_our_kernel(std::size_t number, gemm& by) {
    const product& p = plan.products[number];
    if (!(p.follows == passes::epilogue_form{}) || is_8_bit_float(p.type)) by.call.refuse(p.gemm.workspace);
    by.by_our_kernel = true;
  }
  void find_takings(const blas_library& blas, const blas_choices& choices);
  std::string key_of_taking(std::size_t instruction, const blas_library& blas) const;
  /// The kernel that a product's instruction is left to; of several that read it the first that has it.
  std::int32_t& taker(std::size_t instruction) {
    return taken_by[static_cast<std::size_t>(takings[instruction].of.instruction)];
  }
  bool takes(std::size_t instruction) const {
    const std::int32_t product = takings[instruction].of.instruction;
    return product >= 0 &&
           taken_by[static_cast<std::size_t>(product)] == static_cast<std::int32_t>(instruction);
  }
  void take(std::size_t instruction) {
    if (taker(instruction) < 0) taker(instruction) = static_cast<std::int32_t>(instruction);
  }
  void leave(std::size_t instruction) {
    if (takes(instruction)) taker(instruction) = -1;
  }
  const contraction_record& taken_contraction(std::size_t instruction) const {
    return plan.contractions[plan.instructions[takings[instruction].of.instruction].index];
  }
  struct memory_range {
    std::uintptr_t begin, end;
  };
  memory_range range_of(const location& l, std::int32_t time) const;
  /// What the kernel writes may lie where an operand of the product did, which then is dead: but blocks of
  /// one kernel do not wait for one another.
  bool writes_over_operands(std::size_t instruction) const;
  /// Nothing between the product and its kernel waits for the product: it may as well run with the kernel.
  /// And its operands lie as the kernel wants them.
  bool may_take(const planning::task_order& order, std::size_t instruction) const;
  small_product bound_taken(std::size_t instruction) const;
  void run_taking(std::size_t instruction, const void* with, const stream& on, kernel_start start);
  gemm& gemm_of(std::size_t product) { return gemms[static_cast<std::size_t>(product_call[product])]; }

  /// Where a product's call finds its vector: a rounded one lies behind the workspace, as arrays of addresses
  /// do where there are several calls, which have no vector.
  static std::byte* vector_of(const product& p, const operands& x) {
    return p.follows.rounds_vector() ? x.workspace + p.gemm.workspace : x.vector;
  }
  static blas_operands operands_of(const product& p, const operands& x) {
    return {x.a,
            x.b,
            x.c,
            x.added,
            vector_of(p, x),
            x.auxiliary,
            {x.factors[0], x.factors[1]},
            x.workspace + p.gemm.workspace};
  }
  static double beta_of(const product& p) { return p.follows.adds ? 1 : 0; }

  /// By kernels behind the product's call, or behind our own.
  static bool is_followed(const product& p, const gemm& by) {
    if (by.left == apart::product) return p.follows.sums != passes::summed::none;
    return by.left != apart::nothing;
  }
  static void put(const stream& on, kernel_start start, function_ref<void()> kernel) {
    if (start == kernel_start::early)
      put_early(on, kernel);
    else
      kernel();
  }
  /// At its operands' addresses. What does not lie as it was promised moves element by element, to the same
  /// sums.
  static small_product bound(const product& p, small_product made, const operands& x, std::byte* vector) {
    made.a = p.gemm.swapped ? x.b : x.a, made.b = p.gemm.swapped ? x.a : x.b;
    if (p.follows.adds) made.added = x.added == nullptr ? x.c : x.added;
    made.then.result = x.c, made.then.vector = vector, made.then.auxiliary = x.auxiliary;
    made.fetches_at_once = made.fetches_at_once && is_aligned(made.a) && is_aligned(made.b);
    made.stores_at_once = made.stores_at_once && is_aligned(x.c) && is_aligned(vector) &&
                          is_aligned(made.added) && is_aligned(x.auxiliary);
    return made;
  }
  static void run_product(const product& p, gemm& by, const operands& x, const stream& on,
                          kernel_start start) {
    const passes::epilogue_form& then = p.follows;
    std::byte* const vector = vector_of(p, x);
    if (then.rounds_vector()) {
      put(on, start, [&] { round_vector(then.type, x.vector, vector, then.vector_size, on.handle()); });
      on.check_launch("a vector's kernel");
    }
    if (by.left == apart::product) {
      const small_product made = bound(p, by.small, x, vector);
      put(on, start, [&] { multiply_small(made, on.handle()); });
      on.check_launch("a product's kernel");
    } else {
      by.call.run(on, operands_of(p, x), then.scale, beta_of(p), x.workspace);
    }
    if (!is_followed(p, by)) return;
    put(on, start, [&] {
      finish_product(p, by.left, {x.a, x.b, x.c, vector, x.auxiliary, x.workspace}, on.handle());
    });
    on.check_launch("an epilogue's kernel");
  }

  /// The arena begins at a multiple of 256, its buffers at one of 64.
  std::byte* workspace_of(const contraction_record& r) const {
    const std::size_t a = plan.products[r.product].gemm.workspace > 0 ? workspace_alignment : 1;
    return arena + (r.workspace + a - 1) / a * a;
  }

  planning::task_order order_by_data() const {
    return planning::order_tasks(
        plan, true, [this](const location& l) { return reinterpret_cast<std::uintptr_t>(address(l)); },
        [this](std::size_t contraction) { return uses_workspace(contraction); });
  }
  /// An algorithm of cuBLASLt's that takes none leaves it to others.
  bool uses_workspace(std::size_t contraction) const {
    const auto number = static_cast<std::size_t>(plan.contractions[contraction].product);
    if (product_call[number] < 0) return true;
    const gemm& by = gemms[static_cast<std::size_t>(product_call[number])];
    const blas_algorithm& algorithm = by.call.algorithm();
    const product& p = plan.products[number];
    return by.by_our_kernel || is_followed(p, by) || algorithm.workspace > 0 || algorithm.by_addresses ||
           p.follows.rounds_vector();
  }

  /// Errors  `error` where an input or output is not aligned as its readers and writers were told
  void require_alignment(const location& l, std::size_t bytes = 16) const {
    if (l.where == region::arena || reinterpret_cast<std::uintptr_t>(address(l)) % bytes == 0) return;
    throw error(std::string(l.where == region::input ? "input " : "output ") + std::to_string(l.at) +
                " of a plan lies at an address that is no multiple of " + std::to_string(bytes));
  }
  /// Of what moves several elements at once.
  void require_alignment(const kernel_record& r) const {
    const program_record& program = plan.programs[r.program];
    for (std::int32_t i = program.first_step; i < program.first_step + program.steps; ++i) {
      const passes::kernel_step& step = plan.steps[i];
      const bool in_memory = step.what == passes::action::load || step.what == passes::action::store;
      if (in_memory && step.at == passes::place::element && step.along == passes::pace::contiguous)
        require_alignment(plan.accesses[r.first_access + step.a].base,
                          std::min<std::size_t>(16, r.layout.vector * size_of(step.type)));
    }
  }
  void require_alignment(const contraction_record& r) const {
    for (const location& l : {r.a, r.b, r.c}) require_alignment(l);
    using planning::epilogue_operand;
    for (const epilogue_operand x :
         {epilogue_operand::vector, epilogue_operand::added, epilogue_operand::auxiliary})
      if (r.of(x).bytes > 0) require_alignment(r.of(x).at);
  }

  std::byte* address(const location& l) const {
    switch (l.where) {
      case region::input:
        return const_cast<std::byte*>(static_cast<const std::byte*>(inputs[l.at]));
      case region::output:
        return static_cast<std::byte*>(outputs[l.at]);
      case region::arena:
        break;
    }
    return arena + l.at;
  }
};

}  // namespace napkin::on_cuda
