// The device's executor: arguments laid out, and the walk over the plan's table.
#include <chrono>

#include "executor_state.hpp"
#include "napkin/cuda/between_instructions.hpp"
#include "napkin/cuda/contract.hpp"

namespace napkin::on_cuda {

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
  s.find_takings(blas, choices);
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
    s.require_alignment(r);
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
    s.require_alignment(r);
    using planning::epilogue_operand;
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
  if (taken_products() == 0) return;
  const planning::task_order order = s.order_by_data();
  for (std::size_t i = 0; i < s.takings.size(); ++i)
    if (s.takes(i) && !s.may_take(order, i)) s.leave(i);
}

void executor::choose_by_time(const stream& on, blas_choices& choices) {
  state& s = *state_;
  s.graph = {};
  const blas_choices before = choices;
  std::vector<bool> chosen(s.plan.count.products, false);
  for (std::size_t i = 0; i < s.plan.count.contractions; ++i) {
    const auto number = static_cast<std::size_t>(s.plan.contractions[i].product);
    if (chosen[number] || s.product_call[number] < 0) continue;
    chosen[number] = true;
    s.choose_by_time(number, s.contractions[i], on, before, choices);
  }
  choose_takings_by_time(on, choices);
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
    const auto number = static_cast<std::size_t>(s.plan.contractions[i].product);
    const std::ptrdiff_t call = s.product_call[number];
    if (call < 0) continue;
    const state::gemm& by = s.gemms[static_cast<std::size_t>(call)];
    n += state::is_followed(s.plan.products[number], by) && !by.lacks_epilogue;
  }
  return n;
}

std::size_t executor::taken_products() const {
  std::size_t n = 0;
  for (const std::int32_t by : state_->taken_by) n += by >= 0;
  return n;
}

std::size_t executor::small_products() const {
  const state& s = *state_;
  std::size_t n = 0;
  for (std::size_t i = 0; i < s.plan.count.contractions; ++i) {
    const std::ptrdiff_t call = s.product_call[static_cast<std::size_t>(s.plan.contractions[i].product)];
    n += call >= 0 && s.gemms[static_cast<std::size_t>(call)].left == apart::product;
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
  const state& s = *state_;
  for (std::size_t i = 0; i < s.plan.count.instructions; ++i) {
    if (!s.plan.instructions[i].first_output) continue;
    const std::int32_t by = s.taken_by[i];
    // by a kernel that is not needed: then by itself
    if (by >= 0 && !s.plan.instructions[by].first_output)
      launch_product(i, on, kernel_start::in_turn);
    else
      run_instruction(i, on);
  }
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
    // who waits for a product that a kernel has taken in waits for the kernel
    if (!now.joins && s.takes(i))
      for (std::size_t b = 0; b < t; ++b)
        if (order.tasks[b].instruction == s.takings[i].of.instruction) behind[b] = behind[t];
    if (!order.followed[t]) last.push_back(&behind[t]);
  }
  if (last.empty()) last.push_back(&begin);
  capture_point::behind(last).go_on(capturing);
}
bool executor::has_calls_beside() const { return !state_->order_by_data().is_a_line(); }
bool executor::may_start_early() const {
  for (std::size_t k = 0; k < state_->plan.count.kernels; ++k)
    if (state_->kernels[k].waits != nullptr && !state_->kernels[k].waits()) return false;
  return library_waits_for_earlier();
}

void executor::run_instruction(std::size_t i, const stream& on, kernel_start start) {
  const state& s = *state_;
  if (s.taken_by[i] >= 0) return;
  const bound_plan here{s.plan, s.arena, s.inputs, s.outputs, s.fault, s.taken_by};
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
      if (which != launches::joins && s.takes(i))
        s.run_taking(i, arguments, on, start);
      else if (which != launches::joins)
        state::put(on, start, [&] { s.kernels[index].launch(arguments, on.handle()); });
      if (which != launches::without_joins && s.plan.kernels[index].columns > 0)
        state::put(on, start, [&] {
          s.kernels[index].join(arguments, s.column_targets.data() + s.plan.kernels[index].first_column,
                                on.handle());
        });
      on.check_launch("a fused kernel");
      break;
    }
    case unit_kind::contraction:
      if (s.taken_by[i] < 0) launch_product(i, on, start);
      break;
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

void executor::launch_product(std::size_t i, const stream& on, kernel_start start) {
  state& s = *state_;
  const auto index = static_cast<std::size_t>(s.plan.instructions[i].index);
  const auto product = static_cast<std::size_t>(s.plan.contractions[index].product);
  const state::operands& x = s.contractions[index];
  if (s.product_call[product] < 0 || s.gemm_of(product).by_our_kernel) {
    state::put(on, start,
               [&] { contract(s.plan.products[product], x.a, x.b, x.c, x.workspace, on.handle()); });
    on.check_launch("a contraction's kernel");
  } else {
    state::run_product(s.plan.products[product], s.gemm_of(product), x, on, start);
  }
}

}  // namespace napkin::on_cuda
