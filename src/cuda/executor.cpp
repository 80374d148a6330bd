// The device's executor: arguments laid out, and the walk over the plan's table.
#include "napkin/cuda/executor.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include "napkin/cuda/attention.hpp"
#include "napkin/cuda/between_instructions.hpp"
#include "napkin/cuda/contract.hpp"
#include "napkin/cuda/finish.hpp"
#include "napkin/cuda/movement_call.hpp"
#include "napkin/cuda/time_in_turns.hpp"
#include "napkin/plan/task_order.hpp"
#include "napkin/plan/uses.hpp"

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
    apart left = apart::nothing;  // what of the epilogue our own kernels do behind the call
    bool lacks_epilogue = false;  // for want of an algorithm with it, and not by choice
    bool by_our_kernel = false;   // it has no algorithm at all, so far as is known
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
  captured_graph graph;

  blas_call call_of(std::size_t number, apart left, const blas_library& blas) const;
  bool take_recorded(std::size_t number, apart left, const blas_library& blas, blas_choices& choices,
                     gemm& to);
  void choose(std::size_t number, const blas_library& blas, blas_choices& choices);
  void choose_by_time(std::size_t number, const operands& x, const stream& on, blas_choices& choices);
  /// Nothing of cuBLASLt's runs the product: by our own kernel, unless something follows it.
  void use_our_kernel(std::size_t number, gemm& by) {
    const product& p = plan.products[number];
    if (!(p.follows == passes::epilogue_form{}) || is_8_bit_float(p.type)) by.call.refuse(p.gemm.workspace);
    by.by_our_kernel = true;
  }
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

  static void put(const stream& on, kernel_start start, function_ref<void()> kernel) {
    if (start == kernel_start::early)
      put_early(on, kernel);
    else
      kernel();
  }
  static void run_product(const product& p, gemm& by, const operands& x, const stream& on,
                          kernel_start start) {
    const passes::epilogue_form& then = p.follows;
    std::byte* const vector = vector_of(p, x);
    if (then.rounds_vector()) {
      put(on, start, [&] { round_vector(then.type, x.vector, vector, then.vector_size, on.handle()); });
      on.check_launch("a vector's kernel");
    }
    by.call.run(on, operands_of(p, x), then.scale, beta_of(p), x.workspace);
    if (by.left == apart::nothing) return;
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
    return by.by_our_kernel || by.left != apart::nothing || algorithm.workspace > 0 ||
           algorithm.by_addresses || plan.products[number].follows.rounds_vector();
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

namespace {

/// The largest power of two, up to 256, that divides an offset.
std::size_t alignment_of(std::ptrdiff_t offset) {
  std::size_t a = 256;
  while (static_cast<std::size_t>(offset) % a != 0) a /= 2;
  return a;
}

using planning::epilogue_operand;

/// What is left to a product's call of its epilogue, and what all its uses can promise of their operands'
/// addresses.
blas_request request_of(const plan_view& p, std::size_t product, apart left) {
  blas_request r;
  r.gives_addresses = true;
  const on_cuda::product& of = p.products[product];
  r.epilogue = epilogue_in_call(epilogue_of(of.follows, of.gemm.swapped), left);
  r.factors = of.follows.factors;
  if (has_auxiliary(r.epilogue)) {
    r.aux_ld = of.gemm.c.ld;
    if (of.gemm.batch > 1) r.aux_batch_stride = of.gemm.c.batch_stride;
  }
  r.align_a = r.align_b = r.align_c = 64;  // what the arena gives, and a tensor too
  r.align_bias = r.align_aux = 64;
  const auto lower = [](std::size_t& align, const planning::location& at) {
    if (at.where != region::arena) align = std::min<std::size_t>(align, 16);
  };
  for (std::size_t i = 0; i < p.count.contractions; ++i) {
    const contraction_record& c = p.contractions[i];
    if (static_cast<std::size_t>(c.product) != product) continue;
    r.align_a = std::min(r.align_a, alignment_of(c.a_offset));
    r.align_b = std::min(r.align_b, alignment_of(c.b_offset));
    // a tensor handed in may be a view, of which 16 bytes are asked
    lower(r.align_a, c.a);
    lower(r.align_b, c.b);
    lower(r.align_c, c.c);
    lower(r.align_c, c.of(epilogue_operand::added).at);
    if (!of.follows.rounds_vector()) lower(r.align_bias, c.of(epilogue_operand::vector).at);
    lower(r.align_aux, c.of(epilogue_operand::auxiliary).at);
  }
  return r;
}

}  // namespace

executor::executor(const plan_view& p, const kernel_entry* kernels, std::byte* arena, index_fault* fault,
                   const blas_library& blas, blas_choices& choices)
    : state_(std::in_place) {
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
    s.product_call.push_back(made.gemm.possible ? static_cast<std::ptrdiff_t>(s.gemms.size()) : -1);
    if (made.gemm.possible) s.choose(i, blas, choices);
  }
}

blas_call executor::state::call_of(std::size_t number, apart left, const blas_library& blas) const {
  return blas_call(blas, plan.products[number].gemm, request_of(plan, number, left));
}

