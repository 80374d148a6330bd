// The device's executor: arguments laid out, and the walk over the plan's table.
#include "napkin/cuda/executor.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include "napkin/cuda/attention.hpp"
#include "napkin/cuda/contract.hpp"

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
  std::vector<std::byte*> column_targets;  // as plan.columns

  std::vector<blas_call> products;           // of plan.products, those that are GEMMs, in order
  std::vector<std::ptrdiff_t> product_call;  // by product: which of `products`; -1: by loops
  struct operands {
    const std::byte *a, *b;
    std::byte *c, *workspace;
  };
  std::vector<operands> contractions;
  std::vector<movement_call> movements;
  std::vector<attention_addresses> attentions;
  captured_graph graph;

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

namespace {

/// The largest power of two, up to 256, that divides an offset.
std::size_t alignment_of(std::ptrdiff_t offset) {
  std::size_t a = 256;
  while (static_cast<std::size_t>(offset) % a != 0) a /= 2;
  return a;
}

/// What all uses of a product can promise of their operands' addresses.
blas_request request_of(const plan_view& p, std::size_t product) {
  blas_request r;
  r.align_a = r.align_b = r.align_c = 64;  // what the arena gives, and a tensor too
  for (std::size_t i = 0; i < p.count.contractions; ++i) {
    const contraction_record& c = p.contractions[i];
    if (static_cast<std::size_t>(c.product) != product) continue;
    r.align_a = std::min(r.align_a, alignment_of(c.a_offset));
    r.align_b = std::min(r.align_b, alignment_of(c.b_offset));
    // a tensor handed in may be a view, of which 16 bytes are asked
    if (c.a.where != region::arena) r.align_a = std::min<std::size_t>(r.align_a, 16);
    if (c.b.where != region::arena) r.align_b = std::min<std::size_t>(r.align_b, 16);
    if (c.c.where != region::arena) r.align_c = std::min<std::size_t>(r.align_c, 16);
  }
  return r;
}

}  // namespace

executor::executor(const plan_view& p, const kernel_entry* kernels, std::byte* arena, index_fault* fault,
                   const blas_library& blas, blas_choices& choices)
    : state_(std::make_unique<state>()) {
  state& s = *state_;
  s.plan = p;
  s.kernels = kernels;
  s.arena = arena;
  s.fault = fault;
  std::size_t pieces = 0;
  for (std::size_t i = 0; i < p.count.kernels; ++i) {
    s.first_piece.push_back(pieces);
    pieces += (kernels[i].argument_bytes + sizeof(state::piece) - 1) / sizeof(state::piece);
  }
  s.arguments.resize(pieces);
  s.column_targets.resize(p.count.columns);
  s.contractions.resize(p.count.contractions);
  s.movements.reserve(p.count.movements);
  s.attentions.resize(p.count.attentions);
  for (std::size_t i = 0; i < p.count.products; ++i) {
    const product& made = p.products[i];
    s.product_call.push_back(made.gemm.possible ? static_cast<std::ptrdiff_t>(s.products.size()) : -1);
    if (!made.gemm.possible) continue;
    s.products.emplace_back(blas, made.gemm, request_of(p, i));
    s.products.back().choose(choices, made.workspace);
  }
}

executor::~executor() = default;

