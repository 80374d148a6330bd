// Which kernels take in the product that they read (cuda/taken_product.hpp): those that may, by the plan and
// by what lies where, and of these the ones that the record or the clock prefers.
#include "executor_state.hpp"
#include "napkin/core/hash.hpp"
#include "napkin/cuda/time_in_turns.hpp"
#include "napkin/plan/uses.hpp"

namespace napkin::on_cuda {
namespace {

/// The kernel by what it computes, however its buffers lie.
std::uint64_t hash_of(const plan_view& p, const kernel_record& r) {
  std::string text;
  const auto add = [&](auto... x) { ((text += std::to_string(static_cast<long long>(x)) + ' '), ...); };
  const program_record& program = p.programs[r.program];
  for (std::int32_t i = program.first_step; i < program.first_step + program.steps; ++i) {
    const passes::kernel_step& s = p.steps[i];
    add(s.what, s.kind, s.type, s.at, s.along, s.phase, s.a, s.b, s.c);
  }
  for (std::int32_t i = 0; i < r.outer_rank + r.inner_rank; ++i) add(p.sizes[r.first_size + i]);
  add(r.outer_rank, r.walks_per_block, r.layout.team, r.layout.vector, r.layout.groups);
  fnv1a hash;
  hash.add(text);
  return hash.value;
}

}  // namespace

void executor::state::find_takings(const blas_library& blas, const blas_choices& choices) {
  takings.resize(plan.count.instructions);
  taken_by.assign(plan.count.instructions, -1);
  const auto memory = planning::plan_memory_of(plan.lives, plan.count.lives);
  life_offsets.assign(memory.offsets.data(), memory.offsets.data() + memory.offsets.size());
  for (std::size_t i = 0; i < plan.count.instructions; ++i) {
    const instruction& now = plan.instructions[i];
    if (now.kind != unit_kind::kernel || kernels[now.index].take == nullptr) continue;
    taking& t = takings[i];
    t.of = find_taken(plan, i);
    if (!t.of.found() || !(t.of.form == kernels[now.index].takes)) {
      t.of = {};
      continue;
    }
    t.small = small_product_at(static_cast<std::size_t>(taken_contraction(i).product));
    const blas_algorithm* const known = choices.find(key_of_taking(i, blas));
    if (known != nullptr && known->left == apart::product) take(i);
  }
}

std::string executor::state::key_of_taking(std::size_t i, const blas_library& blas) const {
  const instruction& now = plan.instructions[i];
  const auto number = static_cast<std::size_t>(taken_contraction(i).product);
  return call_of(number, apart::nothing, blas).key() + " then kernel " +
         std::to_string(hash_of(plan, plan.kernels[now.index]));
}

/// Of a tensor that is handed in or out one byte: two are the same memory or have none in common.
executor::state::memory_range executor::state::range_of(const location& l, std::int32_t time) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(address(l));
  if (l.where != region::arena) return {begin, begin + 1};
  for (std::size_t life = 0; life < plan.count.lives; ++life) {
    const passes::lifetime& x = plan.lives[life];
    if (life_offsets[life] == l.at && x.first <= time && time <= x.last && x.bytes > 0)
      return {begin, begin + x.bytes};
  }
  return {begin, begin};
}

bool executor::state::writes_over_operands(std::size_t instruction) const {
  const planning::instruction &kernel = plan.instructions[instruction],
                              &product = plan.instructions[takings[instruction].of.instruction];
  std::vector<memory_range> written;
  planning::for_each_place_of(plan, kernel, [&](const location& l, const planning::place_use& u) {
    if (u.written && !u.joined) written.push_back(range_of(l, kernel.time));
  });
  for (std::size_t w = 0; w < plan.count.workspaces; ++w)
    if (plan.workspaces[w].kernel == kernel.index) {
      const auto life = static_cast<std::size_t>(plan.workspaces[w].life);
      const auto begin = reinterpret_cast<std::uintptr_t>(arena) + life_offsets[life];
      written.push_back({begin, begin + plan.lives[life].bytes});
    }
  bool meet = false;
  planning::for_each_place_of(plan, product, [&](const location& l, const planning::place_use& u) {
    if (u.written) return;
    const memory_range read = range_of(l, product.time);
    for (const memory_range& x : written) meet = meet || (x.begin < read.end && read.begin < x.end);
  });
  return meet;
}

bool executor::state::may_take(const planning::task_order& order, std::size_t instruction) const {
  const small_product made = bound_taken(instruction);
  if (!made.fetches_at_once || !made.stores_at_once || writes_over_operands(instruction)) return false;
  std::int32_t product = -1;
  for (std::size_t t = 0; t < order.tasks.size(); ++t) {
    const auto now = static_cast<std::size_t>(order.tasks[t].instruction);
    if (now == instruction) return product >= 0;
    if (product >= 0)
      for (const std::int32_t b : order.waits(t))
        if (b == product) return false;
    if (static_cast<std::int32_t>(now) == takings[instruction].of.instruction)
      product = static_cast<std::int32_t>(t);
  }
  return false;
}

small_product executor::state::bound_taken(std::size_t instruction) const {
  const planning::instruction& of = plan.instructions[takings[instruction].of.instruction];
  const product& p = plan.products[plan.contractions[of.index].product];
  const operands& x = contractions[static_cast<std::size_t>(of.index)];
  small_product made = bound(p, takings[instruction].small, x, vector_of(p, x));
  if (!takings[instruction].of.is_stored) made.then.result = nullptr;
  return made;
}

void executor::state::run_taking(std::size_t instruction, const void* with, const stream& on,
                                 kernel_start start) {
  const small_product made = bound_taken(instruction);
  const kernel_entry& kernel = kernels[plan.instructions[instruction].index];
  put(on, start, [&] { kernel.take(with, made, on.handle()); });
  on.check_launch("a fused kernel with its product");
}

/// Products by then run in their own fastest way.
void executor::choose_takings_by_time(const stream& on, blas_choices& choices) {
  state& s = *state_;
  planning::task_order order;
  for (std::size_t i = 0; i < s.takings.size(); ++i) {
    const state::taking& t = s.takings[i];
    if (!t.of.found()) continue;
    if (order.tasks.empty()) order = s.order_by_data();
    s.leave(i);
    if (!s.may_take(order, i)) continue;
    const auto product = static_cast<std::size_t>(s.taken_contraction(i).product);
    const std::string key = s.key_of_taking(i, s.gemm_of(product).call.blas());
    const blas_algorithm* const known = choices.find(key);
    blas_algorithm way;
    if (known != nullptr) {
      way = *known;
    } else {
      const auto index = static_cast<std::size_t>(s.plan.instructions[i].index);
      const std::vector<float> time = time_in_turns(on, 2, [&](std::size_t taken) {
        if (taken == 0) {
          launch(static_cast<std::size_t>(t.of.instruction), launches::all, on, kernel_start::in_turn);
          launch(i, launches::without_joins, on, kernel_start::in_turn);
        } else {
          s.run_taking(i, s.arguments.data() + s.first_piece[index], on, kernel_start::in_turn);
        }
        return true;
      });
      way.left = time[1] < time[0] ? apart::product : apart::nothing;
      choices.set(key, way);
    }
    if (way.left == apart::product) s.take(i);
  }
}

}  // namespace napkin::on_cuda