/// That way, if the product's epilogue has it and cuBLASLt names an algorithm.
bool executor::state::take_recorded(std::size_t number, apart left, const blas_library& blas,
                                    blas_choices& choices, gemm& to) {
  const std::size_t workspace = plan.products[number].gemm.workspace;
  const std::span<const apart> ways = ways_of(request_of(plan, number, apart::nothing).epilogue);
  if (std::find(ways.begin(), ways.end(), left) == ways.end()) return false;
  to = {call_of(number, left, blas), left};
  if (left != apart::nothing) {
    blas_choices none;
    to.lacks_epilogue =
        call_of(number, apart::nothing, blas).try_choose(none, workspace) == blas_choice::none;
  }
  return to.call.try_choose(choices, workspace) != blas_choice::none;
}

/// As it is recorded; else the first way of which cuBLASLt names an algorithm.
void executor::state::choose(std::size_t number, const blas_library& blas, blas_choices& choices) {
  const product& p = plan.products[number];
  gemm& by = gemms.emplace_back(gemm{call_of(number, apart::nothing, blas)});
  const blas_algorithm* const known = choices.find(by.call.key());
  if (known != nullptr && known->left != apart::nothing &&
      take_recorded(number, known->left, blas, choices, by))
    return;
  for (const apart left : ways_of(request_of(plan, number, apart::nothing).epilogue)) {
    by = {call_of(number, left, blas), left, left != apart::nothing};
    if (by.call.try_choose(choices, p.gemm.workspace) != blas_choice::none) return;
  }
  use_our_kernel(number, by);
}

/// As it is recorded; else of all ways that run the fastest, each by its own fastest algorithm.
void executor::state::choose_by_time(std::size_t number, const operands& x, const stream& on,
                                     blas_choices& choices) {
  const product& p = plan.products[number];
  gemm& by = gemm_of(number);
  const auto choose = [&](gemm& g) {
    return g.call.try_choose_by_time(choices, on, operands_of(p, x), p.follows.scale, beta_of(p), x.workspace,
                                     p.gemm.workspace);
  };
  const blas_library& blas = by.call.blas();
  const blas_epilogue epilogue = request_of(plan, number, apart::nothing).epilogue;
  const std::string key = call_of(number, apart::nothing, blas).key();
  if (const blas_algorithm* const known = choices.find(key); known != nullptr) {
    const bool is_taken = known->left == by.left || take_recorded(number, known->left, blas, choices, by);
    if (is_taken && choose(by) == blas_choice::recorded) {
      by.by_our_kernel = false;
      return;
    }
  }
  std::vector<gemm> found;
  for (const apart left : ways_of(epilogue)) {
    found.push_back({call_of(number, left, blas), left});
    if (choose(found.back()) == blas_choice::none) found.pop_back();
  }
  if (found.empty()) {
    by = {call_of(number, ways_of(epilogue).back(), blas)};
    return use_our_kernel(number, by);
  }
  std::size_t best = 0;
  if (found.size() > 1) {
    const std::vector<float> time = time_in_turns(on, found.size(), [&](std::size_t i) {
      run_product(p, found[i], x, on, kernel_start::in_turn);
      return true;
    });
    best = static_cast<std::size_t>(std::min_element(time.begin(), time.end()) - time.begin());
    if (found[best].left != apart::nothing) {
      blas_algorithm finished;
      finished.left = found[best].left;
      choices.set(key, finished);
    }
  }
  const bool lacks = found[0].left != apart::nothing;
  by = std::move(found[best]);
  by.lacks_epilogue = lacks;
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
  for (std::size_t i = 0; i < p.count.columns; ++i) {
    s.column_targets[i].to = s.address(p.columns[i].to);
    if (p.columns[i].adds) s.column_targets[i].added = s.address(p.columns[i].added);
  }
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
    const auto other = [&](epilogue_operand x) {
      return r.of(x).bytes > 0 ? s.address(r.of(x).at) : nullptr;
    };
    s.contractions[i] = {s.address(r.a) + r.a_offset,
                         s.address(r.b) + r.b_offset,
                         s.address(r.c),
                         s.workspace_of(r),
                         other(epilogue_operand::vector),
                         other(epilogue_operand::added),
                         other(epilogue_operand::auxiliary),
                         {other(epilogue_operand::first_factor), other(epilogue_operand::second_factor)}};
  }
  for (std::size_t i = 0; i < p.count.attentions; ++i)
    for (std::size_t x = 0; x < passes::attention_tensors; ++x) {
      const attention_operand& from = p.attentions[i].operands[x];
      s.attentions[i].of[x] = from.there ? s.address(from.at) + from.offset : nullptr;
    }
  s.movements.clear();
  for (std::size_t i = 0; i < p.count.movements; ++i) {
    const movement_record& r = p.movements[i];
    const bool indexed = planning::looks_up(r.kind);
    s.movements.emplace_back(r, movement_addresses{s.address(r.from) + r.from_offset,
                                                   indexed ? s.address(r.index) + r.index_offset : nullptr,
                                                   s.address(r.to), s.arena + r.workspace, s.fault});
  }
}

