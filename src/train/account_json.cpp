// An account as JSON. Kernels are called by their number, which is their place in the list.
#include <nlohmann/json.hpp>

#include "account_words.hpp"
#include "napkin/cost/report.hpp"
#include "napkin/train/step_account_text.hpp"

namespace napkin {
namespace {

using json = nlohmann::ordered_json;

json flops_json(const flop_counts& f) {
  return {{"total", f.total()},
          {"matmul", f.matmul},
          {"elementwise", f.elementwise},
          {"reduce", f.reduce},
          {"transcendental", f.transcendental},
          {"recomputed", f.recomputed}};
}
json bytes_json(const byte_counts& b) {
  return {{"total", b.total()}, {"read", b.read}, {"written", b.written}};
}
json counts_json(const conventions::counts& c) {
  return {{"total", c.total()}, {"forward", c.forward}, {"backward", c.backward}};
}
json rate_json(std::uint64_t flops, double seconds) {
  return seconds > 0 ? json(static_cast<double>(flops) / seconds) : json(nullptr);
}

json sum_json(const account_sum& s, bool measured) {
  json j{{"flops", flops_json(s.cost.flops)},
         {"bytes", bytes_json(s.cost.bytes)},
         {"intensity", s.cost.intensity()},
         {"launches", s.cost.launches},
         {"bound_by", bound_text(s)},
         {"least_seconds", s.bound.seconds},
         {"arithmetic_seconds", s.bound.compute},
         {"memory_seconds", s.bound.memory}};
  if (measured)
    j["measured"] = {{"seconds", s.measured},
                     {"flops_per_second", rate_json(s.cost.flops.total(), s.measured)}};
  return j;
}

json kernel_json(const step_account& a, const account_kernel& k) {
  json operations = json::array();
  for (const op o : k.operations) operations.push_back(std::string(facts_of(o).name));
  const cost_sheet cost = k.cost();
  json j{{"plan", k.plan},
         {"phase", std::string(name_of(k.phase))},
         {"layer", k.layer},
         {"kind", std::string(name_of(k.line.kind))},
         {"computes", computes_text(k)},
         {"operations", operations},
         {"result", result_text(k.line)},
         {"runs", k.runs},
         {"flops", flops_json(cost.flops)},
         {"bytes", bytes_json(cost.bytes)},
         {"intensity", cost.intensity()},
         {"products_in", std::string(name_of(k.products))},
         {"bound_by", bound_text(k.bound)},
         {"least_seconds", k.bound.seconds()},
         {"arithmetic_seconds", k.bound.compute()},
         {"memory_seconds", k.bound.memory},
         {"live_bytes", k.live},
         {"reads_from", k.reads_from}};
  if (!k.line.refused.empty()) j["refused"] = std::string(k.line.refused);
  if (a.is_measured()) {
    j["measured"] = {{"seconds", k.measured},
                     {"flops_per_second", rate_json(cost.flops.total(), k.measured)}};
    j["measured"]["of_bound"] = k.measured > 0 ? json(k.bound.seconds() / k.measured) : json(nullptr);
  }
  return j;
}

json device_json(const device& d) {
  json peaks = json::array();
  for (const unit_rate& r : d.rates)
    if (r.operands != arithmetic::none)
      peaks.push_back({{"operands", std::string(name_of(r.operands))},
                       {"accumulated", std::string(name_of(r.accumulated))},
                       {"dense_flops_per_second", r.dense.per_second}});
  return {{"name", std::string(std::string_view(d.name))},
          {"memory", d.memory},
          {"bytes_per_second", d.bandwidth},
          {"peaks", peaks}};
}

json memory_json(const step_account& a) {
  const step_memory& m = a.memory;
  const std::uint64_t named = m.parameters + m.narrow_copies + m.gradients + m.optimizer_state + m.inputs +
                              m.intermediates + m.tables;
  json buffers = json::array();
  for (const account_buffer& b : a.buffers)
    buffers.push_back({{"first", b.first}, {"last", b.last}, {"offset", b.offset}, {"bytes", b.bytes}});
  json kept = json::object();
  for (const auto& [type, bytes] : a.kept) kept[std::string(name_of(type))] = bytes;
  return {{"peak", m.peak},
          {"kept", kept},
          {"parameters", m.parameters},
          {"master_copies", m.master_copies},
          {"narrow_copies", m.narrow_copies},
          {"gradients", m.gradients},
          {"optimizer_state", m.optimizer_state},
          {"inputs", m.inputs},
          {"tables", m.tables},
          {"other", detail::counted_rest(m.peak, named)},
          {"arena", m.intermediates},
          {"arena_lower_bound", m.intermediates_lower_bound},
          {"activations", m.activations},
          {"workspace", m.workspace},
          {"staging", m.staging},
          {"saved", a.recomputed.saved},
          {"peak_kernel", a.peak_kernel},
          {"buffers", buffers}};
}

json remade_json(const std::string& where, const std::string& layers, const remade_value& v) {
  return {{where, layers},
          {"made", std::string(name_of(v.how))},
          {"value", value_text(v)},
          {"operation", std::string(facts_of(v.kind).name)},
          {"function", v.composite == 0 ? json(nullptr) : json(name_of(static_cast<composite>(v.composite)))},
          {"result", result_text(v.type, v.result)},
          {"bytes", v.bytes},
          {"flops", v.flops.total()}};
}

/// null where no budget was set.
json recomputed_json(const step_account& a) {
  const recomputation& r = a.recomputed;
  if (r.budget == 0) return nullptr;
  json groups = json::array(), values = json::array();
  for (const account_remade& g : remade_groups(a)) {
    groups.push_back(remade_json("layers", g.layers, g.value));
    groups.back()["count"] = g.count;
  }
  for (const account_value& one : a.remade) {
    values.push_back(remade_json("layer", one.layer, one.value));
    values.back()["kernel"] = one.kernel;
  }
  return {{"budget", r.budget},     {"fits", r.fits},
          {"choice", r.choice},     {"choices", r.choices},
          {"saved_bytes", r.saved}, {"kept_less_bytes", r.kept_less},
          {"flops", r.flops},       {"more_bytes_moved", r.more_bytes},
          {"groups", groups},       {"values", values}};
}

/// null where the model has no attention.
json attention_json(const passes::attention_choice& choice) {
  if (choice.fused + choice.unfused == 0) return nullptr;
  json j{{"one_operation", choice.fused}, {"products_and_softmax", choice.unfused}, {"why", nullptr}};
  if (choice.unfused > 0) j["why"] = std::string(name_of(choice.reason));
  return j;
}

/// null, and why, where a share of the peak says nothing.
void add_utilisation(json& to, const char* name, const step_account& a, double (step_account::*of)() const) {
  try {
    to[name] = (a.*of)();
  } catch (const input_error& e) {
    to[name] = nullptr;
    to[std::string(name) + "_unknown"] = e.what();
  }
}

}  // namespace

std::string account_json(const step_account& a) {
  json j{{"format", "napkin step account 1"},
         {"name", a.name},
         {"tokens", a.tokens},
         {"parameters", a.parameters},
         {"micro_batches", a.micro_batches},
         {"device", device_json(a.on)},
         {"total", sum_json(a.total, a.is_measured())},
         {"model_flops",
          {{"exact", counts_json(a.model_flops.exact)},
           {"torch", counts_json(a.model_flops.torch)},
           {"rule_6nd", counts_json(a.model_flops.rule_6nd)}}},
         {"memory", memory_json(a)},
         {"recomputed", recomputed_json(a)},
         {"attention", attention_json(a.attention)},
         {"plans", a.plans}};
  for (std::size_t p = 0; p < 3; ++p) {
    json phase = sum_json(a.phases[p], a.is_measured());
    phase["name"] = std::string(name_of(static_cast<step_phase>(p)));
    j["phases"].push_back(phase);
  }
  j["layers"] = json::array();
  for (const account_layer& l : a.layers) {
    json layer = sum_json(l, a.is_measured());
    layer["name"] = l.name;
    layer["group"] = layer_of(l.name + ".parameter");
    layer["parameters"] = l.parameters;
    layer["kept_bytes"] = l.kept;
    j["layers"].push_back(layer);
  }
  j["kernels"] = json::array();
  for (const account_kernel& k : a.kernels) j["kernels"].push_back(kernel_json(a, k));
  if (a.timing.step > 0 || !a.losses.empty()) {  // a run too short for a median still has losses
    json measured{{"step_seconds", a.timing.step > 0 ? json(a.timing.step) : json(nullptr)},
                  {"steps_timed_by_kernel", a.timing.steps},
                  {"flops_per_second", rate_json(a.total.cost.flops.total(), a.timing.step)},
                  {"peak_in", std::string(name_of(a.total.bound.products))}};
    add_utilisation(measured, "mfu", a, &step_account::mfu);
    add_utilisation(measured, "hfu", a, &step_account::hfu);
    measured["loss"] = json::array();
    for (const loss_point& p : a.losses) measured["loss"].push_back({p.step, p.loss});
    j["measured"] = measured;
  }
  return j.dump(1) + "\n";
}

}  // namespace napkin
