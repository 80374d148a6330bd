// The step's plans as lines, and the lines as tables.
#include "napkin/train/step_report.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "napkin/core/error.hpp"
#include "napkin/cost/conventions.hpp"
#include "napkin/cost/report.hpp"
#include "napkin/cuda/plan.hpp"
#include "napkin/plan/uses.hpp"

namespace napkin::detail {
namespace {

/// Where they lie: the planner's own answer, asked again, as a plan keeps the lives alone. Lives count times,
/// of which a product that a kernel finishes has one more than there are instructions, and a concatenation
/// fewer.
template <class Product>
std::vector<planned_buffer> buffers_of(const planning::plan_view<Product>& plan) {
  const passes::memory_plan memory = planning::plan_memory_of(plan.lives, plan.count.lives);
  const planning::instruction *const begin = plan.instructions, *const end = begin + plan.count.instructions;
  const auto first_after = [&](std::int32_t time) {  // the first instruction that runs after it
    return static_cast<std::size_t>(
        std::upper_bound(begin, end, time, [](std::int32_t t, const auto& i) { return t < i.time; }) - begin);
  };
  std::vector<planned_buffer> buffers;
  for (std::size_t i = 0; i < plan.count.lives; ++i) {
    const passes::lifetime& life = plan.lives[i];
    const std::size_t first = first_after(life.first - 1), behind = first_after(life.last);
    if (life.bytes != 0 && first < behind)
      buffers.push_back({memory.offsets[i], passes::aligned(life.bytes), first, behind - 1});
  }
  return buffers;
}

/// What stands at a kernel's access: the program's loads and stores say it.
template <class Product>
dtype type_of_access(const planning::plan_view<Product>& plan, const planning::kernel_record& k,
                     std::int32_t access) {
  const planning::program_record& program = plan.programs[k.program];
  for (std::int32_t s = 0; s < program.steps; ++s) {
    const passes::kernel_step& step = plan.steps[program.first_step + s];
    const bool moves = step.what == passes::action::load || step.what == passes::action::store;
    if (moves && step.along != passes::pace::scratch && step.a == access) return step.type;
  }
  throw error("step_report: a kernel has an access that none of its steps makes");
}

/// f(location, whether it is written, its dtype) for each operand and result of an instruction.
template <class Product, class F>
void for_each_place(const planning::plan_view<Product>& plan, const planning::instruction& now, F&& f) {
  const auto index = static_cast<std::size_t>(now.index);
  const std::int32_t kernel = now.kind == passes::unit_kind::kernel ? now.index : now.epilogue;
  if (kernel >= 0) {
    const planning::kernel_record& k = plan.kernels[kernel];
    for (std::int32_t a = 0; a < k.accesses; ++a) {
      const planning::access_record& access = plan.accesses[k.first_access + a];
      f(access.base, access.written, type_of_access(plan, k, a));
    }
    for (std::int32_t c = 0; c < k.columns; ++c)
      f(plan.columns[k.first_column + c].to, true, plan.columns[k.first_column + c].type);
  }
  if (now.kind == passes::unit_kind::contraction) {
    const planning::contraction_record& r = plan.contractions[index];
    const passes::product_types types = plan.products[r.product].types();
    f(r.a, false, types.a);
    f(r.b, false, types.b);
    f(r.c, true, r.members > 0 ? r.follows.type : types.result);
    for (std::size_t x = 0; x < planning::epilogue_operands; ++x)
      if (r.others[x].bytes > 0)
        f(r.others[x].at, r.others[x].written, r.follows.type_of(static_cast<planning::epilogue_operand>(x)));
  } else if (now.kind == passes::unit_kind::attention) {
    const planning::attention_record& r = plan.attentions[index];
    for (std::size_t x = 0; x < passes::attention_tensors; ++x)
      if (r.operands[x].there)
        f(r.operands[x].at, r.operands[x].written, r.type_of(static_cast<passes::attention_tensor>(x)));
  } else if (now.kind != passes::unit_kind::kernel) {
    const planning::movement_record& r = plan.movements[index];
    f(r.from, false, r.type);
    if (planning::looks_up(now.kind)) f(r.index, false, r.index_type);
    f(r.to, true, r.type);
  }
}

/// Bytes that the loss's instructions leave for those behind them, by dtype: cut as
/// planning::kept_after_first_output.
template <class Product>
std::map<dtype, std::uint64_t> kept_of(const planning::plan_view<Product>& plan) {
  const planning::instruction *const begin = plan.instructions, *const end = begin + plan.count.instructions;
  std::int32_t border = -1;
  for (const planning::instruction* i = begin; i != end; ++i)
    if (i->first_output) border = std::max(border, i->time);
  const passes::memory_plan memory = planning::plan_memory_of(plan.lives, plan.count.lives);
  const auto made_as = [&](std::size_t l) {
    std::optional<dtype> type;
    for (const planning::instruction* i = begin; i != end && !type; ++i)
      if (i->time >= plan.lives[l].first && i->time <= plan.lives[l].last)
        for_each_place(plan, *i, [&](const planning::location& at, bool written, dtype t) {
          if (written && at.where == planning::region::arena && at.at == memory.offsets[l]) type = t;
        });
    return type.value();
  };
  std::map<dtype, std::uint64_t> kept;
  for (std::size_t l = 0; l < plan.count.lives; ++l) {
    const passes::lifetime& life = plan.lives[l];
    if (life.first <= border && life.last > border && life.bytes != 0)
      kept[made_as(l)] += passes::aligned(life.bytes);
  }
  return kept;
}

/// Does an instruction write a part of what lies there, beside others?
template <class Product>
bool joins_into(const planning::plan_view<Product>& plan, const planning::instruction& now,
                const planning::location& there) {
  if (now.kind == passes::unit_kind::concat) return true;
  const std::int32_t kernel = now.kind == passes::unit_kind::kernel ? now.index : now.epilogue;
  if (kernel >= 0) {
    const planning::kernel_record& k = plan.kernels[kernel];
    return std::any_of(plan.accesses + k.first_access, plan.accesses + k.first_access + k.accesses,
                       [&](const planning::access_record& a) { return a.part && a.base == there; });
  }
  if (now.kind != passes::unit_kind::attention) return false;
  const auto& operands = plan.attentions[now.index].operands;
  return std::any_of(std::begin(operands), std::end(operands),
                     [&](const planning::attention_operand& x) { return x.part && x.at == there; });
}

/// When what lies there began to be written.
template <class Product>
std::int32_t birth_of(const planning::plan_view<Product>& plan, const passes::memory_plan& memory,
                      const planning::location& there, std::int32_t time) {
  if (there.where != planning::region::arena) return 0;
  for (std::size_t l = 0; l < plan.count.lives; ++l)
    if (memory.offsets[l] == there.at && plan.lives[l].bytes != 0 && plan.lives[l].first <= time &&
        time <= plan.lives[l].last)
      return plan.lives[l].first;
  return time;
}

/// Whoever wrote a place last is who a reader reads from; a concatenation's operands write one together, with
/// whatever wrote its part there before.
template <class Product>
std::vector<std::vector<std::size_t>> reads_of(const planning::plan_view<Product>& plan) {
  using place = std::pair<planning::region, std::size_t>;
  const passes::memory_plan memory = planning::plan_memory_of(plan.lives, plan.count.lives);
  std::map<place, std::vector<std::size_t>> writers;
  std::vector<std::vector<std::size_t>> reads(plan.count.instructions);
  for (std::size_t i = 0; i < plan.count.instructions; ++i) {
    const planning::instruction& now = plan.instructions[i];
    std::set<std::size_t> from;
    if (now.epilogue >= 0) {  // whose operand is the product itself
      const planning::location& own = plan.contractions[now.index].c;
      writers.erase({own.where, own.at});
    }
    for_each_place(plan, now, [&](const planning::location& at, bool written, dtype) {
      const auto found = writers.find({at.where, at.at});
      if (!written && found != writers.end()) from.insert(found->second.begin(), found->second.end());
    });
    reads[i].assign(from.begin(), from.end());
    for_each_place(plan, now, [&](const planning::location& at, bool written, dtype) {
      if (!written) return;
      std::vector<std::size_t>& by = writers[{at.where, at.at}];
      const bool joins = joins_into(plan, now, at);
      const std::int32_t birth = joins ? birth_of(plan, memory, at, now.time) : 0;
      std::erase_if(by, [&](std::size_t writer) {
        const planning::instruction& before = plan.instructions[writer];
        return !joins || before.time < birth || !joins_into(plan, before, at);
      });
      if (by.empty() || by.back() != i) by.push_back(i);
    });
  }
  return reads;
}

template <class Product>
std::vector<std::vector<op>> operations_of(const planning::plan_view<Product>& plan,
                                           const graph_view& lowered) {
  std::vector<std::vector<op>> operations(plan.count.instructions);
  for (std::size_t i = 0; i < plan.count.instructions; ++i) {
    const planning::instruction& now = plan.instructions[i];
    if (now.kind != passes::unit_kind::kernel)
      operations[i].push_back(lowered[now.epilogue >= 0 ? now.product : now.node].kind);
    if (now.kind == passes::unit_kind::contraction) {
      const planning::contraction_record& r = plan.contractions[now.index];
      for (std::int32_t m = 0; m < r.members; ++m)
        operations[i].push_back(lowered[plan.members[r.first_member + m]].kind);
    }
    const std::int32_t kernel = now.kind == passes::unit_kind::kernel ? now.index : now.epilogue;
    if (kernel < 0) continue;
    const planning::kernel_record& like = plan.kernels[plan.kernels[kernel].like];
    for (std::int32_t m = 0; m < like.members; ++m)
      operations[i].push_back(lowered[plan.members[like.first_member + m]].kind);
  }
  return operations;
}

template <class Product>
planned_graph description_of(const planning::plan_view<Product>& plan, const graph_view& lowered) {
  planned_graph p;
  p.lines = planning::lines_of(plan, lowered);
  for (std::size_t i = 0; i < plan.count.instructions; ++i)
    p.forward.push_back(plan.instructions[i].first_output);
  p.sum = planning::cost_of(plan, lowered);
  p.buffers = buffers_of(plan);
  p.reads_from = reads_of(plan);
  p.operations = operations_of(plan, lowered);
  p.remade = remade_values(plan, lowered);
  p.kept = kept_of(plan);
  return p;
}

std::string convention(const char* name, const conventions::counts& c) {
  return std::string(name) + flops_text(c.total()) + " (" + flops_text(c.forward) + " forward, " +
         flops_text(c.backward) + " backward)\n";
}

}  // namespace

planned_graph describe(const on_cpu::plan_view& plan, const graph_view& lowered) {
  return description_of(plan, lowered);
}
planned_graph describe(const on_cuda::plan_view& plan, const graph_view& lowered) {
  return description_of(plan, lowered);
}

memory_sheet sheet_of(const step_memory& memory) {
  memory_sheet sheet;
  sheet.parameters = memory.parameters;
  sheet.master_copies = memory.master_copies;
  sheet.narrow_copies = memory.narrow_copies;
  sheet.gradients = memory.gradients;
  sheet.optimizer_state = memory.optimizer_state;
  sheet.activations = memory.activations;
  sheet.workspace = memory.workspace;
  sheet.inputs = memory.inputs;
  sheet.staging = memory.staging;
  sheet.arena = memory.intermediates;
  sheet.arena_lower_bound = memory.intermediates_lower_bound;
  sheet.tables = memory.tables;
  sheet.peak = memory.peak;
  return sheet;
}

std::string kept_text(const std::map<dtype, std::uint64_t>& kept) {
  std::string text;
  if (kept.size() < 2) return text;
  for (const auto& [type, bytes] : kept)
    text += (text.empty() ? "Kept for the backward pass: " : ", ") + with_separators(bytes) + " bytes in " +
            std::string(name_of(type));
  return text + "\n";
}

std::string recomputation_text(const recomputation& r) {
  if (r.budget == 0) return {};
  const std::string budget = "\nA budget of " + with_separators(r.budget) + " bytes: ";
  if (!r.fits) return budget + "nothing that may be made again keeps it.\n";
  if (r.choice == 0) return budget + "it is kept without making anything again for it.\n";
  return budget + "for " + with_separators(r.saved) + " bytes less the backward pass makes values again, " +
         with_separators(r.flops) + " FLOPs" +
         (r.more_bytes > 0 ? ", and moves " + with_separators(r.more_bytes) + " bytes more.\n" : ".\n");
}

std::string attention_text(const passes::attention_choice& choice) {
  const auto count = [](std::int32_t n) { return with_separators(static_cast<std::uint64_t>(n)); };
  std::string text;
  if (choice.fused > 0) text += count(choice.fused) + " as one operation";
  if (choice.unfused > 0)
    text += (text.empty() ? "" : ", ") + count(choice.unfused) +
            " as matrix products and a softmax: " + std::string(name_of(choice.reason));
  return text.empty() ? text : "\nAttention: " + text + "\n";
}

std::string step_report(const step_description& step) {
  std::vector<std::string_view> paths;
  std::uint64_t parameters = 0;
  for (const parameter_info& p : step.parameters) {
    paths.push_back(p.name);
    parameters += p.count;
  }
  const buffer<plan_line>& once = step.gradient.lines;
  buffer<plan_line> lines;  // of every micro-batch
  for (std::size_t k = 0; k < step.gradient.times; ++k)
    for (std::size_t i = 0; i < once.size(); ++i) lines.push_back(once[i]);
  std::vector<cost_row> rows = rows_by_layer({lines.data(), lines.size()}, paths);
  cost_sheet before;
  buffer<plan_line> with_before = lines;
  for (const planned_graph& p : step.before) {
    before += p.sum;
    with_before.append(p.lines.data(), p.lines.size());
  }
  if (!step.before.empty()) rows.push_back({"zeros that gradients are added to", before});
  rows.push_back({"optimizer", {}});
  for (const planned_graph& p : step.update)
    for (std::size_t k = 0; k < p.times; ++k) rows.back().sheet += p.sum;

  std::string text = "One step on " + with_separators(step.tokens) + " tokens, " +
                     with_separators(parameters) + " parameters:\n" +
                     cost_table("layer, forward and backward", rows);
  cost_sheet forward, backward = before;
  for (std::size_t i = 0; i < lines.size(); ++i)
    (step.gradient.forward[i % once.size()] ? forward : backward) += sheet_of(lines[i]);
  const cost_row phases[] = {{"forward", forward}, {"backward", backward}, rows.back()};
  text += "\n" + cost_table("phase", phases);
  const std::vector<cost_row> dtypes = rows_by_dtype({with_before.data(), with_before.size()});
  if (dtypes.size() > 1) text += "\n" + cost_table("result in, forward and backward", dtypes);
  std::vector<std::int32_t> wanted(step.parameters.size());
  std::iota(wanted.begin(), wanted.end(), 0);
  const graph differentiated = passes::differentiate(step.traced, {wanted.data(), wanted.size()});
  const graph_view both = differentiated.view();
  text += "\nFLOPs of its matrix products\n";
  text += convention("  causal as a triangle   ",
                     conventions::exact_of(step.traced, both).times(step.gradient.times));
  text += convention(
      "  as PyTorch counts      ",
      conventions::torch_of(step.traced, {wanted.data(), wanted.size()}).times(step.gradient.times));
  text += convention("  by the rule of 6 N D   ", conventions::rule_6nd_of(parameters, step.tokens));
  return text + "\nMemory\n" + memory_table(sheet_of(step.memory)) + kept_text(step.gradient.kept) +
         recomputation_text(step.recomputed);
}

std::uint64_t step_flops(const step_description& step) {
  std::uint64_t sum = step.gradient.times * step.gradient.sum.flops.total();  // zeros take none
  for (const planned_graph& p : step.update) sum += p.times * p.sum.flops.total();
  return sum;
}

}  // namespace napkin::detail
