// The account from the described plans: each plan's kernels behind one another, with their bounds and sums.
#include "napkin/train/step_account.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "napkin/core/error.hpp"
#include "napkin/cost/conventions.hpp"
#include "napkin/cost/report.hpp"

namespace napkin {
namespace {

/// "blocks.3.attention" of "blocks.3.attention.query"; a path of one name stays as it is.
std::string layer_path(std::string_view parameter) {
  return std::string(parameter.substr(0, parameter.rfind('.')));
}

account_layer& layer_in(std::vector<account_layer>& layers, const std::string& name) {
  const auto found =
      std::find_if(layers.begin(), layers.end(), [&](const auto& l) { return l.name == name; });
  if (found != layers.end()) return *found;
  layers.emplace_back();
  layers.back().name = name;
  return layers.back();
}

/// All runs of a kernel.
void add(account_sum& to, const account_kernel& k) {
  for (std::size_t run = 0; run < k.runs; ++run) {
    to.cost += k.cost();
    to.bound += k.bound;
    to.measured += k.measured;
    to.bound.flops = detail::counted_sum(to.bound.flops, k.line.flops.matmul);
  }
}

/// Of the products that take longest, as detail::bound_of_all has it.
arithmetic longest_products(const std::vector<account_kernel>& kernels) {
  double longest = -1;
  arithmetic found = arithmetic::none;
  for (const account_kernel& k : kernels) {
    if (k.line.flops.matmul == 0 || k.bound.compute() <= longest) continue;
    longest = k.bound.compute();
    found = k.products;
  }
  return found;
}

void add_sums(step_account& a) {
  a.total = {};
  for (account_sum& phase : a.phases) phase = {};
  for (account_layer& layer : a.layers) static_cast<account_sum&>(layer) = {};
  for (const account_kernel& k : a.kernels) {
    add(a.total, k);
    add(a.phases[static_cast<std::size_t>(k.phase)], k);
    add(layer_in(a.layers, k.layer), k);
  }
  a.total.bound.products = longest_products(a.kernels);
}

double median(std::vector<double> x) {
  if (x.empty()) return 0;
  std::sort(x.begin(), x.end());
  const std::size_t half = x.size() / 2;
  return x.size() % 2 != 0 ? x[half] : (x[half - 1] + x[half]) / 2;
}

}  // namespace

namespace detail {

step_account account_of(const step_description& step, std::string name, const device& on) {
  step_account a;
  a.name = std::move(name);
  a.on = on;
  a.tokens = step.tokens;
  a.micro_batches = step.gradient.times;
  a.memory = step.memory;
  a.recomputed = step.recomputed;
  a.attention = step.attention;
  a.kept = step.gradient.kept;
  for (const parameter_info& p : step.parameters) {
    a.parameters += p.count;
    layer_in(a.layers, layer_path(p.name)).parameters += p.count;
  }

  const auto add_plan = [&](const planned_graph& plan, step_phase last) {  // the last that it has
    const bool updates = last == step_phase::optimizer;
    const std::size_t first = a.kernels.size();
    for (std::size_t i = 0; i < plan.lines.size(); ++i) {
      account_kernel k;
      k.plan = a.plans.size();
      k.line = plan.lines[i];
      k.runs = plan.times;
      k.phase = &plan == &step.gradient && plan.forward[i] ? step_phase::forward : last;
      const auto origin = static_cast<std::size_t>(k.line.origin);
      const bool known = k.line.origin >= 0 && origin < step.parameters.size();
      k.layer = updates ? "optimizer" : known ? layer_path(step.parameters[origin].name) : "other";
      if (k.line.flops.matmul != 0) k.products = products_of(k.line, arithmetic::f32);
      k.bound = bound_of(k.line, on);
      k.operations = plan.operations[i];
      for (const std::size_t from : plan.reads_from[i]) k.reads_from.push_back(first + from);
      a.kernels.push_back(std::move(k));
    }
    for (const remade_value& v : plan.remade) {
      const auto origin = static_cast<std::size_t>(v.origin);
      const bool known = v.origin >= 0 && origin < step.parameters.size();
      a.remade.push_back(
          {known ? layer_path(step.parameters[origin].name) : "other", first + v.instruction, v});
    }
    for (const planned_buffer& b : plan.buffers) {
      a.buffers.push_back({first + b.first, first + b.last, b.offset, b.bytes});
      for (std::size_t i = b.first; i <= b.last; ++i) a.kernels[first + i].live += b.bytes;
      const account_kernel& maker = a.kernels[first + b.first];
      if (maker.phase == step_phase::forward && a.kernels[first + b.last].phase != step_phase::forward)
        layer_in(a.layers, maker.layer).kept += b.bytes;
    }
    a.plans.push_back(plan.name);
  };
  for (const planned_graph& plan : step.before) add_plan(plan, step_phase::backward);
  add_plan(step.gradient, step_phase::backward);
  for (const planned_graph& plan : step.update) add_plan(plan, step_phase::optimizer);
  for (std::size_t i = 0; i < a.kernels.size(); ++i)
    if (a.kernels[i].live > a.kernels[a.peak_kernel].live) a.peak_kernel = i;
  add_sums(a);
  std::erase_if(a.layers, [](const account_layer& l) { return l.cost.launches == 0 && l.parameters == 0; });

  std::vector<std::int32_t> wanted(step.parameters.size());
  std::iota(wanted.begin(), wanted.end(), 0);
  const std::span<const std::int32_t> all(wanted.data(), wanted.size());
  const graph differentiated = passes::differentiate(step.traced, all);
  a.model_flops = {conventions::exact_of(step.traced, differentiated.view()).times(a.micro_batches),
                   conventions::torch_of(step.traced, all).times(a.micro_batches),
                   conventions::rule_6nd_of(a.parameters, a.tokens)};
  return a;
}

}  // namespace detail

std::vector<account_remade> remade_groups(const step_account& a) {
  std::vector<account_remade> groups;
  for (const account_value& one : a.remade) {
    const remade_value& v = one.value;
    const std::string layers = layer_of(one.layer + ".parameter");
    const auto alike = [&](const account_remade& g) {
      return g.layers == layers && g.value.how == v.how && g.value.kind == v.kind &&
             g.value.composite == v.composite && g.value.type == v.type && g.value.result == v.result &&
             (g.value.bytes == 0) == (v.bytes == 0);
    };
    auto at = std::find_if(groups.begin(), groups.end(), alike);
    if (at == groups.end()) at = groups.insert(at, {layers, v, 0});
    if (at->count++ == 0) continue;
    at->value.bytes += v.bytes;
    at->value.flops += v.flops;
  }
  const auto comes_first = [](const account_remade& x, const account_remade& y) {
    const bool x_kept = x.value.how == remade::kept, y_kept = y.value.how == remade::kept;
    return x_kept != y_kept ? y_kept : x.value.bytes > y.value.bytes;
  };
  for (auto now = groups.begin(); now != groups.end(); ++now)  // equal ones stay in their order
    std::rotate(std::upper_bound(groups.begin(), now, *now, comes_first), now, now + 1);
  return groups;
}

void add_timing(step_account& a, step_timing timing, std::vector<loss_point> losses) {
  if (timing.steps > 0 && timing.kernels.size() != a.kernels.size())
    throw error("add_timing: times of " + std::to_string(timing.kernels.size()) + " kernels for a step of " +
                std::to_string(a.kernels.size()));
  a.timing = std::move(timing);
  a.losses = std::move(losses);
  for (std::size_t i = 0; i < a.kernels.size(); ++i) {
    account_kernel& k = a.kernels[i];
    k.measured = a.is_measured() ? a.timing.kernels[i] / static_cast<double>(k.runs) : 0;
  }
  add_sums(a);
}

bool step_recorder::begin() {
  timed_ = !now_.empty() && count_ >= warm_up && count_ < warm_up + 2 * samples && count_ % 2 != 0;
  ++count_;
  began_ = steady_seconds();
  return timed_;
}

void step_recorder::end(std::int64_t step, double loss) {
  const double seconds = steady_seconds() - began_;
  if (timed_) {
    kernels_.push_back(now_);
  } else if (count_ > warm_up) {
    if (steps_.size() == most_steps) steps_.erase(steps_.begin());
    steps_.push_back(seconds);
  }
  if (step % every_ == 0) losses_.push_back({step, loss});
  if (losses_.size() <= most_losses) return;
  every_ *= 2;
  std::erase_if(losses_, [this](const loss_point& p) { return p.step % every_ != 0; });
}

step_timing step_recorder::timing() const {
  step_timing t;
  if (steps_.size() >= fewest) t.step = median(steps_);
  if (kernels_.size() < fewest) return t;
  t.steps = kernels_.size();
  for (std::size_t k = 0; k < now_.size(); ++k) {
    std::vector<double> one;
    for (const std::vector<double>& step : kernels_) one.push_back(step[k]);
    t.kernels.push_back(median(one));
  }
  return t;
}

}  // namespace napkin