void executor::bind(std::span<const void* const> inputs, std::span<void* const> outputs) {
  state& s = *state_;
  const plan_view& p = s.plan;
  s.inputs = inputs;
  s.outputs = outputs;
  s.graph = {};
  std::vector<std::byte*> memory;
  std::vector<std::size_t> begins;
  for (std::size_t i = 0; i < p.count.columns; ++i) s.column_targets[i] = s.address(p.columns[i].to);
  for (std::size_t i = 0; i < p.count.kernels; ++i) {
    const kernel_record& r = p.kernels[i];
    memory.clear();
    for (int a = 0; a < r.accesses; ++a) {
      const access_record& from = p.accesses[r.first_access + a];
      memory.push_back(s.address(from.base) + from.offset);
    }
    begins.clear();
    for (int c = 0; c < r.columns; ++c) begins.push_back(p.columns[r.first_column + c].begin);
    kernel_memory k;
    k.memory = memory.data(), k.accesses = memory.size();
    k.constants = p.constants + r.first_constant, k.constants_count = static_cast<std::size_t>(r.constants);
    k.scratch = s.arena + r.scratch, k.scratch_per_team = r.scratch_per_block;
    k.slots = p.slots + r.first_slot, k.slots_count = static_cast<std::size_t>(r.slots);
    k.partials = s.arena + r.partials, k.partials_per_team = r.partials_per_block;
    k.columns = begins.data(), k.columns_count = begins.size();
    s.kernels[i].fill(k, s.arguments.data() + s.first_piece[i]);
  }
  for (std::size_t i = 0; i < p.count.contractions; ++i) {
    const contraction_record& r = p.contractions[i];
    s.contractions[i] = {s.address(r.a) + r.a_offset, s.address(r.b) + r.b_offset, s.address(r.c),
                         s.arena + r.workspace};
  }
  for (std::size_t i = 0; i < p.count.attentions; ++i)
    for (std::size_t x = 0; x < passes::attention_tensors; ++x) {
      const attention_operand& from = p.attentions[i].operands[x];
      s.attentions[i].of[x] = from.there ? s.address(from.at) + from.offset : nullptr;
    }
  s.movements.clear();
  for (std::size_t i = 0; i < p.count.movements; ++i) {
    const movement_record& r = p.movements[i];
    const bool indexed = r.kind == unit_kind::gather || r.kind == unit_kind::scatter_add;
    s.movements.emplace_back(r, movement_addresses{s.address(r.from) + r.from_offset,
                                                   indexed ? s.address(r.index) + r.index_offset : nullptr,
                                                   s.address(r.to), s.arena + r.workspace, s.fault});
  }
}

void executor::run(const stream& on) {
  for (std::size_t i = 0; i < state_->plan.count.instructions; ++i) run_instruction(i, on);
}
void executor::run_timed(const stream& on, std::span<double> seconds) {
  using clock = std::chrono::steady_clock;
  on.synchronize();
  for (std::size_t i = 0; i < state_->plan.count.instructions; ++i) {
    const clock::time_point begin = clock::now();
    run_instruction(i, on);
    on.synchronize();
    seconds[i] += std::chrono::duration<double>(clock::now() - begin).count();
  }
}
void executor::run_first_output(const stream& on) {
  for (std::size_t i = 0; i < state_->plan.count.instructions; ++i)
    if (state_->plan.instructions[i].first_output) run_instruction(i, on);
}
void executor::replay(const stream& on) {
  if (state_->graph.empty()) state_->graph = captured_graph(on, [&] { run(on); });
  state_->graph.launch(on);
}

void executor::run_instruction(std::size_t i, const stream& on) {
  state& s = *state_;
  const instruction& now = s.plan.instructions[i];
  const auto index = static_cast<std::size_t>(now.index);
  switch (now.kind) {
    case unit_kind::kernel:
      s.kernels[index].launch(s.arguments.data() + s.first_piece[index],
                              s.column_targets.data() + s.plan.kernels[index].first_column, on.handle());
      on.check_launch("a fused kernel");
      break;
    case unit_kind::contraction: {
      const auto product = static_cast<std::size_t>(s.plan.contractions[index].product);
      const state::operands& x = s.contractions[index];
      if (s.product_call[product] < 0) {
        contract_by_loops(s.plan.products[product], x.a, x.b, x.c, on.handle());
        on.check_launch("a contraction's kernel");
      } else {
        s.products[static_cast<std::size_t>(s.product_call[product])].run(on, {x.a, x.b, x.c}, 1, 0,
                                                                          x.workspace);
      }
      break;
    }
    case unit_kind::gather:
    case unit_kind::scatter_add:
    case unit_kind::pad:
    case unit_kind::concat:
      s.movements[index].run(on.handle());
      on.check_launch("a movement");
      break;
    case unit_kind::attention:
      attend(s.plan.attentions[index], s.attentions[index], on.handle());
      on.check_launch("an attention's kernel");
      break;
  }
}

}  // namespace napkin::on_cuda