void executor::choose_by_time(const stream& on, blas_choices& choices) {
  state& s = *state_;
  s.graph = {};
  std::vector<bool> chosen(s.plan.count.products, false);
  for (std::size_t i = 0; i < s.plan.count.contractions; ++i) {
    const auto number = static_cast<std::size_t>(s.plan.contractions[i].product);
    if (chosen[number] || s.product_call[number] < 0) continue;
    chosen[number] = true;
    s.choose_by_time(number, s.contractions[i], on, choices);
  }
}

blas_fallbacks executor::fallbacks() const {
  const state& s = *state_;
  blas_fallbacks n;
  for (std::size_t i = 0; i < s.plan.count.contractions; ++i) {
    const std::ptrdiff_t call = s.product_call[static_cast<std::size_t>(s.plan.contractions[i].product)];
    if (call < 0) continue;  // the plan says so
    const state::gemm& by = s.gemms[static_cast<std::size_t>(call)];
    n.products += by.by_our_kernel;
    n.unfused_epilogues += by.lacks_epilogue;
  }
  return n;
}

std::size_t executor::epilogues_apart() const {
  const state& s = *state_;
  std::size_t n = 0;
  for (std::size_t i = 0; i < s.plan.count.contractions; ++i) {
    const std::ptrdiff_t call = s.product_call[static_cast<std::size_t>(s.plan.contractions[i].product)];
    if (call < 0) continue;
    const state::gemm& by = s.gemms[static_cast<std::size_t>(call)];
    n += by.left != apart::nothing && !by.lacks_epilogue;
  }
  return n;
}

void executor::run(const stream& on, kernel_start start) {
  for (std::size_t i = 0; i < state_->plan.count.instructions; ++i) run_instruction(i, on, start);
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

void executor::put_by_data(const stream& capturing, kernel_start start) {
  state& s = *state_;
  const planning::task_order order = s.order_by_data();
  const capture_point begin(capturing);
  std::vector<capture_point> behind(order.tasks.size());
  std::vector<const capture_point*> before, last;
  for (std::size_t t = 0; t < order.tasks.size(); ++t) {
    const planning::task& now = order.tasks[t];
    before.clear();
    for (const std::int32_t b : order.waits(t)) before.push_back(&behind[static_cast<std::size_t>(b)]);
    if (before.empty()) before.push_back(&begin);
    capture_point::behind(before).go_on(capturing);
    const auto i = static_cast<std::size_t>(now.instruction);
    launch(i, now.joins ? launches::joins : launches::without_joins, capturing, start);
    behind[t] = capture_point(capturing);
    if (!order.followed[t]) last.push_back(&behind[t]);
  }
  if (last.empty()) last.push_back(&begin);
  capture_point::behind(last).go_on(capturing);
}
bool executor::has_calls_beside() const { return !state_->order_by_data().is_a_line(); }

void executor::run_instruction(std::size_t i, const stream& on, kernel_start start) {
  const bound_plan here{state_->plan, state_->arena, state_->inputs, state_->outputs, state_->fault};
  before_instruction(here, i, on);
  launch(i, launches::all, on, start);
  after_instruction(here, i, on);
}

void executor::launch(std::size_t i, launches which, const stream& on, kernel_start start) {
  state& s = *state_;
  const instruction& now = s.plan.instructions[i];
  const auto index = static_cast<std::size_t>(now.index);
  switch (now.kind) {
    case unit_kind::kernel: {
      const void* const arguments = s.arguments.data() + s.first_piece[index];
      if (which != launches::joins)
        state::put(on, start, [&] { s.kernels[index].launch(arguments, on.handle()); });
      if (which != launches::without_joins && s.plan.kernels[index].columns > 0)
        state::put(on, start, [&] {
          s.kernels[index].join(arguments, s.column_targets.data() + s.plan.kernels[index].first_column,
                                on.handle());
        });
      on.check_launch("a fused kernel");
      break;
    }
    case unit_kind::contraction: {
      const auto product = static_cast<std::size_t>(s.plan.contractions[index].product);
      const state::operands& x = s.contractions[index];
      if (s.product_call[product] < 0 || s.gemm_of(product).by_our_kernel) {
        state::put(on, start,
                   [&] { contract(s.plan.products[product], x.a, x.b, x.c, x.workspace, on.handle()); });
        on.check_launch("a contraction's kernel");
      } else {
        state::run_product(s.plan.products[product], s.gemm_of(product), x, on, start);
      }
      break;
    }
    case unit_kind::gather:
    case unit_kind::scatter_add:
    case unit_kind::pad:
    case unit_kind::concat:
      state::put(on, start, [&] { s.movements[index].run(on.handle()); });
      on.check_launch("a movement");
      break;
    case unit_kind::attention:
      state::put(on, start, [&] { attend(s.plan.attentions[index], s.attentions[index], on.handle()); });
      on.check_launch("an attention's kernel");
      break;
  }
}

}  // namespace napkin::on_cuda
